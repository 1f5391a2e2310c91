// SPDX-License-Identifier: MIT
#include "harness/emulator/instructions/random_arithmetic.h"

#include "harness/emulator/decode/rows.h"
#include "harness/emulator/machine/lanes.h"

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;

// An operation by what it comes to exactly, and by what it gives undisturbed.
struct Operation {
  std::string_view opcode, shape;
  ExactSum (*exact)(float a, float b, float c);
  float (*rounded)(float a, float b, float c, RoundingMode mode);
  bool has_saturation;
};

// clang-format off
constexpr Operation kOperations[] = {
  {"add", "w=ww", [](float a, float b, float) { return exact_sum(a, b); },
   [](float a, float b, float, RoundingMode mode) { return add_rounded(a, b, mode); }, true},
  {"sub", "w=ww", [](float a, float b, float) { return exact_sum(a, -b); },
   [](float a, float b, float, RoundingMode mode) { return add_rounded(a, -b, mode); }, true},
  {"mul", "w=ww", [](float a, float b, float) { return exact_product(a, b); },
   [](float a, float b, float, RoundingMode mode) { return multiply_rounded(a, b, mode); }, true},
  {"fma", "w=www", exact_fma, fma_rounded, true},
  {"mad", "w=www", exact_fma, fma_rounded, true},
  {"div", "w=ww", [](float a, float b, float) { return exact_quotient(a, b); },
   [](float a, float b, float, RoundingMode mode) { return divide_rounded(a, b, mode); }, false},
  {"rcp", "w=w", [](float a, float, float) { return exact_quotient(1, a); },
   [](float a, float, float, RoundingMode mode) { return divide_rounded(1, a, mode); }, false},
  {"sqrt", "w=w", [](float a, float, float) { return exact_root(a); },
   [](float a, float, float, RoundingMode mode) { return sqrt_rounded(a, mode); }, false},
};
// clang-format on

// Inst::flags: these, and the rounding mode above them.
constexpr u32 kFtz = 1, kSat = 2;
constexpr int kModeShift = 2;

Rounding rounding_of(RoundingMode mode) {
  switch (mode) {
    case RoundingMode::rz:
      return Rounding::toward_zero;
    case RoundingMode::rm:
      return Rounding::down;
    case RoundingMode::rp:
      return Rounding::up;
    default:
      return Rounding::nearest_even;
  }
}

void run_randomly(Warp& warp, const Inst& inst, u32 mask) {
  const Operation& operation = kOperations[inst.immediate];
  const bool ftz = (inst.flags & kFtz) != 0;
  const auto mode = static_cast<RoundingMode>(inst.flags >> kModeShift);
  const auto d = lanes<u32>(warp, inst.d), a = lanes<u32>(warp, inst.a),
             b = lanes<u32>(warp, inst.b), c = lanes<u32>(warp, inst.c);
  const auto flushed = [ftz](u32 bits) { return ftz ? flush(bits) : bits; };
  each_lane_randomly(warp, mask, [&](int lane, Random& random) {
    const float x = as_float(flushed(a[lane])), y = as_float(flushed(b[lane])),
                z = as_float(flushed(c[lane]));
    u32 bits = canonical(as_bits(operation.rounded(x, y, z, mode)));
    bits = to_f32_randomly(bits, operation.exact(x, y, z), rounding_of(mode), random);
    bits = flushed(bits);
    d.set(lane, (inst.flags & kSat) != 0 ? saturate(bits) : bits);
  });
}

}  // namespace

void decode_random_single(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                          bool ftz, Inst& out) {
  for (const Operation& operation : kOperations) {
    if (operation.opcode != instruction.opcode) continue;
    const auto mode = static_cast<u32>(modifiers.take_rounding());
    const bool sat = operation.has_saturation && modifiers.take("sat");
    place_operands(operation.shape, decoder, instruction, out);
    out.flags = (ftz ? kFtz : 0) | (sat ? kSat : 0) | mode << kModeShift;
    out.immediate = &operation - kOperations;
    out.execute = run_randomly;
    return;
  }
  decoder.refuse("no such f32 operation");
}

}  // namespace plumbline::emulator
