// SPDX-License-Identifier: MIT
// The running bound of one dot product, written to be read: this is the specification of
// running_bound_lanes.cpp, which must give the same bits. docs/bounds/accumulator.md derives every
// line.
#include "oracles/bounds/accumulator/running_bound.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "oracles/base/assert.h"
#include "oracles/base/numbers.h"
#include "oracles/bounds/accumulator/add_node.h"
#include "oracles/bounds/accumulator/any_order.h"
#include "oracles/bounds/accumulator/bound.h"
#include "oracles/bounds/accumulator/node_plan.h"
#include "oracles/bounds/accumulator/runs.h"
#include "oracles/exact/bound_arithmetic.h"

namespace plumbline {

using namespace bound;

namespace {

// One dot product's addends, made when asked for.
class Terms {
 public:
  Terms(const BoundModel& model, const BoundOperand& row, const BoundOperand& column,
        std::int64_t k)
      : model_(model), row_(row), column_(column), k_(k), group_(model.node.group) {}

  Term operator[](std::int64_t at) const {
    if (group_ == 1) return product(at);
    Term sum{0, 0, kInfinity};
    for (std::int64_t p = at * group_; p < std::min(k_, (at + 1) * group_); ++p) {
      const Term one = product(p);
      sum.product += one.product;
      sum.exponent = larger(sum.exponent, one.exponent);
      sum.lowest = smaller(sum.lowest, one.lowest);
    }
    return sum;
  }

  // What f32 operations that take small operands for 0 lose of a product.
  double lost(std::int64_t p) const {
    if (!model_.flushes || !model_.fma) return 0;
    const double x = magnitude(static_cast<double>(row_.elements[p])),
                 y = magnitude(static_cast<double>(column_.elements[p]));
    return x < kF32Minimum || y < kF32Minimum ? x * y : 0;
  }

 private:
  Term product(std::int64_t p) const {
    const ScaledElement x = prepare(row_, p, model_.a_minimum_exponent);
    const ScaledElement y = prepare(column_, p, model_.b_minimum_exponent);
    return {x.value * y.value, x.exponent * y.exponent, x.lowest * y.lowest};
  }

  const BoundModel& model_;
  const BoundOperand& row_;
  const BoundOperand& column_;
  std::int64_t k_, group_;
};

// One accumulator over elements [begin, end), from zero.
AccumulatorBound chain(const BoundModel& model, const NodePlan& plan, const Terms& terms,
                       std::int64_t begin, std::int64_t end) {
  AccumulatorBound state;
  if (model.fma) {
    for (std::int64_t p = begin; p < end; ++p) {
      const Term term = terms[p];
      double lost = terms.lost(p);
      if (model.flushes && smaller(state.lattice, term.lowest) < kF32Minimum)
        lost += 2 * kF32Minimum;  // the accumulator, as an operand and as the result
      add_fused(state, term.product, term.lowest, lost * kRoundUp);
    }
    return state;
  }
  const std::int64_t last = plan.addends(end);
  for (std::int64_t base = plan.addends(begin); base < last; base += plan.instruction_length) {
    if (model.chaining == Chaining::in_order) {
      add_node(state, plan, terms, base, plan.nodes[0], last);
    } else {
      AccumulatorBound fresh;
      for (const auto& offsets : plan.nodes) add_node(fresh, plan, terms, base, offsets, last);
      add_rounded(state, fresh, plan.rounds_to_nearest ? kNearestF16 : kNearestF32);
    }
  }
  return state;
}

// Of a schedule that leaves something open: from the addends alone.
RunningBound of_open_schedule(const BoundModel& model, const NodePlan& plan, const Terms& terms,
                              std::int64_t k) {
  std::vector<double> value, exponent, lowest;
  double lost = 0;
  for (std::int64_t p = 0; p < plan.addends(k); ++p) {
    lost = (lost + terms.lost(p)) * kRoundUp;
    const Term term = terms[p];
    value.push_back(term.product);
    exponent.push_back(term.exponent);
    lowest.push_back(term.lowest);
  }
  const PreparedProducts products{value, exponent, lowest, lost};
  return model.schedule == Schedule::runs ? runs_bound(model, products)
                                          : any_order_bound(model, products);
}

AccumulatorBound part(const BoundModel& model, const NodePlan& plan, const Terms& terms,
                      std::int64_t begin, std::int64_t end, const PromotionScales& scales) {
  if (model.schedule != Schedule::promote) return chain(model, plan, terms, begin, end);
  AccumulatorBound total;
  for (std::int64_t base = begin; base < end; base += model.interval) {
    AccumulatorBound fresh = chain(model, plan, terms, base, std::min(end, base + model.interval));
    if (!model.scaled) {
      add_rounded(total, fresh, kNearestF32, model.flushes);
      continue;
    }
    const std::int64_t interval = base / model.interval;
    if (scales.classes != nullptr)
      fresh.classes = ClassSet::of_sum(fresh.classes, scales.classes[interval]);
    add_scaled(total, fresh, scales.factors[interval], model.flushes, model.any_scaling);
  }
  return total;
}

}  // namespace

RunningBound running_bound(const BoundModel& model, const BoundOperand& row,
                           const BoundOperand& column, std::int64_t k,
                           const PromotionScales& scales) {
  PLUMB_ASSERT(model.scaled == (scales.factors != nullptr) || k == 0);
  const NodePlan plan(model);
  const Terms terms(model, row, column, k);
  if (model.is_open()) return of_open_schedule(model, plan, terms, k);
  if (!model.joins()) return part(model, plan, terms, 0, k, scales).result();
  const std::int64_t length = model.part_length(k);
  std::vector<AccumulatorBound> parts;
  for (std::int64_t begin = 0; begin < k; begin += length) {
    parts.push_back(part(model, plan, terms, begin, std::min(k, begin + length), scales));
  }
  if (parts.empty()) return {};
  return join_parts(parts, model.join, model.flushes).result();
}

}  // namespace plumbline
