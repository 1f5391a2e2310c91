// SPDX-License-Identifier: MIT
#include "harness/emulator/approximate.h"

#include <cmath>

#include "harness/emulator/lanes.h"
#include "harness/emulator/random_arithmetic.h"
#include "harness/emulator/rounding.h"
#include "harness/emulator/rows.h"

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;

struct Ex2 {
  static double value(double x) { return std::exp2(x); }
};
struct Lg2 {
  static double value(double x) { return std::log2(x); }
};
struct Rcp {
  static double value(double x) { return 1.0 / x; }
};
struct Rsqrt {
  static double value(double x) { return 1.0 / std::sqrt(x); }
};
struct Sqrt {
  static double value(double x) { return std::sqrt(x); }
};
struct Sin {
  static double value(double x) { return std::sin(x); }
};
struct Cos {
  static double value(double x) { return std::cos(x); }
};
// To twelve significant bits. PTX promises an error of 2^-11 and chips make use of it: a kernel that needs more than
// this must not pass here.
struct Tanh {
  static double value(double x) {
    int exponent = 0;
    const double fraction = std::frexp(std::tanh(x), &exponent);
    return std::isfinite(fraction) ? std::ldexp(std::nearbyint(fraction * 0x1p12), exponent - 12) : fraction;
  }
};

template <typename Function, bool Ftz>
struct Evaluate {
  static u32 apply(u32 a) {
    const double result = Function::value(as_float(flush_if<Ftz>(a)));
    return flush_if<Ftz>(canonical(as_bits(static_cast<float>(result))));
  }
};

// 2^126 < |b| < 2^128: the hardware's reciprocal is zero (PTX ISA 9.0 section 9.7.3.8).
template <bool Ftz, bool Full>
struct Divide {
  static u32 apply(u32 a, u32 b) {
    const float x = as_float(flush_if<Ftz>(a)), y = as_float(flush_if<Ftz>(b));
    const float magnitude = std::fabs(y);
    if (!Full && magnitude > 0x1p126f && magnitude < std::numeric_limits<float>::infinity()) {
      return canonical(flush_if<Ftz>(as_bits(x * std::copysign(0.0f, y))));
    }
    return canonical(flush_if<Ftz>(as_bits(static_cast<float>(static_cast<double>(x) / static_cast<double>(y)))));
  }
};

template <typename Op>
void one(Warp& warp, const Inst& inst, u32 mask) {
  map1<u32, u32, Op>(warp, inst, mask);
}

template <typename Op>
void two(Warp& warp, const Inst& inst, u32 mask) {
  map2<u32, u32, u32, Op>(warp, inst, mask);
}

// With their one rounding moved at random: within a unit of the last place, so within the table below.
template <typename Function, bool Ftz>
void one_randomly(Warp& warp, const Inst& inst, u32 mask) {
  const auto d = lanes<u32>(warp, inst.d), a = lanes<u32>(warp, inst.a);
  each_lane_randomly(warp, mask, [&](int lane, Random& random) {
    const u32 usual = Evaluate<Function, Ftz>::apply(a[lane]);
    const double exact = Function::value(as_float(flush_if<Ftz>(a[lane])));
    d.set(lane, flush_if<Ftz>(to_f32_randomly(usual, {exact, 0}, Rounding::nearest_even, random)));
  });
}

template <bool Ftz, bool Full>
void divide_randomly(Warp& warp, const Inst& inst, u32 mask) {
  const auto d = lanes<u32>(warp, inst.d), a = lanes<u32>(warp, inst.a), b = lanes<u32>(warp, inst.b);
  each_lane_randomly(warp, mask, [&](int lane, Random& random) {
    const u32 usual = Divide<Ftz, Full>::apply(a[lane], b[lane]);
    const double x = as_float(flush_if<Ftz>(a[lane])), y = as_float(flush_if<Ftz>(b[lane]));
    const bool lost = !Full && std::fabs(y) > 0x1p126;  // not rounded, but dropped
    d.set(lane, lost ? usual : flush_if<Ftz>(to_f32_randomly(usual, {x / y, 0}, Rounding::nearest_even, random)));
  });
}

struct FunctionRow {
  std::string_view opcode;
  Handler keep_subnormals, ftz;
  Handler random, random_ftz;
};

template <typename Function>
constexpr FunctionRow row(std::string_view opcode) {
  return {opcode, one<Evaluate<Function, false>>, one<Evaluate<Function, true>>, one_randomly<Function, false>,
          one_randomly<Function, true>};
}

constexpr FunctionRow kRows[] = {
    row<Ex2>("ex2"),   row<Lg2>("lg2"), row<Rcp>("rcp"), row<Rsqrt>("rsqrt"),
    row<Sqrt>("sqrt"), row<Sin>("sin"), row<Cos>("cos"), {"tanh", one<Evaluate<Tanh, false>>, nullptr, one<Evaluate<Tanh, false>>, nullptr},
};

}  // namespace

void decode_approximate(Decoder& decoder, const Instruction& instruction, Modifiers&, bool ftz, Inst& out) {
  if (instruction.opcode == "div") {
    const bool full = instruction.modifiers.front() == "full";
    place_operands("w=ww", decoder, instruction, out);
    const bool random = decoder.rounds_randomly();
    if (full) {
      out.execute = random ? (ftz ? divide_randomly<true, true> : divide_randomly<false, true>)
                           : (ftz ? two<Divide<true, true>> : two<Divide<false, true>>);
    } else {
      out.execute = random ? (ftz ? divide_randomly<true, false> : divide_randomly<false, false>)
                           : (ftz ? two<Divide<true, false>> : two<Divide<false, false>>);
    }
    return;
  }
  for (const FunctionRow& row : kRows) {
    if (row.opcode != instruction.opcode) continue;
    place_operands("w=w", decoder, instruction, out);
    out.execute = ftz ? row.ftz : row.keep_subnormals;
    if (decoder.rounds_randomly()) out.execute = ftz ? row.random_ftz : row.random;
    if (instruction.opcode == "tanh") decoder.require_sm(75);
    return;
  }
  decoder.refuse("no such approximate function");
}

}  // namespace plumbline::emulator
