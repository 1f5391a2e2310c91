// SPDX-License-Identifier: MIT
// The running bound of eight dot products at once: running_bound.cpp line by line on Highway
// vectors, the instruction set chosen at run time. Same operations in the same order on every lane,
// hence the same bits on every machine. Lanes in which an accumulator might come near the top of
// f32's range are left to the specification.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "oracles/bounds/accumulator/bound.h"
#include "oracles/bounds/accumulator/node_plan.h"
#include "oracles/bounds/accumulator/running_bound.h"
#include "oracles/exact/bound_arithmetic.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "oracles/bounds/accumulator/running_bound_lanes.cpp"
#include <hwy/foreach_target.h>  // includes this file once per instruction set
#include <hwy/highway.h>

#include "oracles/bounds/accumulator/bound_lanes-inl.h"

HWY_BEFORE_NAMESPACE();

namespace plumbline::bound::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// AccumulatorBound for kWidth lanes; reach is the largest magnitude any accumulator may have had.
struct State {
  V sum, sum_error, drift, lattice, reach;
};

HWY_INLINE State zero_state() { return {splat(0), splat(0), splat(0), infinite(), splat(0)}; }

HWY_INLINE V choose(hn::Mask<Doubles> mask, V yes, V no) { return hn::IfThenElse(mask, yes, no); }

HWY_INLINE void keep_where(hn::Mask<Doubles> mask, const State& old, State& state) {
  state.sum = choose(mask, old.sum, state.sum);
  state.sum_error = choose(mask, old.sum_error, state.sum_error);
  state.drift = choose(mask, old.drift, state.drift);
  state.lattice = choose(mask, old.lattice, state.lattice);
  state.reach = choose(mask, old.reach, state.reach);
}

// Element p of the row side: shared by all lanes, or a panel.
struct SharedRow {
  const PreparedVector& row;

  HWY_INLINE V value(std::int64_t p, std::size_t) const {
    return splat(row.value[static_cast<std::size_t>(p)]);
  }

  HWY_INLINE V exponent(std::int64_t p, std::size_t) const {
    return splat(row.exponent[static_cast<std::size_t>(p)]);
  }

  HWY_INLINE V lowest(std::int64_t p, std::size_t) const {
    return splat(row.lowest[static_cast<std::size_t>(p)]);
  }
};

using States = State[kVectors];

template <typename Rows>
HWY_INLINE void add_node(States& states, const NodePlan& plan, const Rows& rows,
                         const PanelSide& columns, std::int64_t base, const std::int64_t* offsets,
                         std::size_t count) {
  const Doubles d;
  const V infinity = infinite();
  V products[kVectors], largest[kVectors], lowest[kVectors];
  V term_lowest[kMostProducts][kVectors];
  for (std::size_t v = 0; v < kVectors; ++v) {
    products[v] = hn::Zero(d);
    largest[v] = hn::Zero(d);
    lowest[v] = infinity;
  }
  const auto add_product = [&](std::size_t v, std::int64_t p, V& sum, V& low) {
    sum = hn::MulAdd(rows.value(p, v), columns.value(p, v), sum);  // the product alone is exact
    largest[v] = hn::Max(largest[v], hn::Mul(rows.exponent(p, v), columns.exponent(p, v)));
    low = hn::Min(low, hn::Mul(rows.lowest(p, v), columns.lowest(p, v)));
  };
  for (std::size_t t = 0; t < count; ++t) {
    const std::int64_t p = base + offsets[t];
    for (std::size_t v = 0; v < kVectors; ++v) {
      term_lowest[t][v] = infinity;
      if (plan.group == 1) {
        add_product(v, p, products[v], term_lowest[t][v]);
      } else {
        V sum = hn::Zero(d);
        for (std::int64_t i = 0; i < plan.group; ++i)
          add_product(v, p * plan.group + i, sum, term_lowest[t][v]);
        products[v] = hn::Add(products[v], sum);
      }
      lowest[v] = hn::Min(lowest[v], term_lowest[t][v]);
    }
  }
  for (std::size_t v = 0; v < kVectors; ++v) {
    const State old = states[v];
    State& state = states[v];
    const V reach = most(old.sum, old.drift), rest = least(old.sum, old.drift);
    const NodeAddendLanes node = {
        products[v],       largest[v], largest[v], lowest[v], static_cast<double>(count),
        &term_lowest[0][v]};
    const AlignedLanes at =
        aligned(plan, node, old.sum, old.lattice, reach, rest, plan.precision_weight);

    const V round_up = splat(kRoundUp), ulp_unit = splat(plan.ulp_unit);
    state.sum = at.sum;
    state.sum_error = hn::Mul(hn::Add(old.sum_error, at.lost), round_up);
    V drift = hn::Mul(hn::Add(hn::Add(old.drift, at.loss), at.lost), round_up);
    const V lattice = hn::Max(at.least_unit, hn::Min(old.lattice, lowest[v]));
    const V new_reach = most(at.sum, drift), new_rest = least(at.sum, drift);
    const V ulp = ulp_of(new_reach, ulp_unit);
    drift = choose(hn::Lt(lattice, ulp), hn::Mul(hn::Add(drift, hn::Sub(ulp, lattice)), round_up),
                   drift);
    state.drift = drift;
    state.lattice = choose(hn::Eq(new_reach, hn::Zero(d)), infinity,
                           hn::Max(lattice, ulp_of(new_rest, ulp_unit)));
    state.reach = hn::Max(old.reach, new_reach);
    keep_where(hn::Eq(lowest[v], infinity), old, state);
  }
}

