// SPDX-License-Identifier: MIT
#include "oracles/bounds/contract/attention.h"

namespace plumbline {

Contract AttentionContract::score_product() const {
  Contract contract = value_product();
  if (integer_scores) contract.unit = Unit::int32;
  return contract;
}

Contract AttentionContract::value_product() const {
  Contract contract;
  contract.unit = unit;
  contract.instruction = instruction;
  return contract;
}

}  // namespace plumbline
