// SPDX-License-Identifier: MIT
// One node of a tensor core on an accumulator that is known to within a bound: the addends are
// aligned with the accumulator, cut, added and converted. Inside oracles/bounds only.
#pragma once

#include <cstdint>
#include <vector>

#include "oracles/base/numbers.h"
#include "oracles/bounds/accumulator/bound.h"
#include "oracles/bounds/accumulator/node_plan.h"
#include "oracles/exact/bound_arithmetic.h"

namespace plumbline::bound {

// An addend: a product as prepared_operand.h has it, or the sum of a group of them.
struct Term {
  double product, exponent, lowest;
};

// The addends of one node together.
struct NodeAddends {
  double products = 0, count = 0;
  double off = 0;      // what factors that are known to a range only may add
  double largest = 0;  // exponent weight of the largest one there can be
  double surely = 0;   // and of the largest one that there is in any case
  double lowest = kInfinity;
};

// accumulator = node(accumulator, addends). `kept(unit)`: the sum over the addends of the weight of
// their lowest bit, or of the unit where that is smaller.
template <typename Kept>
void align_and_add(AccumulatorBound& state, const NodePlan& plan, const NodeAddends& node,
                   const Kept& kept) {
  if (node.lowest == kInfinity) return;  // nothing but zeros: the accumulator passes through

  // The alignment exponent lies between that of the smallest and that of the largest possible
  // accumulator.
  const double reach = most(state.sum, state.drift), rest = least(state.sum, state.drift);
  const double high = larger(larger(plan.zero_weight, node.largest),
                             reach > 0 ? larger(binade(reach), plan.minimum) : 0);
  const double low = larger(larger(plan.zero_weight, node.surely),
                            rest > 0 ? larger(binade(rest), plan.minimum) : 0);
  const double unit_high = high * plan.unit, unit_low = low * plan.unit;

  // A term with lowest bit 2^l loses less than a unit, in steps of 2^l.
  double loss = 0;
  if (node.lowest < unit_high) loss = (node.count * unit_high - kept(unit_high)) * kRoundUpCount;
  // So does the accumulator, unless it is too large to have bits below the unit.
  if (state.lattice < unit_high && rest < unit_high * plan.precision_weight)
    loss += unit_high - state.lattice;
  add_aligned(state, plan,
              {node.products, node.count, node.largest, node.lowest, unit_low, loss, node.off});
}

// accumulator = node(accumulator, terms[base + offset] of the offsets for which that is below end).
template <typename Terms>
void add_node(AccumulatorBound& state, const NodePlan& plan, const Terms& terms, std::int64_t base,
              const std::vector<std::int64_t>& offsets, std::int64_t end) {
  NodeAddends node;
  for (const std::int64_t offset : offsets) {
    if (base + offset >= end) continue;
    const Term term = terms[base + offset];
    node.products += term.product;
    node.count += 1;
    node.largest = larger(node.largest, term.exponent);
    node.lowest = smaller(node.lowest, term.lowest);
  }
  node.surely = node.largest;
  align_and_add(state, plan, node, [&](double unit) {
    double kept[4] = {0, 0, 0, 0};  // four running sums, as the vector path has
    std::size_t slot = 0;
    for (const std::int64_t offset : offsets) {
      if (base + offset < end) kept[slot % 4] += smaller(terms[base + offset].lowest, unit);
      ++slot;
    }
    return (kept[0] + kept[1]) + (kept[2] + kept[3]);
  });
}

}  // namespace plumbline::bound
