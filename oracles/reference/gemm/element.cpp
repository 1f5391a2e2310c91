// SPDX-License-Identifier: MIT
#include "oracles/reference/gemm/element.h"

#include <algorithm>
#include <cmath>

#include "oracles/base/assert.h"
#include "oracles/base/numbers.h"
#include "oracles/exact/dyadic.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/ulp.h"

namespace plumbline {
namespace {

// e_min / E: the part of the allowed error that was used.
double share_of(const ElementRule& rule, const ElementKnowledge& known,
                const ElementDecision& decision, std::uint64_t got) {
  if (!known.bounded() || !known.classes.has(ResultClass::finite)) return kNan;
  const bool inside = decision.judgement.inside;
  const double smallest =
      rule.smallest_error(known.sum, inside ? decision.range : rule.whole_grid(), got);
  if (inside) {
    if (smallest == kInfinity) return kNan;  // admissible as Inf or NaN
    return known.error > 0 ? std::min(1.0, smallest / known.error) : 0.0;
  }
  if (known.error == 0) return kInfinity;
  return std::max(smallest / known.error, std::nextafter(1.0, 2.0));
}

// Whether the result is at least half of the magnitudes that it is added up from: those of the
// products, then the scaled sum beside C and the bias.
bool hardly_cancels(const PreparedGemm& gemm, const GemmPlace& at, const SumEnclosure& sum,
                    double result) {
  EpilogueOperands nothing_added = gemm.epilogue_operands(at);
  nothing_added.c = nothing_added.bias = 0;
  const double scaled = gemm.epilogue.real({sum.hi, sum.lo}, nothing_added).hi;
  return gemm.magnitude(at) <= 2 * std::fabs(sum.hi) &&
         std::fabs(scaled) + std::fabs(result - scaled) <= 2 * std::fabs(result);
}

}  // namespace

ElementDecision decide(const PreparedGemm& gemm, const GemmPlace& at, const ElementKnowledge& known,
                       std::uint64_t got) {
  const ElementRule rule = gemm.rule(at);
  const AccumulatorRange range = accumulator_range(gemm.grid, known.sum, known.error_used());
  ElementDecision decision{true, rule.judge(range.outer, known.classes, got), range.outer};
  if (range.inner != range.outer) {
    decision.decided =
        rule.judge(range.inner, known.classes, got).inside == decision.judgement.inside;
  }
  return decision;
}

ElementDecision decide_exactly(const PreparedGemm& gemm, const GemmPlace& at, const Dyadic& sum,
                               const ElementKnowledge& known, std::uint64_t got) {
  const AccumulatorRange range = accumulator_range(gemm.grid, sum, known.error_used());
  return {true, gemm.rule(at).judge(range.outer, known.classes, got), range.outer};
}

std::int32_t wrapped_to_int32(std::int64_t sum) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::uint64_t>(sum)));
}

std::uint64_t int32_output(const Epilogue& epilogue, const EpilogueOperands& operands,
                           std::int32_t accumulator) {
  if (epilogue.is_identity() && epilogue.output().id == FormatId::s32)
    return static_cast<std::uint32_t>(accumulator);
  return epilogue.low_code(epilogue.value(static_cast<float>(accumulator), operands));
}

ElementDecision decide_int32(const PreparedGemm& gemm, const GemmPlace& at, const SumEnclosure& sum,
                             std::uint64_t got) {
  PLUMB_ASSERT(sum.bound == 0 && std::fabs(sum.hi) < 0x1p52);
  const auto exact = static_cast<std::int64_t>(sum.hi) + static_cast<std::int64_t>(sum.lo);
  const std::int32_t accumulator = wrapped_to_int32(exact);
  ElementDecision decision;
  const EpilogueOperands operands = gemm.epilogue_operands(at);
  if (gemm.epilogue.uncertain(F32Range::of(static_cast<float>(accumulator)), operands)) {
    decision.judgement = gemm.rule(at).judge_value(static_cast<float>(accumulator), got);
    return decision;
  }
  const std::uint64_t due = int32_output(gemm.epilogue, operands, accumulator);
  decision.judgement.inside = gemm.rule(at).same_result(due, got);
  decision.judgement.low = decision.judgement.high = due;
  return decision;
}

