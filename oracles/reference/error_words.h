// SPDX-License-Identifier: MIT
// How wrong an output is and how wrong it may be, as a sentence.
#pragma once

#include <string>

#include "oracles/reference/oracle.h"

namespace plumbline {

// "error +1 ulp of bf16; an admissible output is at most 0.5 ulp away". Where 0 is exact an ulp is
// the least number there is and says nothing: plain differences then.
std::string error_words(const Format& f, const ElementVerdict& verdict);

// The largest magnitude that is admissible.
double largest_admissible(const Format& f, const ElementVerdict& verdict);

}  // namespace plumbline
