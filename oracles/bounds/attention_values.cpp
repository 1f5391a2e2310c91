// SPDX-License-Identifier: MIT
// The recursion of attention/values.h on Highway vectors, the instruction set chosen at run time.
#include "oracles/bounds/attention_values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

#include "oracles/exact/bound_arithmetic.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "oracles/bounds/attention_values.cpp"
#include <hwy/foreach_target.h>  // includes this file once per instruction set
#include <hwy/highway.h>

#include "oracles/bounds/accumulator/bound_lanes-inl.h"

HWY_BEFORE_NAMESPACE();

namespace plumbline::bound::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE V rounded_up(V x) { return hn::Mul(x, splat(kRoundUp)); }

struct State {
  V sum, drift, lattice, framed, skewed, since_rescale, magnitude, reach;
  // since_rescale: |sums| of tiles since the last rescaling; skew: of those before, times their skew
  V skew, before;
};

HWY_INLINE void rescale(State& state, const ValueFactor& tile) {
  const Doubles d;
  const V zero = hn::Zero(d), factor = splat(tile.factor), error = splat(tile.factor_error);
  const auto empty = hn::Eq(state.lattice, infinite());
  const V sum = hn::Mul(state.sum, factor);
  const V drift =
      hn::Mul(hn::Mul(state.drift, factor), splat((1 + tile.factor_error) * (1 + tile.skew)));
  const V skewed = rounded_up(hn::Mul(hn::Add(state.skewed, state.since_rescale), factor));
  const V skew = rounded_up(hn::Mul(skewed, splat(tile.skew)));
  const V size = hn::Add(hn::Abs(sum), skew);
  // 2^-43: the factor in double.
  V total = rounded_up(hn::Add(drift, hn::Mul(size, hn::Add(error, splat(0x1p-43)))));
  const V unit = splat(0x1p-23);
  const V reach = most(sum, hn::Add(total, skew)), rest = least(sum, hn::Add(total, skew));
  const V rounding = hn::Mul(ulp_of(reach, unit), splat(0.5));
  total = hn::IfThenElse(empty, drift, rounded_up(hn::Add(total, rounding)));
  state.sum = sum;
  state.drift = tile.cleared ? rounded_up(hn::Add(drift, size)) : total;
  state.lattice = tile.cleared ? infinite()
                               : hn::IfThenElse(hn::Or(empty, hn::Eq(reach, zero)), infinite(),
                                                ulp_of(rest, unit));
  state.skewed = skewed;
  state.since_rescale = zero;
  state.skew = skew;
  state.framed = rounded_up(hn::Mul(state.framed, factor));
  state.magnitude = hn::Mul(state.magnitude, factor);
  state.reach = hn::Max(state.reach, reach);
}

// Whether the unit's results have fewer bits than f32: then a node that adds nothing still takes
// bits away from an accumulator that was rescaled in f32.
HWY_INLINE bool is_narrow(const NodePlan& plan) { return plan.ulp_unit > 0x1p-23; }

