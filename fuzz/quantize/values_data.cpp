// SPDX-License-Identifier: MIT
// Classes that look like data, and classes at the ends of the range of x's format.
#include <algorithm>
#include <array>
#include <cmath>

#include "fuzz/case/draw.h"
#include "fuzz/quantize/values.h"
#include "oracles/base/numbers.h"
#include "oracles/formats/decode.h"

namespace plumbline {

namespace {

double draw_subnormal(Random& random, const Format& element) {
  const double sign = draw_sign(random);
  const auto significand =
      static_cast<double>(1 + random.below((std::uint64_t{1} << element.mantissa_bits) - 1));
  return sign * std::ldexp(significand, element.emin() - element.mantissa_bits);
}

}  // namespace

QuantizePattern quantize_normal(const QuantizeContext& context) {
  return [context](const QuantizeSpot& spot) {
    Random random = context.of_element(spot.row, spot.column);
    return draw_normal(random);
  };
}

// Maxima may be taken without magnitudes here; edge_maxima is where that shows.
QuantizePattern quantize_positive(const QuantizeContext& context) {
  return [context](const QuantizeSpot& spot) {
    Random random = context.of_element(spot.row, spot.column);
    return (256 - 255 * random.unit()) / 256;
  };
}

QuantizePattern quantize_ones(const QuantizeContext&) {
  return [](const QuantizeSpot&) { return 1.0; };
}

// Channels 20 to 100 times larger, and one element in 1000 a hundred times larger again.
QuantizePattern quantize_outliers(const QuantizeContext& context) {
  const Random channels = context.random.fork(2);
  return [context, channels](const QuantizeSpot& spot) {
    Random of_channel = channels.fork(static_cast<std::uint64_t>(spot.column));
    Random random = context.of_element(spot.row, spot.column);
    const bool outlier = of_channel.below(24) == 0;
    const double factor = outlier ? static_cast<double>(of_channel.between(20, 100)) : 1.0;
    const double value = factor * draw_normal(random);
    return random.below(1000) == 0 ? 100 * value : value;
  };
}

// Every group has an exponent of its own; its elements lie up to 2^40 below it, past the smallest
// code.
QuantizePattern quantize_wide(const QuantizeContext& context) {
  return [context](const QuantizeSpot& spot) {
    Random of_group = context.of_group(spot.group);
    const std::int64_t top = of_group.between(-60, 60);
    Random random = context.of_element(spot.row, spot.column);
    return draw_scaled(random, top - random.between(0, 40));
  };
}

// Subnormal elements. Of every second row or block the peak is normal, up to 2^20 above, so that
// the least scale, 2^-126, is reached from both sides; a tensor's maximum is subnormal.
QuantizePattern quantize_subnormal(const QuantizeContext& context) {
  return [context](const QuantizeSpot& spot) {
    Random random = context.of_element(spot.row, spot.column);
    const bool raised = spot.group.index % 2 == 1 && is_drawn_peak(context, spot);
    if (raised) return draw_scaled(random, context.input->emin() + random.between(0, 20));
    return draw_subnormal(random, *context.input);
  };
}

// Magnitudes up to the largest finite number, which every third peak is.
QuantizePattern quantize_large(const QuantizeContext& context) {
  return [context](const QuantizeSpot& spot) {
    const Format& element = *context.input;
    Random random = context.of_element(spot.row, spot.column);
    if (spot.group.index % 3 == 0 && is_drawn_peak(context, spot)) {
      return draw_sign(random) * to_double(element, element.max_finite());
    }
    Random of_group = context.of_group(spot.group);
    const std::int64_t top = element.emax() - of_group.between(1, 12);
    return draw_scaled(random, top - random.between(0, 12));
  };
}

// Normal data with NaN, Inf and -0. The peak of three groups in five is NaN or Inf, one group has
// many of both, and one must be quantized as without those. One element in 100 is -0. A tensor that
// is one group always has such a peak, which its sizes choose: designed cases must reach all of
// them for every seed.
QuantizePattern quantize_specials(const QuantizeContext& context) {
  return [context](const QuantizeSpot& spot) {
    const std::int64_t kind =
        spot.group.is_tensor ? (context.m + context.n) % 3 : spot.group.index % 5;
    Random random = context.of_element(spot.row, spot.column);
    if (kind < 3 && is_drawn_peak(context, spot)) {
      return std::array{kNan, kInfinity, -kInfinity}[static_cast<std::size_t>(kind)];
    }
    if (kind == 4 && random.below(4) == 0)
      return std::array{kNan, kInfinity, -kInfinity}[random.below(3)];
    return random.below(100) == 0 ? -0.0 : draw_normal(random);
  };
}

// Integers of one size times a power of two per group: the scale of another group is off by a
// factor.
QuantizePattern quantize_power_scaled(const QuantizeContext& context) {
  return [context](const QuantizeSpot& spot) {
    Random of_group = context.of_group(spot.group);
    const double factor = std::ldexp(1.0, static_cast<int>(of_group.between(-24, 24)));
    Random random = context.of_element(spot.row, spot.column);
    return factor * static_cast<double>(random.between(-7, 7));
  };
}

}  // namespace plumbline
