// SPDX-License-Identifier: MIT
// Adding and joining accumulators that are known to within a bound.
#include "oracles/bounds/accumulator/bound.h"

#include <cmath>
#include <vector>

#include "oracles/base/assert.h"
#include "oracles/base/numbers.h"
#include "oracles/bounds/accumulator/node_plan.h"
#include "oracles/exact/bound_arithmetic.h"

namespace plumbline::bound {
namespace {

// A true upper bound of a + b.
double sum_above(double a, double b) {
  return std::nextafter(a + b, std::numeric_limits<double>::infinity());
}

// The parts in no declared order. Every partial sum of their computed values lies in [-minus, plus]
// but for the roundings on the way, and is a multiple of the common lattice: each of the roundings
// errs by at most half an ulp of that range.
AccumulatorBound join_any_order(std::span<const AccumulatorBound> parts,
                                const NearestRounding& rounding) {
  AccumulatorBound total;
  double plus = 0, minus = 0, count = 0;
  ClassSet classes = ResultClass::finite;
  for (const AccumulatorBound& part : parts) {
    classes = ClassSet::of_sum(classes, part.classes);
    if (part.is_zero()) continue;
    count += 1;
    const double sum = total.sum + part.sum;
    const double lost = magnitude(rounding_error(total.sum, part.sum, sum));
    total.sum = sum;
    total.sum_error = (total.sum_error + part.sum_error + lost) * kRoundUp;
    total.drift = (total.drift + part.drift + lost) * kRoundUp;
    total.lattice = smaller(total.lattice, part.lattice);
    // A part whose sign is not known counts on both sides.
    const double reach = most(part.sum, part.drift), rest = least(part.sum, part.drift);
    if (part.sum >= 0 || rest == 0) plus = sum_above(plus, reach);
    if (part.sum <= 0 || rest == 0) minus = sum_above(minus, reach);
  }
  total.classes = classes;
  if (count < 2) return total;
  const double unit = std::ldexp(1.0, 1 - rounding.precision);
  // Each rounding to nearest grows the range by at most a factor 1 + unit/2.
  double growth = 1;
  for (double i = 1; i < count; i += 1) growth *= (1 + unit / 2) * kRoundUp;
  const double range = larger(plus, minus) * growth;
  const double ulp = rounding.ulp(range);
  if (total.lattice < ulp) {
    total.drift = (total.drift + (count - 1) * ulp / 2) * kRoundUp;
    total.lattice = larger(total.lattice, rounding.ulp(0));
  }
  if (range >= rounding.overflow) {
    // Which partial sums overflow depends on the order: all of these may happen.
    const bool to_plus = plus * growth >= rounding.overflow,
               to_minus = minus * growth >= rounding.overflow;
    if ((to_plus && classes.has(ResultClass::minus_infinity)) ||
        (to_minus && classes.has(ResultClass::plus_infinity)))
      total.classes.add(ResultClass::nan);
    if (to_plus) total.classes.add(ResultClass::plus_infinity);
    if (to_minus) total.classes.add(ResultClass::minus_infinity);
    if (least(total.sum, total.drift) >= rounding.overflow)
      total.classes.remove(ResultClass::finite);
  }
  return total;
}

// A rounding of one value to nearest.
void round_to(AccumulatorBound& x, const NearestRounding& rounding) {
  if (x.is_zero()) return;
  note_overflow(x, rounding.overflow);
  const double ulp = rounding.ulp(most(x.sum, x.drift));
  const double low_ulp = rounding.ulp(least(x.sum, x.drift));
  if (x.lattice < ulp) x.drift = (x.drift + ulp / 2) * kRoundUp;
  x.lattice = larger(x.lattice, low_ulp);
}

// accumulator = round(accumulator + x), x not known to be 0 and with any number of bits.
void add_and_round(AccumulatorBound& accumulator, const AccumulatorBound& x,
                   const NearestRounding& rounding) {
  const ClassSet classes = ClassSet::of_sum(accumulator.classes, x.classes);
  const double sum = accumulator.sum + x.sum;
  const double lost = magnitude(rounding_error(accumulator.sum, x.sum, sum));
  accumulator.sum = sum;
  accumulator.sum_error = (accumulator.sum_error + x.sum_error + lost) * kRoundUp;
  accumulator.drift = (accumulator.drift + x.drift + lost) * kRoundUp;
  accumulator.classes = classes;
  note_overflow(accumulator, rounding.overflow);
  const double lattice = smaller(accumulator.lattice, x.lattice);
  const double reach = most(sum, accumulator.drift), rest = least(sum, accumulator.drift);
  const double ulp = rounding.ulp(reach);
  if (lattice < ulp) accumulator.drift = (accumulator.drift + ulp / 2) * kRoundUp;
  accumulator.lattice =
      reach == 0 ? std::numeric_limits<double>::infinity() : larger(lattice, rounding.ulp(rest));
}

// The classes of x * factor, unrounded.
ClassSet classes_of_product(const AccumulatorBound& x, double factor, bool flushes) {
  using enum ResultClass;
  if (std::isnan(factor)) return nan;
  const bool infinite = std::isinf(factor), negative = factor < 0;
  const double lost = flushes ? kF32Minimum : 0;
  ClassSet product;
  const auto add_infinity = [&](bool minus) {
    product.add(minus ? minus_infinity : plus_infinity);
  };
  if (x.classes.has(finite)) {
    if (!infinite) {
      product.add(finite);
    } else {
      // The sign of x decides, and x may be 0.
      if (x.is_zero() || magnitude(x.sum) <= x.drift + lost) product.add(nan);
      if (!x.is_zero() && x.sum + x.drift > 0) add_infinity(negative);
      if (!x.is_zero() && x.sum - x.drift < 0) add_infinity(!negative);
    }
  }
  if (x.classes.has(nan)) product.add(nan);
  for (const ResultClass side : {plus_infinity, minus_infinity}) {
    if (!x.classes.has(side)) continue;
    if (magnitude(factor) < lost) product.add(nan);
    if (factor == 0) {
      product.add(nan);
    } else {
      add_infinity((side == minus_infinity) != negative);
    }
  }
  return product;
}

// Each of the additions may flush its operand and its sum, when they can be subnormal at all.
AccumulatorBound join_with_flushes(std::span<const AccumulatorBound> parts,
                                   const NearestRounding& rounding) {
  AccumulatorBound total = join_any_order(parts, rounding);
  double lattice = std::numeric_limits<double>::infinity();
  for (const AccumulatorBound& part : parts) {
    if (!part.is_zero()) lattice = smaller(lattice, part.lattice);
  }
  if (lattice < kF32Minimum) {
    const auto count = static_cast<double>(parts.size());
    total.drift = (total.drift + 2 * count * kF32Minimum) * kRoundUp;
  }
  return total;
}

// In steps a product of x and two scales of this size may leave f32's range and come back to it.
// True: so may the scales' own product, and nothing is known.
bool note_range(AccumulatorBound& product, const AccumulatorBound& x, double factor,
                double largest) {
  constexpr double kSafe = 0x1p127;
  if (std::isinf(factor)) product.classes.add(ResultClass::nan);  // x times the other may be 0
  const bool unknown = std::isinf(factor) && largest * largest >= kSafe;
  if (!unknown && most(x.sum, x.drift) * largest < kSafe) return false;
  for (const ResultClass one : {ResultClass::finite, ResultClass::plus_infinity,
                                ResultClass::minus_infinity, ResultClass::nan})
    product.classes.add(one);
  if (unknown) product.drift = 0x1p200;
  return unknown;
}

// Of x times two scales in steps (docs/bounds/accumulator.md, "Scales in any steps"): three
// roundings, and what each step may lose among subnormal numbers.
void note_scaling(AccumulatorBound& product, const AccumulatorBound& x, double largest,
                  bool flushes) {
  const double reach = most(x.sum, x.drift);
  double lost = 4 * 0x1p-24 * most(product.sum, product.drift) + 0x1p-148 * (1 + largest + reach);
  if (flushes) lost += 4 * kF32Minimum * (1 + largest) * (1 + reach);
  product.drift = (product.drift + lost * kRoundUp) * kRoundUp;
  product.lattice = 0x1p-300;  // of a product that no step has rounded
}

// What an addition may lose: x, the other operand, and the sum.
void note_flushes(AccumulatorBound& x, double other_lattice) {
  if (smaller(x.lattice, other_lattice) < kF32Minimum)
    x.drift = (x.drift + 3 * kF32Minimum) * kRoundUp;
}

}  // namespace

void add_aligned(AccumulatorBound& state, const NodePlan& plan, const AlignedProducts& products) {
  const double sum = state.sum + products.sum;
  double lost = magnitude(rounding_error(state.sum, products.sum, sum));
  // Adding the products up in double is exact while they span fewer than 53 bits, else within
  // one rounding each.
  const double span = plan.addend_reach * products.count * products.largest;
  if (span > 0x1p53 * products.lowest)
    lost += products.count * plan.addend_products * 0x1p-53 * span;

  state.sum = sum;
  state.sum_error = (state.sum_error + lost) * kRoundUp;
  state.drift = ((state.drift + products.loss) + lost) * kRoundUp;
  if (products.off > 0) state.drift = (state.drift + products.off * kRoundUpCount) * kRoundUp;
  note_overflow(state, plan.overflow);
  const auto ulp_at = [&](double x) { return larger(binade(x), plan.minimum) * plan.ulp_unit; };
  const double lattice = larger(products.least_unit, smaller(state.lattice, products.lowest));
  const double reach = most(sum, state.drift), rest = least(sum, state.drift), ulp = ulp_at(reach);
  if (lattice < ulp)
    state.drift = (state.drift + (plan.rounds_to_nearest ? ulp / 2 : ulp - lattice)) * kRoundUp;
  state.lattice =
      reach == 0 ? std::numeric_limits<double>::infinity() : larger(lattice, ulp_at(rest));
}

void add_fused(AccumulatorBound& state, double product, double lowest, double off) {
  if (lowest == std::numeric_limits<double>::infinity()) return;
  const double unit = 0x1p-23;
  const double sum = state.sum + product;
  const double lost = magnitude(rounding_error(state.sum, product, sum));
  state.sum = sum;
  state.sum_error = (state.sum_error + lost) * kRoundUp;
  state.drift = (state.drift + lost) * kRoundUp;
  if (off > 0) state.drift = (state.drift + off) * kRoundUp;
  note_overflow(state, kNearestF32.overflow);
  const double lattice = smaller(state.lattice, lowest);
  const double reach = most(sum, state.drift), rest = least(sum, state.drift);
  const double ulp = ulp_of(reach, unit);
  if (lattice < ulp) state.drift = (state.drift + ulp / 2) * kRoundUp;
  state.lattice =
      reach == 0 ? std::numeric_limits<double>::infinity() : larger(lattice, ulp_of(rest, unit));
}

LaneFactors::LaneFactors(const BoundModel& model, std::int64_t k, const double* factors) {
  finite.fill(true);
  if (!model.scaled) return;
  PLUMB_ASSERT(factors != nullptr || k == 0);
  for (std::int64_t at = 0; at < model.intervals(k) * kPanelLanes; ++at) {
    const double factor = factors[at];
    const bool usable = std::isfinite(factor);
    if (!usable) finite[static_cast<std::size_t>(at % kPanelLanes)] = false;
    value.push_back(usable ? factor : 0);
    lowest.push_back(usable && factor != 0 ? lowest_bit(factor) : 1);
  }
}

RunningBound AccumulatorBound::result() const {
  return {sum, sum_error, (drift + sum_error) * (drift + sum_error > 0 ? kRoundUp : 1), lattice,
          classes};
}

void note_overflow(AccumulatorBound& state, double threshold) {
  if (most(state.sum, state.drift) < threshold || !state.classes.has(ResultClass::finite)) return;
  double top = state.sum + state.drift, bottom = state.sum - state.drift;
  if (state.drift > 0) {
    top = std::nextafter(top, kInfinity);
    bottom = std::nextafter(bottom, -kInfinity);
  }
  if (top >= threshold) state.classes.add(ResultClass::plus_infinity);
  if (bottom <= -threshold) state.classes.add(ResultClass::minus_infinity);
  if (least(state.sum, state.drift) >= threshold) state.classes.remove(ResultClass::finite);
}

void add_rounded(AccumulatorBound& accumulator, const AccumulatorBound& addend,
                 const NearestRounding& rounding, bool flushes) {
  const ClassSet classes = ClassSet::of_sum(accumulator.classes, addend.classes);
  if (addend.is_zero()) {
    accumulator.classes = classes;
    return;
  }
  AccumulatorBound x = addend;
  if (flushes) note_flushes(x, accumulator.lattice);
  if (accumulator.is_zero()) {  // 0 + x needs no rounding: x has no more bits than the accumulator
    accumulator = x;
    accumulator.classes = classes;
    return;
  }
  add_and_round(accumulator, x, rounding);
}

void add_scaled(AccumulatorBound& accumulator, const AccumulatorBound& x, double factor,
                bool flushes, std::optional<double> any_scaling) {
  AccumulatorBound product;
  product.classes = classes_of_product(x, factor, flushes);
  if (any_scaling && note_range(product, x, factor, *any_scaling))
    return add_and_round(accumulator, product, kNearestF32);
  const bool is_lost = factor == 0 && !any_scaling;
  if (is_lost || !std::isfinite(factor) || x.is_zero()) {
    accumulator.classes = ClassSet::of_sum(accumulator.classes, product.classes);
    return;
  }
  const double size = magnitude(factor);
  const ExactProduct exact = exact_product(factor, x.sum);
  const double lost = magnitude(exact.lost);
  product.sum = exact.product;
  product.sum_error = (size * x.sum_error + lost) * kRoundUp;
  product.drift = (size * x.drift + lost) * kRoundUp;
  product.lattice = x.lattice * lowest_bit(factor);
  if (flushes) {
    if (x.lattice < kF32Minimum) product.drift = (product.drift + size * kF32Minimum) * kRoundUp;
    if (size < kF32Minimum)
      product.drift = (product.drift + size * most(x.sum, x.drift)) * kRoundUp;
    note_flushes(product, accumulator.lattice);
  }
  if (any_scaling) note_scaling(product, x, *any_scaling, flushes);
  add_and_round(accumulator, product, kNearestF32);  // also from zero: a product has 48 bits
}

AccumulatorBound join_parts(std::span<const AccumulatorBound> parts, Join join, bool flushes) {
  PLUMB_ASSERT(!parts.empty());
  switch (join) {
    case Join::f32_ordered: {
      AccumulatorBound total = parts[0];
      for (const AccumulatorBound& part : parts.subspan(1))
        add_rounded(total, part, kNearestF32, flushes);
      return total;
    }
    case Join::f32_any_order:
      if (!flushes) return join_any_order(parts, kNearestF32);
      [[fallthrough]];
    case Join::f32_atomic:
      return join_with_flushes(parts, kNearestF32);
    case Join::bf16:
      break;
  }
  std::vector<AccumulatorBound> rounded(parts.begin(), parts.end());
  for (AccumulatorBound& part : rounded) {
    if (flushes) note_flushes(part, part.lattice);
    round_to(part, kNearestBf16);
  }
  return flushes ? join_with_flushes(rounded, kNearestBf16) : join_any_order(rounded, kNearestBf16);
}

}  // namespace plumbline::bound