// add_node() of accumulator/add_node.h; `first`: of the keys that count.
HWY_INLINE void add_node(State* states, const NodePlan& plan, const ProbabilityRow& row,
                         const PanelSide& columns, std::int64_t base, std::int64_t first,
                         const std::int64_t* offsets, std::size_t count) {
  const Doubles d;
  V products[kVectors], largest[kVectors], least_largest[kVectors], lowest[kVectors];
  V term_lowest[kMostProducts][kVectors];
  for (std::size_t v = 0; v < kVectors; ++v) {
    products[v] = largest[v] = least_largest[v] = hn::Zero(d);
    lowest[v] = infinite();
  }
  std::size_t terms = 0;
  for (std::size_t t = 0; t < count; ++t) {
    const auto p = static_cast<std::size_t>(base + offsets[t]);
    const double value = row.prepared.value[p];
    if (row.prepared.exponent[p] == 0 || base + offsets[t] < first) continue;
    const V own_value = splat(value), own_exponent = splat(row.prepared.exponent[p]),
            own_least = splat(row.least_exponent[p]), own_lowest = splat(row.prepared.lowest[p]);
    for (std::size_t v = 0; v < kVectors; ++v) {
      const V column = columns.value(base + offsets[t], v);
      const V product = hn::Mul(own_value, column);
      products[v] = hn::Add(products[v], product);
      states[v].magnitude = hn::Add(states[v].magnitude, hn::Abs(product));
      const V exponent = columns.exponent(base + offsets[t], v);
      largest[v] = hn::Max(largest[v], hn::Mul(own_exponent, exponent));
      least_largest[v] = hn::Max(least_largest[v], hn::Mul(own_least, exponent));
      term_lowest[terms][v] = hn::Mul(own_lowest, columns.lowest(base + offsets[t], v));
      lowest[v] = hn::Min(lowest[v], term_lowest[terms][v]);
    }
    ++terms;
  }
  const bool narrow = is_narrow(plan);
  if (terms == 0 && !narrow) return;
  for (std::size_t v = 0; v < kVectors; ++v) {
    State& state = states[v];
    const auto nothing = hn::And(hn::Eq(lowest[v], infinite()), hn::Eq(splat(narrow), hn::Zero(d)));
    const V error = hn::Add(state.drift, state.skew);
    const V reach = most(state.sum, error), rest = least(state.sum, error);
    const NodeAddendLanes node = {
        products[v],       largest[v], least_largest[v], lowest[v], static_cast<double>(terms),
        &term_lowest[0][v]};
    // An accumulator that was rescaled in f32 may have more bits than the unit's results.
    const AlignedLanes at = aligned(plan, node, state.sum, state.lattice, reach, rest, 0x1p23);

    // Twice: once for the accumulator's distance from this sum, once for this sum's from the exact.
    V drift = rounded_up(hn::Add(hn::Add(state.drift, at.loss), hn::Add(at.lost, at.lost)));
    const V lattice = hn::Max(at.least_unit, hn::Min(state.lattice, lowest[v]));
    const V new_error = hn::Add(drift, state.skew);
    const V new_reach = most(at.sum, new_error);
    const V ulp = ulp_of(new_reach, splat(plan.ulp_unit));
    drift = hn::IfThenElse(hn::Lt(lattice, ulp), rounded_up(hn::Add(drift, hn::Sub(ulp, lattice))),
                           drift);
    const V new_rest = least(at.sum, hn::Add(drift, state.skew));
    const V new_lattice = hn::IfThenElse(hn::Eq(new_reach, hn::Zero(d)), infinite(),
                                         hn::Max(lattice, ulp_of(new_rest, splat(plan.ulp_unit))));
    state.sum = hn::IfThenElse(nothing, state.sum, at.sum);
    state.drift = hn::IfThenElse(nothing, state.drift, drift);
    state.lattice = hn::IfThenElse(nothing, state.lattice, new_lattice);
    state.reach = hn::Max(state.reach, new_reach);
  }
}

struct ValueUnit {
  const BoundModel& model;
  const NodePlan& plan;
  bool flushes;  // f32 arithmetic loses subnormal numbers
};

// What a sum loses that counts as 0 below 2^-126: 0 where it is a multiple of more.
HWY_INLINE V flushed_sum(V lattice) {
  const V smallest = splat(kF32Minimum);
  return hn::IfThenElseZero(hn::Lt(lattice, smallest), smallest);
}

// And with it a product, all of it where its factor counts as 0: an element or a scale of V. P is
// never below 2^-126.
HWY_INLINE V flushed_fma(V factor, V product, V lattice) {
  const auto gone = hn::Lt(hn::Abs(factor), splat(kF32Minimum));
  return hn::Add(hn::IfThenElseZero(gone, hn::Abs(product)), flushed_sum(lattice));
}

