// SPDX-License-Identifier: MIT
// Classes that know the scale before the kernel does, because every group's peak is chosen: x /
// scale lies on codes, on midpoints between codes, or next to them.
#include <algorithm>
#include <cmath>

#include "fuzz/case/draw.h"
#include "fuzz/quantize/values.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"

namespace plumbline {

namespace {

// Half way between a drawn code and the next above; half of 0 and the least code is among them.
double draw_midpoint(Random& random, const Format& code) {
  const std::uint64_t bits = random.below(code.max_finite());
  return (to_double(code, bits) + to_double(code, bits + 1)) / 2;
}

// The element of x's format nearest to `value`, or the one below or above.
double draw_near(Random& random, const Format& element, double value) {
  const std::uint64_t bits = encode(element, value);
  std::uint64_t moved = bits;
  switch (random.below(4)) {
    case 0:
      next_up(element, bits, moved);
      break;
    case 1:
      next_down(element, bits, moved);
      break;
    default:
      break;
  }
  return to_double(element, moved);
}

}  // namespace

// Integers up to the largest code, or up to 256 where that is more than x's format can tell apart.
// The peak is the largest code, so the scale is 1: in s8 every code is the element itself.
QuantizePattern quantize_integers(const QuantizeContext& context) {
  return [context](const QuantizeSpot& spot) {
    const auto range = static_cast<std::int64_t>(std::min(context.limit(), 256.0));
    Random random = context.of_element(spot.row, spot.column);
    if (is_drawn_peak(context, spot)) return draw_sign(random) * context.limit();
    return static_cast<double>(random.between(-range, range));
  };
}

// The peak is the largest code times a power of two, so the scale is that power of two, and
// midpoints times the scale are elements: ties that are decided the wrong way, and codes rounded
// twice.
QuantizePattern quantize_midpoints(const QuantizeContext& context) {
  return [context](const QuantizeSpot& spot) {
    Random of_group = context.of_group(spot.group);
    const int exponent = static_cast<int>(of_group.between(-20, 20));
    Random random = context.of_element(spot.row, spot.column);
    const double sign = draw_sign(random);
    if (is_drawn_peak(context, spot)) return std::ldexp(sign * context.limit(), exponent);
    const double midpoint = std::ldexp(draw_midpoint(random, *context.code), exponent);
    return sign * draw_near(random, *context.input, midpoint);
  };
}

// The same with scales of full significands: the quotient lies within an ulp of a midpoint, where
// dividing, multiplying by the inverse and rounding twice part ways.
QuantizePattern quantize_ties(const QuantizeContext& context) {
  return [context](const QuantizeSpot& spot) {
    Random of_group = context.of_group(spot.group);
    const auto exponent = of_group.between(-20, 20);
    const auto peak =
        static_cast<float>(std::fabs(context.as_input(draw_scaled(of_group, exponent))));
    const float scale = peak / static_cast<float>(context.limit());
    Random random = context.of_element(spot.row, spot.column);
    const double sign = draw_sign(random);
    if (is_drawn_peak(context, spot)) return sign * static_cast<double>(peak);
    const double midpoint = draw_midpoint(random, *context.code) * static_cast<double>(scale);
    return sign * draw_near(random, *context.input, midpoint);
  };
}

}  // namespace plumbline
