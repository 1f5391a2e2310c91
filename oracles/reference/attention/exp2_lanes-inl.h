// SPDX-License-Identifier: MIT
// exp2_of() on Highway vectors: the same operations in the same order, and so the same bits. What
// the vector paths of attention share. Included once per instruction set.
#if defined(PLUMBLINE_EXP2_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLUMBLINE_EXP2_LANES_INL_H_
#undef PLUMBLINE_EXP2_LANES_INL_H_
#else
#define PLUMBLINE_EXP2_LANES_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>

#include "oracles/exact/exp2.h"

HWY_BEFORE_NAMESPACE();

namespace plumbline::lanes::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::CappedTag<double, 8>;
using Bits = hn::RebindToUnsigned<Doubles>;
using V = hn::Vec<Doubles>;
constexpr std::size_t kWidth = hn::MaxLanes(Doubles());

HWY_INLINE V splat(double x) { return hn::Set(Doubles(), x); }

HWY_INLINE V exp2_of(V x) {
  using namespace exp2_parts;
  const Doubles d;
  const Bits bits;
  const V shifted = hn::Add(x, splat(kInteger)), n = hn::Sub(shifted, splat(kInteger));
  const V t = hn::Mul(hn::Sub(x, n), splat(kLn2));
  V sum = splat(kTaylor[0]);
  for (int k = 1; k < 14; ++k) sum = hn::Add(hn::Mul(sum, t), splat(kTaylor[k]));
  const V scaled = hn::BitCast(
      d, hn::Add(hn::BitCast(bits, sum), hn::ShiftLeft<52>(hn::BitCast(bits, shifted))));
  return hn::IfThenElseZero(hn::Gt(x, splat(kExp2Lowest)), scaled);
}

}  // namespace plumbline::lanes::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