HWY_INLINE void add_fma(State* states, const ProbabilityRow& row, const PanelSide& columns,
                        std::int64_t key, bool flushes) {
  const Doubles d;
  const auto p = static_cast<std::size_t>(key);
  if (row.prepared.exponent[p] == 0) return;
  for (std::size_t v = 0; v < kVectors; ++v) {
    State& state = states[v];
    const V element = columns.value(key, v);
    const V product = hn::Mul(splat(row.prepared.value[p]), element);
    const V lowest = hn::Mul(splat(row.prepared.lowest[p]), columns.lowest(key, v));
    const auto nothing = hn::Eq(lowest, infinite());
    const V unit = splat(0x1p-23);
    const V sum = hn::Add(state.sum, product);
    const V lost = hn::Abs(rounding_error(state.sum, product, sum));
    const V lattice = hn::Min(state.lattice, lowest);
    V drift = hn::Add(state.drift, hn::Add(lost, lost));
    if (flushes) drift = hn::Add(drift, flushed_fma(element, product, lattice));
    drift = rounded_up(drift);
    const V error = hn::Add(drift, state.skew);
    const V reach = most(sum, error);
    const V ulp = ulp_of(reach, unit);
    drift = hn::IfThenElse(hn::Lt(lattice, ulp),
                           rounded_up(hn::Add(drift, hn::Mul(ulp, splat(0.5)))), drift);
    const V rest = least(sum, hn::Add(drift, state.skew));
    const V new_lattice = hn::IfThenElse(hn::Eq(reach, hn::Zero(d)), infinite(),
                                         hn::Max(lattice, ulp_of(rest, unit)));
    state.sum = hn::IfThenElse(nothing, state.sum, sum);
    state.drift = hn::IfThenElse(nothing, state.drift, drift);
    state.lattice = hn::IfThenElse(nothing, state.lattice, new_lattice);
    state.reach = hn::Max(state.reach, reach);
    state.magnitude = hn::Add(state.magnitude, hn::Abs(product));
  }
}

// state = fl(state + x): how FP8 instructions of sm_90 end, and how parts come together. `long_x`:
// x may have more bits than f32.
HWY_INLINE void add_rounded(State& state, const State& x, bool long_x = false) {
  const Doubles d;
  const auto none = hn::Eq(x.lattice, infinite());
  const auto first = hn::And(hn::Eq(state.lattice, infinite()), hn::Eq(splat(long_x), hn::Zero(d)));
  const V unit = splat(0x1p-23);
  const V sum = hn::Add(state.sum, x.sum);
  const V lost = hn::Abs(rounding_error(state.sum, x.sum, sum));
  V drift = rounded_up(hn::Add(hn::Add(state.drift, x.drift), hn::Add(lost, lost)));
  const V lattice = hn::Min(state.lattice, x.lattice);
  const V reach = most(sum, hn::Add(drift, state.skew));
  const V ulp = ulp_of(reach, unit);
  // 0 + x needs no rounding, nor does x + 0.
  drift = hn::IfThenElse(hn::AndNot(hn::Or(first, none), hn::Lt(lattice, ulp)),
                         rounded_up(hn::Add(drift, hn::Mul(ulp, splat(0.5)))), drift);
  const V rest = least(sum, hn::Add(drift, state.skew));
  const V new_lattice =
      hn::IfThenElse(hn::Eq(reach, hn::Zero(d)), infinite(), hn::Max(lattice, ulp_of(rest, unit)));
  // What was cleared still belongs to the exact sum.
  state.sum = sum;
  state.drift = drift;
  state.lattice =
      hn::IfThenElse(none, state.lattice, hn::IfThenElse(first, x.lattice, new_lattice));
  state.magnitude = hn::Add(state.magnitude, x.magnitude);
  state.reach = hn::Max(state.reach, hn::Max(reach, x.reach));
}

