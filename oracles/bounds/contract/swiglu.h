// SPDX-License-Identifier: MIT
// SwigluContract: the arithmetic that a SwiGLU MLP promises. With fl() an f32 operation rounded to
// nearest even, without flushing:
//
//   g = x . w_gate,  u = x . w_up       by the unit, from zero, in increasing d
//   e = ex2(fl(-g * fl(log2 e)))        ex2.approx.ftz.f32
//   s = fl(g / fl(1 + e)), or fl(g * fl(1 / fl(1 + e)))      silu(g); divisions to nearest
//   h = fl(s * u), rounded once more, to the format of h
//   y = h . w_down                      by the unit, from zero, in increasing hidden, of h as it
//                                       was stored; rounded to the format of y
//
// The steps need no special case, and what they do at the ends belongs to the contract: e = 0, and
// s = g, for g above 87.4 (s = g already from about 17 on, where fl(1 + e) = 1); e = inf, and s =
// -0, for g below -88.8; s = inf for g = inf; s = NaN for g = -inf, which is 0 times infinity, and
// for NaN.
#pragma once

#include <cstdint>

#include "oracles/bounds/contract/contract.h"

namespace plumbline {

enum class SiluForm : std::uint8_t {
  quotient,    // g / (1 + e)
  reciprocal,  // g * (1 / (1 + e))
};

// -fl(log2 e)
inline constexpr float kMinusLog2E = -0x1.715476p+0f;

struct SwigluContract {
  Unit unit = Unit::tensor_core;  // of all three products
  Instruction instruction = Instruction::mma_sync;
  SiluForm silu = SiluForm::quotient;

  // The contract of a product's sums.
  Contract product() const;
};

// The steps from g to fl(1 + e), and to s, with an ex2 rounded to nearest: what one conforming
// kernel gets.
float nearest_silu_divisor(float g);
float nearest_silu(SiluForm form, float g);

}  // namespace plumbline
