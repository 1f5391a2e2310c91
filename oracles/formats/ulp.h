// SPDX-License-Identifier: MIT
// What one ulp means here: the Goldberg ulp of the exact reference, extended to subnormals,
//   ulp_F(y) = 2^(max(floor(log2 |y|), emin) - p + 1),   ulp_F(0) = 2^(emin - p + 1).
// It depends on the exact value alone, not on the result being judged; at y = 2^e it is the ulp of
// the binade above. With it |error| <= 1/2 ulp for a correctly rounded result; the distance of two
// codes in integer order is *not* an ulp.
#pragma once

#include "oracles/formats/format.h"

namespace plumbline {

// floor(log2 |y|) for finite non-zero y.
int floor_log2(double y);

// Exponent e with ulp = 2^e. For integer formats 0.
int ulp_exponent(const Format& format, double exact);
double ulp(const Format& format, double exact);

}  // namespace plumbline
