// SPDX-License-Identifier: MIT
// Dyadic: an exact number integer * 2^exponent of any size. Sums and products are exact; rounding
// happens only in oracles/formats/encode. Used for undecided elements and referee comparisons, so
// it favors clarity over speed.
#pragma once

#include <cstdint>
#include <string>

#include <boost/multiprecision/cpp_int.hpp>

#include "oracles/formats/encode.h"

namespace plumbline {

class Dyadic {
 public:
  Dyadic() = default;  // zero
  explicit Dyadic(double finite_value);
  Dyadic(boost::multiprecision::cpp_int integer, int exponent);

  Dyadic operator+(const Dyadic& other) const;
  Dyadic operator-(const Dyadic& other) const;
  Dyadic operator*(const Dyadic& other) const;
  Dyadic operator-() const;

  int compare(const Dyadic& other) const;  // <0, 0, >0

  bool operator==(const Dyadic& other) const { return compare(other) == 0; }

  bool operator<(const Dyadic& other) const { return compare(other) < 0; }

  bool is_zero() const { return integer_ == 0; }

  bool negative() const { return integer_ < 0; }

  Dyadic abs() const;

  int floor_log2() const;         // of the magnitude; not for zero
  Unrounded unrounded() const;    // for encode(); a zero is +0
  double nearest_double() const;  // round to nearest even

  const boost::multiprecision::cpp_int& integer() const { return integer_; }

  int exponent() const { return exponent_; }

 private:
  boost::multiprecision::cpp_int integer_;
  int exponent_ = 0;
};

}  // namespace plumbline
