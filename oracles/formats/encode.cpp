// SPDX-License-Identifier: MIT
// encode() rounds once, from a 64-bit significand and a sticky bit: split the value at the last bit
// the format keeps, decide from what was cut off whether to step up in magnitude, assemble the
// code, look for overflow. The assembled code of a float counts up through subnormals, normals and
// past the largest finite number, so a carry out of the significand needs no care and overflow is
// one comparison.
#include "oracles/formats/encode.h"

#include <algorithm>
#include <bit>

#include "oracles/base/assert.h"

namespace plumbline {
namespace {

constexpr std::uint64_t kOne = 1;
constexpr std::uint64_t kHalf = kOne << 63;

// |x| / 2^last = whole + fraction / 2^64, plus a non-zero rest below that when tail is set.
struct Split {
  std::uint64_t whole = 0;
  std::uint64_t fraction = 0;
  bool tail = false;
};

Split split_at(const Unrounded& unrounded, int last) {
  const std::uint64_t significand = unrounded.value.significand;
  if (significand == 0) return {0, 0, unrounded.sticky};
  const int shift = last - unrounded.value.exponent;
  if (shift <= 0) {
    PLUMB_ASSERT(!unrounded.sticky);
    return {significand << -shift, 0, false};
  }
  if (shift < 64) return {significand >> shift, significand << (64 - shift), unrounded.sticky};
  if (shift == 64) return {0, significand, unrounded.sticky};
  if (shift >= 128) return {0, 0, true};
  const int below = shift - 64;
  const bool lost = (significand & ((kOne << below) - 1)) != 0;
  return {0, significand >> below, unrounded.sticky || lost};
}

bool steps_up(const Split& split, bool negative, const EncodeOptions& options) {
  const bool inexact = split.fraction != 0 || split.tail;
  switch (options.rounding) {
    case Rounding::nearest_even: {
      const bool odd = (split.whole & 1) != 0;
      return split.fraction > kHalf || (split.fraction == kHalf && (split.tail || odd));
    }
    case Rounding::nearest_away:
      return split.fraction >= kHalf;
    case Rounding::toward_zero:
      return false;
    case Rounding::up:
      return inexact && !negative;
    case Rounding::down:
      return inexact && negative;
    case Rounding::stochastic:
      return options.random_bits < split.fraction;
  }
  return false;
}

std::uint64_t with_sign(const Format& format, std::uint64_t stored, bool negative) {
  const int sign_position = format.exponent_bits + format.mantissa_bits + format.padding_bits;
  return negative && format.has_sign ? stored | (kOne << sign_position) : stored;
}

std::uint64_t infinity(const Format& format, bool negative, const EncodeOptions& options) {
  if (options.overflow == Overflow::saturate || !format.has_nan()) {
    return with_sign(format, format.max_finite(), negative);
  }
  if (!format.has_infinity()) return format.canonical_nan;
  return with_sign(format, format.max_finite() + (kOne << format.padding_bits), negative);
}

// A finite value that rounds to a magnitude above the largest finite one. IEEE 754-2019 7.4.
std::uint64_t overflowed(const Format& format, bool negative, const EncodeOptions& options) {
  const bool stops_at_finite = options.rounding == Rounding::toward_zero ||
                               (options.rounding == Rounding::up && negative) ||
                               (options.rounding == Rounding::down && !negative);
  if (stops_at_finite) return with_sign(format, format.max_finite(), negative);
  return infinity(format, negative, options);
}

// The exponent of the leading bit of a non-zero value.
int leading_exponent(const Decoded& value) {
  return 63 - std::countl_zero(value.significand) + value.exponent;
}

std::uint64_t storage_mask(const Format& format) {
  return ~std::uint64_t{0} >> (64 - format.storage_bits);
}

std::uint64_t encode_integer(const Format& format, const Unrounded& unrounded,
                             const EncodeOptions& options) {
  const bool negative = unrounded.value.negative;
  std::uint64_t limit = (kOne << format.mantissa_bits) - 1;
  if (negative) limit = format.has_sign ? limit + 1 : 0;

  std::uint64_t magnitude = limit;
  const bool huge = unrounded.value.cls == ValueClass::infinite ||
                    (unrounded.value.significand != 0 && leading_exponent(unrounded.value) >= 63);
  if (!huge) {
    const Split split = split_at(unrounded, 0);
    magnitude = std::min(limit, split.whole + (steps_up(split, negative, options) ? 1 : 0));
  }
  return (negative ? 0 - magnitude : magnitude) & storage_mask(format);
}

// ue8m0: the only codes are powers of two, so the significand is 1, or 2 once carried. It is odd
// before the step: a tie to even always goes up.
std::uint64_t encode_scale(const Format& format, const Unrounded& unrounded,
                           const EncodeOptions& options) {
  if (unrounded.value.significand == 0) return 0;
  const int exponent = leading_exponent(unrounded.value);
  if (exponent < format.emin()) return 0;
  if (exponent > format.emax()) return overflowed(format, false, options);
  const Split split = split_at(unrounded, exponent);
  const bool up = steps_up(split, false, options);
  const std::uint64_t code = static_cast<std::uint64_t>(exponent - format.emin()) + (up ? 1 : 0);
  return code > format.max_finite() ? overflowed(format, false, options) : code;
}

std::uint64_t encode_float(const Format& format, const Unrounded& unrounded,
                           const EncodeOptions& options) {
  const bool negative = unrounded.value.negative;
  int exponent = format.emin();
  if (unrounded.value.significand != 0)
    exponent = std::max(exponent, leading_exponent(unrounded.value));
  if (exponent > format.emax()) return overflowed(format, negative, options);

  const Split split = split_at(unrounded, exponent - format.mantissa_bits);
  const std::uint64_t significand = split.whole + (steps_up(split, negative, options) ? 1 : 0);
  const auto binade = static_cast<std::uint64_t>(exponent - format.emin());
  const std::uint64_t code = ((binade << format.mantissa_bits) + significand)
                             << format.padding_bits;
  if (code > format.max_finite()) return overflowed(format, negative, options);
  return with_sign(format, code, negative);
}

// Round to nearest even from a double to any float format of at most 24 significant bits, the case
// that dominates. Normal results: add just under half of the last kept bit to the double's own bits
// and cut. Subnormal results: adding a power of two whose last bit is the format's smallest number
// makes the machine's addition do the rounding.
std::uint64_t encode_nearest_even(const Format& format, double value, Overflow overflow) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t magnitude = bits & ~kHalf;
  const bool negative = (bits & kHalf) != 0;
  constexpr std::uint64_t kInfinity = std::uint64_t{0x7ff} << 52;
  if (magnitude > kInfinity) return format.canonical_nan;