// state = fma(scale, x, state): how sums of blocks of V that have scales come in.
HWY_INLINE void add_scaled(State& state, State x, float factor, bool flushes) {
  const Doubles d;
  const hn::RebindToUnsigned<Doubles> bits;
  const V s = splat(static_cast<double>(factor));
  // exact_product() of bound_arithmetic.h
  const V high = hn::BitCast(
      d, hn::And(hn::BitCast(bits, x.sum), hn::Set(bits, ~((std::uint64_t{1} << 27) - 1))));
  const V upper = hn::Mul(s, high), lower = hn::Mul(s, hn::Sub(x.sum, high));
  x.sum = hn::Add(upper, lower);
  const V lost = hn::Abs(rounding_error(upper, lower, x.sum));
  const V operand = hn::Mul(s, flushed_sum(x.lattice));
  x.drift = hn::Add(hn::Mul(s, x.drift), hn::Add(lost, lost));
  x.lattice = hn::Mul(x.lattice, splat(lowest_bit(factor)));
  if (flushes)
    x.drift = hn::Add(x.drift,
                      hn::Add(operand, flushed_fma(s, x.sum, hn::Min(state.lattice, x.lattice))));
  x.drift = rounded_up(x.drift);
  x.magnitude = hn::Mul(s, x.magnitude);
  add_rounded(state, x, true);  // also from zero: a product has 48 bits
}

HWY_INLINE State zero_state() {
  const V zero = splat(0);
  return {zero, zero, infinite(), zero, zero, zero, zero, zero, zero, zero};
}

// The part is done: it joins the others, whose sums are relative to the same maximum.
HWY_INLINE void join_part(State& all, State& part, const ValueFactor& factor) {
  if (factor.rescaled) rescale(part, factor);
  all.skew = rounded_up(hn::Add(all.skew, part.skew));
  all.framed = rounded_up(hn::Add(all.framed, part.framed));
  all.skewed = rounded_up(hn::Add(all.skewed, part.skewed));
  add_rounded(all, part);
  part = zero_state();
}

HWY_INLINE void add_products(State* states, const ValueUnit& unit, const ProbabilityRow& row,
                             const PanelSide& columns, std::int64_t start, const ValueBlock& keys) {
  if (unit.model.fma) {
    for (std::int64_t key = keys.first; key < keys.end; ++key)
      add_fma(states, row, columns, key, unit.flushes);
    return;
  }
  const NodePlan& plan = unit.plan;
  for (std::int64_t base = start; base < keys.end; base += plan.instruction_length) {
    const std::int64_t room = keys.end - base;
    const bool fresh_start = unit.model.chaining == Chaining::hopper_fp8;
    State fresh[kVectors];
    for (std::size_t v = 0; fresh_start && v < kVectors; ++v) fresh[v] = zero_state();
    for (const std::vector<std::int64_t>& offsets : plan.nodes) {
      std::size_t count = offsets.size();
      while (count > 0 && offsets[count - 1] >= room) --count;
      if (count > 0 || is_narrow(plan))
        add_node(fresh_start ? fresh : states, plan, row, columns, base, keys.first, offsets.data(),
                 count);
    }
    for (std::size_t v = 0; fresh_start && v < kVectors; ++v) add_rounded(states[v], fresh[v]);
  }
}

// Products of these keys, of a tile that starts at `start`.
HWY_INLINE void add_keys(State* states, const ValueUnit& unit, const ProbabilityRow& row,
                         const PanelSide& columns, std::int64_t start, const ValueBlock& keys) {
  for (std::size_t v = 0; v < kVectors; ++v) {
    V ambiguous = splat(0);
    for (std::int64_t key = keys.first; key < keys.end; ++key) {
      const double ambiguity = row.ambiguity[static_cast<std::size_t>(key)];
      if (ambiguity == 0) continue;
      ambiguous = hn::Add(
          ambiguous, hn::Mul(splat(ambiguity * (1 + 0x1p-30)), hn::Abs(columns.value(key, v))));
    }
    states[v].drift = hn::Add(states[v].drift, rounded_up(ambiguous));
  }
  add_products(states, unit, row, columns, start, keys);
}

HWY_INLINE void add_block(State* states, const ValueUnit& unit, const ProbabilityRow& row,
                          const PanelSide& columns, std::int64_t start, const ValueBlock& block) {
  State own[kVectors];
  for (State& state : own) state = zero_state();
  add_keys(own, unit, row, columns, start, block);
  for (std::size_t v = 0; v < kVectors; ++v)
    add_scaled(states[v], own[v], block.scale, unit.flushes);
}

