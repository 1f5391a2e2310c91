// SPDX-License-Identifier: MIT
// Classes that look like data: normal, positive, ones, outlier channels, one early large product.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "fuzz/case/draw.h"
#include "fuzz/gemm/values.h"

namespace plumbline {

namespace {

constexpr double kMassiveLow = 1000, kMassiveHigh = 10000;

// Uniform in (1/256, 1]: small enough spread that every term counts, large enough that sums round.
double draw_positive(Random& random) { return (256 - 255 * random.unit()) / 256; }

}  // namespace

GemmPattern gemm_normal(const GemmContext& context) {
  const auto normal = [](ElementStream stream) {
    return [stream](const At& at) {
      Random random = stream(at);
      return draw_normal(random);
    };
  };
  GemmPattern pattern;
  pattern.a = normal(context.stream("a"));
  pattern.b = normal(context.stream("b"));
  pattern.c = normal(context.stream("c"));
  pattern.bias = [bias = normal(context.stream("bias"))](std::int64_t index) {
    return bias(At{0, 0, index});
  };
  return pattern;
}

GemmPattern gemm_positive(const GemmContext& context) {
  const auto positive = [](ElementStream stream) {
    return [stream](const At& at) {
      Random random = stream(at);
      return draw_positive(random);
    };
  };
  GemmPattern pattern;
  pattern.a = positive(context.stream("a"));
  pattern.b = positive(context.stream("b"));
  pattern.c = positive(context.stream("c"));
  pattern.bias = [bias = positive(context.stream("bias"))](std::int64_t index) {
    return bias(At{0, 0, index});
  };
  return pattern;
}

GemmPattern gemm_ones(const GemmContext&) {
  const auto one = [](const At&) { return 1.0; };
  return {one, one, one, [](std::int64_t) { return 1.0; }, {}};
}

GemmPattern gemm_outliers(const GemmContext& context) {
  GemmPattern pattern = gemm_normal(context);
  if (context.k == 0) return pattern;
  Random random = context.random.fork(1);

  std::vector<double> channel(static_cast<std::size_t>(context.k), 1.0);
  const auto outliers = std::min<std::int64_t>(random.between(1, 6), context.k);
  for (std::int64_t i = 0; i < outliers; ++i) {
    channel[random.below(channel.size())] = static_cast<double>(random.between(20, 100));
  }
  pattern.a = [normal = pattern.a, channel = std::move(channel)](const At& at) {
    return normal(at) * channel[static_cast<std::size_t>(at.column)];
  };

  if (context.m == 0 || context.n == 0) return pattern;
  const auto massive = random.between(1, 3);
  for (std::int64_t i = 0; i < massive; ++i) {
    const double value =
        draw_sign(random) * (kMassiveLow + (kMassiveHigh - kMassiveLow) * random.unit());
    const auto pick = [&](std::int64_t extent) {
      return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(extent)));
    };
    const std::int64_t batch = pick(context.batch), row = pick(context.m), column = pick(context.k);
    pattern.placements.push_back({"a", {batch, row, column}, value});
  }
  return pattern;
}

GemmPattern gemm_early_large(const GemmContext& context) {
  GemmPattern pattern = gemm_positive(context);
  if (context.k == 0) return pattern;
  Random random = context.random.fork(1);
  const auto first = static_cast<std::int64_t>(random.below(std::min<std::uint64_t>(context.k, 8)));
  const int exponent = static_cast<int>(random.between(12, 15));
  const double large_a = std::ldexp(1, exponent / 2),
               large_b = std::ldexp(1, exponent - exponent / 2);

  // A sign per row of A: negative sums must behave like positive ones.
  pattern.a = [positive = pattern.a, signs = context.stream("signs"), first,
               large_a](const At& at) {
    Random of_row = signs({at.batch, at.row, 0});
    return draw_sign(of_row) * (at.column == first ? large_a : positive(at));
  };
  pattern.b = [positive = pattern.b, first, large_b](const At& at) {
    return at.row == first ? large_b : positive(at);
  };
  return pattern;
}

}  // namespace plumbline
