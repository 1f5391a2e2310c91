// SPDX-License-Identifier: MIT
// Certified: a double and a bound on its distance from the exact value, carried through every
// operation. A definition written over a number type gives, over this one, a fast value whose error
// is known; an unbounded error says that double was not enough.
//
// The bounds are themselves computed in double; kInflate takes in what that rounds.
#pragma once

#include <cmath>
#include <limits>

namespace plumbline {

struct Certified {
  double value = 0;
  double error = 0;

  Certified() = default;

  Certified(double exact) : value(exact) {}  // NOLINT: a number like others

  Certified(double approximate, double bound) : value(approximate), error(bound) {}
};

namespace certified {

inline constexpr double kUnit = 0x1p-53, kTiny = 0x1p-1074, kInflate = 1 + 0x1p-48;

inline Certified make(double value, double error) {
  return {value, (error + std::fabs(value) * kUnit + kTiny) * kInflate};
}

}  // namespace certified

inline Certified operator-(const Certified& a) { return {-a.value, a.error}; }

inline Certified operator+(const Certified& a, const Certified& b) {
  const double sum = a.value + b.value;
  const double b_part = sum - a.value;  // two_sum: nothing is added where nothing was rounded
  const bool exact = (a.value - (sum - b_part)) + (b.value - b_part) == 0;
  if (exact) return {sum, (a.error + b.error) * certified::kInflate};
  return certified::make(sum, a.error + b.error);
}

inline Certified operator-(const Certified& a, const Certified& b) { return a + -b; }

inline Certified operator*(const Certified& a, const Certified& b) {
  const double error =
      std::fabs(a.value) * b.error + std::fabs(b.value) * a.error + a.error * b.error;
  return certified::make(a.value * b.value, error);
}

inline Certified operator/(const Certified& a, const Certified& b) {
  const double quotient = a.value / b.value;
  const double least = std::fabs(b.value) - b.error;  // the divisor is no smaller
  if (!(least > 0)) return {quotient, std::numeric_limits<double>::infinity()};
  return certified::make(quotient, (a.error + std::fabs(quotient) * b.error) / least);
}

inline Certified& operator+=(Certified& a, const Certified& b) { return a = a + b; }

inline bool operator>(const Certified& a, const Certified& b) { return a.value > b.value; }

inline Certified sqrt(const Certified& a) {
  const double root = std::sqrt(a.value), least = std::sqrt(std::fmax(a.value - a.error, 0.0));
  if (a.error == 0) return certified::make(root, 0);
  return certified::make(root, root + least > 0 ? a.error / (root + least) : std::sqrt(a.error));
}

// The library's exp is off by less than 2^-51 of its value.
inline Certified exp(const Certified& a) {
  const double value = std::exp(a.value);
  return certified::make(value, value * (std::expm1(a.error) + 0x1p-51));
}

}  // namespace plumbline
