// SPDX-License-Identifier: MIT
// What an output is, what it should be, and how wrong it is and may be, as sentences.
#pragma once

#include <cstdint>
#include <string>

#include "oracles/bounds/contract/f32_range.h"
#include "oracles/reference/oracle.h"

namespace plumbline {

// "0.5", "-inf", "NaN" (whose sign says nothing). `digits`: significant ones; 0: as many as tell it
// from other doubles.
std::string number_text(double x, int digits = 0);

// "0.5 (0x3f00)".
std::string code_text(const Format& f, std::uint64_t code);

// "from -1 to 2, or NaN", "0.5 and no other".
std::string describe_range(const F32Range& range);

// Whether a code is the exact result in its format, rounded once (or the largest number of it).
bool is_rounded(const Format& f, double exact, std::uint64_t code);

// "d[3,7]: got ...; the exact result is ..., which rounds to ..."
std::string describe_result(const std::string& place, const Format& f,
                            const ElementVerdict& verdict);

// "admissible under the contract: ... to ..."
std::string describe_range(const Format& f, const ElementVerdict& verdict);

// "error +1 ulp of bf16; an admissible output is at most 0.5 ulp away". Where 0 is exact an ulp is
// the least number there is and says nothing: plain differences then.
std::string describe_error(const Format& f, const ElementVerdict& verdict);

// What a NaN may mean where it is not known that a thread stored it.
inline constexpr const char* kNeverWritten = "NaN may mean that the element was never written";

// The largest magnitude that is admissible.
double largest_admissible(const Format& f, const ElementVerdict& verdict);

}  // namespace plumbline
