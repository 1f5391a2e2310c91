// SPDX-License-Identifier: MIT
// A node's parameters as weights (powers of two), and which elements of k each node of an
// instruction takes.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "oracles/bounds/accumulator/running_bound.h"

namespace plumbline::bound {

struct NodePlan {
  double zero_weight = 0;       // 2^e_zero
  double unit = 0;              // 2^-F: the alignment unit, relative to the alignment exponent
  double precision_weight = 0;  // 2^(p-1)
  double ulp_unit = 0;          // 2^(1-p)
  std::int64_t instruction_length = 1;  // elements of k per step of the chain
  std::vector<std::vector<std::int64_t>>
      nodes;  // per node, offsets of its products within the step

  explicit NodePlan(const BoundModel& model);
};

// Significant bits of a node's result.
inline int node_precision(const NodeModel& node) {
  return node.output == NodeOutput::e8m13_toward_zero ? 14 : 24;
}

inline NodePlan::NodePlan(const BoundModel& model) {
  if (model.fma) return;
  const int precision = node_precision(model.node);
  zero_weight = std::ldexp(1.0, model.node.zero_exponent);
  unit = std::ldexp(1.0, -model.node.fraction_bits);
  precision_weight = std::ldexp(1.0, precision - 1);
  ulp_unit = std::ldexp(1.0, 1 - precision);
  if (model.chaining == Chaining::in_order) {
    instruction_length = model.node.products;
    nodes.resize(1);
    for (std::int64_t p = 0; p < instruction_length; ++p) nodes[0].push_back(p);
  } else {  // k mod 4 in {0, 1}, then {2, 3}
    instruction_length = 2 * model.node.products;
    nodes.resize(2);
    for (std::int64_t p = 0; p < instruction_length; ++p) nodes[p % 4 < 2 ? 0 : 1].push_back(p);
  }
}

}  // namespace plumbline::bound