template <typename Rows>
HWY_INLINE void add_fma(States& states, const Rows& rows, const PanelSide& columns,
                        std::int64_t p) {
  const Doubles d;
  const V infinity = infinite();
  for (std::size_t v = 0; v < kVectors; ++v) {
    const State old = states[v];
    State& state = states[v];
    const V product = hn::Mul(rows.value(p, v), columns.value(p, v));
    const V lowest = hn::Mul(rows.lowest(p, v), columns.lowest(p, v));
    const V round_up = splat(kRoundUp), unit = splat(0x1p-23);
    const V sum = hn::Add(old.sum, product);
    const V lost = hn::Abs(rounding_error(old.sum, product, sum));
    state.sum = sum;
    state.sum_error = hn::Mul(hn::Add(old.sum_error, lost), round_up);
    V drift = hn::Mul(hn::Add(old.drift, lost), round_up);
    const V lattice = hn::Min(old.lattice, lowest);
    const V reach = most(sum, drift), rest = least(sum, drift);
    const V ulp = ulp_of(reach, unit);
    drift = choose(hn::Lt(lattice, ulp),
                   hn::Mul(hn::Add(drift, hn::Mul(ulp, splat(0.5))), round_up), drift);
    state.drift = drift;
    state.lattice =
        choose(hn::Eq(reach, hn::Zero(d)), infinity, hn::Max(lattice, ulp_of(rest, unit)));
    state.reach = hn::Max(old.reach, reach);
    keep_where(hn::Eq(lowest, infinity), old, state);
  }
}

// add_rounded() of accumulator/bound.cpp, to f32.
HWY_INLINE void add_rounded(States& states, const States& addends) {
  const Doubles d;
  const V infinity = infinite();
  for (std::size_t v = 0; v < kVectors; ++v) {
    const State old = states[v];
    const State& x = addends[v];
    State& state = states[v];
    const V round_up = splat(kRoundUp), unit = splat(0x1p-23);
    const V sum = hn::Add(old.sum, x.sum);
    const V lost = hn::Abs(rounding_error(old.sum, x.sum, sum));
    state.sum = sum;
    state.sum_error = hn::Mul(hn::Add(hn::Add(old.sum_error, x.sum_error), lost), round_up);
    V drift = hn::Mul(hn::Add(hn::Add(old.drift, x.drift), lost), round_up);
    const V lattice = hn::Min(old.lattice, x.lattice);
    const V reach = most(sum, drift), rest = least(sum, drift);
    const V ulp = ulp_of(reach, unit);
    drift = choose(hn::Lt(lattice, ulp),
                   hn::Mul(hn::Add(drift, hn::Mul(ulp, splat(0.5))), round_up), drift);
    state.drift = drift;
    state.lattice =
        choose(hn::Eq(reach, hn::Zero(d)), infinity, hn::Max(lattice, ulp_of(rest, unit)));
    state.reach = hn::Max(hn::Max(old.reach, x.reach), reach);
    keep_where(hn::Eq(old.lattice, infinity), x, state);
    keep_where(hn::Eq(x.lattice, infinity), old, state);
    state.reach = hn::Max(state.reach, x.reach);
  }
}

