// SPDX-License-Identifier: MIT
#include "oracles/reference/gemm/joined_oracle.h"

#include <algorithm>

#include "oracles/base/assert.h"
#include "oracles/reference/output_tally.h"

namespace plumbline {
namespace {

constexpr std::size_t kFailures = OutputTally::kFailures;

void add_cells(std::vector<std::int64_t>& sum, const std::vector<std::int64_t>& part) {
  sum.resize(std::max(sum.size(), part.size()));
  for (std::size_t cell = 0; cell < part.size(); ++cell) sum[cell] += part[cell];
}

// Adds a part's verdict to the output's. The medians of parts do not add: the largest part's stands
// for all.
void add_verdict(OutputVerdict& sum, OutputVerdict part, std::int64_t first,
                 std::int64_t& largest) {
  const auto moved = [&](ElementVerdict& element) { element.index += first; };
  moved(part.worst);
  std::for_each(part.failures.begin(), part.failures.end(), moved);
  std::for_each(part.others.begin(), part.others.end(), moved);
  if (part.compared > 0 && (sum.compared == 0 || is_worse(part.worst, sum.worst)))
    sum.worst = part.worst;
  sum.elements += part.elements;
  sum.compared += part.compared;
  sum.open += part.open;
  sum.bounded += part.bounded;
  sum.failed += part.failed;
  sum.class_mismatches += part.class_mismatches;
  sum.nonzero += part.nonzero;
  sum.exact_required += part.exact_required;
  sum.undecided += part.undecided;
  sum.unresolved += part.unresolved;
  sum.refereed += part.refereed;
  sum.confirmed += part.confirmed;
  sum.disagreements += part.disagreements;
  sum.modeled += part.modeled;
  sum.other_bits += part.other_bits;
  sum.sampled = sum.sampled || part.sampled;
  sum.unbounded += part.unbounded;
  sum.worst_ulp = std::max(sum.worst_ulp, part.worst_ulp);
  sum.worst_share = std::max(sum.worst_share, part.worst_share);
  sum.worst_relative = std::max(sum.worst_relative, part.worst_relative);
  if (part.elements > largest) {
    largest = part.elements;
    sum.median_bound_ulp = part.median_bound_ulp;
  }
  for (const ElementVerdict& failure : part.failures) {
    if (sum.failures.size() < kFailures) sum.failures.push_back(failure);
  }
  if (!sum.failures.empty()) sum.worst = furthest(sum.failures, sum.class_mismatches > 0);
  for (const ElementVerdict& other : part.others) {
    if (sum.others.size() < kFailures) sum.others.push_back(other);
  }
  add_cells(sum.histogram, part.histogram);
  add_cells(sum.magnitudes, part.magnitudes);
}

}  // namespace

const Tensor* JoinedOracle::keep(Tensor tensor) {
  kept_.push_back(std::move(tensor));
  return &kept_.back();
}

void JoinedOracle::add(int output, std::string name, const GemmProblem& problem,
                       const Contract& contract, int sm) {
  std::int64_t first = 0;
  for (const Part& part : parts_) {
    if (part.output == output) first = part.first + part.elements;
  }
  parts_.push_back({output, std::move(name), first, problem.outputs(),
                    std::make_unique<GemmOracle>(problem, contract, sm)});
}

const JoinedOracle::Part& JoinedOracle::part_of(int output, std::int64_t index) const {
  const auto found = std::find_if(parts_.begin(), parts_.end(), [&](const Part& part) {
    return part.output == output && index >= part.first && index < part.first + part.elements;
  });
  PLUMB_ASSERT(found != parts_.end());
  return *found;
}

std::vector<const PreparedGemm*> JoinedOracle::gemms(int output) const {
  std::vector<const PreparedGemm*> gemms;
  for (const Part& part : parts_) {
    if (part.output == output) gemms.push_back(&part.oracle->gemm());
  }
  return gemms;
}

Tensor JoinedOracle::slice(const Part& part, const Tensor& output) {
  Tensor sliced(dense_layout(output.layout.format,
                             {part.problem().batch, part.problem().m, part.problem().n}));
  for (std::int64_t i = 0; i < part.elements; ++i) sliced.set_bits(i, output.bits(part.first + i));
  return sliced;
}

OutputVerdict JoinedOracle::judge(int output, const Tensor& got,
                                  const JudgeOptions& options) const {
  OutputVerdict sum;
  sum.histogram.resize(OutputTally::kCells);
  sum.magnitudes.resize(OutputTally::kBinades);
  std::int64_t largest = -1;
  const auto all = static_cast<double>(std::max<std::int64_t>(got.layout.count(), 1));
  for (const Part& part : parts_) {
    if (part.output != output || part.elements == 0) continue;
    JudgeOptions own = options;
    if (options.max_bounded > 0) {
      own.max_bounded = std::max<std::int64_t>(
          1, static_cast<std::int64_t>(static_cast<double>(options.max_bounded) *
                                       (static_cast<double>(part.elements) / all)));
    }
    add_verdict(sum, part.oracle->judge(0, slice(part, got), own), part.first, largest);
  }
  return sum;
}

ElementVerdict JoinedOracle::element(int output, std::int64_t index, std::uint64_t got) const {
  const Part& part = part_of(output, index);
  ElementVerdict verdict = part.oracle->element(0, index - part.first, got);
  verdict.index = index;
  return verdict;
}

Explanation JoinedOracle::explain(int output, std::int64_t index, const Tensor& got) const {
  const Part& part = part_of(output, index);
  Explanation out = part.oracle->explain(0, index - part.first, slice(part, got));
  for (std::string& line : out.lines) {
    if (line.starts_with("d[")) line.replace(0, 1, output_name(output));
  }
  if (!part.name.empty()) {
    out.lines.insert(out.lines.begin(),
                     "this is in " + part.name + ", which is judged as a GEMM of its own");
  }
  return out;
}

std::vector<double> JoinedOracle::reference_values(int output, Reference reference,
                                                   int threads) const {
  std::vector<double> all;
  for (const Part& part : parts_) {
    if (part.output != output || part.elements == 0) continue;
    const std::vector<double> own = part.oracle->reference_values(0, reference, threads);
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

Tensor rows_of(const Tensor& matrix, std::int64_t first, std::int64_t count) {
  PLUMB_ASSERT(matrix.layout.shape.size() == 2);
  const std::int64_t columns = matrix.layout.shape[1];
  Tensor rows(dense_layout(matrix.layout.format, {1, count, columns}));
  for (std::int64_t i = 0; i < count * columns; ++i) {
    rows.set_bits(i, matrix.bits(first * columns + i));
  }
  return rows;
}

}  // namespace plumbline
