// SPDX-License-Identifier: MIT
// The oracle of attention forward beside what it is measured against, in one program: two FP64
// matrix products of the same sizes (what any exact reference costs), and the MPFR definition (what
// it replaces). All in turns, one thread, processor time, the shortest of all rounds.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <vector>

#include "oracles/exact/blas.h"
#include "oracles/reference/attention_definition.h"
#include "oracles/reference/attention_judge.h"
#include "tests/oracles/reference/attention_fixture.h"

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
      const AttentionCase attention_case(attention.problem, contract, 90);
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

}  // namespace
}  // namespace plumbline
