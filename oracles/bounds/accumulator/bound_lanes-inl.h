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

}  // namespace plumbline::bound::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