HWY_INLINE V magnitude_bits(V x, std::uint64_t mask) {
  const Doubles d;
  const hn::RebindToUnsigned<Doubles> bits;
  return hn::BitCast(d, hn::And(hn::BitCast(bits, x), hn::Set(bits, mask)));
}

// add_scaled() of accumulator/bound.cpp. factors and lowest: kPanelLanes of them, finite.
HWY_INLINE void add_scaled(States& states, const States& addends, const double* factors,
                           const double* lowest) {
  const Doubles d;
  const V infinity = infinite();
  for (std::size_t v = 0; v < kVectors; ++v) {
    const State old = states[v];
    const State& x = addends[v];
    State& state = states[v];
    const V round_up = splat(kRoundUp), unit = splat(0x1p-23);
    const V s = hn::LoadU(d, factors + v * kWidth), size = hn::Abs(s);
    const V high = magnitude_bits(x.sum, ~((std::uint64_t{1} << 27) - 1));
    const V upper = hn::Mul(s, high), lower = hn::Mul(s, hn::Sub(x.sum, high));
    const V product = hn::Add(upper, lower);
    const V product_lost = hn::Abs(rounding_error(upper, lower, product));
    const V x_sum_error = hn::Mul(hn::Add(hn::Mul(size, x.sum_error), product_lost), round_up);
    const V x_drift = hn::Mul(hn::Add(hn::Mul(size, x.drift), product_lost), round_up);
    const V x_lattice = hn::Mul(x.lattice, hn::LoadU(d, lowest + v * kWidth));

    const V sum = hn::Add(old.sum, product);
    const V lost = hn::Abs(rounding_error(old.sum, product, sum));
    state.sum = sum;
    state.sum_error = hn::Mul(hn::Add(hn::Add(old.sum_error, x_sum_error), lost), round_up);
    V drift = hn::Mul(hn::Add(hn::Add(old.drift, x_drift), lost), round_up);
    const V lattice = hn::Min(old.lattice, x_lattice);
    const V reach = most(sum, drift), rest = least(sum, drift);
    const V ulp = ulp_of(reach, unit);
    drift = choose(hn::Lt(lattice, ulp),
                   hn::Mul(hn::Add(drift, hn::Mul(ulp, splat(0.5))), round_up), drift);
    state.drift = drift;
    state.lattice =
        choose(hn::Eq(reach, hn::Zero(d)), infinity, hn::Max(lattice, ulp_of(rest, unit)));
    state.reach = hn::Max(hn::Max(old.reach, x.reach), reach);
    keep_where(hn::Or(hn::Eq(x.lattice, infinity), hn::Eq(s, hn::Zero(d))), old, state);
    state.reach = hn::Max(state.reach, x.reach);
  }
}

HWY_INLINE void set_zero(States& states) {
  for (std::size_t v = 0; v < kVectors; ++v) states[v] = zero_state();
}

template <typename Rows>
HWY_INLINE void chain(const BoundModel& model, const NodePlan& plan, const Rows& rows,
                      const PanelSide& columns, std::int64_t begin, std::int64_t end,
                      States& states) {
  set_zero(states);
  if (model.fma) {
    for (std::int64_t p = begin; p < end; ++p) add_fma(states, rows, columns, p);
    return;
  }
  const std::int64_t last = plan.addends(end);
  for (std::int64_t base = plan.addends(begin); base < last; base += plan.instruction_length) {
    const std::int64_t room = last - base;
    const bool fresh_start = model.chaining == Chaining::hopper_fp8;
    States fresh;
    if (fresh_start) set_zero(fresh);
    for (const std::vector<std::int64_t>& offsets : plan.nodes) {
      // Offsets increase, so those inside the range come first.
      std::size_t count = offsets.size();
      while (count > 0 && offsets[count - 1] >= room) --count;
      if (count > 0)
        add_node(fresh_start ? fresh : states, plan, rows, columns, base, offsets.data(), count);
    }
    if (fresh_start) add_rounded(states, fresh);
  }
}

