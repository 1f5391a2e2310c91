// SPDX-License-Identifier: MIT
// What a stack of blocks (stack.h) is computed in, where kernels may differ.
#pragma once

#include "oracles/stages/staged_steps.h"

namespace plumbline {

// What is too large becomes the largest number.
inline double stack_rounded(FormatId to, double x, Rounding rounding) {
  return staged_rounding(to, x, {.rounding = rounding, .overflow = Overflow::saturate});
}

struct StackArithmetic {
  int sm = 90;
  FormatId residual = FormatId::bf16;  // bf16 or f32: what x is stored in between layers
  // What multiplies in the linear layers: bf16, or e4m3 with one scale per row of either operand.
  FormatId factors = FormatId::bf16;
  Rounding conversion = Rounding::nearest_even;  // of every f32 to bf16
  // What keys and values are kept in: bf16, or an 8-bit format without a scale, saturating.
  FormatId cache = FormatId::bf16;

  // Gradients as factors beside those: e5m2, whose range they need, where factors have 8 bits.
  FormatId gradient_factors() const {
    return factors == FormatId::bf16 ? FormatId::bf16 : FormatId::e5m2;
  }

  // A tensor between kernels: bf16.
  double stored(double x) const { return stack_rounded(FormatId::bf16, x, conversion); }

  // The residual stream, or the gradient that flows along it.
  double stored_residual(double x) const {
    return residual == FormatId::bf16 ? stored(x) : static_cast<double>(static_cast<float>(x));
  }
};

}  // namespace plumbline
