// SPDX-License-Identifier: MIT
// From a contract on a chip to the numbers the running bound works with.
#include <algorithm>

#include "oracles/base/assert.h"
#include "oracles/bounds/accumulator/node_plan.h"
#include "oracles/bounds/accumulator/running_bound.h"

namespace plumbline {

int BoundModel::accumulator_precision() const {
  if (joins()) return join == Join::bf16 ? 8 : 24;
  if (fma || schedule == Schedule::promote || is_open()) return 24;
  if (chaining == Chaining::hopper_fp8 && !has_f16_results()) return 24;
  return bound::node_precision(node);
}

std::int64_t BoundModel::part_length(std::int64_t k) const {
  const std::int64_t block = std::max<std::int64_t>(interval, 1);
  const std::int64_t even = (k + parts - 1) / parts;
  return std::max(block, (even + block - 1) / block * block);
}

std::optional<BoundModel> bound_model(const Contract& contract, int sm, FormatId a, FormatId b) {
  PLUMB_ASSERT(!contract.exact_integers());
  const auto minimum_exponent = [](FormatId id) {
    return format(id).is_integer ? 0 : format(id).emin();
  };
  BoundModel model;
  model.schedule = contract.schedule;
  model.interval = contract.interval;
  model.parts = contract.parts;
  model.join = contract.join;
  model.scaled = contract.scales_sums();
  if (contract.promotion == Promotion::scaled) model.any_scaling = 0;
  model.flushes = contract.subnormals_flushed;
  model.a_minimum_exponent = minimum_exponent(a);
  model.b_minimum_exponent = minimum_exponent(b);
  // An int32 sum is exact until it becomes an f32, rounded once where it has more than 24 bits. A
  // chain of f32 FMAs over the same integers ends within no less of it.
  if (contract.unit == Unit::fma_f32 || contract.unit == Unit::int32) {
    model.fma = true;
    return model;
  }
  const auto dot = contract.unit_model(sm, a, b);
  if (!dot) return std::nullopt;
  model.node = dot->node;
  if (model.node.group > 1) model.a_minimum_exponent = model.b_minimum_exponent = 0;
  model.chaining = dot->chaining;
  return model;
}

}  // namespace plumbline
