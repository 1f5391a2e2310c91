// SPDX-License-Identifier: MIT
// Classes about the largest magnitude of a group: none at all, exactly at or next to values where
// the scale changes, and at the places that a reduction forgets.
#include <algorithm>
#include <array>
#include <cmath>

#include "fuzz/case/draw.h"
#include "fuzz/quantize/values.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"

namespace plumbline {

namespace {

// `value`, or its neighbor in x's format: above for 1, below for -1.
double neighbor(const Format& element, double value, std::int64_t direction) {
  const std::uint64_t bits = encode(element, value);
  std::uint64_t next = bits;
  if (direction > 0) next_up(element, bits, next);
  if (direction < 0) next_down(element, bits, next);
  return to_double(element, next);
}

}  // namespace

// Of four groups one is all zeros, one all -0, one zero but for its peak, one normal. A tensor is
// all zeros.
QuantizePattern quantize_zero_groups(const QuantizeContext& context) {
  return [context](const QuantizeSpot& spot) {
    Random random = context.of_element(spot.row, spot.column);
    switch (spot.group.index % 4) {
      case 0:
        return 0.0;
      case 1:
        return -0.0;
      case 2:
        return is_drawn_peak(context, spot) ? draw_normal(random) : draw_sign(random) * 0.0;
      default:
        return draw_normal(random);
    }
  };
}

// Peaks at, just below and just above a power of two, the largest code times a power of two, and
// one and a half of it; the other elements between 0 and the peak, a few of them equal to it.
QuantizePattern quantize_maxima(const QuantizeContext& context) {
  return [context](const QuantizeSpot& spot) {
    Random of_group = context.of_group(spot.group);
    const double power = std::ldexp(1.0, static_cast<int>(of_group.between(-30, 30)));
    const std::array bases = {power, power * context.limit(), 1.5 * power};
    const double base = draw_one_of(of_group, bases);
    const double peak = neighbor(*context.input, base, of_group.between(-1, 1));
    Random random = context.of_element(spot.row, spot.column);
    const double sign = draw_sign(random);
    if (is_drawn_peak(context, spot) || random.below(16) == 0) return sign * peak;
    return sign * peak * (1 - random.unit());
  };
}

// The peak at the end of its group, at its start, at its last column past a block of 128, or just
// before that; among positive elements it is negative, and at least 64 times larger. A tensor's
// peak is its last element.
QuantizePattern quantize_edge_maxima(const QuantizeContext& context) {
  return [context](const QuantizeSpot& spot) {
    const QuantizeGroup& group = spot.group;
    const std::int64_t last = group.column + group.columns - 1;
    const std::int64_t past_block = last / 128 * 128;
    const std::array columns = {last, past_block, group.column,
                                std::max(group.column, past_block - 1)};
    const std::int64_t column =
        group.is_tensor ? last : columns[static_cast<std::size_t>(group.index % 4)];
    Random random = context.of_element(spot.row, spot.column);
    const bool is_peak = spot.row == group.row + group.rows - 1 && spot.column == column;
    return is_peak ? -64 * (1 + random.unit()) : random.unit();
  };
}

}  // namespace plumbline
