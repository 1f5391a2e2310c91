// SPDX-License-Identifier: MIT
#include "oracles/bounds/special_values.h"

#include <algorithm>
#include <cmath>

namespace plumbline {
namespace {

// The element at a position: a special one if there is one.
float element_at(std::int64_t position, const float* finite,
                 std::span<const SpecialElement> specials) {
  const auto at =
      std::lower_bound(specials.begin(), specials.end(), position,
                       [](const SpecialElement& x, std::int64_t p) { return x.position < p; });
  return at != specials.end() && at->position == position ? at->value : finite[position];
}

struct Products {
  bool nan = false, plus = false, minus = false;

  void add(float x, float y) {
    if (std::isnan(x) || std::isnan(y) || x == 0 || y == 0) {
      nan = true;  // x == 0 or y == 0: the other one is infinite
    } else {
      (std::signbit(x) != std::signbit(y) ? minus : plus) = true;
    }
  }
};

}  // namespace

SpecialElements::SpecialElements(
    std::span<const std::uint8_t> flags, std::int64_t k,
    const std::function<float(std::int64_t vector, std::int64_t p)>& element) {
  start_.push_back(0);
  for (std::size_t vector = 0; vector < flags.size(); ++vector) {
    for (std::int64_t p = 0; flags[vector] != 0 && p < k; ++p) {
      const float value = element(static_cast<std::int64_t>(vector), p);
      if (!std::isfinite(value)) elements_.push_back({p, value});
    }
    start_.push_back(static_cast<std::int64_t>(elements_.size()));
  }
}

ClassSet special_class(const float* row, const float* column,
                       std::span<const SpecialElement> row_specials,
                       std::span<const SpecialElement> column_specials) {
  Products products;
  for (const SpecialElement& x : row_specials) {
    products.add(x.value, element_at(x.position, column, column_specials));
    if (products.nan) return ResultClass::nan;
  }
  for (const SpecialElement& y : column_specials) {
    products.add(element_at(y.position, row, row_specials), y.value);
    if (products.nan) return ResultClass::nan;
  }
  if (products.plus && products.minus) return ResultClass::nan;
  if (products.plus) return ResultClass::plus_infinity;
  if (products.minus) return ResultClass::minus_infinity;
  return ResultClass::finite;
}

}  // namespace plumbline
