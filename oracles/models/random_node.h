// SPDX-License-Identifier: MIT
// The node of node.h in Monte Carlo arithmetic (formats/random_rounding.h): each of its roundings
// is moved at random, the cut of every addend at the alignment, and the conversion of the sum.
// Nothing here is fast.
#pragma once

#include <cstdint>
#include <span>

#include "oracles/base/random.h"
#include "oracles/models/mma.h"
#include "oracles/models/node.h"

namespace plumbline {

// Where the random bits come from, and whether a node that cuts toward zero still does on average.
struct NodeNoise {
  Random random;
  bool centered = false;  // its cuts go to nearest instead: a tensor core without a bias
};

std::uint32_t dot_randomly(const DotModel& model, const Format& a_format, const Format& b_format,
                           std::span<const Decoded> a, std::span<const Decoded> b, std::uint32_t c,
                           NodeNoise& noise);

std::uint32_t scaled_node_randomly(const NodeModel& model, const Format& a_format,
                                   const Format& b_format, std::span<const Decoded> a,
                                   std::span<const Decoded> b, const NodeScales& scales,
                                   std::uint32_t c, NodeNoise& noise);

// mma_spec() with such nodes, each output with a stream of its own; integers are exact and stay.
void mma_randomly(const MmaKind& kind, const LaneRegister* a, const LaneRegister* b,
                  const LaneRegister* c, LaneRegister* d, const NodeNoise& noise,
                  const MmaScales* scales = nullptr);

}  // namespace plumbline
