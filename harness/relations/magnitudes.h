// SPDX-License-Identifier: MIT
// What is known of numbers beside their values: how small, how large, multiples of what. Enough to
// prove that no sum of products of them is subnormal or infinite in f32. Then a power of two
// commutes with every rounding, and doubling an input doubles an output bit for bit.
#pragma once

#include <string_view>

#include "kernels/manifest/operation.h"

namespace plumbline {

struct Magnitudes {
  bool finite = true;       // no NaN, no Inf
  bool normal = true;       // no subnormal number of its format
  int least = 0, most = 0;  // 2^least <= |x| < 2^(most + 1) for all but zeros
  int unit = 0;             // all are multiples of 2^unit

  // Products of these and those.
  friend Magnitudes operator*(const Magnitudes& x, const Magnitudes& y);
  // Numbers that are among these or those.
  friend Magnitudes operator|(const Magnitudes& x, const Magnitudes& y);
};

Magnitudes magnitudes(const Tensor& tensor);
// Of an input, or of 1 where the problem lacks it, as scales are.
Magnitudes magnitudes(const CaseTensors& tensors, std::string_view name);
Magnitudes magnitudes(float value);

// Binary digits of a count: what a sum of so many terms, or a mean of them, may differ by.
int digits_of(std::int64_t count);

// After one more f32 operation with such results: they have 24 bits.
Magnitudes rounded(const Magnitudes& x);

// Whether all sums of so many terms are 0 or normal in an accumulator of this format, with room for
// a doubling: in any order, and also where bits below a term's last one are cut off, sums are
// multiples of the terms' unit.
bool sums_are_normal(const Magnitudes& terms, std::int64_t count,
                     FormatId accumulator = FormatId::f32);

}  // namespace plumbline
