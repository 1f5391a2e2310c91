// SPDX-License-Identifier: MIT
#include "oracles/reference/swiglu/hidden_judge.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "oracles/base/numbers.h"
#include "oracles/base/random.h"
#include "oracles/exact/parallel.h"
#include "oracles/reference/gemm/sample.h"
#include "oracles/reference/swiglu/definition.h"
#include "oracles/reference/swiglu/silu.h"

namespace plumbline {
namespace {

constexpr std::int64_t kBlockRows = 32, kBlockColumns = 512;

// The accumulator values on both sides of a sum: one of them is within any bound.
std::array<F32Range, 2> neighbors(const AccumulatorGrid& grid, const SumEnclosure& sum) {
  const std::int64_t below = grid.floor(sum.hi, sum.lo - sum.bound),
                     above = grid.ceil(sum.hi, sum.lo + sum.bound);
  return {F32Range::of(grid.value(below)), F32Range::of(grid.value(above))};
}

KnownSum known(const SumEnclosure& sum, const RunningBound& bound) {
  return {sum, bound.error, bound.classes};
}

// Which numbers the accumulator may hold depends on where in the enclosure the sum lies.
bool leaves_open(const PreparedGemm& gemm, const KnownSum& known) {
  const AccumulatorRange range = accumulator_range(gemm.grid, known.sum, known.error);
  return range.inner != range.outer;
}

}  // namespace

HiddenJudge::HiddenJudge(const SwigluHidden& hidden, const SwigluHidden::Sums& sums,
                         const Tensor& got, const JudgeOptions& options)
    : hidden_(hidden),
      sums_(sums),
      got_(got),
      format_(format(got.layout.format)),
      options_(options),
      gate_bounds_(hidden.gate()),
      up_bounds_(hidden.up()) {}

SumEnclosure HiddenJudge::at(const SumEnclosures& sums, std::int64_t index) {
  const auto i = static_cast<std::size_t>(index);
  return {sums.hi[i], sums.lo[i], sums.bound[i]};
}

GemmBlock HiddenJudge::block(std::int64_t number) const {
  const std::int64_t rows = hidden_.problem().tokens(), columns = hidden_.problem().hidden();
  const std::int64_t across = ceil_div(columns, kBlockColumns);
  const std::int64_t row = number / across * kBlockRows, column = number % across * kBlockColumns;
  return {0, row, std::min(rows, row + kBlockRows), column,
          std::min(columns, column + kBlockColumns)};
}

// Needs sums that cannot overflow on the way.
bool HiddenJudge::surely_admissible(std::int64_t index) const {
  const double stored = to_double(format_, got_.bits(index));
  for (const F32Range& gate : neighbors(hidden_.gate().grid, gate_sum(index))) {
    for (const F32Range& up : neighbors(hidden_.up().grid, up_sum(index))) {
      const RangedElement element{hidden_.products(gate, up), Certified(stored, 0.0)};
      if (!range_verdict(format_, index, element, got_.bits(index)).pass) return false;
    }
  }
  return true;
}

// By the a-priori bounds: what fails them is wrong. A broken kernel costs no more time than a good
// one.
ElementVerdict HiddenJudge::a_priori(std::int64_t index, const Certified& exact) const {
  const auto widest = [&](const PreparedGemm& gemm, const SumEnclosure& sum) {
    const double error = gemm.error_any(place(index), gemm.magnitude(place(index)));
    return std::isfinite(error) ? SwigluHidden::accumulators(gemm, {sum, error})
                                : F32Range::anything();
  };
  const F32Range range = hidden_.products(widest(hidden_.gate(), gate_sum(index)),
                                          widest(hidden_.up(), up_sum(index)));
  return range_verdict(format_, index, {range, exact}, got_.bits(index));
}

void HiddenJudge::first_look(std::int64_t index, OutputTally& tally) const {
  const GemmPlace where = place(index);
  const std::uint64_t bits = got_.bits(index);
  if (hidden_.special(where)) {
    tally_ranged(format_, index, hidden_.element(where), bits, tally);
    return;
  }
  const bool close = in_fixed_sample(index, hidden_.elements(), options_.seed);
  if (close || !hidden_.cannot_overflow(where)) {
    tally.pending.push_back(index);
    return;
  }
  const Certified exact = hidden_.exact(where, gate_sum(index), up_sum(index));
  const bool right = surely_admissible(index);
  const ElementVerdict verdict = a_priori(index, exact);
  if (!right && verdict.pass) {
    tally.pending.push_back(index);
    return;
  }
  ++tally.compared;
  tally.nonzero += to_double(format_, bits) != 0;
  tally.add_error(verdict.error_ulp);
  if (right) return;
  ++tally.failed;
  tally.class_mismatches += verdict.class_mismatch;
  // Of many failures only the first are kept, and described in full; the others count.
  if (tally.failures.size() >= OutputTally::kFailures) return;
  const ElementVerdict described = range_verdict(format_, index, hidden_.element(where), bits);
  tally.add_failure(described);
  tally.add_figures(described);
}

void HiddenJudge::judge_with_bound(std::int64_t index, const RunningBound& gate,
                                   const RunningBound& up, OutputTally& tally) const {
  const GemmPlace where = place(index);
  const std::uint64_t bits = got_.bits(index);
  const SumEnclosure of_gate = gate_sum(index), of_up = up_sum(index);
  // The running bounds have summed the products too, in another order: a second opinion for free.
  for (const auto& [bound, sum] : {std::pair{&gate, of_gate}, {&up, of_up}}) {
    const double apart = std::fabs((bound->sum - sum.hi) - sum.lo);
    tally.disagreements += apart > (bound->sum_error + sum.bound) * (1 + 0x1p-40);
  }
  const KnownSum known_gate = known(of_gate, gate), known_up = known(of_up, up);
  if (leaves_open(hidden_.gate(), known_gate) || leaves_open(hidden_.up(), known_up)) {
    tally.undecided.push_back(index);
    tally_ranged(format_, index, hidden_.element(where), bits, tally);
    return;
  }
  const F32Range range = hidden_.products(SwigluHidden::accumulators(hidden_.gate(), known_gate),
                                          SwigluHidden::accumulators(hidden_.up(), known_up));
  tally_ranged(format_, index, {range, hidden_.exact(where, of_gate, of_up)}, bits, tally);
}

void HiddenJudge::look_closely(const GemmBlock& where, OutputTally& tally) const {
  const std::vector<std::int64_t> indices = std::move(tally.pending);
  tally.pending.clear();
  const std::vector<RunningBound> gates = gate_bounds_.of(where, indices),
                                  ups = up_bounds_.of(where, indices);
  for (std::size_t p = 0; p < indices.size(); ++p)
    judge_with_bound(indices[p], gates[p], ups[p], tally);
}

// Whether the fast path's exact values are the definition's.
void HiddenJudge::referee(OutputVerdict& verdict) const {
  const bool all = options_.mpfr_bits > 0;
  Random random = Random(options_.seed).fork(0x7265666572656565u);  // "refereee"
  std::vector<std::int64_t> indices;
  for (std::int64_t s = 0; s < (all ? verdict.elements : options_.referee_samples); ++s) {
    const auto drawn =
        static_cast<std::int64_t>(random.unit() * static_cast<double>(verdict.elements));
    if (verdict.elements > 0) indices.push_back(all ? s : drawn);
  }
  std::vector<char> right(indices.size());
  for_each_piece(static_cast<std::int64_t>(indices.size()), options_.threads, [&](std::int64_t s) {
    const GemmPlace where = place(indices[static_cast<std::size_t>(s)]);
    const std::int64_t index = indices[static_cast<std::size_t>(s)];
    const Certified exact = hidden_.special(where)
                                ? hidden_.special_value(where)
                                : hidden_.exact(where, gate_sum(index), up_sum(index));
    const auto defined =
        static_cast<double>(defined_hidden<Real>(hidden_.problem(), where.i, where.j));
    right[static_cast<std::size_t>(s)] = agrees(defined, exact);
  });
  verdict.refereed = static_cast<std::int64_t>(indices.size());
  verdict.disagreements += std::count(right.begin(), right.end(), 0);
}

OutputVerdict HiddenJudge::run() {
  const std::int64_t blocks = ceil_div(hidden_.problem().tokens(), kBlockRows) *
                              ceil_div(hidden_.problem().hidden(), kBlockColumns);
  std::vector<OutputTally> tallies(static_cast<std::size_t>(blocks));
  for_each_piece(blocks, options_.threads, [&](std::int64_t number) {
    const GemmBlock where = block(number);
    OutputTally& tally = tallies[static_cast<std::size_t>(number)];
    for (std::int64_t i = where.first_row; i < where.end_row; ++i) {
      for (std::int64_t j = where.first_column; j < where.end_column; ++j)
        first_look(hidden_.gate().index({0, i, j}), tally);
    }
    look_closely(where, tally);
  });
  OutputTally total;
  for (const OutputTally& tally : tallies) total.add(tally);
  OutputVerdict verdict = total.verdict(hidden_.elements());
  referee(verdict);
  return verdict;
}

}  // namespace plumbline
