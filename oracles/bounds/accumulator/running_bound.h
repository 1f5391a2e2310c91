// SPDX-License-Identifier: MIT
// E_run: the most an accumulator that keeps its contract can be away from the exact sum of
// products.
//
// The bound follows the declared schedule node by node. It carries, beside the exact partial sum S,
// the bound E on |accumulator - S| and a lattice G, a power of two of which the accumulator is
// known to be a multiple. A node's truncation can lose nothing of a term that is a multiple of the
// alignment unit, and a rounding nothing of a sum that is a multiple of the result's ulp, so E
// stays exactly 0 while the data make the arithmetic exact; and the bound is attained. It is a
// theorem about the contract, not about any kernel: a kernel's intermediate values are not needed.
//
// running_bound() is the specification, for one dot product. running_bounds() does eight at a time
// with vectors and gives the same bits; it hands lanes in which an accumulator may overflow to the
// specification.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>

#include "oracles/bounds/accumulator/prepared_operand.h"
#include "oracles/bounds/contract/contract.h"
#include "oracles/bounds/contract/value_class_set.h"

namespace plumbline {

// A contract on a chip, as the bound needs it. Not for Unit::int32, whose sums are exact modulo
// 2^32.
struct BoundModel {
  bool fma = false;  // one rounding per product; `node` is unused
  NodeModel node{};
  Chaining chaining = Chaining::in_order;
  Schedule schedule = Schedule::sequential;
  std::int64_t interval = 0, parts = 1;  // parts: of split_k, runs and any
  Join join = Join::f32_ordered;
  bool scaled = false;  // promote: by fma with a factor per interval instead of by addition
  // scaled: by any steps that multiply by both scales, of which none that is finite is larger.
  std::optional<double> any_scaling{};
  bool flushes = false;  // f32 operations outside of the unit may take numbers below 2^-126 for 0
  // Of the operand formats; 0 where a node adds groups of products, whose exponent is that of their
  // scales (NodeModel::group).
  int a_minimum_exponent = -126, b_minimum_exponent = -126;

  // Whether the accumulator is a join of parts. Atomics join even a single part: to zero.
  bool joins() const {
    return schedule == Schedule::split_k && (parts > 1 || join == Join::f32_atomic);
  }

  // Whether the contract leaves open where accumulators begin and end.
  bool is_open() const { return schedule == Schedule::any || schedule == Schedule::runs; }

  // Nodes round to nearest f16, not toward zero with f32's exponents.
  bool has_f16_results() const { return !fma && node.output == NodeOutput::f16_nearest_even; }

  // Significant bits of the values the final accumulator can hold: 24, 14, 11 or 8.
  int accumulator_precision() const;
  // Elements of k in one part of a split, and how many parts hold any.
  std::int64_t part_length(std::int64_t k) const;

  // Intervals of k with an accumulator of their own under Schedule::promote.
  std::int64_t intervals(std::int64_t k) const { return (k + interval - 1) / interval; }
};

std::optional<BoundModel> bound_model(const Contract& contract, int sm, FormatId a, FormatId b);

// Of an empty sum, unless said otherwise.
struct RunningBound {
  double sum = 0;        // the products' sum in double
  double sum_error = 0;  // |sum - exact sum| is at most this; 0: sum is exact
  double error =
      0;  // E: |accumulator - exact sum| is at most this wherever the accumulator is finite
  // A power of two that divides every possible accumulator; infinity: the accumulator is 0.
  double lattice = std::numeric_limits<double>::infinity();
  ClassSet classes = ResultClass::finite;  // what the accumulator may end as
};

// What a scaled promotion needs to know of one dot product, per interval of k. Sums count factors
// that are not finite as 0; classes tell what they do.
struct PromotionScales {
  const double* factors = nullptr;    // fl(scale_a * scale_b)
  const ClassSet* classes = nullptr;  // of the products alone (special_class()); null: all finite
};

// For a scaled model `scales` is needed, otherwise it must be empty.
RunningBound running_bound(const BoundModel& model, const BoundOperand& row,
                           const BoundOperand& column, std::int64_t k,
                           const PromotionScales& scales = {});

// Lane l: row . column l. `rows` may be one vector shared by all lanes or a panel of its own
// vectors.
// factors: [interval][kPanelLanes] for a scaled model, else null.
using RunningBounds = std::array<RunningBound, kPanelLanes>;
RunningBounds running_bounds(const BoundModel& model, const PreparedVector& row,
                             const PreparedPanel& columns, const double* factors = nullptr);
RunningBounds running_bounds(const BoundModel& model, const PreparedPanel& rows,
                             const PreparedPanel& columns, const double* factors = nullptr);

// The instruction set running_bounds() runs on here.
const char* running_bounds_target();

}  // namespace plumbline