template <typename Rows>
HWY_INLINE void part(const BoundModel& model, const NodePlan& plan, const Rows& rows,
                     const PanelSide& columns, std::int64_t begin, std::int64_t end,
                     const LaneFactors& factors, LanePart& out) {
  States total;
  if (model.schedule == Schedule::promote) {
    set_zero(total);
    for (std::int64_t base = begin; base < end; base += model.interval) {
      States fresh;
      chain(model, plan, rows, columns, base, std::min(end, base + model.interval), fresh);
      if (model.scaled) {
        const auto at = static_cast<std::size_t>(base / model.interval) * kPanelLanes;
        add_scaled(total, fresh, factors.value.data() + at, factors.lowest.data() + at);
      } else {
        add_rounded(total, fresh);
      }
    }
  } else {
    chain(model, plan, rows, columns, begin, end, total);
  }
  const Doubles d;
  for (std::size_t v = 0; v < kVectors; ++v) {
    double sum[kWidth], sum_error[kWidth], drift[kWidth], lattice[kWidth], reach[kWidth];
    hn::StoreU(total[v].sum, d, sum);
    hn::StoreU(total[v].sum_error, d, sum_error);
    hn::StoreU(total[v].drift, d, drift);
    hn::StoreU(total[v].lattice, d, lattice);
    hn::StoreU(total[v].reach, d, reach);
    for (std::size_t lane = 0; lane < kWidth; ++lane) {
      AccumulatorBound& bound = out.lanes[v * kWidth + lane];
      bound.sum = sum[lane];
      bound.sum_error = sum_error[lane];
      bound.drift = drift[lane];
      bound.lattice = lattice[lane];
      out.reach[v * kWidth + lane] = reach[lane];
    }
  }
}

void part_shared(const BoundModel& model, const NodePlan& plan, const PreparedVector& row,
                 const PreparedPanel& columns, std::int64_t begin, std::int64_t end,
                 const LaneFactors& factors, LanePart& out) {
  part(model, plan, SharedRow{row}, PanelSide{columns}, begin, end, factors, out);
}

void part_panels(const BoundModel& model, const NodePlan& plan, const PreparedPanel& rows,
                 const PreparedPanel& columns, std::int64_t begin, std::int64_t end,
                 const LaneFactors& factors, LanePart& out) {
  part(model, plan, PanelSide{rows}, PanelSide{columns}, begin, end, factors, out);
}

const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace plumbline::bound::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace plumbline {
namespace bound {
namespace {

HWY_EXPORT(part_shared);
HWY_EXPORT(part_panels);
HWY_EXPORT(target_name);

// Below this no accumulator and no join of parts can overflow.
constexpr double kSafeReach = 0x1p127;

// The smallest of every `step`th element from `first` on; infinity of none.
template <typename Number>
double least_of(const std::vector<Number>& all, std::size_t first, std::size_t step) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t at = first; at < all.size(); at += step)
    least = std::min(least, static_cast<double>(all[at]));
  return least;
}

// Below 2^-126 something may be taken for 0, given the lowest bits of all elements of a lane's row
// and column.
bool may_flush(const BoundModel& model, const LaneFactors& factors, std::size_t lane, double row,
               double column) {
  double product = row * column, least = product;
  if (model.fma) least = std::min({least, row, column});
  double factor = 1;
  for (std::size_t at = lane; at < factors.lowest.size(); at += kPanelLanes)
    factor = std::min(factor, factors.lowest[at]);
  return std::min({least, factor, product * factor}) < kF32Minimum;
}

// Every part by vectors, the join by lanes. `again` computes one lane by the specification, which
// is all there is for a lane where `flushes`.
template <typename Part, typename Flushes, typename Again>
RunningBounds bounds_of(const BoundModel& model, std::int64_t k, const LaneFactors& factors,
                        const std::array<bool, kPanelLanes>& beyond, const Part& part,
                        const Flushes& flushes, const Again& again) {
  RunningBounds bounds;
  if (model.is_open() || model.has_f16_results() || model.any_scaling) {
    for (std::size_t lane = 0; lane < kPanelLanes; ++lane) bounds[lane] = again(lane);
    return bounds;
  }
  std::vector<LanePart> parts;
  const bool split = model.joins();
  const std::int64_t length = split ? model.part_length(k) : k;
  for (std::int64_t begin = 0; begin < k; begin += length)
    part(begin, std::min(k, begin + length), parts.emplace_back());
  if (parts.empty()) return bounds;
  std::vector<AccumulatorBound> of_lane(parts.size());
  for (std::size_t lane = 0; lane < kPanelLanes; ++lane) {
    double reach = 0;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      of_lane[p] = parts[p].lanes[lane];
      reach += parts[p].reach[lane];
    }
    if (!(reach < kSafeReach / 4) || beyond[lane] || !factors.finite[lane] ||
        (model.flushes && flushes(lane))) {
      bounds[lane] = again(lane);
    } else {
      bounds[lane] =
          split ? join_parts(of_lane, model.join, model.flushes).result() : of_lane[0].result();
    }
  }
  return bounds;
}

