// SPDX-License-Identifier: MIT
// A tensor map of a manifest ([tensor_map.<name>]) for one problem and one place in memory.
#pragma once

#include <string>

#include "harness/device/device.h"
#include "harness/device/tensor_map.h"
#include "kernels/manifest/manifest.h"
#include "oracles/base/result.h"

namespace plumbline {

// `first` is the address of the tensor's first element. Errors: expressions without a value, and
// (cannot_run) numbers no chip takes, with the map and the problem they come from.
Result<TensorMap> case_tensor_map(const Manifest& kernel, const std::string& name,
                                  const Problem& problem, FormatId format, DeviceAddress first);

}  // namespace plumbline
