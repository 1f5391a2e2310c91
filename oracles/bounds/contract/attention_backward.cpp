// SPDX-License-Identifier: MIT
#include "oracles/bounds/contract/attention_backward.h"

#include <algorithm>

namespace plumbline {

Contract AttentionBackwardContract::sum() const {
  Contract contract;
  contract.unit = unit;
  contract.instruction = instruction;
  return contract;
}

Contract AttentionBackwardContract::sum_of_dq(std::int64_t keys) const {
  Contract contract = sum();
  if (!atomic_dq) return contract;
  contract.schedule = Schedule::split_k;
  contract.interval = tile;
  contract.parts = std::max<std::int64_t>((keys + tile - 1) / tile, 1);
  contract.join = Join::f32_atomic;
  contract.deterministic = false;
  return contract;
}

}  // namespace plumbline
