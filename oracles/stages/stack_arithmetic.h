// SPDX-License-Identifier: MIT
// What a stack of blocks (stack.h) is computed in, where kernels may differ.
#pragma once

#include "oracles/stages/staged_steps.h"

namespace plumbline {

// What is too large becomes the largest number.
inline double stack_rounded(FormatId to, double x, Rounding rounding) {
  return staged_rounding(to, x, {.rounding = rounding, .overflow = Overflow::saturate});
}

// What multiplies in the linear layers: bf16, or e4m3 with scales.
struct StackFormats {
  FormatId qkv = FormatId::bf16, out = FormatId::bf16;  // of attention
  FormatId up = FormatId::bf16, down = FormatId::bf16;  // of the MLP; up: the gate too

  static StackFormats all(FormatId format) { return {format, format, format, format}; }
};

// What 8-bit factors of a linear layer have one scale for.
enum class StackScales : std::uint8_t {
  row,     // a row of either operand: a token, an output
  tensor,  // the whole operand
  block,   // 128 of k of a token; 128 outputs by 128 of k of the weights, sums promoted every 128
};

struct StackArithmetic {
  int sm = 90;
  FormatId residual = FormatId::bf16;  // bf16 or f32: what x is stored in between layers
  StackFormats factors{};
  StackScales scales = StackScales::row;
  // What Q, K and V meet in: bf16, or e4m3 with one scale per head, P then in e4m3 times 2^8. The
  // backward pass takes those of before.
  FormatId attention = FormatId::bf16;
  Rounding conversion = Rounding::nearest_even;  // of every f32 to bf16
  // What keys and values are kept in: bf16, or an 8-bit format without a scale, saturating.
  FormatId cache = FormatId::bf16;

  // A tensor between kernels: bf16.
  double stored(double x) const { return stack_rounded(FormatId::bf16, x, conversion); }

  // The residual stream, or the gradient that flows along it.
  double stored_residual(double x) const {
    return residual == FormatId::bf16 ? stored(x) : static_cast<double>(static_cast<float>(x));
  }
};

}  // namespace plumbline
