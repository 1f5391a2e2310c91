// SPDX-License-Identifier: MIT
#include "harness/emulator/instructions/approximate.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "harness/emulator/decode/rows.h"
#include "harness/emulator/instructions/random_arithmetic.h"
#include "harness/emulator/instructions/rounding.h"
#include "harness/emulator/machine/cta.h"
#include "harness/emulator/machine/lanes.h"
#include "oracles/base/random.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"
#include "oracles/formats/format.h"
#include "oracles/formats/random_rounding.h"

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

// What a result is known to be: its magnitude over 2^scale, anywhere in [low, high].
struct Known {
  double value = 0;          // not rounded
  double low = 0, high = 0;  // equal: exact
  int scale = 0;
  bool negative = false;
  u64 key = 0;  // what the choice depends on: operands without the powers of two they scale by
};

// Results stay this far within what is documented: values here are off by 2^-50 or so.
constexpr double kWithin = 1 - 0x1p-30;

Known within(double value, double error, int scale, u64 key) {
  return {value, std::max(0.0, value - error * kWithin), value + error * kWithin, scale, false,
          key};
}

Known exactly(double value, int scale) { return {value, value, value, scale}; }

// Of the f32 in whose binade a magnitude lies.
double ulp(double magnitude) { return std::ldexp(1.0, std::ilogb(magnitude) - 23); }

// What an H100 gives stays within the binade of the exact result (docs/emulator.md).
Known clamped(Known known, double least, double most) {
  known.low = std::max(known.low, least);
  known.high = std::min(known.high, most);
  return known;
}

// m and e with x = m 4^e, m in [1, 4), for a positive x.
struct FourthPower {
  double m;
  int e;
};

FourthPower split_by_four(double x) {
  const int exponent = std::ilogb(x);
  const int even = exponent - (exponent & 1);
  return {std::ldexp(x, -even), even / 2};
}

u64 fraction_key(double x) { return __builtin_bit_cast(u64, x) & 0x000fffffffffffff; }

// Of each function: its value; whether an operand's result is a special case, or exact, so that
// `value` rounded is what the instruction gives; and what is known of all others.
// Exact is what PTX's tables of special values list, and what the interpolation of every chip that
// has been dumped gives (docs/emulator.md): 2^n, 1 / 2^n, roots of 4^n, log2 1.
struct Ex2 {
  static double value(double x) { return std::exp2(x); }

  static bool special(double x) { return !(x > -151 && x < 128); }

  static Known known(double x) {
    const double whole = std::floor(x), fraction = x - whole;
    const int scale = static_cast<int>(whole);
    if (fraction == 0) return exactly(1, scale);
    const double y = std::exp2(fraction);
    // 2 ulp from the correctly rounded result. Not by the fraction alone: an H100 has other results
    // for some negative numbers of the same fraction.
    return clamped(within(y, 2.5 * 0x1p-23, scale, __builtin_bit_cast(u64, x)), 1, 2);
  }
};

struct Lg2 {
  static double value(double x) { return std::log2(x); }

  static bool special(double x) { return !(x > 0) || std::isinf(x) || x == 1; }

  static Known known(double x) {
    const double y = std::log2(x), magnitude = std::fabs(y);
    Known out = within(magnitude, x > 0.5 && x < 2 ? 0x1p-22 : magnitude * 0x1p-22, 0,
                       __builtin_bit_cast(u64, x));
    out.negative = y < 0;
    return out;
  }
};

struct Rcp {
  static double value(double x) { return 1.0 / x; }

  static bool special(double x) { return !(std::fabs(x) > 0) || std::isinf(x); }

  static Known known(double x) {
    const int exponent = std::ilogb(x);
    const double m = std::ldexp(std::fabs(x), -exponent);
    Known out = m == 1 ? exactly(1, -exponent)
                       : clamped(within(1 / m, ulp(1 / m), -exponent, fraction_key(m)), 0.5, 1);
    out.negative = x < 0;
    return out;
  }
};

struct Rsqrt {
  static double value(double x) { return 1.0 / std::sqrt(x); }

  static bool special(double x) { return !(x > 0) || std::isinf(x); }

  static Known known(double x) {
    const auto [m, e] = split_by_four(x);
    if (m == 1) return exactly(1, -e);
    const double y = 1 / std::sqrt(m);
    return clamped(within(y, y * 0x1.125p-23, -e, __builtin_bit_cast(u64, m)), 0.5, 1);  // 2^-22.9
  }
};

struct Sqrt {
  static double value(double x) { return std::sqrt(x); }

