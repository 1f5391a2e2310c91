// SPDX-License-Identifier: MIT
#include "harness/emulator/decode/convert_exact.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "harness/emulator/instructions/rounding.h"
#include "oracles/base/assert.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"
#include "oracles/formats/format.h"
#include "oracles/formats/random_rounding.h"

namespace plumbline::emulator {
namespace {

const Format& format_of(Type type) {
  switch (type) {
    case Type::f16:
      return format(FormatId::f16);
    case Type::bf16:
      return format(FormatId::bf16);
    case Type::tf32:
      return format(FormatId::tf32);
    case Type::f32:
      return format(FormatId::f32);
    case Type::f64:
      return format(FormatId::f64);
    case Type::e4m3:
      return format(FormatId::e4m3);
    case Type::e5m2:
      return format(FormatId::e5m2);
    case Type::e2m1:
      return format(FormatId::e2m1);
    case Type::e2m3:
      return format(FormatId::e2m3);
    case Type::e3m2:
      return format(FormatId::e3m2);
    case Type::ue8m0:
      return format(FormatId::ue8m0);
    default:
      PLUMB_ASSERT(!"not a float type");
  }
}

std::int64_t sign_extend(std::uint64_t bits, int width) {
  return static_cast<std::int64_t>(bits << (64 - width)) >> (64 - width);
}

std::uint64_t low(std::uint64_t bits, int width) {
  return width == 64 ? bits : bits & ((std::uint64_t{1} << width) - 1);
}

double integral(double value, ConvertRounding rounding) {
  switch (rounding) {
    case ConvertRounding::rni:
      return std::nearbyint(value);
    case ConvertRounding::rmi:
      return std::floor(value);
    case ConvertRounding::rpi:
      return std::ceil(value);
    default:
      return std::trunc(value);
  }
}

// NaN gives 0, but the smallest value (the top bit, unsigned) where f64 or 64-bit integers are
// involved: PTX ISA 9.0 section 9.7.9.21.
std::uint64_t float_to_integer(const Conversion& how, double value) {
  const int width = bits(how.to);
  if (std::isnan(value)) {
    const bool zero = how.from != Type::f64 && width != 64;
    return zero ? 0
                : (is_signed(how.to) ? static_cast<std::uint64_t>(
                                           sign_extend(std::uint64_t{1} << (width - 1), width))
                                     : std::uint64_t{1} << (width - 1));
  }
  const double whole = integral(value, how.rounding);
  if (is_signed(how.to)) {
    const double limit = std::ldexp(1.0, width - 1);
    if (whole >= limit)
      return static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max() >> (64 - width));
    if (whole < -limit)
      return static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::min() >> (64 - width));
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(whole));
  }
  if (whole <= 0) return 0;
  if (whole >= std::ldexp(1.0, width)) return ~std::uint64_t{0} >> (64 - width);
  return static_cast<std::uint64_t>(whole);
}

// Only `.sat` saturates; without it the low bits are taken.
std::uint64_t integer_to_integer(const Conversion& how, std::uint64_t source) {
  const int width = bits(how.to);
  if (!how.sat) {
    return is_signed(how.to) ? static_cast<std::uint64_t>(sign_extend(low(source, width), width))
                             : low(source, width);
  }
  const bool negative = is_signed(how.from) && static_cast<std::int64_t>(source) < 0;
  if (!is_signed(how.to)) return negative ? 0 : std::min(source, ~std::uint64_t{0} >> (64 - width));
  const std::uint64_t highest = ~std::uint64_t{0} >> (65 - width);
  if (!negative) return std::min(source, highest);
  return static_cast<std::uint64_t>(
      std::max(static_cast<std::int64_t>(source), -static_cast<std::int64_t>(highest) - 1));
}

EncodeOptions encode_options(const Conversion& how) {
  EncodeOptions options;
  switch (how.rounding) {
    case ConvertRounding::rz:
      options.rounding = Rounding::toward_zero;
      break;
    case ConvertRounding::rm:
      options.rounding = Rounding::down;
      break;
    case ConvertRounding::rp:
      options.rounding = Rounding::up;
      break;
    case ConvertRounding::rna:
      options.rounding = Rounding::nearest_away;
      break;
    default:
      break;
  }
  if (how.satfinite) options.overflow = Overflow::saturate;
  return options;
}

// The code that a value has in the destination format, its rounding moved where there are random
// bits to do it.
std::uint64_t moved(const Conversion& how, std::uint64_t usual, double value, Random* random) {
  if (random == nullptr || how.to == Type::f64) return usual;
  return encode_randomly(format_of(how.to), usual, value, 0, encode_options(how).rounding,
                         random->unit());
}

std::uint64_t integer_to_float(const Conversion& how, std::uint64_t source, Random* random) {
  Unrounded exact;
  bool negative = is_signed(how.from) && static_cast<std::int64_t>(source) < 0;
  if (how.sat) {
    source = negative ? 0 : std::min<std::uint64_t>(source, 1);
    negative = false;
  }
  exact.value.negative = negative;
  exact.value.significand = negative ? 0 - source : source;
  exact.value.cls = source == 0 ? ValueClass::zero : ValueClass::finite;
  const std::uint64_t usual = encode(format_of(how.to), exact, encode_options(how));
  const auto magnitude = static_cast<double>(exact.value.significand);  // 64-bit integers: nearly
  return moved(how, usual, negative ? -magnitude : magnitude, random);
}

std::uint64_t float_to_float(const Conversion& how, double value, Random* random) {
  if (how.rounding >= ConvertRounding::rni)
    value = std::copysign(integral(value, how.rounding), value);
  if (how.sat) {
    value = std::isnan(value) ? 0.0 : std::clamp(value, 0.0, 1.0);
    if (value == 0) value = 0.0;  // not -0
  }
  if (how.relu && !std::isnan(value) && std::signbit(value)) value = 0.0;
  std::uint64_t result = encode(format_of(how.to), value, encode_options(how));
  result = moved(how, result, value, random);
  if (how.ftz && how.to == Type::f32) result = flush(static_cast<std::uint32_t>(result));
  return result;
}

std::uint64_t converted(const Conversion& how, std::uint64_t bits_in, Random* random) {
  if (!is_float(how.from)) {
    const int width = bits(how.from);
    const std::uint64_t source =
        is_signed(how.from) ? static_cast<std::uint64_t>(sign_extend(low(bits_in, width), width))
                            : low(bits_in, width);
    return is_float(how.to) ? integer_to_float(how, source, random)
                            : integer_to_integer(how, source);
  }
  std::uint64_t source = low(bits_in, bits(how.from));
  if (how.ftz && how.from == Type::f32) source = flush(static_cast<std::uint32_t>(source));
  const double value = to_double(format_of(how.from), source);
  return is_float(how.to) ? float_to_float(how, value, random) : float_to_integer(how, value);
}

}  // namespace

std::uint64_t convert(const Conversion& how, std::uint64_t bits) {
  return converted(how, bits, nullptr);
}

std::uint64_t convert_randomly(const Conversion& how, std::uint64_t bits, Random& random) {
  return converted(how, bits, &random);
}

}  // namespace plumbline::emulator
