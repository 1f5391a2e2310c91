// SPDX-License-Identifier: MIT
// A node's parameters as weights (powers of two), and which addends each node of an instruction
// takes: products, or of a block-scaled unit for FP4 the exact sums of `group` products.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "oracles/bounds/accumulator/bound.h"
#include "oracles/bounds/accumulator/running_bound.h"
#include "oracles/exact/bound_arithmetic.h"

namespace plumbline::bound {

struct NodePlan {
  double zero_weight = 0;       // 2^e_zero
  double unit = 0;              // 2^-F: the alignment unit, relative to the alignment exponent
  double precision_weight = 0;  // 2^(p-1)
  double ulp_unit = 0;          // 2^(1-p)
  std::int64_t group = 1;       // elements of k in one addend
  std::int64_t instruction_length = 1;           // addends per step of the chain
  std::vector<std::vector<std::int64_t>> nodes;  // per node, offsets of its addends within the step
  // A node's result is rounded to nearest f16; else it is cut toward zero, with f32's exponents.
  bool rounds_to_nearest = false;
  double minimum = kF32Minimum;  // the smallest normal number of the results
  // The smallest magnitude that becomes Inf: conversions toward zero do not stop at the largest
  // finite number.
  double overflow = 0x1p128;
  double addend_reach = 4;     // an addend is below so many times its exponent weight,
  double addend_products = 1;  // and so many are added up in double to make it

  // The number of addends that the first `elements` of k are, the last one perhaps of fewer.
  std::int64_t addends(std::int64_t elements) const { return (elements + group - 1) / group; }

  explicit NodePlan(const BoundModel& model);
};

// Significant bits of a node's result.
inline int node_precision(const NodeModel& node) {
  switch (node.output) {
    case NodeOutput::e8m13_toward_zero:
      return 14;
    case NodeOutput::f16_nearest_even:
      return kNearestF16.precision;
    case NodeOutput::f32_toward_zero:
      break;
  }
  return 24;
}

inline NodePlan::NodePlan(const BoundModel& model) {
  if (model.fma) return;
  const int precision = node_precision(model.node);
  zero_weight = std::ldexp(1.0, model.node.zero_exponent);
  unit = std::ldexp(1.0, -model.node.fraction_bits);
  precision_weight = std::ldexp(1.0, precision - 1);
  ulp_unit = std::ldexp(1.0, 1 - precision);
  group = model.node.group;
  if (model.has_f16_results()) {
    rounds_to_nearest = true;
    minimum = kNearestF16.minimum;
    overflow = kNearestF16.overflow;
  }
  if (group > 1) {
    // Products of two numbers of e2m1 reach 36, and their scales four times their exponents' weight.
    addend_products = static_cast<double>(group);
    addend_reach = 256 * addend_products;
  }
  if (model.chaining == Chaining::in_order) {
    instruction_length = model.node.products / group;
    nodes.resize(1);
    for (std::int64_t p = 0; p < instruction_length; ++p) nodes[0].push_back(p);
  } else {  // k mod 4 in {0, 1}, then {2, 3}
    instruction_length = 2 * model.node.products;
    nodes.resize(2);
    for (std::int64_t p = 0; p < instruction_length; ++p) nodes[p % 4 < 2 ? 0 : 1].push_back(p);
  }
}

}  // namespace plumbline::bound
