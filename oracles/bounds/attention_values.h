// SPDX-License-Identifier: MIT
// The error of P . V under an online softmax: for one row of probabilities and eight columns of V,
// a bound on |accumulator - exact sum| that follows the contract tile by tile. Between tiles the
// accumulator is multiplied by a rounded factor; inside a tile it grows node by node, exactly as
// running_bound.h describes (the recursion is the same, and so is its way of staying 0 while the
// arithmetic is exact).
//
// The kernel's tiles refer to maxima of computed logits, which differ a little from the exact ones.
// That difference multiplies whole tiles, and most of it is common to numerator and denominator.
// So it is kept out of `drift`: the two sums `framed` and `skewed` say how much there is to
// multiply. docs/bounds/attention.md derives every line.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "oracles/bounds/accumulator/node_plan.h"
#include "oracles/bounds/accumulator/prepared_operand.h"
#include "oracles/bounds/accumulator/running_bound.h"

namespace plumbline {

// What the accumulator is multiplied by when the maximum rises, or where parts come together.
struct ValueFactor {
  bool rescaled = false;    // false: the factor is 1 for certain
  bool cleared = false;     // the computed factor is 0 for certain
  double factor = 1;        // between the exact maxima
  double factor_error = 0;  // relative: the computed factor for computed maxima
  double skew = 0;          // relative: factors between computed instead of exact maxima
};

// Keys of a tile with a scale of their own: their products are added from zero, and the sum times
// the scale to the accumulator, rounded once.
struct ValueBlock {
  std::int64_t first = 0, end = 0;
  float scale = 1;  // positive
};

// One step of the online softmax.
struct ValueTile {
  std::int64_t first = 0, end = 0;  // keys; the unit's nodes start counting at `first`
  ValueFactor before;               // of what the part has so far
  std::vector<ValueBlock> blocks;   // all of the tile's keys; empty: V has no scales per block
  double frame_error = 0;           // relative: 2^(computed - exact maximum of this tile)
  std::optional<ValueFactor> join;  // the last tile of a part that is added to those before it
};

// P of one row by key: nearest probabilities as the unit sees them, and how far others may be.
struct ProbabilityRow {
  PreparedVector prepared;
  std::vector<double> least_exponent;  // as prepared.exponent, of the smallest admissible P
  std::vector<double> ambiguity;       // most |other admissible P - P|

  void assign(std::int64_t keys);
  // P is `value`, or any other number of the format from low to high.
  void set(std::int64_t key, double value, double low, double high, const Format& format,
           int shift);
};

struct ValueBound {
  double sum = 0;        // of P v, in units of the last tile
  double drift = 0;      // |accumulator - sum|, but for the choice of maxima
  double framed = 0;     // sum over tiles of |tile's sum| * frame_error
  double skewed = 0;     // sum of |tile's sum| over the tiles that have been rescaled
  double magnitude = 0;  // sum of P |v|
  double reach = 0;      // the largest magnitude the accumulator may have had
};

using ValueBounds = std::array<ValueBound, kPanelLanes>;

// columns: V by key, from the head's first key on, as elements say. `flushes`: what an FMA reads or
// gives below 2^-126 counts as 0. That of the products between tiles is left to the caller.
ValueBounds value_bounds(const BoundModel& model, const bound::NodePlan& plan,
                         const ProbabilityRow& row, const PreparedPanel& columns,
                         std::span<const ValueTile> tiles, bool flushes = false);

}  // namespace plumbline