RealResult real_result(const PreparedGemm& gemm, const GemmPlace& at, const SumEnclosure& sum,
                       ClassSet classes) {
  const EpilogueOperands operands = gemm.epilogue_operands(at);
  RealResult out;
  // A sum that is due to overflow on the way is a real number all the same.
  const bool no_number = !classes.has(ResultClass::finite) && gemm.special(at);
  if (no_number || !gemm.epilogue.finite(operands)) {
    const float accumulator =
        static_cast<float>(classes.has(ResultClass::finite) ? sum.hi : special_value(classes));
    out.finite = false;
    out.value.hi = static_cast<double>(gemm.epilogue.value(accumulator, operands));
    return out;
  }
  out.value = gemm.epilogue.real({sum.hi, sum.lo}, operands);
  out.ulp = ulp(gemm.epilogue.output(), out.value.hi + out.value.lo);
  return out;
}

double RealResult::error_ulp(const Epilogue& epilogue, std::uint64_t code) const {
  if (!finite) return kNan;
  const Format& output = epilogue.output();
  const double stored = to_double(output, code);
  if (!std::isfinite(stored)) return kNan;
  if (epilogue.saturates() && ((stored == epilogue.largest() && value.hi >= stored) ||
                               (stored == epilogue.lowest() && value.hi <= stored))) {
    return 0;
  }
  return ((stored - value.hi) - value.lo) / ulp;
}

ElementVerdict describe(const PreparedGemm& gemm, const GemmPlace& at,
                        const ElementKnowledge& known, const ElementDecision& decision,
                        std::uint64_t got) {
  ElementVerdict verdict;
  verdict.index = gemm.index(at);
  verdict.got = got;
  verdict.pass = decision.judgement.inside || !decision.decided;
  verdict.class_mismatch = decision.judgement.class_mismatch && !verdict.pass;
  verdict.low = decision.judgement.low;
  verdict.high = decision.judgement.high;
  const RealResult real = real_result(gemm, at, known.sum, known.classes);
  verdict.exact = real.value.hi + real.value.lo;
  verdict.error_ulp = real.error_ulp(gemm.epilogue, got);
  if (real.finite && hardly_cancels(gemm, at, known.sum, verdict.exact)) {
    const double beyond = std::max(0.0, std::fabs(verdict.error_ulp) - 0.5) * real.ulp;
    verdict.relative = beyond / std::fabs(verdict.exact);
  }
  if (!gemm.model) {
    verdict.expected = verdict.low;
    verdict.share = verdict.pass ? 0 : kInfinity;
    return verdict;
  }
  const ElementRule rule = gemm.rule(at);
  verdict.expected =
      known.classes.has(ResultClass::finite) ? rule.expected(known.sum) : verdict.low;
  const double low = std::fabs(real.error_ulp(gemm.epilogue, verdict.low));
  const double high = std::fabs(real.error_ulp(gemm.epilogue, verdict.high));
  verdict.bound_ulp = std::isnan(low) || std::isnan(high) ? kNan : std::max(low, high);
  verdict.share = share_of(rule, known, decision, got);
  return verdict;
}

ElementVerdict judge_element(const PreparedGemm& gemm, const GemmPlace& at, std::uint64_t got) {
  ElementKnowledge known;
  if (gemm.special(at)) {
    known.classes = gemm.special_classes(at);
    return describe(gemm, at, known, decide(gemm, at, known, got), got);
  }
  const Dyadic exact = gemm.exact_sum(at);
  known.sum = enclosure_of(exact);
  if (!gemm.model) {
    known.error = 0;
    return describe(gemm, at, known, decide_int32(gemm, at, known.sum, got), got);
  }
  const RunningBound bound = gemm.bound(at);
  known.error = bound.error;
  known.classes = bound.classes;
  return describe(gemm, at, known, decide_exactly(gemm, at, exact, known, got), got);
}

}  // namespace plumbline
