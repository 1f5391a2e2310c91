// SPDX-License-Identifier: MIT
#include "oracles/bounds/contract/swiglu.h"

#include <cmath>

namespace plumbline {

Contract SwigluContract::product() const {
  Contract contract;
  contract.unit = unit;
  contract.instruction = instruction;
  return contract;
}

float nearest_silu_divisor(float g) {
  const float power = static_cast<float>(std::exp2(static_cast<double>(g * kMinusLog2E)));
  return 1 + (power < 0x1p-126f ? 0.0f : power);
}

float nearest_silu(SiluForm form, float g) {
  const float divisor = nearest_silu_divisor(g);
  return form == SiluForm::quotient ? g / divisor : g * (1 / divisor);
}

}  // namespace plumbline
