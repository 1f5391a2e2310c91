// SPDX-License-Identifier: MIT
#include "oracles/stages/stack_products.h"

#include <algorithm>
#include <cmath>

namespace plumbline {

StackFactors stack_factors(const std::vector<double>& values, std::size_t row, FormatId id) {
  StackFactors out;
  out.width = row;
  const Format& element = format(id);
  out.values.reserve(values.size());
  for (std::size_t first = 0; first < values.size(); first += row) {
    double scale = 1;
    if (id != FormatId::bf16) {
      double largest = 0;
      for (std::size_t p = 0; p < row; ++p)
        largest = std::max(largest, std::fabs(values[first + p]));
      if (largest > 0)
        scale = static_cast<double>(
            static_cast<float>(largest / to_double(element, element.max_finite())));
    }
    out.scales.push_back(scale);
    for (std::size_t p = 0; p < row; ++p)
      out.values.append(stack_rounded(id, values[first + p] / scale, Rounding::nearest_even),
                        element);
  }
  return out;
}

StackProducts::StackProducts(const StackArithmetic& arithmetic, FormatId left, FormatId right)
    : arithmetic_(arithmetic), left_(left), sum_(Contract{}, arithmetic.sm, left, right) {}

std::vector<double> StackProducts::operator()(const std::vector<double>& x,
                                              const StackFactors& weights) const {
  const auto f32 = [](double value) { return static_cast<double>(static_cast<float>(value)); };
  const StackFactors rows = stack_factors(x, weights.width, left_);
  std::vector<double> y;
  y.reserve(rows.scales.size() * weights.scales.size());
  for (std::size_t i = 0; i < rows.scales.size(); ++i) {
    for (std::size_t o = 0; o < weights.scales.size(); ++o) {
      double sum = sum_.chain(rows.row(i), weights.row(o), 0, {});
      if (left_ != FormatId::bf16) sum = f32(f32(sum * rows.scales[i]) * weights.scales[o]);
      y.push_back(arithmetic_.stored(sum));
    }
  }
  return y;
}

}  // namespace plumbline
