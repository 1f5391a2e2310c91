// SPDX-License-Identifier: MIT
// exp2_of() and ProbabilityRounding on Highway vectors, with the same operations and so the same
// bits; only the sums add in another order.
#include "oracles/reference/attention/softmax.h"

#include <cmath>
#include <cstddef>
#include <limits>

#include "oracles/base/assert.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "oracles/reference/attention/softmax.cpp"
#include <hwy/foreach_target.h>  // includes this file once per instruction set
#include <hwy/highway.h>

#include "oracles/reference/attention/exp2_lanes-inl.h"

HWY_BEFORE_NAMESPACE();

namespace plumbline::softmax::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using lanes::HWY_NAMESPACE::Bits;
using lanes::HWY_NAMESPACE::Doubles;
using lanes::HWY_NAMESPACE::exp2_of;
using lanes::HWY_NAMESPACE::kWidth;
using lanes::HWY_NAMESPACE::splat;
using lanes::HWY_NAMESPACE::V;

struct Rounder {
  V scale, unscale, smallest, largest, grid;
  hn::Vec<Bits> half_less_one, mask, one;
  int dropped_bits;

  explicit Rounder(const ProbabilityRounding& r)
      : scale(splat(r.scale)),
        unscale(splat(r.unscale)),
        smallest(splat(r.smallest)),
        largest(splat(r.largest)),
        grid(splat(r.grid)),
        half_less_one(hn::Set(Bits(), (std::uint64_t{1} << (r.dropped_bits - 1)) - 1)),
        mask(hn::Set(Bits(), ~((std::uint64_t{1} << r.dropped_bits) - 1))),
        one(hn::Set(Bits(), 1)),
        dropped_bits(r.dropped_bits) {}

  HWY_INLINE V operator()(V p) const {
    const Doubles d;
    const V shifted = hn::Mul(p, scale);
    const V small = hn::Sub(hn::Add(shifted, grid), grid);
    const auto b = hn::BitCast(Bits(), shifted);
    const auto odd = hn::And(hn::ShiftRightSame(b, dropped_bits), one);
    const auto rounded = hn::And(hn::Add(hn::Add(b, half_less_one), odd), mask);
    const V normal = hn::Min(hn::BitCast(d, rounded), largest);
    return hn::Mul(hn::IfThenElse(hn::Lt(shifted, smallest), small, normal), unscale);
  }
};

SoftmaxTile tile(double* logits, std::int64_t count, double maximum, double c, double weight,
                 const ProbabilityRounding& rounding, double tolerance) {
  const Doubles d;
  const Rounder round(rounding);
  const V top = splat(maximum), unit = splat(c), heavy = splat(weight);
  const V less = splat(1 - tolerance), more = splat(1 + tolerance);
  V sum = hn::Zero(d), rounded_sum = hn::Zero(d), differs = hn::Zero(d);
  double out[kMostSoftmaxKeys];
  const auto step = static_cast<std::int64_t>(kWidth);
  double padded[kWidth];
  for (std::int64_t j = 0; j < count; j += step) {
    V logit;
    if (j + step <= count) {
      logit = hn::LoadU(d, logits + j);
    } else {
      for (std::int64_t lane = 0; lane < step; ++lane) {
        padded[lane] =
            j + lane < count ? logits[j + lane] : -std::numeric_limits<double>::infinity();
      }
      logit = hn::LoadU(d, padded);
    }
    const V p = exp2_of(hn::Mul(hn::Sub(logit, top), unit));
    const V low = round(hn::Mul(p, less)), high = round(hn::Mul(p, more));
    differs = hn::Add(differs, hn::Sub(high, low));
    sum = hn::Add(sum, p);
    rounded_sum = hn::Add(rounded_sum, low);
    const V weighted = hn::Mul(low, heavy);
    if (j + step <= count) {
      hn::StoreU(weighted, d, out + j);
    } else {
      hn::StoreU(weighted, d, padded);
      for (std::int64_t lane = 0; j + lane < count; ++lane) out[j + lane] = padded[lane];
    }
  }
  SoftmaxTile result;
  result.sure = hn::AllTrue(d, hn::Eq(differs, hn::Zero(d)));
  if (!result.sure) return result;
  for (std::int64_t j = 0; j < count; ++j) logits[j] = out[j];
  double sums[kWidth], rounded_sums[kWidth];
  hn::StoreU(sum, d, sums);
  hn::StoreU(rounded_sum, d, rounded_sums);
  for (std::size_t lane = 0; lane < kWidth; ++lane) {
    result.sum += sums[lane];
    result.rounded_sum += rounded_sums[lane];
  }
  return result;
}

double largest(const double* numbers, std::int64_t count) {
  const Doubles d;
  const auto step = static_cast<std::int64_t>(kWidth);
  V most = splat(-std::numeric_limits<double>::infinity());
  std::int64_t j = 0;
  for (; j + step <= count; j += step) most = hn::Max(most, hn::LoadU(d, numbers + j));
  double lanes[kWidth];
  hn::StoreU(most, d, lanes);
  double out = -std::numeric_limits<double>::infinity();
  for (const double lane : lanes) out = lane > out ? lane : out;
  for (; j < count; ++j) out = numbers[j] > out ? numbers[j] : out;
  return out;
}

}  // namespace plumbline::softmax::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace plumbline {
namespace softmax {
namespace {

HWY_EXPORT(tile);
HWY_EXPORT(largest);

}  // namespace
}  // namespace softmax

SoftmaxTile softmax_tile(double* logits, std::int64_t count, double maximum, double c,
                         double weight, const ProbabilityRounding& rounding, double tolerance) {
  PLUMB_ASSERT(count <= kMostSoftmaxKeys);
  return HWY_DYNAMIC_DISPATCH(softmax::tile)(logits, count, maximum, c, weight, rounding,
                                             tolerance);
}

double largest_of(const double* numbers, std::int64_t count) {
  return HWY_DYNAMIC_DISPATCH(softmax::largest)(numbers, count);
}

}  // namespace plumbline

#endif  // HWY_ONCE