void all_tiles(const BoundModel& model, const NodePlan& plan, const ProbabilityRow& row,
               const PreparedPanel& panel, std::span<const ValueTile> tiles, bool flushes,
               ValueBounds& out) {
  const Doubles d;
  const PanelSide columns{panel};
  const ValueUnit unit{model, plan, flushes};
  State states[kVectors], joined[kVectors];
  for (State& state : states) state = zero_state();
  for (State& state : joined) state = zero_state();
  for (const ValueTile& tile : tiles) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      State& state = states[v];
      if (tile.before.rescaled) rescale(state, tile.before);
      state.before = state.sum;
    }
    if (tile.blocks.empty())
      add_keys(states, unit, row, columns, tile.first, {tile.first, tile.end});
    for (const ValueBlock& block : tile.blocks)
      add_block(states, unit, row, columns, tile.first, block);
    for (std::size_t v = 0; v < kVectors; ++v) {
      State& state = states[v];
      const V own = hn::Abs(hn::Sub(state.sum, state.before));
      state.since_rescale = rounded_up(hn::Add(state.since_rescale, own));
      state.framed = rounded_up(hn::Add(state.framed, hn::Mul(own, splat(tile.frame_error))));
      if (tile.join) join_part(joined[v], state, *tile.join);
    }
  }
  const bool in_parts = !tiles.empty() && tiles.back().join.has_value();
  for (std::size_t v = 0; v < kVectors; ++v) {
    const State& state = in_parts ? joined[v] : states[v];
    double sum[kWidth], drift[kWidth], framed[kWidth], skewed[kWidth], magnitude[kWidth],
        reach[kWidth];
    hn::StoreU(state.sum, d, sum);
    hn::StoreU(state.drift, d, drift);
    hn::StoreU(state.framed, d, framed);
    hn::StoreU(state.skewed, d, skewed);
    hn::StoreU(state.magnitude, d, magnitude);
    hn::StoreU(state.reach, d, reach);
    for (std::size_t lane = 0; lane < kWidth; ++lane) {
      out[v * kWidth + lane] = {sum[lane],    drift[lane],     framed[lane],
                                skewed[lane], magnitude[lane], reach[lane]};
    }
  }
}

}  // namespace plumbline::bound::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace plumbline {
namespace bound {
namespace {

HWY_EXPORT(all_tiles);

}  // namespace
}  // namespace bound

void ProbabilityRow::assign(std::int64_t keys) {
  const auto size = static_cast<std::size_t>(keys);
  prepared.value.assign(size, 0);
  prepared.exponent.assign(size, 0);
  prepared.lowest.assign(size, std::numeric_limits<double>::infinity());
  least_exponent.assign(size, 0);
  ambiguity.assign(size, 0);
}

void ProbabilityRow::set(std::int64_t key, double value, double low, double high,
                         const Format& format, int shift) {
  const auto at = static_cast<std::size_t>(key);
  const double scale = std::ldexp(1.0, shift), smallest = std::ldexp(1.0, format.emin());
  prepared.value[at] = value * scale;
  if (high == 0) return;
  prepared.exponent[at] = std::max(bound::binade(high * scale), smallest);
  least_exponent[at] = low > 0 ? std::max(bound::binade(low * scale), smallest) : 0;
  const double ulp_unit = std::ldexp(1.0, 1 - format.precision());
  if (low == high) {
    prepared.lowest[at] = bound::lowest_bit(static_cast<float>(value * scale));
    return;
  }
  // Any of several values: a multiple of the smallest one's ulp.
  prepared.lowest[at] = std::max(bound::binade(low * scale), smallest) * ulp_unit;
  ambiguity[at] = std::max(high - value, value - low) * scale;
}

ValueBounds value_bounds(const BoundModel& model, const bound::NodePlan& plan,
                         const ProbabilityRow& row, const PreparedPanel& columns,
                         std::span<const ValueTile> tiles, bool flushes) {
  ValueBounds out;
  HWY_DYNAMIC_DISPATCH(bound::all_tiles)(model, plan, row, columns, tiles, flushes, out);
  return out;
}

}  // namespace plumbline

#endif  // HWY_ONCE
