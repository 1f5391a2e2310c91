// SPDX-License-Identifier: MIT
#include "fuzz/quantize/values.h"

#include <algorithm>
#include <array>

#include "oracles/base/assert.h"
#include "oracles/base/hash.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"

namespace plumbline {

namespace {

constexpr std::array kClasses = {
    QuantizeValueClass{"normal", quantize_normal},
    QuantizeValueClass{"positive", quantize_positive},
    QuantizeValueClass{"ones", quantize_ones},
    QuantizeValueClass{"outliers", quantize_outliers},
    QuantizeValueClass{"wide", quantize_wide},
    QuantizeValueClass{"subnormal", quantize_subnormal},
    QuantizeValueClass{"large", quantize_large},
    QuantizeValueClass{"specials", quantize_specials},
    QuantizeValueClass{"integers", quantize_integers},
    QuantizeValueClass{"power_scaled", quantize_power_scaled},
    QuantizeValueClass{"ties", quantize_ties},
    QuantizeValueClass{"midpoints", quantize_midpoints},
    QuantizeValueClass{"zero_groups", quantize_zero_groups},
    QuantizeValueClass{"maxima", quantize_maxima},
    QuantizeValueClass{"edge_maxima", quantize_edge_maxima},
};

Random at(const Random& random, std::string_view stream, std::int64_t row, std::int64_t column) {
  return random.fork(fingerprint(stream))
      .fork((static_cast<std::uint64_t>(row) << 32) ^ static_cast<std::uint64_t>(column));
}

}  // namespace

QuantizeGroup QuantizeContext::group_of(std::int64_t row, std::int64_t column) const {
  if (scale == "tensor") return {0, 0, m, n, 0, true};
  if (scale == "row") return {row, 0, 1, n, row, false};
  const std::int64_t first = column / kColumnsOfScale * kColumnsOfScale;
  return {row,  first, 1, std::min(kColumnsOfScale, n - first), row + first / kColumnsOfScale,
          false};
}

Random QuantizeContext::of_element(std::int64_t row, std::int64_t column) const {
  return at(random, "elements", row, column);
}

Random QuantizeContext::of_group(const QuantizeGroup& group) const {
  return at(random, "groups", group.row, group.column);
}

double QuantizeContext::limit() const { return to_double(*code, code->max_finite()); }

double QuantizeContext::as_input(double value) const {
  return to_double(*input, encode(*input, value));
}

bool is_drawn_peak(const QuantizeContext& context, const QuantizeSpot& spot) {
  const QuantizeGroup& group = spot.group;
  Random random = context.of_group(group).fork(1);
  const auto pick = [&](std::int64_t first, std::int64_t count) {
    return first + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(count)));
  };
  const std::int64_t row = pick(group.row, group.rows);
  return spot.row == row && spot.column == pick(group.column, group.columns);
}

std::span<const QuantizeValueClass> quantize_value_classes() { return kClasses; }

}  // namespace plumbline
