// SPDX-License-Identifier: MIT
// One output of attention under judgement: what is known of it, the decision, and the numbers of an
// ElementVerdict.
//
// With y the stage-faithful reference and E the bound before the last rounding, an output is
// admissible when it lies between what y - E and y + E become: rounded to f32, then to the output's
// format. Both roundings are monotone, so nothing else can come out.
#pragma once

#include <cstdint>
#include <limits>

#include "oracles/bounds/contract/value_class_set.h"
#include "oracles/exact/real.h"
#include "oracles/formats/format.h"
#include "oracles/reference/oracle.h"

namespace plumbline {

struct AttentionKnowledge {
  double exact = 0;  // y
  double error = 0;  // |exact - y| is at most this
  // E; NaN while it is not computed, infinite where anything may come out.
  double bound = std::numeric_limits<double>::quiet_NaN();
  double magnitude = std::numeric_limits<double>::infinity();  // of the terms
  ClassSet classes = ResultClass::finite;

  bool bounded() const { return bound == bound; }
};

struct AttentionDecision {
  bool inside = false;
  bool decided = true;
  bool class_mismatch = false;
  double low = 0, high = 0;  // the admissible outputs' ends
};

// What a number becomes: rounded to f32, then to the format.
double stored_value(const Format& format, double x);

// Whether `got` is the correct rounding of y, so that it is admissible for every E.
bool surely_admissible(const Format& format, const AttentionKnowledge& known, std::uint64_t got);

AttentionDecision decide(const Format& format, const AttentionKnowledge& known, std::uint64_t got);

// The same for a y known to many digits: always decided. `known` has it as nearly as double can.
AttentionDecision decide_exactly(const Format& format, const Real& exact, AttentionKnowledge& known,
                                 std::uint64_t got);

ElementVerdict describe(const Format& format, const AttentionKnowledge& known,
                        const AttentionDecision& decision, std::int64_t index, std::uint64_t got);

// (got - exact) in output ulp; NaN where that means nothing.
double error_in_ulp(const Format& format, const AttentionKnowledge& known, std::uint64_t got);

}  // namespace plumbline
