// SPDX-License-Identifier: MIT
// Classes built around one bit: sums that need exactly w bits (width_ladder), and sums on and next
// to midpoints between neighboring outputs (ties).
#include <algorithm>
#include <array>
#include <cmath>

#include "fuzz/case/draw.h"
#include "fuzz/gemm/values.h"

namespace plumbline {

namespace {

// A position other than `taken`, drawn uniformly; needs k >= 2.
std::int64_t draw_other(Random& random, std::int64_t k, std::int64_t taken) {
  return (taken + 1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(k - 1)))) %
         k;
}

double row_sign(const ElementStream& signs, const At& at) {
  Random of_row = signs({at.batch, at.row, 0});
  return draw_sign(of_row);
}

// With probability about expected / k; about `expected` positions along k in all.
bool draw_sparse(Random& random, std::int64_t k, std::int64_t expected) {
  return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(k))) < expected;
}

}  // namespace

// Row i: one product 2^w, and an odd number of products 1, all of one sign. The sum is odd and just
// above 2^w.
GemmPattern gemm_width_ladder(const GemmContext& context) {
  GemmPattern pattern = gemm_ones(context);
  const std::int64_t k = context.k;
  if (k == 0) return pattern;
  Random random = context.random.fork(1);
  const ElementStream signs = context.stream("signs");
  if (k == 1) {  // an odd product of up to 16 bits
    const auto odd = [](ElementStream stream) {
      return [stream](const At& at) {
        Random of_element = stream(at);
        return static_cast<double>(2 * of_element.between(0, 127) + 1);
      };
    };
    pattern.a = odd(context.stream("a"));
    pattern.b = odd(context.stream("b"));
    return pattern;
  }
  const auto rung_offset = static_cast<std::int64_t>(random.below(5));
  const auto large = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(k)));
  const std::int64_t parity = draw_other(random, k, large);
  const int shift = std::max(0, 24 - context.a->emax());  // the part of 2^24 that b must carry
  pattern.a = [=](const At& at) {
    constexpr std::array rungs = {8, 11, 14, 22, 24};
    const double sign = row_sign(signs, at);
    if (at.column != large) return sign;
    const int rung = rungs[static_cast<std::size_t>((at.row + rung_offset) % 5)];
    return std::ldexp(sign, rung - shift);
  };
  const auto is_one = [k, large, parity, stream = context.stream("b")](
                          std::int64_t batch, std::int64_t row, std::int64_t column) {
    if (row == large || row == parity) return false;
    Random of_element = stream({batch, row, column});
    return draw_sparse(of_element, k, 8);
  };
  pattern.b = [=](const At& at) {
    if (at.row == large) return std::ldexp(1, shift);
    if (at.row != parity) return is_one(at.batch, at.row, at.column) ? 1.0 : 0.0;
    bool odd = false;
    for (std::int64_t row = 0; row < k; ++row) odd ^= is_one(at.batch, row, at.column);
    return odd ? 0.0 : 1.0;
  };
  return pattern;
}

// Sums R_i + S_j in [256, 512], where every odd integer is a midpoint of bf16, times a power of two
// per row, plus a few ones, plus in some outputs 2^-14: just off the midpoint. With f32 output the
// midpoints come from adding bias or c of 2^24 and 2^25 to such integers.
GemmPattern gemm_ties(const GemmContext& context) {
  GemmPattern pattern;
  Random random = context.random.fork(1);
  const std::int64_t k = context.k;
  const auto near_output = [f32_output = context.f32_output](ElementStream stream) {
    return [stream, f32_output](const At& at) {
      Random of_element = stream(at);
      const double sign = draw_sign(of_element);
      if (f32_output) return sign * draw_one_of(of_element, std::array{0x1p24, 0x1p25});
      return sign * draw_one_of(of_element, std::array{0.0, 1.0, 2.0, 128.0});
    };
  };
  pattern.c = near_output(context.stream("c"));
  pattern.bias = [bias = near_output(context.stream("bias"))](std::int64_t index) {
    return bias(At{0, 0, index});
  };
  const ElementStream rows = context.stream("rows"), columns = context.stream("columns");
  const auto integer_of = [](const ElementStream& lines, std::int64_t batch, std::int64_t line) {
    Random of_line = lines({batch, line, 0});
    return static_cast<double>(of_line.between(128, 256));
  };
  if (k <= 1) {  // odd products in [387, 765]: midpoints below 512, next to midpoints above
    pattern.a = [=](const At& at) {
      return row_sign(rows, at) * std::min(255.0, integer_of(rows, at.batch, at.row) + 1);
    };
    pattern.b = [](const At&) { return 3.0; };
    return pattern;
  }
  const auto of_a = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(k)));
  const std::int64_t of_b = draw_other(random, k, of_a);
  // The tiny term needs a third position; with k = 2 there is none.
  std::int64_t tiny = k > 2 ? draw_other(random, k, of_a) : -1;
  while (tiny == of_b) tiny = draw_other(random, k, of_a);

  pattern.a = [=, stream = context.stream("a"), powers = context.stream("powers")](const At& at) {
    Random of_row = powers({at.batch, at.row, 0});
    const double scale =
        row_sign(rows, at) * std::ldexp(1, static_cast<int>(of_row.between(-2, 2)));
    if (at.column == of_a) return scale * integer_of(rows, at.batch, at.row);
    if (at.column == of_b) return scale;
    Random of_element = stream(at);
    if (at.column == tiny) return static_cast<double>(of_element.between(-1, 1)) * 0x1p-7;
    return draw_sparse(of_element, k, 4) ? draw_sign(of_element) : 0.0;
  };
  pattern.b = [=, stream = context.stream("b")](const At& at) {
    if (at.row == of_a) return 1.0;
    if (at.row == of_b) return integer_of(columns, at.batch, at.column);
    Random of_element = stream(at);
    if (at.row == tiny) return static_cast<double>(of_element.between(0, 1)) * 0x1p-7;
    return static_cast<double>(of_element.between(-1, 1));
  };
  return pattern;
}

}  // namespace plumbline
