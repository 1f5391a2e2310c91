// SPDX-License-Identifier: MIT
// Classes about the range of a format: wide exponents, subnormals, near overflow, and values that
// are not numbers.
#include <algorithm>
#include <array>
#include <cmath>

#include "fuzz/case/draw.h"
#include "fuzz/gemm/values.h"
#include "oracles/base/numbers.h"

namespace plumbline {

namespace {

// Exponents that keep a product of two operands finite in f32 and both operands normal.
std::int64_t spread_limit(const Format& element) { return std::min(40, element.emax() / 3); }

double draw_subnormal(Random& random, const Format& element) {
  const double sign = draw_sign(random);
  const auto significand = static_cast<double>(1 + random.below((1u << element.mantissa_bits) - 1));
  return sign * std::ldexp(significand, element.emin() - element.mantissa_bits);
}

// Of integers only the largest quarter, -128 of s8 too, in the sign of the line.
double draw_large_integer(Random& random, const Format& element, double sign) {
  const std::int64_t top = std::int64_t{1} << element.mantissa_bits;
  return sign * static_cast<double>(random.between(top - top / 4, top));
}

}  // namespace

GemmPattern gemm_wide(const GemmContext& context) {
  Random random = context.random.fork(1);
  const std::int64_t wanted = draw_one_of(random, std::array<std::int64_t, 3>{10, 20, 40});
  const auto wide = [wanted](ElementStream stream, const Format& element) {
    const std::int64_t spread = std::min(wanted, spread_limit(element));
    return [stream, spread](const At& at) {
      Random of_element = stream(at);
      const std::int64_t exponent = of_element.between(-spread, spread);
      return draw_scaled(of_element, exponent);
    };
  };
  GemmPattern pattern;
  pattern.a = wide(context.stream("a"), *context.a);
  pattern.b = wide(context.stream("b"), *context.b);
  pattern.c = wide(context.stream("c"), *context.c);
  pattern.bias = [bias = wide(context.stream("bias"), *context.bias)](std::int64_t index) {
    return bias(At{0, 0, index});
  };
  return pattern;
}

// Rows of A are subnormal, mixed, or large; columns of B are scaled so that products range from
// subnormal to normal, or are subnormal themselves. So each operand's subnormals meet partners that
// make them visible.
GemmPattern gemm_subnormal(const GemmContext& context) {
  GemmPattern pattern;
  pattern.a = [stream = context.stream("a"), rows = context.stream("rows"),
               element = context.a](const At& at) {
    Random of_row = rows({at.batch, at.row, 0});
    Random random = stream(at);
    const std::uint64_t kind = of_row.below(4);
    if (kind == 0) return draw_scaled(random, element->emax() * 3 / 4);
    if (kind == 1 && random.below(2) == 0) {
      return draw_scaled(random, element->emin() + random.between(0, 7));
    }
    return draw_subnormal(random, *element);
  };
  pattern.b = [stream = context.stream("b"), columns = context.stream("columns"),
               element = context.b](const At& at) {
    Random of_column = columns({at.batch, 0, at.column});
    Random random = stream(at);
    const int top = element->emax();
    const std::array<int, 4> scales = {0, top / 6, top * 3 / 4, top - 3};
    const std::uint64_t kind = of_column.below(5);
    return kind == 4 ? draw_subnormal(random, *element) : draw_scaled(random, scales[kind]);
  };
  const auto tiny = [](ElementStream stream, const Format& element) {
    return [stream, &element](const At& at) {
      Random random = stream(at);
      if (random.below(2) == 0) return draw_scaled(random, element.emin() + random.between(0, 7));
      return draw_subnormal(random, element);
    };
  };
  pattern.c = tiny(context.stream("c"), *context.c);
  pattern.bias = [bias = tiny(context.stream("bias"), *context.bias)](std::int64_t index) {
    return bias(At{0, 0, index});
  };
  return pattern;
}

// Row and column exponents add up to 2^112 ... 2^128: some outputs overflow at once, some after
// many terms, some never. Half of the seeds use one sign per row, where overflow cannot cancel; for
// integers all do, so that sums soon pass 2^24, which f32 accumulators cannot hold.
GemmPattern gemm_large(const GemmContext& context) {
  Random random = context.random.fork(1);
  const bool same_sign = random.below(2) == 0;
  const auto scaled = [same_sign](ElementStream stream, ElementStream lines, bool by_row, int top,
                                  const Format* integer = nullptr) {
    return [=](const At& at) {
      Random of_line = lines(by_row ? At{at.batch, at.row, 0} : At{at.batch, 0, at.column});
      Random of_element = stream(at);
      if (integer) return draw_large_integer(of_element, *integer, draw_sign(of_line));
      const std::int64_t exponent = top - of_line.between(0, 8);
      const double line_sign = by_row ? draw_sign(of_line) : 1.0;
      const double sign = same_sign ? line_sign : draw_sign(of_element);
      // At most 1.5 * 2^top: finite after rounding in every format.
      return std::ldexp(sign * (1 + of_element.unit() / 2), static_cast<int>(exponent));
    };
  };
  GemmPattern pattern;
  const auto integer = [](const Format* element) {
    return element->is_integer ? element : nullptr;
  };
  pattern.a = scaled(context.stream("a"), context.stream("rows"), true,
                     std::min(64, context.a->emax()), integer(context.a));
  pattern.b = scaled(context.stream("b"), context.stream("columns"), false,
                     std::min(63, context.b->emax()), integer(context.b));
  pattern.c = scaled(context.stream("c"), context.stream("rows of c"), true,
                     std::min(126, context.c->emax()));
  pattern.bias = [bias = scaled(context.stream("bias"), context.stream("rows of bias"), true,
                                std::min(126, context.bias->emax()))](std::int64_t index) {
    return bias(At{0, 0, index});
  };
  return pattern;
}

// Steps along k that kernels take at a time, and all of k: some tile of one operand is nothing but
// zeros, in all its lines or in 64 of them. Where the other one is NaN or Inf there, so are the
// outputs: 0 times those is NaN.
GemmPattern gemm_zero_slices(const GemmContext& context) {
  GemmPattern pattern = gemm_normal(context);
  if (context.k == 0 || context.m == 0 || context.n == 0) return pattern;
  Random random = context.random.fork(1);
  const bool in_a = random.below(2) == 0;
  const std::int64_t width =
      random.below(4) == 0 ? context.k
                           : draw_one_of(random, std::array<std::int64_t, 4>{16, 32, 64, 128});
  const std::int64_t from = random.between(0, (context.k - 1) / width) * width,
                     to = std::min(context.k, from + width);
  constexpr std::int64_t kBand = 64;
  const std::int64_t lines = in_a ? context.m : context.n;
  const bool all_lines = random.below(4) != 0;
  const std::int64_t first = all_lines ? 0 : random.between(0, (lines - 1) / kBand) * kBand,
                     last = all_lines ? lines : first + kBand;
  const auto with_zeros = [=](const std::function<double(const At&)>& values, bool k_is_column) {
    return [=](const At& at) {
      const std::int64_t k = k_is_column ? at.column : at.row,
                         line = k_is_column ? at.row : at.column;
      return k >= from && k < to && line >= first && line < last ? 0.0 : values(at);
    };
  };
  if (in_a) {
    pattern.a = with_zeros(pattern.a, true);
  } else {
    pattern.b = with_zeros(pattern.b, false);
  }
  const std::int64_t events = random.between(1, 3);
  for (std::int64_t event = 0; event < events; ++event) {
    const std::int64_t batch = random.between(0, context.batch - 1);
    const std::int64_t k = random.between(from, to - 1);
    const double value = draw_one_of(random, std::array{kNan, draw_sign(random) * kInfinity});
    if (in_a) {
      pattern.placements.push_back({"b", {batch, k, random.between(0, context.n - 1)}, value});
    } else {
      pattern.placements.push_back({"a", {batch, random.between(0, context.m - 1), k}, value});
    }
  }
  return pattern;
}

GemmPattern gemm_specials(const GemmContext& context) {
  GemmPattern pattern = gemm_normal(context);
  if (context.m == 0 || context.n == 0) return pattern;
  Random random = context.random.fork(1);
  // The last row, column and k are where masks go wrong: a quarter of the positions.
  const auto pick = [&](std::int64_t extent) {
    if (random.below(4) == 0) return extent - 1;
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(extent)));
  };
  const auto place = [&](std::string_view tensor, At at, double value) {
    pattern.placements.push_back({tensor, at, value});
  };
  const std::int64_t events = random.between(1, 4);
  for (std::int64_t event = 0; event < events; ++event) {
    const std::int64_t batch = pick(context.batch), row = pick(context.m), column = pick(context.n);
    const double signed_infinity = draw_sign(random) * kInfinity;
    const std::uint64_t kind = random.below(9);
    if (kind == 0) {
      place("c", {batch, row, column},
            draw_one_of(random, std::array{kNan, signed_infinity, -0.0}));
    } else if (kind == 1) {
      const double value = draw_one_of(random, std::array{kNan, signed_infinity, -0.0});
      place("bias", {0, 0, row}, value);
      place("bias", {0, 0, column}, value);
    }
    if (context.k == 0 || kind <= 1) continue;
    const std::int64_t k = pick(context.k), other_k = pick(context.k);
    switch (kind) {
      case 2:
        place("a", {batch, row, k}, kNan);
        break;
      case 3:
        place("b", {batch, k, column}, kNan);
        break;
      case 4:
        place("a", {batch, row, k}, signed_infinity);
        break;
      case 5:
        place("b", {batch, k, column}, signed_infinity);
        break;
      case 6:  // Inf - Inf, in the columns where b has equal signs
        place("a", {batch, row, k}, signed_infinity);
        place("a", {batch, row, other_k}, -signed_infinity);
        break;
      case 7:  // 0 * Inf
        place("a", {batch, row, k}, signed_infinity);
        place("b", {batch, k, column}, draw_sign(random) * 0.0);
        break;
      default:
        place("a", {batch, row, k}, -0.0);
        place("b", {batch, other_k, column}, -0.0);
        break;
    }
  }
  return pattern;
}

}  // namespace plumbline
