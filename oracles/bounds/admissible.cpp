// SPDX-License-Identifier: MIT
#include "oracles/bounds/admissible.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "oracles/base/numbers.h"
#include "oracles/exact/dyadic.h"
#include "oracles/formats/decode.h"

namespace plumbline {
namespace {

struct Pair {
  double head, tail;
};

Pair two_sum(double a, double b) {
  const double sum = a + b, b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}

// The grid values in [hi + lo + low_shift - error, hi + lo + high_shift + error], up to rounding
// outward.
GridRange range_between(const AccumulatorGrid& grid, const SumEnclosure& sum, double low_shift,
                        double high_shift, double error) {
  // Covers the three roundings of each end's small part; 0 when nothing but hi and lo enters.
  const double slack =
      error + sum.bound > 0 ? 0x1p-51 * (std::fabs(sum.lo) + sum.bound + error) : 0;
  const Pair low = two_sum(sum.hi, sum.lo + low_shift - error - slack);
  const Pair high = two_sum(sum.hi, sum.lo + high_shift + error + slack);
  return {grid.ceil(low.head, low.tail), grid.floor(high.head, high.tail)};
}

Pair pair_of(const Dyadic& exact) {
  const double head = exact.nearest_double();
  return {head, (exact - Dyadic(head)).nearest_double()};
}

// Of the output of an f32 value that is converted to a number.
std::int64_t output_order(const Epilogue& epilogue, float x) {
  return epilogue.order_of(epilogue.low_code(x), x);
}

GridRange finite_part(const AccumulatorGrid& grid, GridRange range) {
  return {std::max(range.first, grid.lowest()), std::min(range.last, grid.highest())};
}

}  // namespace

SumEnclosure enclosure_of(const Dyadic& exact) {
  const Pair pair = pair_of(exact);
  const Dyadic rest = (exact - Dyadic(pair.head) - Dyadic(pair.tail)).abs();
  return {pair.head, pair.tail, rest.is_zero() ? 0 : rest.nearest_double() * (1 + 0x1p-50)};
}

AccumulatorRange accumulator_range(const AccumulatorGrid& grid, const SumEnclosure& sum,
                                   double error) {
  return {range_between(grid, sum, -sum.bound, sum.bound, error),
          range_between(grid, sum, sum.bound, -sum.bound, error)};
}

AccumulatorRange accumulator_range(const AccumulatorGrid& grid, const Dyadic& sum, double error) {
  const Pair low = pair_of(sum - Dyadic(error)), high = pair_of(sum + Dyadic(error));
  const GridRange range = {grid.ceil(low.head, low.tail), grid.floor(high.head, high.tail)};
  return {range, range};
}

// Let z be the value a conforming accumulator holds, |z - y| <= E, and z1 <= y <= z2 the
// accumulator values next to y (equal when y is one). If z <= y then z <= z1 <= y, so |z1 - y| <=
// E; else z >= z2 >= y and |z2 - y| <= E. Hence one of g(z1), g(z2) is admissible for every E, and
// if both are `got` then got is. With y known to an enclosure, take z1 at or below and z2 at or
// above all of it: g is monotone, so equal ends leave nothing else in between. With stochastic
// rounding the same holds with the lowest code of the lower end and the highest of the upper.
bool ElementRule::surely_admissible(const SumEnclosure& sum, std::uint64_t got) const {
  const Pair low = two_sum(
      sum.hi,
      sum.bound > 0 ? sum.lo - sum.bound * (1 + 0x1p-50) - 0x1p-51 * std::fabs(sum.lo) : sum.lo);
  const Pair high = two_sum(
      sum.hi,
      sum.bound > 0 ? sum.lo + sum.bound * (1 + 0x1p-50) + 0x1p-51 * std::fabs(sum.lo) : sum.lo);
  std::int64_t first = grid_.floor(low.head, low.tail), last = grid_.ceil(high.head, high.tail);
  if (first < grid_.lowest() || last > grid_.highest()) return false;
  if (uncertain({first, last})) {  // not monotone: nothing may lie between the two
    return last - first <= 1 && has(image({first, first}), got) && has(image({last, last}), got);
  }
  if (falling_) std::swap(first, last);
  if (!regular_ && epilogue_.trace(grid_.value(first), operands_) !=
                       epilogue_.trace(grid_.value(last), operands_)) {
    return false;
  }
  const float x_low = value(first), x_high = value(last);
  if (std::isnan(x_low) && std::isnan(x_high)) return same_result(epilogue_.low_code(x_low), got);
  const std::uint64_t code = epilogue_.low_code(x_low);
  if (x_low != x_high || epilogue_.stochastic()) {
    if (code != epilogue_.high_code(x_high)) return false;
  }
  return code == got || same_result(code, got);
}

F32Range ElementRule::numbers(const GridRange& range) const {
  return {grid_.value(range.first), grid_.value(range.last), false};
}

F32Range ElementRule::image(const GridRange& range) const {
  return epilogue_.range(numbers(range), operands_);
}

bool ElementRule::has(const F32Range& values, std::uint64_t got) const {
  if (values.nan && same_result(epilogue_.low_code(kFloatNan), got)) return true;
  if (!values.has_numbers()) return false;
  const std::uint64_t low = epilogue_.low_code(values.low), high = epilogue_.high_code(values.high);
  if (epilogue_.is_nan(got)) return epilogue_.is_nan(low) || epilogue_.is_nan(high);
  const std::int64_t order = epilogue_.order_of(got);
  return order >= epilogue_.order_of(low, values.low) &&
         order <= epilogue_.order_of(high, values.high);
}

bool ElementRule::lies_between(const GridRange& range, std::uint64_t got) const {
  const GridRange finite = finite_part(grid_, range);
  if (finite.first > finite.last) return !regular_ && !epilogue_.uncertain();
  if (uncertain(finite)) return has(image(finite), got);
  if (!regular_) return true;
  if (epilogue_.is_nan(got)) return false;
  const float x_low = value(falling_ ? finite.last : finite.first);
  const float x_high = value(falling_ ? finite.first : finite.last);
  if (std::isnan(x_low) || std::isnan(x_high)) return false;
  const std::int64_t order = epilogue_.order_of(got);
  return order >= epilogue_.order_of(epilogue_.low_code(x_low), x_low) &&
         order <= epilogue_.order_of(epilogue_.high_code(x_high), x_high);
}

bool ElementRule::same_result(std::uint64_t x, std::uint64_t y) const {
  if (x == y) return true;
  const bool x_nan = epilogue_.is_nan(x), y_nan = epilogue_.is_nan(y);
  if (x_nan || y_nan) return x_nan && y_nan;
  return epilogue_.order_of(x) == epilogue_.order_of(y);
}

std::vector<ElementRule::Piece> ElementRule::pieces(const GridRange& range) const {
  if (range.first > range.last) return {};
  if (regular_) return {{range, false}};
  const auto trace = [this](std::int64_t index) {
    return epilogue_.trace(grid_.value(index), operands_);
  };
  std::vector<Piece> out;
  for (std::int64_t first = range.first; first <= range.last;) {
    // The last index with the trace of `first`: equal traces lie together.
    const std::uint64_t here = trace(first);
    std::int64_t last = range.last;
    if (trace(last) != here) {
      std::int64_t same = first, beyond = last;
      while (beyond - same > 1) {
        const std::int64_t middle = same + (beyond - same) / 2;
        (trace(middle) == here ? same : beyond) = middle;
      }
      last = same;
    }
    out.push_back({{first, last}, std::isnan(value(first))});
    first = last + 1;
  }
  return out;
}

template <typename Passed>
std::int64_t ElementRule::first_where(GridRange range, const Passed& passed) const {
  std::int64_t low = range.first, high = range.last + 1;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (passed(output_order(epilogue_, value(middle)))) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

std::int64_t ElementRule::first_with_order(GridRange range, std::int64_t order) const {
  return falling_ ? first_where(range, [=](std::int64_t at) { return at <= order; })
                  : first_where(range, [=](std::int64_t at) { return at >= order; });
}

bool ElementRule::reaches(GridRange range, std::int64_t order) const {
  const std::int64_t first = first_with_order(range, order);
  return first <= range.last && output_order(epilogue_, value(first)) == order;
}

GridRange ElementRule::with_order(GridRange range, std::int64_t order) const {
  const std::int64_t first = first_with_order(range, order);
  const GridRange rest = {first, range.last};
  const std::int64_t after = falling_
                                 ? first_where(rest, [=](std::int64_t at) { return at < order; })
                                 : first_where(rest, [=](std::int64_t at) { return at > order; });
  return {first, after - 1};
}

ElementRule::Judgement ElementRule::judge(const GridRange& range, ClassSet classes,
                                          std::uint64_t got) const {
  using enum ResultClass;
  Judgement out;
  ClassSet seen;  // classes of admissible outputs
  bool any = false;
  std::int64_t low_order = 0, high_order = 0;
  const bool got_nan = epilogue_.is_nan(got);
  const auto class_of = [this](std::uint64_t code) -> ResultClass {
    if (epilogue_.is_nan(code)) return nan;
    if (epilogue_.is_finite(code)) return finite;
    return epilogue_.order_of(code) < 0 ? minus_infinity : plus_infinity;
  };
  const auto admit = [&](std::uint64_t low, std::uint64_t high, float x_low, float x_high) {
    seen.add(class_of(low));
    seen.add(class_of(high));
    const std::int64_t at_low = epilogue_.order_of(low, x_low),
                       at_high = epilogue_.order_of(high, x_high);
    if (!any || at_low < low_order) {
      out.low = low;
      low_order = at_low;
    }
    if (!any || at_high > high_order) {
      out.high = high;
      high_order = at_high;
    }
    any = true;
  };

  // An f32 value that some accumulator ends as.
  const auto admit_value = [&](float x) {
    const std::uint64_t low = epilogue_.low_code(x), high = epilogue_.high_code(x);
    admit(low, high, x, x);
    out.inside |= same_result(low, got) || same_result(high, got);
  };
  // All values of a range.
  const auto admit_range = [&](const F32Range& values) {
    if (values.nan) admit_value(std::numeric_limits<float>::quiet_NaN());
    if (!values.has_numbers()) return;
    admit(epilogue_.low_code(values.low), epilogue_.high_code(values.high), values.low,
          values.high);
    if (values.low != values.high) seen.add(finite);
    out.inside |= has(values, got);
  };
  const GridRange finite_range = finite_part(grid_, range);
  const bool has_numbers = classes.has(finite) && finite_range.first <= finite_range.last;
  if (has_numbers && uncertain(finite_range)) {
    admit_range(image(finite_range));
  } else if (has_numbers) {
    for (const Piece& piece : pieces(finite_range)) {
      if (piece.nan) {
        admit_value(std::numeric_limits<float>::quiet_NaN());
        continue;
      }
      const float x_low = value(falling_ ? piece.range.last : piece.range.first);
      const float x_high = value(falling_ ? piece.range.first : piece.range.last);
      const std::uint64_t low = epilogue_.low_code(x_low), high = epilogue_.high_code(x_high);
      admit(low, high, x_low, x_high);
      if (got_nan) {
        out.inside |= epilogue_.is_nan(low) || epilogue_.is_nan(high);
        continue;
      }
      const std::int64_t order = epilogue_.order_of(got), lowest = epilogue_.order_of(low, x_low),
                         highest = epilogue_.order_of(high, x_high);
      if (order < lowest || order > highest) continue;
      if (order == lowest || order == highest) {  // of an end, which is in the range
        out.inside = true;
        continue;
      }
      out.inside |= epilogue_.stochastic() || reaches(piece.range, order);
    }
  }
  const auto admit_special = [&](float accumulator) {
    const F32Range alone = F32Range::of(accumulator);
    if (epilogue_.uncertain(alone, operands_))
      return admit_range(epilogue_.range(alone, operands_));
    admit_value(epilogue_.value(accumulator, operands_));
  };
  if (classes.has(plus_infinity)) admit_special(kFloatInfinity);
  if (classes.has(minus_infinity)) admit_special(-kFloatInfinity);
  if (classes.has(nan)) admit_special(std::numeric_limits<float>::quiet_NaN());
  out.class_mismatch = !out.inside && !seen.has(class_of(got));
  return out;
}

ElementRule::Judgement ElementRule::judge_value(float accumulator, std::uint64_t got) const {
  const F32Range alone = F32Range::of(accumulator);
  const F32Range values = epilogue_.uncertain(alone, operands_)
                              ? epilogue_.range(alone, operands_)
                              : F32Range::of(epilogue_.value(accumulator, operands_));
  Judgement out;
  out.inside = has(values, got);
  out.low = epilogue_.low_code(values.has_numbers() ? values.low : kFloatNan);
  out.high = epilogue_.high_code(values.has_numbers() ? values.high : kFloatNan);
  return out;
}

std::uint64_t ElementRule::expected(const SumEnclosure& sum) const {
  const Pair pair = two_sum(sum.hi, sum.lo);
  const std::int64_t below =
      std::clamp(grid_.floor(pair.head, pair.tail), grid_.lowest(), grid_.highest());
  const std::int64_t above =
      std::clamp(grid_.ceil(pair.head, pair.tail), grid_.lowest(), grid_.highest());
  const auto distance = [&](std::int64_t index) {
    return std::fabs((static_cast<double>(grid_.value(index)) - pair.head) - pair.tail);
  };
  const double to_below = distance(below), to_above = distance(above);
  const bool take_below = to_below < to_above || (to_below == to_above && below % 2 == 0);
  const float x = value(take_below ? below : above);
  if (!epilogue_.stochastic()) return epilogue_.low_code(x);
  return encode(epilogue_.output(), static_cast<double>(x));
}

// The range over [y - e, y + e] grows with e.
double ElementRule::smallest_uncertain_error(const SumEnclosure& sum, const GridRange& within,
                                             std::uint64_t got) const {
  const SumEnclosure middle{sum.hi, sum.lo, 0};
  const auto reached = [&](double error) {
    const GridRange around = accumulator_range(grid_, middle, error).outer;
    const GridRange range = {std::max(around.first, within.first),
                             std::min(around.last, within.last)};
    return range.first <= range.last && has(image(range), got);
  };
  const Pair pair = two_sum(sum.hi, sum.lo);
  const auto distance = [&](std::int64_t index) {
    return std::fabs((static_cast<double>(grid_.value(index)) - pair.head) - pair.tail) *
           (1 + 0x1p-50);
  };
  double above = std::max(distance(within.first), distance(within.last)), below = 0;
  if (reached(below)) return below;
  if (!reached(above)) return std::numeric_limits<double>::infinity();
  const std::int64_t floor =
      std::clamp(grid_.floor(pair.head, pair.tail), within.first, within.last);
  const std::int64_t next = std::min(floor + 1, within.last);
  below = std::min(distance(floor), distance(next));  // the least that reaches a number
  if (reached(below)) return below;
  while (above > below * (1 + 0x1p-10)) {
    const double middle_error = below > 0 ? std::sqrt(below) * std::sqrt(above) : above / 2;
    (reached(middle_error) ? above : below) = middle_error;
  }
  return above;
}

double ElementRule::smallest_error(const SumEnclosure& sum, const GridRange& within,
                                   std::uint64_t got) const {
  const GridRange finite = finite_part(grid_, within);
  if (finite.first > finite.last) return std::numeric_limits<double>::infinity();
  if (uncertain(finite)) return smallest_uncertain_error(sum, finite, got);
  constexpr double kNone = std::numeric_limits<double>::infinity();
  if (epilogue_.is_nan(got)) return kNone;
  const Pair pair = two_sum(sum.hi, sum.lo);
  const auto distance = [&](std::int64_t index) {
    return std::fabs((static_cast<double>(grid_.value(index)) - pair.head) - pair.tail);
  };
  const std::int64_t floor = grid_.floor(pair.head, pair.tail),
                     ceiling = grid_.ceil(pair.head, pair.tail);
  double smallest = kNone;
  for (const Piece& piece : pieces(finite)) {
    GridRange hits = piece.range;  // NaN, where the output has none, becomes one code
    if (!piece.nan) {
      // Next to the sum there is nothing closer; else the hits are searched for.
      const std::int64_t order = epilogue_.order_of(got);
      bool found = false;
      for (const std::int64_t next : {floor, ceiling}) {
        if (next < piece.range.first || next > piece.range.last ||
            output_order(epilogue_, value(next)) != order)
          continue;
        smallest = std::min(smallest, distance(next));
        found = true;
      }
      if (found) continue;
      hits = with_order(piece.range, order);
    } else if (!same_result(epilogue_.low_code(value(hits.first)), got)) {
      continue;
    }
    if (hits.first > hits.last) continue;
    // The hits are neighbors: the closest is an end, or next to the sum.
    const std::int64_t below = std::clamp(floor, hits.first, hits.last);
    const std::int64_t above = std::clamp(ceiling, hits.first, hits.last);
    smallest = std::min({smallest, distance(below), distance(above)});
  }
  return smallest;
}

}  // namespace plumbline
