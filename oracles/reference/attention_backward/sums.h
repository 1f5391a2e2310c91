// SPDX-License-Identifier: MIT
// The sums of a line by the definition: what the referee and undecided elements go by. The weights
// are numbers of a format, found with any precision, so that the sums are exact.
#pragma once

#include <vector>

#include "oracles/reference/attention_backward/operands.h"

namespace plumbline {

class Dyadic;

// Of P * 2^p_shift or of G = dS * ds_scale, as the accumulator has them; of the columns wanted.
// Weights are found with at least `bits` bits. Where one is too large for its format the sum is
// given as 0: there the bound lets anything pass.
std::vector<Dyadic> defined_sums(const GradientOperands& operands, GradientOutput output,
                                 std::int64_t line, const std::vector<std::int64_t>& columns,
                                 int bits);

}  // namespace plumbline
