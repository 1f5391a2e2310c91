// SPDX-License-Identifier: MIT
// Value classes of quantization, as functions from a logical position and the group of elements
// that share its scale to a value. What decides is the largest magnitude of each group, so classes
// give every group a peak: one chosen element that is its maximum.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "oracles/base/random.h"
#include "oracles/formats/format.h"

namespace plumbline {

inline constexpr std::int64_t kColumnsOfScale = 128;  // that share a scale for scale=1x128

// The elements that share a scale: the tensor, a row, or up to 128 columns of a row.
struct QuantizeGroup {
  std::int64_t row = 0, column = 0;    // of its first element
  std::int64_t rows = 0, columns = 0;  // its size
  std::int64_t index = 0;              // row plus number of the block in it: neighbors differ
  bool is_tensor = false;
};

struct QuantizeContext {
  std::int64_t m = 0, n = 0;
  std::string_view scale;         // tensor, row or 1x128
  const Format* input = nullptr;  // of x
  const Format* code = nullptr;   // of q
  Random random{0};               // of (class, seed)

  QuantizeGroup group_of(std::int64_t row, std::int64_t column) const;

  // Draws of their own for every element and every group.
  Random of_element(std::int64_t row, std::int64_t column) const;
  Random of_group(const QuantizeGroup& group) const;

  // The largest finite code: the scale is the peak divided by it.
  double limit() const;

  // Rounded to the format of x.
  double as_input(double value) const;
};

struct QuantizeSpot {
  std::int64_t row, column;
  QuantizeGroup group;
};

using QuantizePattern = std::function<double(const QuantizeSpot&)>;

struct QuantizeValueClass {
  std::string_view name;
  QuantizePattern (*pattern)(const QuantizeContext&);
};

std::span<const QuantizeValueClass> quantize_value_classes();

// Whether a spot is its group's peak: an element drawn for each group.
bool is_drawn_peak(const QuantizeContext& context, const QuantizeSpot& spot);

// quantize/values_data.cpp: what real data look like, and the extremes of x's format.
QuantizePattern quantize_normal(const QuantizeContext& context);
QuantizePattern quantize_positive(const QuantizeContext& context);
QuantizePattern quantize_ones(const QuantizeContext& context);
QuantizePattern quantize_outliers(const QuantizeContext& context);
QuantizePattern quantize_wide(const QuantizeContext& context);
QuantizePattern quantize_subnormal(const QuantizeContext& context);
QuantizePattern quantize_large(const QuantizeContext& context);
QuantizePattern quantize_specials(const QuantizeContext& context);
QuantizePattern quantize_power_scaled(const QuantizeContext& context);
// quantize/values_maxima.cpp: what the largest magnitude of a group is, and where it stands.
QuantizePattern quantize_zero_groups(const QuantizeContext& context);
QuantizePattern quantize_maxima(const QuantizeContext& context);
QuantizePattern quantize_edge_maxima(const QuantizeContext& context);
// quantize/values_codes.cpp: elements on codes, and on and next to midpoints between them.
QuantizePattern quantize_integers(const QuantizeContext& context);
QuantizePattern quantize_midpoints(const QuantizeContext& context);
QuantizePattern quantize_ties(const QuantizeContext& context);

}  // namespace plumbline