  static bool special(double x) { return !(x > 0) || std::isinf(x); }

  static Known known(double x) {
    const auto [m, e] = split_by_four(x);
    if (m == 1) return exactly(1, e);
    const double y = std::sqrt(m);
    return clamped(within(y, y * 0x1p-23, e, __builtin_bit_cast(u64, m)), 1, 2);
  }
};

// PTX promises nothing beyond 100 pi; what it promises up to there is used.
Known wave(double x, double y, double near) {
  constexpr double kTwoPi = 6.283185307179586;
  const double error = std::fabs(x) <= kTwoPi ? near : 0x1.3ap-15;  // 2^-14.7
  Known out = clamped(
      within(std::fabs(y), error, 0, fraction_key(x) ^ static_cast<u64>(std::ilogb(x))), 0, 1);
  out.negative = y < 0;
  return out;
}

struct Sin {
  static double value(double x) { return std::sin(x); }

  static bool special(double x) { return !(std::fabs(x) > 0) || std::isinf(x); }

  static Known known(double x) { return wave(x, std::sin(x), 0x1.6ap-21); }  // 2^-20.5
};

struct Cos {
  static double value(double x) { return std::cos(x); }

  static bool special(double x) { return !(std::fabs(x) > 0) || std::isinf(x); }

  // 2^-20.4: PTX documents 2^-20.5, and an H100 was seen to be off by 2^-20.43 at -4.9.
  static Known known(double x) { return wave(x, std::cos(x), 0x1.84p-21); }
};

// PTX promises an error of 2^-11. An H100 is off by 2^-16 at most, but a kernel that needs more
// than is promised must not pass here.
struct Tanh {
  static double value(double x) { return std::tanh(x); }

  static bool special(double x) { return !(std::fabs(x) >= 0x1p-126) || std::isinf(x); }

  static Known known(double x) {
    const double y = std::tanh(std::fabs(x));
    Known out = clamped(within(y, y * 0x1p-11, 0, __builtin_bit_cast(u64, std::fabs(x))), 0, 1);
    out.negative = x < 0;
    return out;
  }
};

// The f32 that a launch chooses, as bits without sign.
u32 chosen(const Known& known, const ApproximationErrors& errors, u64 salt) {
  using Direction = ApproximationErrors::Direction;
  const auto bits = [](double x) { return as_bits(static_cast<float>(x)); };
  const auto real = [](u32 x) { return static_cast<double>(as_float(x)); };
  u32 first = bits(known.low), last = bits(known.high);
  first += real(first) < known.low ? 1 : 0;
  last -= real(last) > known.high ? 1 : 0;
  const u32 nearest = bits(known.value);
  if (first >= last) return first > last ? nearest : first;
  if (errors.direction == Direction::largest) return last;
  if (errors.direction == Direction::smallest) return first;
  const u64 draw = mix(errors.seed ^ mix(known.key ^ salt)) >> 32;
  const u32 pick = first + static_cast<u32>(draw * (last - first) >> 32);
  return pick >= nearest ? pick + 1 : pick;  // all but the nearest
}

// --- f16 and bf16: one rounding to the format, off by what is documented for it ---

// PTX ISA 9.0, 9.7.4.10 and 9.7.4.11: ex2 within 2^-9.9 (f16) and 2^-7 (bf16) relative, tanh within
// 2^-10.987 and 2^-8 absolute. An H100's tanh of bf16 was seen to be off by 1.0001 * 2^-8.
struct Ex2Half {
  static constexpr u64 kSalt = 9;

  static double value(double x) { return std::exp2(x); }

  static bool special(double x) { return std::isnan(x) || std::isinf(x) || x == std::floor(x); }

  static double error(double y, FormatId to) {
    return y * (to == FormatId::f16 ? 0x1.125p-10 : 0x1p-7);
  }

  // In the binade of the exact result.
  static double least(double x) { return std::exp2(std::floor(x)); }

  static double most(double x) { return std::exp2(std::ceil(x)); }
};

struct TanhHalf {
  static constexpr u64 kSalt = 10;

  static double value(double x) { return std::tanh(x); }

  static bool special(double x) { return std::isnan(x) || std::isinf(x) || x == 0; }

  static double error(double, FormatId to) {
    return to == FormatId::f16 ? 0x1.025p-11 : 0x1.001p-8;
  }

  static double least(double) { return 0; }

  static double most(double) { return 1; }
};

