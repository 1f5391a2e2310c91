// SPDX-License-Identifier: MIT
// The bound of Schedule::any: nothing is known of the order of the products, of how they share
// nodes, or of how many accumulators there are. It needs the largest alignment unit and ulp that
// any partial sum can have, and how often something can be lost to them; docs/bounds/schedules.md
// derives it.
#pragma once

#include <cstdint>
#include <span>

#include "oracles/bounds/accumulator/running_bound.h"

namespace plumbline::bound {

// The most roundings of a sum of so many addends in any order.
struct RoundingCounts {
  double nodes = 0;      // alignment and conversion toward zero
  double additions = 0;  // to nearest f32, fused with a product or not

  RoundingCounts(const BoundModel& model, std::int64_t addends);
};

// Value, exponent weight and lowest weight of every addend (add_node.h).
struct PreparedProducts {
  std::span<const double> value, exponent, lowest;
  double lost = 0;  // of all together, because operands are taken for 0
};

RunningBound any_order_bound(const BoundModel& model, const PreparedProducts& products);

}  // namespace plumbline::bound
