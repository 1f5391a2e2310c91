// SPDX-License-Identifier: MIT
// AccumulatorBound: what is known of one accumulator at one moment, and what adding two
// accumulators does to it. Inside oracles/bounds only; running_bound.h is the door.
//
// Two errors are kept apart: `drift` bounds |accumulator - sum| with `sum` the sum in double,
// `sum_error` bounds |sum - exact sum|. The double sum is exact as long as the accumulator is, so
// drift == 0 says that the accumulator equals the exact sum bit for bit.
#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "oracles/bounds/accumulator/running_bound.h"
#include "oracles/bounds/contract/contract.h"
#include "oracles/exact/bound_arithmetic.h"

namespace plumbline::bound {

struct AccumulatorBound {
  double sum = 0, sum_error = 0, drift = 0;
  double lattice =
      std::numeric_limits<double>::infinity();  // infinity: the accumulator is exactly 0
  ClassSet classes = ResultClass::finite;

  bool is_zero() const { return lattice == std::numeric_limits<double>::infinity(); }

  RunningBound result() const;
};

// One part of a split for the eight lanes of a panel; reach is the largest magnitude an accumulator
// may have had in it.
struct LanePart {
  std::array<AccumulatorBound, kPanelLanes> lanes;
  std::array<double, kPanelLanes> reach{};
};

// The factors of a scaled promotion by interval and lane, as the vector path wants them.
struct LaneFactors {
  std::vector<double> value, lowest;  // [interval][kPanelLanes]; a factor that is not finite is 0
  std::array<bool, kPanelLanes> finite;

  LaneFactors(const BoundModel& model, std::int64_t k, const double* factors);
};

// A rounding to nearest even to `precision` bits.
struct NearestRounding {
  int precision;
  double overflow;               // the smallest magnitude that becomes Inf
  double minimum = kF32Minimum;  // the smallest normal number

  double ulp(double x) const { return larger(binade(x), minimum) * std::ldexp(1.0, 1 - precision); }
};

inline constexpr NearestRounding kNearestF32{24, 0x1.ffffffp127};
// 65520: halfway to 2^16, which is even.
inline constexpr NearestRounding kNearestF16{11, 65520, 0x1p-14};
inline constexpr NearestRounding kNearestBf16{8, 0x1.ffp127};

// The value about to be converted lies within drift of sum: notes the infinities it may become, and
// that it cannot stay finite when it must not.
void note_overflow(AccumulatorBound& state, double threshold);

struct NodePlan;

// The addends of one node, aligned: what happens to them together. A factor known to a range only
// makes them `off` by so much.
struct AlignedProducts {
  double sum = 0, count = 0;
  double largest = 0, lowest = 0;  // weights of the highest and of the lowest bit of any of them
  double least_unit = 0;           // the smallest the alignment unit can be
  double loss = 0;                 // to alignment, the accumulator's included
  double off = 0;
};

// accumulator = the node's result.
void add_aligned(AccumulatorBound& accumulator, const NodePlan& plan,
                 const AlignedProducts& products);

// accumulator = fma of a product with this lowest bit (infinity: it is 0) in f32.
void add_fused(AccumulatorBound& accumulator, double product, double lowest, double off = 0);

// accumulator = round(accumulator + x). With `flushes`, here and below, each operand and the result
// may count as 0 below 2^-126.
void add_rounded(AccumulatorBound& accumulator, const AccumulatorBound& x,
                 const NearestRounding& rounding, bool flushes = false);

// accumulator = fma(x, factor, accumulator) in f32. `x.classes` may be anything. With
// `any_scaling` (BoundModel) the factor is the rounded product of two scales, which x is multiplied
// by in any steps.
void add_scaled(AccumulatorBound& accumulator, const AccumulatorBound& x, double factor,
                bool flushes = false, std::optional<double> any_scaling = {});

// The sum of a split's parts.
AccumulatorBound join_parts(std::span<const AccumulatorBound> parts, Join join, bool flushes);

}  // namespace plumbline::bound
