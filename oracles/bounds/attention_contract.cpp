// SPDX-License-Identifier: MIT
#include "oracles/bounds/attention_contract.h"

namespace plumbline {

Contract AttentionContract::product() const {
  Contract contract;
  contract.unit = unit;
  contract.instruction = instruction;
  return contract;
}

}  // namespace plumbline
