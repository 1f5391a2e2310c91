// SPDX-License-Identifier: MIT
// silu(x) = x / (1 + e^-x), over any type of number that has exp.
#pragma once

#include <cmath>

namespace plumbline {

template <typename Number>
Number silu(const Number& x) {
  using std::exp;
  // Written so that nothing overflows in a double.
  if (x > Number(0)) return x / (Number(1) + exp(Number(-x)));
  const Number power = exp(x);
  return x * power / (Number(1) + power);
}

// Its derivative, sigma (1 + x (1 - sigma)) with sigma = 1 / (1 + e^-x).
inline double silu_slope(double x) {
  const double sigma = 1 / (1 + std::exp(-x));
  return sigma * (1 + x * (1 - sigma));
}

}  // namespace plumbline
