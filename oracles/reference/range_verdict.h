// SPDX-License-Identifier: MIT
// The interval rule for outputs of which a range of f32 values is known before they are stored: the
// range's ends, rounded to the output, enclose what is admissible, because rounding is monotone.
#pragma once

#include <cstdint>

#include "oracles/bounds/contract/f32_range.h"
#include "oracles/exact/certified.h"
#include "oracles/formats/format.h"
#include "oracles/reference/oracle.h"
#include "oracles/reference/output_tally.h"

namespace plumbline {

// What is known of one output before it is stored.
struct RangedElement {
  F32Range range;   // what a conforming kernel may round
  Certified exact;  // the definition's value; its error is 0 where it is no number
};

// The rule for one element.
ElementVerdict range_verdict(const Format& f, std::int64_t index, const RangedElement& element,
                             std::uint64_t got);

// Judges an element that was looked at closely, and counts it; says whether it passes.
bool tally_ranged(const Format& f, std::int64_t index, const RangedElement& element,
                  std::uint64_t got, OutputTally& tally);

// Whether the definition over MPFR numbers lies where the fast path says.
bool agrees(double referee, const Certified& exact);

}  // namespace plumbline
