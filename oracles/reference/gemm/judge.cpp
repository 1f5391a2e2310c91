// SPDX-License-Identifier: MIT
#include "oracles/reference/gemm/judge.h"

#include <algorithm>
#include <cmath>

#include "oracles/base/numbers.h"
#include "oracles/base/random.h"
#include "oracles/exact/dyadic.h"
#include "oracles/exact/parallel.h"
#include "oracles/reference/gemm/compare_bits.h"
#include "oracles/reference/gemm/referee.h"
#include "oracles/reference/gemm/sample.h"

namespace plumbline {
namespace {

constexpr std::int64_t kBlockRows = 32, kBlockColumns = 512;

// A sequence is one of the schedules that an open contract allows, and its bound takes a tenth of
// the time: what is within that bound needs no other.
BoundModel quick_model(const PreparedGemm& gemm) {
  BoundModel model = gemm.model.value_or(BoundModel{});
  if (model.is_open()) model.schedule = Schedule::sequential;
  return model;
}

}  // namespace

GemmJudge::GemmJudge(const PreparedGemm& gemm, const SumEnclosures& sums, const Tensor& got,
                     const JudgeOptions& options)
    : gemm_(gemm), sums_(sums), got_(got), options_(options), bounds_(gemm, quick_model(gemm)) {}

SumEnclosure GemmJudge::sum(std::int64_t index) const {
  const auto at = static_cast<std::size_t>(index);
  return {sums_.hi[at], sums_.lo[at], sums_.bound[at]};
}

GemmBlock GemmJudge::block(std::int64_t number) const {
  const GemmProblem& problem = gemm_.problem;
  const std::int64_t across = ceil_div(problem.n, kBlockColumns),
                     down = ceil_div(problem.m, kBlockRows);
  const std::int64_t row = number / across % down * kBlockRows,
                     column = number % across * kBlockColumns;
  return {number / across / down, row, std::min(problem.m, row + kBlockRows), column,
          std::min(problem.n, column + kBlockColumns)};
}

void GemmJudge::record(const GemmPlace& at, const ElementKnowledge& known,
                       const ElementDecision& decision, std::uint64_t code, Effort effort,
                       OutputTally& tally) const {
  const bool pass = decision.judgement.inside || !decision.decided;
  if (effort != Effort::a_priori) tally.count(std::isinf(known.error));
  if (known.bounded()) ++tally.bounded;
  if (known.bounded() && known.error == 0 && !gemm_.epilogue.uncertain()) ++tally.exact_required;
  if (pass && effort == Effort::a_priori) return;
  if (!pass) {
    ++tally.failed;
    if (decision.judgement.class_mismatch) ++tally.class_mismatches;
  }
  // Of many failures only the first are kept; the others count.
  const bool kept = !pass && tally.failures.size() < OutputTally::kFailures;
  if (effort != Effort::full && !kept) {
    tally.add_error(
        real_result(gemm_, at, known.sum, known.classes).error_ulp(gemm_.epilogue, code));
    return;
  }
  const ElementVerdict verdict = describe(gemm_, at, known, decision, code);
  tally.add_error(verdict.error_ulp);
  if (!pass) tally.add_failure(verdict);
  if (effort == Effort::full) tally.add_figures(verdict);
}

// Outside even the a-priori bound. A broken kernel costs no more time than a good one.
bool GemmJudge::surely_wrong(const GemmPlace& at, const ElementKnowledge& known,
                             std::uint64_t code) const {
  if (!std::isfinite(known.error_any)) return false;
  const GridRange range = accumulator_range(gemm_.grid, known.sum, known.error_any).outer;
  return !gemm_.rule(at).lies_between(range, code) &&
         !decide(gemm_, at, known, code).judgement.inside;
}

void GemmJudge::first_look(const GemmPlace& at, OutputTally& tally) const {
  const std::int64_t index = gemm_.index(at);
  const std::uint64_t code = got_.bits(at);
  if (gemm_.epilogue.order_of(code) != 0) ++tally.nonzero;
  const bool sampled = in_fixed_sample(index, gemm_.problem.outputs(), options_.seed);
  const Effort effort = sampled ? Effort::full : Effort::quick;
  ElementKnowledge known;
  if (gemm_.special(at)) {
    known.classes = gemm_.special_classes(at);
    record(at, known, decide(gemm_, at, known, code), code, effort, tally);
    return;
  }
  known.sum = sum(index);
  if (!gemm_.model) {  // int32: the sum itself, modulo 2^32
    known.error = 0;
    record(at, known, decide_int32(gemm_, at, known.sum, code), code, effort, tally);
    return;
  }
  const double magnitude = gemm_.magnitude(at);
  if (gemm_.cannot_overflow(at, magnitude)) {
    if (gemm_.a_priori->surely_exact(magnitude, gemm_.lattice(at))) {
      known.error = 0;
      const ElementDecision decision = decide(gemm_, at, known, code);
      if (decision.decided) {
        record(at, known, decision, code, effort, tally);
        return;
      }
    } else if (effort == Effort::quick) {
      if (gemm_.rule(at).surely_admissible(known.sum, code)) {
        ++tally.compared;
        tally.add_error(
            real_result(gemm_, at, known.sum, known.classes).error_ulp(gemm_.epilogue, code));
        return;
      }
      known.error_any = gemm_.error_any(at, magnitude);
      if (surely_wrong(at, known, code)) {
        record(at, known, decide(gemm_, at, known, code), code, effort, tally);
        return;
      }
    }
  }
  tally.pending.push_back(index);
}

void GemmJudge::judge_with_bound(std::int64_t index, const RunningBound& quick,
                                 OutputTally& tally) const {
  const GemmPlace at = gemm_.place(index);
  const std::uint64_t code = got_.bits(at);
  ElementKnowledge known;
  RunningBound bound = quick;
  if (gemm_.model->is_open()) {
    known.sum = sum(index);
    known.error = quick.error;
    known.classes = quick.classes;
    const ElementDecision decision = decide(gemm_, at, known, code);
    if (decision.decided && decision.judgement.inside &&
        !in_fixed_sample(index, gemm_.problem.outputs(), options_.seed)) {
      record(at, known, decision, code, Effort::quick, tally);
      return;
    }
    bound = gemm_.bound(at);
  }
  known.sum = sum(index);
  known.error = bound.error;
  known.classes = bound.classes;
  // The running bound has summed the products too, in another order: a second opinion for free.
  const double apart = std::fabs((bound.sum - known.sum.hi) - known.sum.lo);
  if (apart > (bound.sum_error + known.sum.bound) * (1 + 0x1p-40)) ++tally.disagreements;
  ElementDecision decision = decide(gemm_, at, known, code);
  if (!decision.decided && options_.mpfr_bits > 0) {
    tally.undecided.push_back(index);
    ++tally.unresolved;
  } else if (!decision.decided) {
    tally.undecided.push_back(index);
    const Dyadic exact = gemm_.exact_sum(at);
    known.sum = enclosure_of(exact);
    decision = decide_exactly(gemm_, at, exact, known, code);
  }
  record(at, known, decision, code, Effort::full, tally);
}

void GemmJudge::judge_closely(const GemmBlock& where, const std::vector<std::int64_t>& indices,
                              OutputTally& tally) const {
  const std::vector<RunningBound> bounds = bounds_.of(where, indices);
  for (std::size_t p = 0; p < indices.size(); ++p) judge_with_bound(indices[p], bounds[p], tally);
}

void GemmJudge::judge_a_priori(std::int64_t index, OutputTally& tally) const {
  const GemmPlace at = gemm_.place(index);
  const std::uint64_t code = got_.bits(at);
  ElementKnowledge known;
  known.sum = sum(index);
  const double magnitude = gemm_.magnitude(at);
  known.error_any = gemm_.error_any(at, magnitude);
  if (!gemm_.cannot_overflow(at, magnitude) || !surely_wrong(at, known, code)) return;
  record(at, known, decide(gemm_, at, known, code), code, Effort::a_priori, tally);
}

// Per block, which pending elements get the running bound.
std::vector<std::vector<std::int64_t>> GemmJudge::chosen(const std::vector<OutputTally>& tallies,
                                                         bool& sampled) const {
  std::vector<std::vector<std::int64_t>> lists(tallies.size());
  std::size_t pending = 0;
  for (const OutputTally& tally : tallies) pending += tally.pending.size();
  sampled = options_.max_bounded >= 0 && pending > static_cast<std::size_t>(options_.max_bounded);
  if (!sampled) {
    for (std::size_t b = 0; b < tallies.size(); ++b) lists[b] = tallies[b].pending;
    return lists;
  }
  std::vector<std::int64_t> all;
  all.reserve(pending);
  for (const OutputTally& tally : tallies)
    all.insert(all.end(), tally.pending.begin(), tally.pending.end());
  std::vector<std::int64_t> sample =
      stratified_sample(all, gemm_.problem.m, gemm_.problem.n, options_.max_bounded, options_.seed);
  std::sort(sample.begin(), sample.end());
  for (std::size_t b = 0; b < tallies.size(); ++b) {
    for (const std::int64_t index : tallies[b].pending) {
      if (std::binary_search(sample.begin(), sample.end(), index)) lists[b].push_back(index);
    }
  }
  return lists;
}

bool GemmJudge::passes(std::int64_t index) const {
  OutputTally tally;
  const GemmPlace at = gemm_.place(index);
  first_look(at, tally);
  if (!tally.pending.empty()) judge_with_bound(index, gemm_.bound(at), tally);
  return tally.failed == 0;
}

void GemmJudge::referee(const std::vector<std::int64_t>& undecided, OutputVerdict& verdict) const {
  std::vector<std::int64_t> indices = undecided;
  Random random = Random(options_.seed).fork(0x7265666572656565u);  // "refereee"
  for (std::int64_t s = 0; s < std::min(options_.referee_samples, verdict.elements); ++s) {
    indices.push_back(
        static_cast<std::int64_t>(random.unit() * static_cast<double>(verdict.elements)));
  }
  std::vector<char> agrees(indices.size());
  for_each_piece(static_cast<std::int64_t>(indices.size()), options_.threads, [&](std::int64_t s) {
    const std::int64_t index = indices[static_cast<std::size_t>(s)];
    const GemmPlace at = gemm_.place(index);
    agrees[static_cast<std::size_t>(s)] =
        definition_agrees(gemm_, at, sum(index), got_.bits(at), passes(index));
  });
  verdict.refereed = static_cast<std::int64_t>(indices.size());
  verdict.disagreements += std::count(agrees.begin(), agrees.end(), 0);
}

// An interval of admissible outputs says less than an arithmetic that leaves nothing open: a kernel
// that keeps its contract has these bits and no others.
void GemmJudge::compare_bits(OutputVerdict& verdict) const {
  if (!gemm_.model || !gemm_.contract.bits || !gemm_.epilogue.certain() || verdict.failed > 0)
    return;
  const std::optional<SumSchedule> schedule = fixed_schedule(gemm_.contract);
  if (!schedule) return;
  const std::optional<GemmTileModel> model = GemmTileModel::make(gemm_, *schedule);
  if (!model) return;
  const BitsComparison found =
      compare_bits_with(gemm_, *model, got_, most_tiles(gemm_), options_.seed, options_.threads);
  verdict.modeled = found.compared;
  verdict.other_bits = found.different;
  verdict.others = found.first;
}

OutputVerdict GemmJudge::run() {
  const GemmProblem& problem = gemm_.problem;
  const std::int64_t blocks =
      problem.batch * ceil_div(problem.m, kBlockRows) * ceil_div(problem.n, kBlockColumns);
  std::vector<OutputTally> tallies(static_cast<std::size_t>(blocks));
  for_each_piece(blocks, options_.threads, [&](std::int64_t number) {
    const GemmBlock where = block(number);
    for (std::int64_t i = where.first_row; i < where.end_row; ++i) {
      for (std::int64_t j = where.first_column; j < where.end_column; ++j) {
        first_look({where.batch, i, j}, tallies[static_cast<std::size_t>(number)]);
      }
    }
  });
  bool sampled = false;
  const std::vector<std::vector<std::int64_t>> close = chosen(tallies, sampled);
  for_each_piece(blocks, options_.threads, [&](std::int64_t number) {
    const auto b = static_cast<std::size_t>(number);
    judge_closely(block(number), close[b], tallies[b]);
    if (!sampled) return;
    for (const std::int64_t index : tallies[b].pending) {
      if (!std::binary_search(close[b].begin(), close[b].end(), index))
        judge_a_priori(index, tallies[b]);
    }
  });
  OutputTally total;
  for (const OutputTally& tally : tallies) total.add(tally);
  for (ElementVerdict& failure : total.failures) {  // gross ones were not looked at closely
    if (!std::isnan(failure.share)) continue;
    failure = judge_element(gemm_, gemm_.place(failure.index), failure.got);
    if (!std::isnan(failure.share)) total.worst_share = std::max(total.worst_share, failure.share);
  }
  OutputVerdict verdict = total.verdict(problem.outputs());
  verdict.sampled = sampled;
  for (std::size_t b = 0; sampled && b < close.size(); ++b)
    verdict.unbounded += std::ssize(tallies[b].pending) - std::ssize(close[b]);
  if (options_.mpfr_bits > 0) {
    verdict.refereed = verdict.elements;
  } else {
    referee(total.undecided, verdict);
  }
  compare_bits(verdict);
  return verdict;
}

}  // namespace plumbline