  const auto emin_field = static_cast<std::uint64_t>(format.emin() + 1023);
  std::uint64_t code;
  if (magnitude >= emin_field << 52) {
    const int cut = 52 - format.mantissa_bits;
    const std::uint64_t odd = (magnitude >> cut) & 1;
    const std::uint64_t rounded = (magnitude + (kOne << (cut - 1)) - 1 + odd) >> cut;
    code = rounded - ((emin_field - 1) << format.mantissa_bits);
  } else {
    const std::uint64_t anchor =
        (emin_field + static_cast<std::uint64_t>(52 - format.mantissa_bits)) << 52;
    code = std::bit_cast<std::uint64_t>(std::bit_cast<double>(magnitude) +
                                        std::bit_cast<double>(anchor)) -
           anchor;
  }
  code <<= format.padding_bits;
  if (code > format.max_finite()) [[unlikely]]
    return infinity(format, negative, {.overflow = overflow});
  return code |
         (static_cast<std::uint64_t>(negative) << (format.code_bits() - 1 + format.padding_bits));
}

bool finite_code(const Format& format, std::uint64_t bits, Decoded& decoded) {
  decoded = decode(format, bits);
  return decoded.cls == ValueClass::zero || decoded.cls == ValueClass::finite;
}

// One step in value order; toward +infinity when upward.
bool next(const Format& format, std::uint64_t bits, bool upward, std::uint64_t& out) {
  Decoded decoded;
  if (!finite_code(format, bits, decoded)) return false;
  if (format.is_integer) {
    const std::uint64_t lowest = format.has_sign ? format.max_finite() + 1 : 0;
    if (bits == (upward ? format.max_finite() : lowest)) return false;
    out = (upward ? bits + 1 : bits - 1) & storage_mask(format);
    return true;
  }
  const int magnitude_bits = format.exponent_bits + format.mantissa_bits;
  const std::uint64_t code = (bits >> format.padding_bits) & ((kOne << magnitude_bits) - 1);
  bool negative = decoded.negative;
  std::uint64_t neighbor;
  if (decoded.cls == ValueClass::zero) {
    negative = !upward;
    neighbor = 1;
  } else if (upward != negative) {
    neighbor = code + 1;
    if (neighbor > format.max_finite() >> format.padding_bits) return false;
  } else {
    if (code == 0) return false;  // ue8m0 ends at 2^-127
    neighbor = code - 1;
  }
  out = with_sign(format, neighbor << format.padding_bits, negative);
  return true;
}

}  // namespace

std::uint64_t encode(const Format& format, const Unrounded& value, const EncodeOptions& options) {
  const ValueClass cls = value.value.cls;
  if (cls == ValueClass::nan) return format.canonical_nan;
  if (format.is_integer) return encode_integer(format, value, options);
  if (cls == ValueClass::infinite) return infinity(format, value.value.negative, options);
  if (format.specials == Specials::scale_nan) return encode_scale(format, value, options);
  return encode_float(format, value, options);
}

std::uint64_t encode(const Format& format, double value, const EncodeOptions& options) {
  const bool is_float = !format.is_integer && format.specials != Specials::scale_nan;
  if (options.rounding == Rounding::nearest_even && is_float && format.precision() <= 24) {
    return encode_nearest_even(format, value, options.overflow);
  }
  static const Format& f64 = plumbline::format(FormatId::f64);
  return encode(format, Unrounded{decode(f64, std::bit_cast<std::uint64_t>(value)), false},
                options);
}

bool next_up(const Format& format, std::uint64_t bits, std::uint64_t& out) {
  return next(format, bits, true, out);
}

bool next_down(const Format& format, std::uint64_t bits, std::uint64_t& out) {
  return next(format, bits, false, out);
}

}  // namespace plumbline
