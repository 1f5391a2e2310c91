// SPDX-License-Identifier: MIT
// Classes whose products and sums are exact in every accumulator of at least 24 bits: small
// integers, integers scaled by powers of two, selections (one-hot rows) and position codes. Any
// difference at all is a fault.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "fuzz/case/draw.h"
#include "fuzz/gemm/values.h"

namespace plumbline {

namespace {

constexpr double kExactSum = 0x1p24;

// The ranges r for which k products of integers in [-r, r] stay exact, and r is exact in the
// format.
std::int64_t draw_range(const GemmContext& context, Random& random, std::int64_t largest) {
  std::vector<std::int64_t> ranges = {1};
  for (const std::int64_t range : {2, 4, 16, 64, 256}) {
    const auto r = static_cast<double>(range);
    const bool exact = static_cast<double>(context.k) * r * r < kExactSum;
    const bool fits = r <= std::ldexp(1, std::min(context.a->precision(), context.b->precision()));
    if (exact && fits && range <= largest) ranges.push_back(range);
  }
  return draw_one_of(random, ranges);
}

auto integers_of(ElementStream stream, std::int64_t range) {
  return [stream, range](const At& at) {
    Random random = stream(at);
    return static_cast<double>(random.between(-range, range));
  };
}

// Which k a line (row of A, or column of B) selects: neighbors differ, and the last line selects
// the last k, which is what a K loop that stops one short drops.
class Selection {
 public:
  Selection(std::int64_t k, std::int64_t lines, Random& random)
      : k_(k), lines_(lines), step_(k > 1 ? random.between(1, k - 1) : 1) {}

  std::int64_t operator()(std::int64_t line, std::int64_t batch) const {
    const std::int64_t back = ((lines_ - 1 - line) + batch) % k_ * step_ % k_;
    return k_ - 1 - back;
  }

 private:
  std::int64_t k_, lines_, step_;
};

GemmPattern select_with(const GemmContext& context, GemmPattern pattern, bool rows_of_a,
                        Random& random) {
  if (context.k == 0) return pattern;
  const Selection selected(context.k, rows_of_a ? context.m : context.n, random);
  if (rows_of_a) {
    pattern.a = [selected](const At& at) {
      return at.column == selected(at.row, at.batch) ? 1.0 : 0.0;
    };
  } else {
    pattern.b = [selected](const At& at) {
      return at.row == selected(at.column, at.batch) ? 1.0 : 0.0;
    };
  }
  return pattern;
}

// Position codes. Digits are 1 ... 255 so that no code is zero, and exact in bf16; formats with
// fewer significand bits get a smaller base.
class PositionCode {
 public:
  PositionCode(const Format& element, std::int64_t batch, std::int64_t rows, std::int64_t columns,
               Random& random)
      : rows_(rows), columns_(columns), base_((std::int64_t{1} << element.precision()) - 1) {
    if (batch * rows * columns <= base_) return;  // the whole position fits one digit
    std::vector<Digit> digits;
    for (std::int64_t divisor = 1; divisor < rows; divisor *= base_)
      digits.push_back({'r', divisor});
    for (std::int64_t divisor = 1; divisor < columns; divisor *= base_)
      digits.push_back({'c', divisor});
    if (batch > 1) digits.push_back({'b', 1});
    digit_ = draw_one_of(random, digits);
  }

  double operator()(const At& at) const {
    std::int64_t position = 0;
    switch (digit_.of) {
      case 'r':
        position = at.row;
        break;
      case 'c':
        position = at.column;
        break;
      case 'b':
        position = at.batch;
        break;
      default:
        position = (at.batch * rows_ + at.row) * columns_ + at.column;
        break;
    }
    return static_cast<double>(position / digit_.divisor % base_ + 1);
  }

 private:
  struct Digit {
    char of = '*';  // row, column, batch, or * for all of them in one
    std::int64_t divisor = 1;
  };

  std::int64_t rows_, columns_, base_;
  Digit digit_;
};

}  // namespace

GemmPattern gemm_integers(const GemmContext& context) {
  Random random = context.random.fork(1);
  const std::int64_t range = draw_range(context, random, 256);
  GemmPattern pattern;
  pattern.a = integers_of(context.stream("a"), range);
  pattern.b = integers_of(context.stream("b"), range);
  pattern.c = integers_of(context.stream("c"), 8);
  pattern.bias = [bias = integers_of(context.stream("bias"), 16)](std::int64_t index) {
    return bias(At{0, 0, index});
  };
  return pattern;
}

GemmPattern gemm_power_scaled(const GemmContext& context) {
  Random random = context.random.fork(1);
  const std::int64_t range = draw_range(context, random, 4);
  const std::int64_t spread = std::min(12, context.a->emax() / 3);
  const auto factor = [spread](ElementStream lines) {
    return [lines, spread](std::int64_t batch, std::int64_t line) {
      Random of_line = lines({batch, line, 0});
      return std::ldexp(1, static_cast<int>(of_line.between(-spread, spread)));
    };
  };
  const auto row_factor = factor(context.stream("rows")),
             column_factor = factor(context.stream("columns"));
  GemmPattern pattern;
  pattern.a = [=, integer = integers_of(context.stream("a"), range)](const At& at) {
    return integer(at) * row_factor(at.batch, at.row);
  };
  pattern.b = [=, integer = integers_of(context.stream("b"), range)](const At& at) {
    return integer(at) * column_factor(at.batch, at.column);
  };
  pattern.c = [=, integer = integers_of(context.stream("c"), range)](const At& at) {
    return integer(at) * row_factor(at.batch, at.row);
  };
  pattern.bias = [=, integer = integers_of(context.stream("bias"), range)](std::int64_t index) {
    return integer({0, 0, index}) * row_factor(0, index);
  };
  return pattern;
}

GemmPattern gemm_one_hot(const GemmContext& context) {
  Random random = context.random.fork(1);
  const bool rows_of_a = random.below(2) == 0;
  return select_with(context, gemm_normal(context), rows_of_a, random);
}

GemmPattern gemm_index_code(const GemmContext& context) {
  Random random = context.random.fork(1);
  const bool rows_of_a = random.below(2) == 0;
  GemmPattern pattern;
  pattern.a = PositionCode(*context.a, context.batch, context.m, context.k, random);
  pattern.b = PositionCode(*context.b, context.batch, context.k, context.n, random);
  pattern.c = PositionCode(*context.c, context.batch, context.m, context.n, random);
  pattern.bias = [](std::int64_t index) { return static_cast<double>(index + 1); };
  return select_with(context, std::move(pattern), rows_of_a, random);
}

}  // namespace plumbline