// The code, without its sign, of one of the format's values in [low, high].
u64 chosen_code(const Format& to, double value, double low, double high, u64 key,
                const ApproximationErrors& errors) {
  using Direction = ApproximationErrors::Direction;
  const u64 nearest = encode(to, value);
  const u64 first = encode(to, low, {.rounding = Rounding::up});
  const u64 last = encode(to, high, {.rounding = Rounding::down});
  if (first >= last) return first > last ? nearest : first;
  if (errors.direction == Direction::largest) return last;
  if (errors.direction == Direction::smallest) return first;
  const u64 draw = mix(errors.seed ^ mix(key)) >> 32;
  const u64 pick = first + (draw * (last - first) >> 32);
  return pick >= nearest ? pick + 1 : pick;
}

template <typename Function>
u64 approximate_code(const Format& to, u64 code, bool ftz, const ApproximationErrors& errors) {
  const u64 sign = u64{1} << 15;
  const auto flushed = [&](u64 bits) {
    return ftz && (bits >> to.mantissa_bits & ((1u << to.exponent_bits) - 1)) == 0 ? bits & sign
                                                                                   : bits;
  };
  const double x = to_double(to, flushed(code)), y = Function::value(x);
  if (std::isnan(y)) return to.canonical_nan;
  u64 result = encode(to, y);
  if (!Function::special(x) && errors.direction != ApproximationErrors::Direction::nearest) {
    const double magnitude = std::fabs(y), error = Function::error(magnitude, to.id) * kWithin;
    const double low = std::max(magnitude - error, Function::least(x));
    const double high = std::min(magnitude + error, Function::most(x));
    const u64 key =
        (flushed(code) & ~sign) | (std::is_same_v<Function, Ex2Half> ? flushed(code) & sign : 0);
    result = chosen_code(to, magnitude, low, high, key ^ Function::kSalt << 32, errors) |
             (y < 0 ? sign : 0);
  }
  return flushed(result);
}

// What an instruction gives for what is known of its result.
u32 result_of(const Known& known, const ApproximationErrors& errors, u64 salt) {
  // An f32 and what scales it are within the range of double: the product is exact.
  const double power = __builtin_bit_cast(double, static_cast<u64>(1023 + known.scale) << 52);
  const auto scaled = [&](double x) { return static_cast<float>(x * power); };
  float magnitude = scaled(static_cast<double>(as_float(chosen(known, errors, salt))));
  if (std::isinf(magnitude) && !std::isinf(scaled(known.value)))
    magnitude = std::numeric_limits<float>::max();
  return as_bits(known.negative ? -magnitude : magnitude);
}

// Rounded once: special cases, and where roundings are moved at random.
template <typename Function, bool Ftz>
u32 rounded_once(u32 a) {
  const double result = Function::value(as_float(flush_if<Ftz>(a)));
  return flush_if<Ftz>(canonical(as_bits(static_cast<float>(result))));
}

// 2^126 < |b| < 2^128: the hardware's reciprocal is zero (PTX ISA 9.0 section 9.7.3.8).
template <bool Ftz, bool Full>
struct Divide {
  static u32 apply(u32 a, u32 b) {
    const float x = as_float(flush_if<Ftz>(a)), y = as_float(flush_if<Ftz>(b));
    const float magnitude = std::fabs(y);
    if (!Full && magnitude > 0x1p126f && magnitude < std::numeric_limits<float>::infinity()) {
      return canonical(flush_if<Ftz>(as_bits(x * std::copysign(0.0f, y))));
    }
    return canonical(flush_if<Ftz>(
        as_bits(static_cast<float>(static_cast<double>(x) / static_cast<double>(y)))));
  }

  static bool special(double x, double y) {
    const double magnitude = std::fabs(y);
    return !(std::fabs(x) > 0) || std::isinf(x) || !(magnitude > 0) || std::isinf(y) ||
           (!Full && magnitude > 0x1p126);
  }

  // The chip multiplies by a reciprocal, which is exact for powers of two. 2 ulp are counted from
  // the correctly rounded quotient: an H100 is off by 2.12 from the exact one.
  static Known known(double x, double y) {
    const int scale = std::ilogb(x) - std::ilogb(y);
    const double a = std::ldexp(std::fabs(x), -std::ilogb(x)),
                 b = std::ldexp(std::fabs(y), -std::ilogb(y));
    const double quotient = a / b;
    const double error = std::min(2.5 * ulp(quotient), 0x1p-22 * quotient);
    Known out = b == 1 ? exactly(a, scale)
                       : within(quotient, error, scale, mix(fraction_key(a)) ^ fraction_key(b));
    out.negative = (x < 0) != (y < 0);
    return out;
  }
};

