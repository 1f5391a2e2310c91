// SPDX-License-Identifier: MIT
// A tensor map as the driver encodes it for the chip of the current context.
#pragma once

#include "harness/device/tensor_map.h"
#include "harness/gpu/driver.h"
#include "oracles/base/result.h"

namespace plumbline {

// Of a map that check_tensor_map accepts. Errors: a driver without the call, and what the call
// says.
Result<EncodedTensorMap> encode_tensor_map(const Driver& driver, const TensorMap& map);

}  // namespace plumbline