// One lane by the specification.
RunningBound bound_of_lane(const BoundModel& model, const BoundOperand& row,
                           const PreparedPanel& columns, const double* factors, std::size_t lane) {
  const BoundOperand& column = columns.sources[lane];
  if (row.elements == nullptr || column.elements == nullptr) return {};
  std::vector<double> of_lane;
  for (std::int64_t i = 0; model.scaled && i < model.intervals(columns.k); ++i)
    of_lane.push_back(factors[i * kPanelLanes + static_cast<std::int64_t>(lane)]);
  PromotionScales scales;
  if (model.scaled) scales.factors = of_lane.data();
  return running_bound(model, row, column, columns.k, scales);
}

}  // namespace
}  // namespace bound

RunningBounds running_bounds(const BoundModel& model, const PreparedVector& row,
                             const PreparedPanel& columns, const double* factors) {
  const bound::NodePlan plan(model);
  const bound::LaneFactors lane_factors(model, columns.k, factors);
  return bound::bounds_of(
      model, columns.k, lane_factors, columns.beyond,
      [&](std::int64_t begin, std::int64_t end, bound::LanePart& out) {
        HWY_DYNAMIC_DISPATCH(bound::part_shared)
        (model, plan, row, columns, begin, end, lane_factors, out);
      },
      [&](std::size_t lane) {
        return bound::may_flush(model, lane_factors, lane, bound::least_of(row.lowest, 0, 1),
                                bound::least_of(columns.lowest, lane, kPanelLanes));
      },
      [&](std::size_t lane) {
        return bound::bound_of_lane(model, row.source, columns, factors, lane);
      });
}

RunningBounds running_bounds(const BoundModel& model, const PreparedPanel& rows,
                             const PreparedPanel& columns, const double* factors) {
  const bound::NodePlan plan(model);
  const bound::LaneFactors lane_factors(model, columns.k, factors);
  std::array<bool, kPanelLanes> beyond;
  for (std::size_t lane = 0; lane < kPanelLanes; ++lane)
    beyond[lane] = rows.beyond[lane] || columns.beyond[lane];
  return bound::bounds_of(
      model, columns.k, lane_factors, beyond,
      [&](std::int64_t begin, std::int64_t end, bound::LanePart& out) {
        HWY_DYNAMIC_DISPATCH(bound::part_panels)
        (model, plan, rows, columns, begin, end, lane_factors, out);
      },
      [&](std::size_t lane) {
        return bound::may_flush(model, lane_factors, lane,
                                bound::least_of(rows.lowest, lane, kPanelLanes),
                                bound::least_of(columns.lowest, lane, kPanelLanes));
      },
      [&](std::size_t lane) {
        return bound::bound_of_lane(model, rows.sources[lane], columns, factors, lane);
      });
}

const char* running_bounds_target() { return HWY_DYNAMIC_DISPATCH(bound::target_name)(); }

}  // namespace plumbline

#endif  // HWY_ONCE
