// SPDX-License-Identifier: MIT
// Classes that look like data, and classes at the ends of the range of the values' format.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "fuzz/attention/values.h"
#include "fuzz/case/draw.h"
#include "oracles/base/numbers.h"

namespace plumbline {

namespace {

// Uniform in (1/256, 1].
double draw_positive(Random& random) { return (256 - 255 * random.unit()) / 256; }

AttentionValues positive_values(const AttentionContext& context, std::string_view tensor) {
  return [stream = context.stream(tensor)](const AttentionSpot& at) {
    Random random = stream(at);
    return draw_positive(random);
  };
}

double draw_subnormal(Random& random, const Format& element) {
  const double sign = draw_sign(random);
  const auto significand =
      static_cast<double>(1 + random.below((std::uint64_t{1} << element.mantissa_bits) - 1));
  return sign * std::ldexp(significand, element.emin() - element.mantissa_bits);
}

// Sinks that take nothing, much and all of a row; neighboring heads have different ones. One of 100
// leaves ordinary keys no weight at all, and their faults no trace: only where there are five
// heads, so that four others show them.
double sink_of(const AttentionStream& sinks, std::int64_t head, std::int64_t heads) {
  Random of_all = sinks({});
  Random random = sinks({0, head, 1, 0});
  const std::array kinds = {draw_normal(random), -kInfinity, heads == 5 ? 100.0 : 12.0, 0.0, -20.0};
  const std::uint64_t first = of_all.below(kinds.size());
  return kinds[(first + static_cast<std::uint64_t>(head)) % kinds.size()];
}

// Columns of Q . K or of V that are 20 to 100 times larger.
std::vector<double> outlier_channels(std::int64_t columns, Random random) {
  std::vector<double> channels(static_cast<std::size_t>(columns), 1.0);
  const std::int64_t outliers = std::min<std::int64_t>(random.between(1, 4), columns);
  for (std::int64_t i = 0; i < outliers; ++i) {
    const std::uint64_t column = random.below(channels.size());
    channels[column] = static_cast<double>(random.between(20, 100));
  }
  return channels;
}

}  // namespace

AttentionPattern attention_normal(const AttentionContext& context) {
  AttentionPattern pattern;
  pattern.q = attention_normal_values(context, "q");
  pattern.k = attention_normal_values(context, "k");
  pattern.v = attention_normal_values(context, "v");
  pattern.bias = attention_normal_values(context, "bias");
  pattern.sink = [sinks = context.stream("sink"), heads = context.heads](std::int64_t head) {
    return sink_of(sinks, head, heads);
  };
  return pattern;
}

AttentionPattern attention_positive(const AttentionContext& context) {
  AttentionPattern pattern = attention_normal(context);
  pattern.q = positive_values(context, "q");
  pattern.k = positive_values(context, "k");
  pattern.v = positive_values(context, "v");
  pattern.bias = positive_values(context, "bias");
  return pattern;
}

// The scores of all keys are equal, and LSE counts them.
AttentionPattern attention_ones(const AttentionContext& context) {
  const auto one = [](const AttentionSpot&) { return 1.0; };
  return {one, one, one, one, attention_normal(context).sink, {}};
}

// Keys have a few large channels, as those of real models have, and so have values; one value is
// far larger than any other.
AttentionPattern attention_outliers(const AttentionContext& context) {
  const Random random = context.random.fork(1);
  AttentionPattern pattern = attention_normal(context);
  const auto amplified = [](AttentionValues values, std::vector<double> channels) {
    return [values = std::move(values), channels = std::move(channels)](const AttentionSpot& at) {
      return values(at) * channels[static_cast<std::size_t>(at.column)];
    };
  };
  pattern.k = amplified(pattern.k, outlier_channels(context.d, random.fork(1)));
  pattern.v = amplified(pattern.v, outlier_channels(context.dv, random.fork(2)));
  const std::int64_t keys = context.sequences.front().keys;
  if (keys == 0) return pattern;
  Random massive = random.fork(3);
  const std::int64_t key = massive.between(0, keys - 1);
  const std::int64_t column = massive.between(0, context.dv - 1);
  pattern.placements = {{"v", {0, 0, key, column}, 1000 + 9000 * massive.unit()}};
  return pattern;
}

// Keys that have most of themselves in common, as those of real models do: weights depend on the
// rest alone, which is a sixteenth to a thirty-second of it.
AttentionPattern attention_offset_keys(const AttentionContext& context) {
  AttentionPattern pattern = attention_normal(context);
  pattern.k = [offsets = context.stream("offsets"), normal = pattern.k](const AttentionSpot& at) {
    Random of_column = offsets({at.sequence, at.head, 0, at.column});
    return draw_scaled(of_column, 4) + normal(at);
  };
  return pattern;
}

// Keys of the first half of a sequence and of the second are equal pair by pair, and their values
// opposite and large: every pair cancels in every row that sees both. The first of eight pairs does
// not.
AttentionPattern attention_cancelling(const AttentionContext& context) {
  Random random = context.random.fork(1);
  const double large = std::ldexp(1.0, static_cast<int>(random.between(5, 12)));
  const auto half = [context](const AttentionSpot& at) {
    return std::max<std::int64_t>(1, context.lengths(at).keys / 2);
  };
  AttentionPattern pattern = attention_normal(context);
  pattern.k = [=, normal = pattern.k](AttentionSpot at) {
    at.row %= half(at);
    return normal(at);
  };
  pattern.v = [=, normal = pattern.v](AttentionSpot at) {
    const std::int64_t pair = at.row % half(at);
    const bool remains = pair % 8 == 0 && half(at) > 1;
    if (remains || at.row >= 2 * half(at)) return normal(at);
    const double sign = at.row == pair ? 1 : -1;
    at.row = pair;
    return sign * large * normal(at);
  };
  pattern.bias = [=, normal = pattern.bias](AttentionSpot at) {
    at.column %= half(at);
    return normal(at);
  };
  return pattern;
}

AttentionPattern attention_wide(const AttentionContext& context) {
  const std::int64_t spread = std::min(40, context.v->emax() / 3);
  AttentionPattern pattern = attention_normal(context);
  pattern.v = [stream = context.stream("v"), spread](const AttentionSpot& at) {
    Random random = stream(at);
    const std::int64_t exponent = random.between(-spread, spread);
    return draw_scaled(random, exponent);
  };
  return pattern;
}

// Keys are subnormal, and queries so large that their scores count all the same. Columns of V are
// subnormal, mixed, or ordinary.
AttentionPattern attention_subnormal(const AttentionContext& context) {
  AttentionPattern pattern = attention_normal(context);
  pattern.q = [stream = context.stream("q"), top = context.q->emax() - 2](const AttentionSpot& at) {
    Random random = stream(at);
    return draw_scaled(random, top);
  };
  pattern.k = [stream = context.stream("k"), element = context.k](const AttentionSpot& at) {
    Random random = stream(at);
    return draw_subnormal(random, *element);
  };
  pattern.v = [stream = context.stream("v"), element = context.v](const AttentionSpot& at) {
    Random random = stream(at);
    const std::int64_t kind = at.column % 3;
    if (kind == 2) return draw_normal(random);
    if (kind == 1 && random.below(2) == 0)
      return draw_scaled(random, element->emin() + random.between(0, 7));
    return draw_subnormal(random, *element);
  };
  return pattern;
}

// Values up to the top of f32: a sum that is not yet divided may overflow where the output would
// not. Even columns have one sign.
AttentionPattern attention_large(const AttentionContext& context) {
  const std::int64_t top = context.v->emax() - 1;
  AttentionPattern pattern = attention_normal(context);
  pattern.v = [stream = context.stream("v"), top](const AttentionSpot& at) {
    Random random = stream(at);
    const std::int64_t exponent = top - at.column % 8;
    const double value = draw_scaled(random, exponent);
    return at.column % 2 == 0 ? std::fabs(value) : value;
  };
  return pattern;
}

}  // namespace plumbline