// Keeps apart what two instructions give for the same operands.
template <typename Function>
constexpr u64 kSalt = 0;
template <>
constexpr u64 kSalt<Lg2> = 1;
template <>
constexpr u64 kSalt<Rcp> = 2;
template <>
constexpr u64 kSalt<Rsqrt> = 3;
template <>
constexpr u64 kSalt<Sqrt> = 4;
template <>
constexpr u64 kSalt<Sin> = 5;
template <>
constexpr u64 kSalt<Cos> = 6;
template <>
constexpr u64 kSalt<Tanh> = 7;
constexpr u64 kDivideSalt = 8;

template <typename Apply>
void each_lane(u32 mask, const Apply& apply) {
  for (u32 left = mask; left != 0; left &= left - 1) apply(std::countr_zero(left));
}

template <typename Function, bool Ftz>
void one(Warp& warp, const Inst& inst, u32 mask) {
  const auto d = lanes<u32>(warp, inst.d), a = lanes<u32>(warp, inst.a);
  const ApproximationErrors& errors = warp.cta().launch().approximation;
  each_lane(mask, [&](int lane) {
    const double x = as_float(flush_if<Ftz>(a[lane]));
    d.set(lane, Function::special(x) || errors.direction == ApproximationErrors::Direction::nearest
                    ? rounded_once<Function, Ftz>(a[lane])
                    : flush_if<Ftz>(result_of(Function::known(x), errors, kSalt<Function>)));
  });
}

template <bool Ftz, bool Full>
void two(Warp& warp, const Inst& inst, u32 mask) {
  using Quotient = Divide<Ftz, Full>;
  const auto d = lanes<u32>(warp, inst.d), a = lanes<u32>(warp, inst.a),
             b = lanes<u32>(warp, inst.b);
  const ApproximationErrors& errors = warp.cta().launch().approximation;
  each_lane(mask, [&](int lane) {
    const double x = as_float(flush_if<Ftz>(a[lane])), y = as_float(flush_if<Ftz>(b[lane]));
    d.set(lane,
          Quotient::special(x, y) || errors.direction == ApproximationErrors::Direction::nearest
              ? Quotient::apply(a[lane], b[lane])
              : flush_if<Ftz>(result_of(Quotient::known(x, y), errors, kDivideSalt)));
  });
}

// With their one rounding moved at random: within a unit of the last place, so within the table
// below.
template <typename Function, bool Ftz>
void one_randomly(Warp& warp, const Inst& inst, u32 mask) {
  const auto d = lanes<u32>(warp, inst.d), a = lanes<u32>(warp, inst.a);
  each_lane_randomly(warp, mask, [&](int lane, Random& random) {
    const u32 usual = rounded_once<Function, Ftz>(a[lane]);
    const double exact = Function::value(as_float(flush_if<Ftz>(a[lane])));
    d.set(lane, flush_if<Ftz>(to_f32_randomly(usual, {exact, 0}, Rounding::nearest_even, random)));
  });
}

template <bool Ftz, bool Full>
void divide_randomly(Warp& warp, const Inst& inst, u32 mask) {
  const auto d = lanes<u32>(warp, inst.d), a = lanes<u32>(warp, inst.a),
             b = lanes<u32>(warp, inst.b);
  each_lane_randomly(warp, mask, [&](int lane, Random& random) {
    const u32 usual = Divide<Ftz, Full>::apply(a[lane], b[lane]);
    const double x = as_float(flush_if<Ftz>(a[lane])), y = as_float(flush_if<Ftz>(b[lane]));
    const bool lost = !Full && std::fabs(y) > 0x1p126;  // not rounded, but dropped
    d.set(lane,
          lost ? usual
               : flush_if<Ftz>(to_f32_randomly(usual, {x / y, 0}, Rounding::nearest_even, random)));
  });
}

// Inst::flags: Ftz; the pair has two of them in 32 bits.
template <typename Function, FormatId Id, bool Pair>
void one_half(Warp& warp, const Inst& inst, u32 mask) {
  const auto d = lanes<u32>(warp, inst.d), a = lanes<u32>(warp, inst.a);
  const ApproximationErrors& errors = warp.cta().launch().approximation;
  const bool ftz = inst.flags != 0;
  each_lane(mask, [&](int lane) {
    const auto half = [&](u32 bits) {
      return static_cast<u32>(approximate_code<Function>(format(Id), bits & 0xffff, ftz, errors));
    };
    d.set(lane, Pair ? half(a[lane]) | half(a[lane] >> 16) << 16 : half(a[lane]));
  });
}

