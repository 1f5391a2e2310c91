// SPDX-License-Identifier: MIT
#include "oracles/stages/stack_products.h"

#include <algorithm>
#include <cmath>

namespace plumbline {
namespace {

constexpr std::size_t kBlock = 128;

}  // namespace

StackFactors stack_factors(const std::vector<double>& values, std::size_t width, FormatId id,
                           StackScales scales, bool weights) {
  StackFactors out;
  out.format = id;
  out.width = width;
  out.rows = values.size() / width;
  const bool scaled = id != FormatId::bf16, blocks = scaled && scales == StackScales::block;
  out.interval = blocks ? kBlock : width;
  const Format& element = format(id);
  const std::size_t together = scaled && scales == StackScales::tensor ? out.rows
                               : blocks && weights                     ? kBlock
                                                                       : 1;
  out.scales.assign(out.rows * out.intervals(), 1);
  for (std::size_t first = 0; first < out.rows && scaled; first += together) {
    const std::size_t last = std::min(first + together, out.rows);
    for (std::size_t at = 0; at < out.intervals(); ++at) {
      double largest = 0;
      for (std::size_t i = first; i < last; ++i) {
        for (std::size_t p = at * out.interval; p < std::min((at + 1) * out.interval, width); ++p)
          largest = std::max(largest, std::fabs(values[i * width + p]));
      }
      const double scale = to_f32(largest / to_double(element, element.max_finite()));
      for (std::size_t i = first; i < last && scale > 0; ++i)
        out.scales[i * out.intervals() + at] = scale;
    }
  }
  out.values.reserve(values.size());
  for (std::size_t i = 0; i < out.rows; ++i) {
    for (std::size_t p = 0; p < width; ++p) {
      out.values.append(stack_rounded(id, values[i * width + p] / out.scale(i, p / out.interval),
                                      Rounding::nearest_even),
                        element);
    }
  }
  return out;
}

StackProducts::StackProducts(const StackArithmetic& arithmetic, bool gradients)
    : arithmetic_(arithmetic),
      narrow_(gradients ? FormatId::e5m2 : FormatId::e4m3),
      wide_sum_(Contract{}, arithmetic.sm, FormatId::bf16, FormatId::bf16),
      narrow_sum_(Contract{}, arithmetic.sm, narrow_, FormatId::e4m3) {}

std::vector<double> StackProducts::operator()(const std::vector<double>& x,
                                              const StackFactors& weights) const {
  const bool wide = weights.format == FormatId::bf16;
  const StackFactors rows =
      stack_factors(x, weights.width, wide ? weights.format : narrow_, arithmetic_.scales, false);
  const StagedSum& sum_of = wide ? wide_sum_ : narrow_sum_;
  std::vector<double> y;
  y.reserve(rows.rows * weights.rows);
  for (std::size_t i = 0; i < rows.rows; ++i) {
    for (std::size_t o = 0; o < weights.rows; ++o) {
      double sum = sum_of.chain(rows.part(i, 0), weights.part(o, 0), 0, {});
      if (!wide && arithmetic_.scales == StackScales::block) {
        sum = to_f32(sum * to_f32(rows.scale(i, 0) * weights.scale(o, 0)));
        for (std::size_t at = 1; at < weights.intervals(); ++at) {
          const double part = sum_of.chain(rows.part(i, at), weights.part(o, at), 0, {});
          sum = static_cast<double>(
              f32_fma(part, to_f32(rows.scale(i, at) * weights.scale(o, at)), sum));
        }
      } else if (!wide) {
        sum = to_f32(to_f32(sum * rows.scale(i, 0)) * weights.scale(o, 0));
      }
      y.push_back(arithmetic_.stored(sum));
    }
  }
  return y;
}

}  // namespace plumbline
