// SPDX-License-Identifier: MIT
// The operations of bound_arithmetic.h on Highway vectors, and the panels of columns they read:
// what the vector paths of the bounds share. Included once per instruction set.
#if defined(PLUMBLINE_BOUND_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLUMBLINE_BOUND_LANES_INL_H_
#undef PLUMBLINE_BOUND_LANES_INL_H_
#else
#define PLUMBLINE_BOUND_LANES_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <limits>
#include <vector>

#include "oracles/bounds/accumulator/node_plan.h"
#include "oracles/bounds/accumulator/prepared_operand.h"
#include "oracles/exact/bound_arithmetic.h"

HWY_BEFORE_NAMESPACE();

namespace plumbline::bound::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::CappedTag<double, kPanelLanes>;
using V = hn::Vec<Doubles>;
constexpr std::size_t kWidth = hn::MaxLanes(Doubles());
constexpr std::size_t kVectors = kPanelLanes / kWidth;  // of one panel row
constexpr std::size_t kMostProducts = 64;               // of one node

HWY_INLINE V splat(double x) { return hn::Set(Doubles(), x); }

HWY_INLINE V infinite() { return splat(std::numeric_limits<double>::infinity()); }

HWY_INLINE V binade(V x) { return hn::And(x, infinite()); }

// See bound_arithmetic.h.
HWY_INLINE V most(V sum, V error) {
  const Doubles d;
  const hn::RebindToUnsigned<Doubles> bits;
  const V total = hn::Add(hn::Abs(sum), error);
  const V above = hn::BitCast(d, hn::Add(hn::BitCast(bits, total), hn::Set(bits, 1)));
  return hn::IfThenElse(hn::Gt(error, hn::Zero(d)), above, total);
}

HWY_INLINE V least(V sum, V error) {
  const Doubles d;
  const hn::RebindToUnsigned<Doubles> bits;
  const V rest = hn::Sub(hn::Abs(sum), error);
  const V below = hn::BitCast(d, hn::Sub(hn::BitCast(bits, rest), hn::Set(bits, 1)));
  const V positive = hn::IfThenElseZero(hn::Gt(rest, hn::Zero(d)), below);
  return hn::IfThenElse(hn::Gt(error, hn::Zero(d)), positive, rest);
}

HWY_INLINE V ulp_of(V x, V unit) { return hn::Mul(hn::Max(binade(x), splat(kF32Minimum)), unit); }

HWY_INLINE V rounding_error(V a, V b, V sum) {
  const V b_part = hn::Sub(sum, a);
  return hn::Add(hn::Sub(a, hn::Sub(sum, b_part)), hn::Sub(b, b_part));
}

HWY_INLINE V load_promoted(const std::vector<float>& panel, std::int64_t p, std::size_t vector) {
  const Doubles d;
  const hn::Rebind<float, Doubles> half;
  return hn::PromoteTo(d, hn::LoadU(half, panel.data() + static_cast<std::size_t>(p) * kPanelLanes +
                                              vector * kWidth));
}

struct PanelSide {
  const PreparedPanel& panel;

  HWY_INLINE V value(std::int64_t p, std::size_t vector) const {
    return load_promoted(panel.value, p, vector);
  }

  HWY_INLINE V exponent(std::int64_t p, std::size_t vector) const {
    return load_promoted(panel.exponent, p, vector);
  }

  HWY_INLINE V lowest(std::int64_t p, std::size_t vector) const {
    return load_promoted(panel.lowest, p, vector);
  }
};

// add_node.h on vectors: the addends of one node together, and what their alignment with the
// accumulator gives.
struct NodeAddendLanes {
  V products, largest, surely, lowest;
  double count = 0;
  const V* addends_lowest = nullptr;  // of addend t: [t * kVectors]
};

struct AlignedLanes {
  V sum, lost;  // in double, and how far that is from exact
  V least_unit, loss;
};

// `reach`, `rest`: the largest and the smallest magnitude that the accumulator may have; one of
// `precision_weight` units has no bits below the unit.
HWY_INLINE AlignedLanes aligned(const NodePlan& plan, const NodeAddendLanes& node, V old_sum,
                                V old_lattice, V reach, V rest, double precision_weight) {
  const Doubles d;
  const V zero = hn::Zero(d), minimum = splat(kF32Minimum), count = splat(node.count);
  const auto weight = [&](V addends, V accumulator) {
    const V own =
        hn::IfThenElseZero(hn::Gt(accumulator, zero), hn::Max(binade(accumulator), minimum));
    return hn::Max(hn::Max(splat(plan.zero_weight), addends), own);
  };
  const V unit = hn::Mul(weight(node.largest, reach), splat(plan.unit));
  V kept[4] = {zero, zero, zero, zero};
  for (std::size_t t = 0; t < static_cast<std::size_t>(node.count); ++t)
    kept[t % 4] = hn::Add(kept[t % 4], hn::Min(node.addends_lowest[t * kVectors], unit));
  const V kept_sum = hn::Add(hn::Add(kept[0], kept[1]), hn::Add(kept[2], kept[3]));
  const V loss = hn::Mul(hn::Sub(hn::Mul(count, unit), kept_sum), splat(kRoundUpCount));
  const auto truncated =
      hn::And(hn::Lt(old_lattice, unit), hn::Lt(rest, hn::Mul(unit, splat(precision_weight))));

  AlignedLanes out;
  out.least_unit = hn::Mul(weight(node.surely, rest), splat(plan.unit));
  out.loss = hn::Add(loss, hn::IfThenElseZero(truncated, hn::Sub(unit, old_lattice)));
  out.sum = hn::Add(old_sum, node.products);
  const V span = hn::Mul(hn::Mul(splat(plan.addend_reach), count), node.largest);
  const auto inexact = hn::Gt(span, hn::Mul(splat(0x1p53), node.lowest));
  const V roundings = hn::Mul(hn::Mul(count, splat(plan.addend_products)), splat(0x1p-53));
  out.lost = hn::Add(hn::Abs(rounding_error(old_sum, node.products, out.sum)),
                     hn::IfThenElseZero(inexact, hn::Mul(roundings, span)));
  return out;
}

}  // namespace plumbline::bound::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