// With their one rounding moved at random.
template <typename Function, FormatId Id, bool Pair>
void one_half_randomly(Warp& warp, const Inst& inst, u32 mask) {
  const auto d = lanes<u32>(warp, inst.d), a = lanes<u32>(warp, inst.a);
  const bool ftz = inst.flags != 0;
  each_lane_randomly(warp, mask, [&](int lane, Random& random) {
    const auto half = [&](u32 bits) {
      const u64 usual = approximate_code<Function>(
          format(Id), bits & 0xffff, ftz, {.direction = ApproximationErrors::Direction::nearest});
      const double exact = Function::value(to_double(format(Id), bits & 0xffff));
      return static_cast<u32>(
          encode_randomly(format(Id), usual, exact, 0, Rounding::nearest_even, random.unit()));
    };
    const u32 low = half(a[lane]);
    d.set(lane, Pair ? low | half(a[lane] >> 16) << 16 : low);
  });
}

struct HalfRow {
  std::string_view form, shape;
  Handler handler, random;
  int sm;
  bool ftz;
};

template <typename Function, FormatId Id, bool Pair>
constexpr HalfRow half_row(std::string_view form, int sm, bool ftz = false) {
  return {form,
          Pair ? "w=w" : "h=h",
          one_half<Function, Id, Pair>,
          one_half_randomly<Function, Id, Pair>,
          sm,
          ftz};
}

// ex2 of bf16 has .ftz always; ex2 and tanh of f16 keep subnormal numbers.
constexpr HalfRow kHalfRows[] = {
    half_row<Ex2Half, FormatId::f16, false>("ex2.approx.f16", 75),
    half_row<Ex2Half, FormatId::f16, true>("ex2.approx.f16x2", 75),
    half_row<Ex2Half, FormatId::bf16, false>("ex2.approx.ftz.bf16", 90, true),
    half_row<Ex2Half, FormatId::bf16, true>("ex2.approx.ftz.bf16x2", 90, true),
    half_row<TanhHalf, FormatId::f16, false>("tanh.approx.f16", 75),
    half_row<TanhHalf, FormatId::f16, true>("tanh.approx.f16x2", 75),
    half_row<TanhHalf, FormatId::bf16, false>("tanh.approx.bf16", 90),
    half_row<TanhHalf, FormatId::bf16, true>("tanh.approx.bf16x2", 90),
};

struct FunctionRow {
  std::string_view opcode;
  Handler keep_subnormals, ftz;
  Handler random, random_ftz;
};

template <typename Function>
constexpr FunctionRow row(std::string_view opcode) {
  return {opcode, one<Function, false>, one<Function, true>, one_randomly<Function, false>,
          one_randomly<Function, true>};
}

constexpr FunctionRow kRows[] = {
    row<Ex2>("ex2"),   row<Lg2>("lg2"),
    row<Rcp>("rcp"),   row<Rsqrt>("rsqrt"),
    row<Sqrt>("sqrt"), row<Sin>("sin"),
    row<Cos>("cos"),   {"tanh", one<Tanh, false>, nullptr, one<Tanh, false>, nullptr},
};

}  // namespace

void decode_approximate(Decoder& decoder, const Instruction& instruction, Modifiers&, bool ftz,
                        Inst& out) {
  if (instruction.opcode == "div") {
    const bool full = instruction.modifiers.front() == "full";
    place_operands("w=ww", decoder, instruction, out);
    const bool random = decoder.rounds_randomly();
    if (full) {
      out.execute = random ? (ftz ? divide_randomly<true, true> : divide_randomly<false, true>)
                           : (ftz ? two<true, true> : two<false, true>);
    } else {
      out.execute = random ? (ftz ? divide_randomly<true, false> : divide_randomly<false, false>)
                           : (ftz ? two<true, false> : two<false, false>);
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

bool decode_approximate_half(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                             Inst& out) {
  const std::string form = spelling(instruction);
  for (const HalfRow& row : kHalfRows) {
    if (row.form != form) continue;
    while (!modifiers.empty()) modifiers.take_first();
    decoder.require_sm(row.sm);
    place_operands(row.shape, decoder, instruction, out);
    out.flags = row.ftz ? 1 : 0;
    out.execute = decoder.rounds_randomly() ? row.random : row.handler;
    return true;
  }
  return false;
}

}  // namespace plumbline::emulator
