// SPDX-License-Identifier: MIT
#include "harness/scan/due.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "oracles/base/assert.h"
#include "oracles/base/numbers.h"
#include "oracles/formats/decode.h"

namespace plumbline {
namespace {

std::int64_t integer_value(const ScalarType& type, std::uint64_t bits) {
  const int unused = 64 - type.integer_bits;
  const std::uint64_t high = bits << unused;
  return type.is_signed ? static_cast<std::int64_t>(high) >> unused
                        : static_cast<std::int64_t>(high >> unused);
}

std::int64_t least_integer(const ScalarType& type) {
  return type.is_signed ? -(std::int64_t{1} << (type.integer_bits - 1)) : 0;
}

std::int64_t largest_integer(const ScalarType& type) {
  return (std::int64_t{1} << (type.integer_bits - (type.is_signed ? 1 : 0))) - 1;
}

double to_integral(double value, Rounding rounding) {
  switch (rounding) {
    case Rounding::up:
      return std::ceil(value);
    case Rounding::down:
      return std::floor(value);
    case Rounding::toward_zero:
      return std::trunc(value);
    default:
      return std::nearbyint(value);
  }
}

// The magnitude of a code without sign. Past the largest finite one it goes on as if there were
// more of them.
double magnitude_of(const Format& to, std::uint64_t code) {
  const std::uint64_t last = to.max_finite() >> to.padding_bits;
  if (code <= last) return to_double(to, code << to.padding_bits);
  const double top = to_double(to, last << to.padding_bits);
  return top + (top - to_double(to, (last - 1) << to.padding_bits));
}

}  // namespace

double operand_value(const ScanInstruction& instruction, std::uint64_t bits) {
  const ScalarType& from = instruction.from;
  if (from.is_integer()) return static_cast<double>(integer_value(from, bits));
  const Format& format = plumbline::format(from.format);
  const double value =
      from.format == FormatId::f32
          ? static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)))
          : to_double(format, bits);
  const bool is_zero =
      instruction.flushes(from.format) && std::fabs(value) < std::ldexp(1.0, format.emin());
  return is_zero ? std::copysign(0.0, value) : value;
}

double due_value(const ScanInstruction& instruction, double a, double b) {
  switch (instruction.function) {
    case ScanFunction::identity: {
      double value = a;
      if (instruction.to_integral && !std::isnan(a))
        value = std::copysign(to_integral(a, instruction.rounding), a);
      if (instruction.sat) value = std::isnan(value) || value <= 0 ? 0.0 : std::min(value, 1.0);
      if (!instruction.to.is_integer() && !format(instruction.to.format).has_sign)
        return std::fabs(value);  // ue8m0
      return instruction.relu && std::signbit(value) && !std::isnan(value) ? 0.0 : value;
    }
    case ScanFunction::ex2:
      return std::exp2(a);
    case ScanFunction::lg2:
      return std::log2(a);
    case ScanFunction::rcp:
      return 1 / a;
    case ScanFunction::rsqrt:
      return 1 / std::sqrt(a);
    case ScanFunction::sqrt:
      return std::sqrt(a);
    case ScanFunction::sin:
      return std::sin(a);
    case ScanFunction::cos:
      return std::cos(a);
    case ScanFunction::tanh:
      return std::tanh(a);
    case ScanFunction::div: {
      // The reciprocal of such a divisor is 0 (PTX ISA, div.approx).
      const bool lost =
          instruction.approximate && !instruction.full && std::fabs(b) > 0x1p126 && !std::isinf(b);
      return lost ? a * std::copysign(0.0, b) : a / b;
    }
  }
  return 0;
}

ScanReal due_real(const ScanInstruction& instruction, double a, double b) {
  const ScanReal x(a), one(1);
  const auto log_of_two = [] { return log(ScanReal(2)); };
  switch (instruction.function) {
    case ScanFunction::identity:
      return ScanReal(due_value(instruction, a, b));
    case ScanFunction::ex2:
      return exp(x * log_of_two());
    case ScanFunction::lg2:
      return log(x) / log_of_two();
    case ScanFunction::rcp:
      return one / x;
    case ScanFunction::rsqrt:
      return one / sqrt(x);
    case ScanFunction::sqrt:
      return sqrt(x);
    case ScanFunction::sin:
      return sin(x);
    case ScanFunction::cos:
      return cos(x);
    case ScanFunction::tanh:
      return tanh(x);
    case ScanFunction::div:
      return x / ScanReal(b);
  }
  return x;
}

std::uint64_t due_integer(const ScanInstruction& instruction, std::uint64_t bits) {
  const ScalarType &to = instruction.to, &from = instruction.from;
  const std::int64_t least = least_integer(to), largest = largest_integer(to);
  std::int64_t due;
  if (from.is_integer()) {
    due = integer_value(from, bits);
    due = instruction.keeps_low_bits() ? integer_value(to, static_cast<std::uint64_t>(due))
                                       : std::clamp(due, least, largest);
  } else {
    const double value = operand_value(instruction, bits);
    const double whole = std::isnan(value) ? 0 : to_integral(value, instruction.rounding);
    due = static_cast<std::int64_t>(
        std::clamp(whole, static_cast<double>(least), static_cast<double>(largest)));
  }
  // Registers of 16 bits hold what has 16; all others are of 32.
  const std::uint64_t mask = to.integer_bits == 16 ? 0xffff : 0xffffffff;
  return static_cast<std::uint64_t>(due) & mask;
}

RoundingInterval rounds_to(const ScanInstruction& instruction, std::uint64_t code, bool negative) {
  const Format& to = format(instruction.to.format);
  const std::uint64_t last = to.max_finite() >> to.padding_bits;
  const double here = magnitude_of(to, code);
  const double above = magnitude_of(to, code + 1),
               below = code > 0 ? magnitude_of(to, code - 1) : 0;
  Rounding rounding = instruction.rounding;
  if (rounding == Rounding::up || rounding == Rounding::down) {
    const bool away = (rounding == Rounding::up) != negative;
    if (!away) rounding = Rounding::toward_zero;
  }
  RoundingInterval out;
  switch (rounding) {
    case Rounding::toward_zero:
      out = {here, above, true, false};
      break;
    case Rounding::up:
    case Rounding::down:
      out = {below, here, false, true};
      break;
    default: {
      const bool even = code % 2 == 0, away = rounding == Rounding::nearest_away;
      out = {(below + here) / 2, (here + above) / 2, away || even, !away && even};
    }
  }
  if (code == 0) out.low = 0, out.has_low = true;
  // What is too large stays the largest number with satfinite and where it is rounded toward zero.
  if (code == last && (instruction.satfinite || rounding == Rounding::toward_zero))
    out.high = kInfinity, out.has_high = true;
  if (code > last) {                                   // infinity
    if (instruction.satfinite) return {kInfinity, 0};  // nothing becomes it
    if (rounding == Rounding::toward_zero) return {kInfinity, kInfinity, true, true};
    out.high = kInfinity, out.has_high = true;
  }
  return out;
}

}  // namespace plumbline
