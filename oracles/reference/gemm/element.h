// SPDX-License-Identifier: MIT
// One output element under judgement: what is known of its sum and its bound, the decision, and the
// numbers of an ElementVerdict that describe it.
#pragma once

#include <limits>
#include <optional>

#include "oracles/reference/gemm/prepared.h"
#include "oracles/reference/oracle.h"

namespace plumbline {

// What an element is judged by.
struct ElementKnowledge {
  SumEnclosure sum;
  // E; NaN when it was not computed and the weaker `error_any` stands in.
  double error = std::numeric_limits<double>::quiet_NaN();
  double error_any = 0;
  ClassSet classes = ResultClass::finite;

  bool bounded() const { return error == error; }

  double error_used() const { return bounded() ? error : error_any; }
};

struct ElementDecision {
  bool decided = true;  // false: depends on where in the enclosure the sum lies
  ElementRule::Judgement judgement;
  GridRange range;
};

// With a sum known only to an enclosure, the decision that counts everything possible as
// admissible.
ElementDecision decide(const PreparedGemm& gemm, const GemmPlace& at, const ElementKnowledge& known,
                       std::uint64_t got);

// With the exact sum: always decided.
ElementDecision decide_exactly(const PreparedGemm& gemm, const GemmPlace& at, const Dyadic& sum,
                               const ElementKnowledge& known, std::uint64_t got);

// For Unit::int32: what is stored for an accumulator, and the accumulator of a sum.
std::uint64_t int32_output(const Epilogue& epilogue, const EpilogueOperands& operands,
                           std::int32_t accumulator);
std::int32_t wrapped_to_int32(std::int64_t sum);

// For Unit::int32: the sum modulo 2^32 through the epilogue is the only admissible output.
ElementDecision decide_int32(const PreparedGemm& gemm, const GemmPlace& at, const SumEnclosure& sum,
                             std::uint64_t got);

// The exact real result, and a stored output's distance from it.
struct RealResult {
  TwoDoubles value;
  bool finite = true;  // false: value.hi says which of NaN, Inf, -Inf is due
  double ulp = 0;      // of the output format at the value

  // (stored - value) / ulp; NaN where it has no meaning. Saturated results have error 0 when
  // saturation is due.
  double error_ulp(const Epilogue& epilogue, std::uint64_t code) const;
};

RealResult real_result(const PreparedGemm& gemm, const GemmPlace& at, const SumEnclosure& sum,
                       ClassSet classes);

ElementVerdict describe(const PreparedGemm& gemm, const GemmPlace& at,
                        const ElementKnowledge& known, const ElementDecision& decision,
                        std::uint64_t got);

// One element with an exact sum and the specification of the running bound.
ElementVerdict judge_element(const PreparedGemm& gemm, const GemmPlace& at, std::uint64_t got);

}  // namespace plumbline
