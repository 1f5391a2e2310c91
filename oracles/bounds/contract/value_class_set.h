// SPDX-License-Identifier: MIT
// ClassSet: which classes an accumulator may end in under the contract. Usually one; several where
// a conforming execution may or may not overflow on the way, and then every one of them is
// admissible.
#pragma once

#include <cstdint>
#include <limits>

#include "oracles/base/numbers.h"

namespace plumbline {

enum class ResultClass : std::uint8_t {
  finite = 1,
  plus_infinity = 2,
  minus_infinity = 4,
  nan = 8
};

class ClassSet {
 public:
  constexpr ClassSet() = default;  // empty

  constexpr ClassSet(ResultClass only) : bits_(static_cast<std::uint8_t>(only)) {}

  constexpr bool has(ResultClass value) const {
    return (bits_ & static_cast<unsigned>(value)) != 0;
  }

  constexpr bool is_only(ResultClass value) const { return bits_ == static_cast<unsigned>(value); }

  constexpr void add(ResultClass value) {
    bits_ = static_cast<std::uint8_t>(bits_ | static_cast<unsigned>(value));
  }

  constexpr void remove(ResultClass value) {
    bits_ = static_cast<std::uint8_t>(bits_ & ~static_cast<unsigned>(value));
  }

  constexpr bool operator==(const ClassSet&) const = default;

  // The classes of x + y with x of one of these and y of one of those, by IEEE 754; overflow of
  // finite sums aside.
  static constexpr ClassSet of_sum(ClassSet x, ClassSet y) {
    using enum ResultClass;
    ClassSet sum;
    if (x.has(finite) && y.has(finite)) sum.add(finite);
    const bool finite_or_plus = x.has(finite) || x.has(plus_infinity);
    const bool finite_or_minus = x.has(finite) || x.has(minus_infinity);
    if ((x.has(plus_infinity) && (y.has(finite) || y.has(plus_infinity))) ||
        (finite_or_plus && y.has(plus_infinity)))
      sum.add(plus_infinity);
    if ((x.has(minus_infinity) && (y.has(finite) || y.has(minus_infinity))) ||
        (finite_or_minus && y.has(minus_infinity)))
      sum.add(minus_infinity);
    if (x.has(nan) || y.has(nan) || (x.has(plus_infinity) && y.has(minus_infinity)) ||
        (x.has(minus_infinity) && y.has(plus_infinity)))
      sum.add(nan);
    return sum;
  }

 private:
  std::uint8_t bits_ = 0;
};

// What stands for a result that cannot be finite.
constexpr double special_value(ClassSet classes) {
  if (classes.is_only(ResultClass::plus_infinity)) return kInfinity;
  if (classes.is_only(ResultClass::minus_infinity)) return -kInfinity;
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace plumbline
