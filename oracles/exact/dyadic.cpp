// SPDX-License-Identifier: MIT
// Every Dyadic is kept in lowest terms (an odd integer, or zero with exponent 0), so that sums of
// widely spread numbers do not drag trailing zeros along.
#include "oracles/exact/dyadic.h"

#include <bit>
#include <cmath>
#include <utility>

#include "oracles/base/assert.h"

namespace plumbline {

using boost::multiprecision::cpp_int;

Dyadic::Dyadic(cpp_int integer, int exponent) : integer_(std::move(integer)), exponent_(exponent) {
  if (integer_ == 0) {
    exponent_ = 0;
    return;
  }
  const bool is_negative = integer_ < 0;
  if (is_negative) integer_ = -integer_;  // shifts and bit searches are for magnitudes
  const unsigned zeros = lsb(integer_);
  integer_ >>= zeros;
  exponent_ += static_cast<int>(zeros);
  if (is_negative) integer_ = -integer_;
}

Dyadic::Dyadic(double finite_value) {
  PLUMB_ASSERT(std::isfinite(finite_value));
  if (finite_value == 0) return;
  int exponent = 0;
  const double fraction = std::frexp(finite_value, &exponent);
  *this = Dyadic(cpp_int(static_cast<std::int64_t>(std::ldexp(fraction, 53))), exponent - 53);
}

Dyadic Dyadic::operator+(const Dyadic& other) const {
  if (is_zero()) return other;
  if (other.is_zero()) return *this;
  const Dyadic& coarse = exponent_ >= other.exponent_ ? *this : other;
  const Dyadic& fine = exponent_ >= other.exponent_ ? other : *this;
  cpp_int sum = coarse.integer_;
  sum <<= static_cast<unsigned>(coarse.exponent_ - fine.exponent_);
  sum += fine.integer_;
  return Dyadic(std::move(sum), fine.exponent_);
}

Dyadic Dyadic::operator-(const Dyadic& other) const { return *this + -other; }

Dyadic Dyadic::operator*(const Dyadic& other) const {
  return Dyadic(integer_ * other.integer_, exponent_ + other.exponent_);
}

Dyadic Dyadic::operator-() const {
  Dyadic out = *this;
  out.integer_ = -out.integer_;
  return out;
}

Dyadic Dyadic::abs() const { return negative() ? -*this : *this; }

int Dyadic::compare(const Dyadic& other) const {
  const int sign = integer_.sign();
  if (sign != other.integer_.sign()) return sign < other.integer_.sign() ? -1 : 1;
  if (sign == 0) return 0;
  const int magnitude = floor_log2(), other_magnitude = other.floor_log2();
  if (magnitude != other_magnitude) return magnitude < other_magnitude ? -sign : sign;
  return (*this - other).integer_.sign();
}

int Dyadic::floor_log2() const {
  PLUMB_ASSERT(!is_zero());
  return exponent_ + static_cast<int>(msb(cpp_int(boost::multiprecision::abs(integer_))));
}

Unrounded Dyadic::unrounded() const {
  Unrounded out;
  if (is_zero()) return out;
  cpp_int magnitude = boost::multiprecision::abs(integer_);
  const int excess = static_cast<int>(msb(magnitude)) - 63;
  if (excess > 0) {
    out.sticky = true;  // lowest terms: the bits below are not all zero
    magnitude >>= static_cast<unsigned>(excess);
  }
  out.value.cls = ValueClass::finite;
  out.value.negative = negative();
  out.value.significand = static_cast<std::uint64_t>(magnitude);
  out.value.exponent = exponent_ + (excess > 0 ? excess : 0);
  return out;
}

double Dyadic::nearest_double() const {
  return std::bit_cast<double>(encode(format(FormatId::f64), unrounded()));
}

}  // namespace plumbline
