// SPDX-License-Identifier: MIT
// The oracles of attention, forward and backward, beside what they are measured against, in one
// program: two or five FP64 matrix products of the same sizes (what any exact reference costs), and
// the MPFR definition (what it replaces). All in turns, one thread, processor time, the shortest of
// all rounds.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <vector>

#include "oracles/exact/blas.h"
#include "oracles/reference/attention/definition.h"
#include "oracles/reference/attention/judge.h"
#include "oracles/reference/attention_backward/definition.h"
#include "oracles/reference/attention_backward/oracle.h"
#include "oracles/reference/attention_backward/prepared.h"
#include "tests/oracles/reference/attention/fixture.h"
#include "tests/oracles/reference/attention_backward/samples.h"

namespace plumbline {
namespace {

double seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

class Shortest {
 public:
  template <typename Body>
  void time(const Body& body) {
    const double start = seconds();
    body();
    least_ = std::min(least_, seconds() - start);
  }

  double milliseconds() const { return least_ * 1e3; }

 private:
  double least_ = std::numeric_limits<double>::infinity();
};

// length, d, causal
void forward(benchmark::State& state) {
  testing::AttentionSetup setup;
  setup.queries = setup.keys = state.range(0);
  setup.d = setup.dv = state.range(1);
  setup.output = FormatId::bf16;
  if (state.range(2) != 0) setup.mask.causal = Causal::bottom_right;
  testing::Attention attention(setup);
  const AttentionContract contract = testing::attention_contract_of();
  const std::int64_t length = setup.keys, d = setup.d;
  const auto size = static_cast<std::size_t>(length * d);
  std::vector<double> a(size, 1), scores(static_cast<std::size_t>(length * length)), o(size);

  const auto survey = [&](const auto& done) {
    const AttentionOperands operands(
        attention_head(attention.problem, head_places(attention.problem).front()), contract);
    RowSurveyor surveyor(operands);
    const std::int64_t block = surveyor.block_rows();
    for (std::int64_t first = 0; first < length; first += block)
      surveyor.run(first, std::min(length, first + block), done);
  };
  // A kernel that is right but for its output's rounding.
  survey([&](const SurveyedRow& row, const double* values) {
    for (std::int64_t x = 0; x < d; ++x)
      attention.o.set_bits(row.query * d + x, encode(format(FormatId::bf16), values[x]));
  });

  Shortest dgemms, certified, judged, defined;
  for (auto _ : state) {
    dgemms.time([&] {
      add_product(length, length, d, a.data(), d, a.data(), d, scores.data(), length);
      add_product(length, d, length, scores.data(), length, a.data(), length, o.data(), d);
    });
    certified.time([&] {
      survey([](const SurveyedRow&, const double* values) { benchmark::DoNotOptimize(values[0]); });
    });
    judged.time([&] {
      const PreparedAttention attention_case(attention.problem, contract, 90);
      JudgeOptions options;
      options.referee_samples = 0;
      benchmark::DoNotOptimize(
          AttentionJudge(attention_case, kAttentionO, attention.o, options).run());
    });
    defined.time([&] {
      const AttentionHead head =
          attention_head(attention.problem, head_places(attention.problem).front());
      benchmark::DoNotOptimize(defined_row<RealOf<128>>(head, length - 1, &contract));
    });
  }
  const double all_rows =
      defined.milliseconds() * static_cast<double>(length) / (state.range(2) != 0 ? 2 : 1);
  state.counters["certified_ms"] = certified.milliseconds();
  state.counters["x_dgemms"] = certified.milliseconds() / dgemms.milliseconds();
  state.counters["judged_x_dgemms"] = judged.milliseconds() / dgemms.milliseconds();
  state.counters["x_mpfr"] = all_rows / certified.milliseconds();
}

BENCHMARK(forward)->ArgsProduct({{1024, 2048}, {64, 128}, {0, 1}})->Unit(benchmark::kMillisecond);

// Every gradient's sum with its error.
void certify(const AttentionBackwardProblem& problem, const AttentionBackwardContract& contract) {
  const GradientWork work(problem, contract, 90, gradient_groups(problem).front());
  benchmark::DoNotOptimize(work.survey(1).sum(GradientOutput::dq, 0, 0).hi);
}

// What query i gives to all three gradients, by the definition.
void defined_query(const GradientHead& head, std::int64_t i,
                   const AttentionBackwardContract& contract) {
  using Number = RealOf<128>;
  const std::int64_t d = head.head.d;
  const GradientRow<Number> row = stored_row<Number>(head, i);
  std::vector<Number> dq(static_cast<std::size_t>(d)), dk(dq), dv(dq);
  for (std::int64_t j = 0; j < head.head.keys; ++j) {
    const GradientWeights<Number> weights = gradient_weights(head, row, i, j, &contract);
    for (std::int64_t x = 0; x < d; ++x) {
      const auto c = static_cast<std::size_t>(x);
      dq[c] += weights.ds * head.head.k[static_cast<std::size_t>(j * d + x)];
      dk[c] += weights.ds * head.head.q[static_cast<std::size_t>(i * d + x)];
      dv[c] += weights.p * head.d_o[static_cast<std::size_t>(i * d + x)];
    }
  }
  benchmark::DoNotOptimize(dq.data());
  benchmark::DoNotOptimize(dk.data());
  benchmark::DoNotOptimize(dv.data());
}

// length, d, causal
void backward(benchmark::State& state) {
  testing::GradientSetup setup;
  setup.heads = setup.kv_heads = 1;
  setup.queries = setup.keys = state.range(0);
  setup.d = setup.dv = state.range(1);
  setup.scale = 1 / std::sqrt(static_cast<float>(setup.d));
  if (state.range(2) != 0) setup.mask.causal = Causal::bottom_right;
  const testing::GradientCase example(setup);
  const AttentionBackwardContract contract;
  const std::int64_t length = setup.keys, d = setup.d;
  const auto size = static_cast<std::size_t>(length * d);
  std::vector<double> a(size, 1), scores(static_cast<std::size_t>(length * length)), o(size);

  // Kernels that are right but for their outputs' rounding.
  std::vector<Tensor> gradients;
  for (int output = 0; output < 3; ++output) {
    gradients.push_back(example.output(output));
    const std::vector<double> values = AttentionBackwardOracle(example.problem, contract, 90)
                                           .reference_values(output, Reference::contract, 1);
    for (std::size_t index = 0; index < values.size(); ++index) {
      gradients.back().set_bits(static_cast<std::int64_t>(index),
                                encode(format(FormatId::bf16), values[index]));
    }
  }

  Shortest dgemms, certified, judged, defined;
  std::int64_t undecided = 0;
  for (auto _ : state) {
    dgemms.time([&] {
      for (int product = 0; product < 2; ++product)
        add_product(length, length, d, a.data(), d, a.data(), d, scores.data(), length);
      for (int product = 0; product < 3; ++product)
        add_product(length, d, length, scores.data(), length, a.data(), length, o.data(), d);
    });
    certified.time([&] { certify(example.problem, contract); });
    judged.time([&] {
      const AttentionBackwardOracle oracle(example.problem, contract, 90);
      JudgeOptions options;
      options.referee_samples = 0;
      undecided = 0;
      for (int output = 0; output < 3; ++output) {
        undecided +=
            oracle.judge(output, gradients[static_cast<std::size_t>(output)], options).undecided;
      }
    });
    defined.time([&] {
      const GradientGroup group =
          gradient_group(example.problem, gradient_groups(example.problem).front());
      defined_query(group.heads.front(), length - 1, contract);
    });
  }
  const double all_rows =
      defined.milliseconds() * static_cast<double>(length) / (state.range(2) != 0 ? 2 : 1);
  state.counters["certified_ms"] = certified.milliseconds();
  state.counters["x_dgemms"] = certified.milliseconds() / dgemms.milliseconds();
  state.counters["judged_x_dgemms"] = judged.milliseconds() / dgemms.milliseconds();
  state.counters["x_mpfr"] = all_rows / certified.milliseconds();
  state.counters["undecided"] = static_cast<double>(undecided);
}

BENCHMARK(backward)->ArgsProduct({{1024, 2048}, {64, 128}, {0, 1}})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace plumbline
