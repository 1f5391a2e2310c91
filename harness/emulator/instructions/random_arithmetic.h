// SPDX-License-Identifier: MIT
// f32 arithmetic with its roundings moved at random (oracles/formats/random_rounding.h): what the
// decoder chooses in place of the vector handlers of float.cpp when a module is loaded for Monte
// Carlo arithmetic. One lane after the other; nothing here is fast.
#pragma once

#include <bit>

#include "harness/emulator/decode/decode.h"
#include "harness/emulator/instructions/rounding.h"
#include "harness/emulator/machine/warp.h"
#include "oracles/base/random.h"
#include "oracles/formats/random_rounding.h"

namespace plumbline::emulator {

// Calls apply(lane, stream) for the lanes of `mask`, each with random bits of its own.
template <typename Apply>
void each_lane_randomly(Warp& warp, std::uint32_t mask, const Apply& apply) {
  const Random random = warp.next_random();
  for (std::uint32_t left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    Random stream = random.fork(static_cast<std::uint64_t>(lane));
    apply(lane, stream);
  }
}

// The f32 that an exact value gives; `usual` is what it gives undisturbed.
inline std::uint32_t to_f32_randomly(std::uint32_t usual, ExactSum exact, Rounding rounding,
                                     Random& random) {
  return static_cast<std::uint32_t>(encode_randomly(format(FormatId::f32), usual, exact.sum,
                                                    exact.error, rounding, random.unit()));
}

// add, sub, mul, fma, mad, div, rcp and sqrt, whose type was taken already.
void decode_random_single(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                          bool ftz, Inst& out);

}  // namespace plumbline::emulator
