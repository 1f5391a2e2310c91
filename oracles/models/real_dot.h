// SPDX-License-Identifier: MIT
// The node of node.h over operands that are any real numbers, not only codes of its formats: what
// error propagation needs to run one stage in low precision on operands that an earlier stage left
// exact. Where the operands are numbers of the formats the result is dot()'s, bit for bit (a test);
// elsewhere a product is aligned by the exponents its operands have, as if the formats had enough
// bits for them.
#pragma once

#include <span>
#include <vector>

#include "oracles/formats/format.h"
#include "oracles/models/node.h"

namespace plumbline {

// Finite numbers beside the exponents a node sees: that of the leading bit, but never below the
// format's smallest.
struct RealOperands {
  std::vector<double> values;
  std::vector<int> exponents;

  void reserve(std::size_t count) {
    values.reserve(count);
    exponents.reserve(count);
  }

  void append(double value, const Format& as);
  // An operand of a block-scaled node times its scale, whose exponents add; where the node adds
  // groups of products exactly the exponent is the scale's.
  void append_scaled(double value, const Format& as, double scale, const Format& of_scale,
                     const NodeModel& node);
};

// Some of them, one behind the other.
struct RealSpan {
  std::span<const double> values;
  std::span<const int> exponents;

  RealSpan() = default;

  RealSpan(const RealOperands& operands) : values(operands.values), exponents(operands.exponents) {}

  RealSpan sub(std::size_t first, std::size_t count) const {
    RealSpan part;
    part.values = values.subspan(first, count);
    part.exponents = exponents.subspan(first, count);
    return part;
  }

  std::size_t size() const { return values.size(); }
};

// c plus any number of products by instructions one after the other, with f32 accumulators
// (asserted). With NodeModel::group above 1 as scaled_node() does it.
float dot_of_reals(const DotModel& model, RealSpan a, RealSpan b, float c);

// The most products one instruction of this model takes: where a chain may be cut without changing
// it.
std::size_t products_per_instruction(const DotModel& model);

}  // namespace plumbline
