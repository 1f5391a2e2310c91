// SPDX-License-Identifier: MIT
#include "oracles/reference/attention_backward/oracle.h"

#include <algorithm>
#include <cmath>

#include "oracles/base/assert.h"
#include "oracles/base/random.h"
#include "oracles/exact/dyadic.h"
#include "oracles/exact/parallel.h"
#include "oracles/reference/attention_backward/explain.h"
#include "oracles/reference/attention_backward/judge.h"
#include "oracles/reference/gemm/sample.h"

namespace plumbline {
namespace {

GradientOutput output_of(int output) { return static_cast<GradientOutput>(output); }

// A few outputs of each of a few lines, since the definition goes through all of a line for one.
constexpr std::int64_t kRefereedPerLine = 4;

std::vector<std::int64_t> referee_sample(const TensorLayout& layout, const JudgeOptions& options) {
  std::vector<std::int64_t> sample;
  const std::int64_t elements = layout.count(), width = layout.shape[3];
  const std::int64_t wanted = std::min(options.referee_samples, elements);
  Random random = Random(options.seed).fork(0x7265666572656565u);  // "refereee"
  for (std::int64_t taken = 0; taken < wanted; taken += kRefereedPerLine) {
    const auto index = static_cast<std::int64_t>(random.unit() * static_cast<double>(elements));
    const std::int64_t first = index / width * width;
    for (std::int64_t n = 0; n < std::min({kRefereedPerLine, wanted - taken, width}); ++n)
      sample.push_back(first + (index - first + n * 7) % width);
  }
  std::sort(sample.begin(), sample.end());
  sample.erase(std::unique(sample.begin(), sample.end()), sample.end());
  return sample;
}

}  // namespace

AttentionBackwardOracle::AttentionBackwardOracle(const AttentionBackwardProblem& problem,
                                                 const AttentionBackwardContract& contract, int sm)
    : case_(problem, contract, sm) {}

std::string AttentionBackwardOracle::output_name(int output) const {
  static constexpr const char* kNames[] = {"dq", "dk", "dv"};
  return kNames[output];
}

OutputVerdict AttentionBackwardOracle::judge(int output, const Tensor& got,
                                             const JudgeOptions& options) const {
  // Groups side by side where there are enough of them, else the blocks of each.
  const auto groups = static_cast<std::int64_t>(case_.groups.size());
  const bool many = groups >= 2 * options.threads;
  const auto pass = [&](const GradientJudge::Wish& wish) {
    std::vector<GradientJudge::Findings> parts(case_.groups.size());
    for_each_piece(groups, many ? options.threads : 1, [&](std::int64_t g) {
      const auto at = static_cast<std::size_t>(g);
      const auto work = case_.work(at);
      const GradientJudge judge(*work, output_of(output), got, options);
      parts[at] = judge.run(wish, many ? 1 : options.threads);
    });
    GradientJudge::Findings total;
    for (const GradientJudge::Findings& part : parts) {
      total.tally.add(part.tally);
      total.tally.pending.insert(total.tally.pending.end(), part.tally.pending.begin(),
                                 part.tally.pending.end());
      total.refereed += part.refereed;
    }
    return total;
  };

  const std::int64_t elements = got.layout.count();
  GradientJudge::Wish wish;
  wish.all_bounds = options.max_bounded < 0;
  wish.refereed = referee_sample(got.layout, options);
  GradientJudge::Findings total = pass(wish);
  std::vector<std::int64_t> pending = std::move(total.tally.pending);
  std::sort(pending.begin(), pending.end());
  const bool sampled =
      !wish.all_bounds && static_cast<std::int64_t>(pending.size()) > options.max_bounded;
  if (!pending.empty()) {
    GradientJudge::Wish closer;
    closer.bounded = sampled ? stratified_sample(pending, got.layout.shape[2], got.layout.shape[3],
                                                 options.max_bounded, options.seed)
                             : pending;
    std::sort(closer.bounded.begin(), closer.bounded.end());
    if (!closer.bounded.empty()) {
      const GradientJudge::Findings more = pass(closer);
      total.tally.add(more.tally);
      total.refereed += more.refereed;
    }
  }
  for (ElementVerdict& failure : total.tally.failures) {  // gross ones were not looked at closely
    if (!std::isnan(failure.share)) continue;
    failure = element(output, failure.index, failure.got);
    if (!std::isnan(failure.share))
      total.tally.worst_share = std::max(total.tally.worst_share, failure.share);
  }
  OutputVerdict verdict = total.tally.verdict(elements);
  verdict.sampled = sampled;
  verdict.refereed = options.mpfr_bits > 0 ? elements : total.refereed;
  return verdict;
}

std::vector<double> AttentionBackwardOracle::reference_values(int output, Reference reference,
                                                              int threads) const {
  const Tensor shape = empty_output(output);
  const auto groups = static_cast<std::int64_t>(case_.groups.size());
  const bool many = groups >= 2 * threads;
  std::vector<double> values(static_cast<std::size_t>(shape.layout.count()));
  for_each_piece(groups, many ? threads : 1, [&](std::int64_t g) {
    const auto work = case_.work(static_cast<std::size_t>(g));
    GradientJudge(*work, output_of(output), shape, {})
        .put_values(reference, values, many ? 1 : threads);
  });
  return values;
}

// A tensor with an output's shape; its elements are not read.
Tensor AttentionBackwardOracle::empty_output(int output) const {
  const AttentionProblem& attention = case_.problem.attention;
  const Tensor* like = output == 0 ? attention.q : output == 1 ? attention.k : attention.v;
  Tensor shape;
  shape.layout = dense_layout(attention.output, like->layout.shape);
  return shape;
}

// The group an element of an output lies in.
std::size_t AttentionBackwardOracle::group_of(int output, std::int64_t index) const {
  const AttentionProblem& attention = case_.problem.attention;
  const std::vector<std::int64_t>& shape = (output == 0   ? attention.q
                                            : output == 1 ? attention.k
                                                          : attention.v)
                                               ->layout.shape;
  const std::int64_t row = index / shape[3] % shape[2],
                     head = index / shape[3] / shape[2] % shape[1],
                     batch = index / shape[3] / shape[2] / shape[1];
  for (std::size_t group = 0; group < case_.groups.size(); ++group) {
    for (const HeadPlace& at : case_.groups[group]) {
      const std::int64_t first = output == 0 ? at.first_query : at.first_key;
      const std::int64_t count = output == 0 ? at.queries : at.keys;
      if (at.batch == batch && (output == 0 ? at.head : at.kv_head) == head && row >= first &&
          row < first + count) {
        return group;
      }
    }
  }
  PLUMB_ASSERT(false);
  return 0;
}

struct AttentionBackwardOracle::Look {
  int output;
  std::size_t group;
  std::shared_ptr<const GradientWork> work;
  Tensor shape;
  GradientJudge judge;
  GradientJudge::CloseLine line;

  Look(const AttentionBackwardOracle& oracle, int of, std::size_t in)
      : output(of),
        group(in),
        work(oracle.case_.work(in)),
        shape(oracle.empty_output(of)),
        judge(*work, output_of(of), shape, {}) {}
};

AttentionBackwardOracle::~AttentionBackwardOracle() = default;

ElementVerdict AttentionBackwardOracle::element(int output, std::int64_t index,
                                                std::uint64_t got) const {
  const std::scoped_lock lock(mutex_);
  const std::size_t group = group_of(output, index);
  if (!last_ || last_->output != output || last_->group != group)
    last_ = std::make_unique<Look>(*this, output, group);
  const std::int64_t line = last_->judge.place(index)->line;
  if (last_->line.line != line) last_->line = last_->judge.close_line(line);
  return last_->judge.element(last_->line, index, got);
}

Explanation AttentionBackwardOracle::explain(int output, std::int64_t index,
                                             const Tensor& got) const {
  const auto work = case_.work(group_of(output, index));
  const GradientJudge judge(*work, output_of(output), got, {});
  return explain_gradient(work->operands(), judge, output_of(output),
                          element(output, index, got.bits(index)), got);
}

}  // namespace plumbline
