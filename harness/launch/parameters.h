// SPDX-License-Identifier: MIT
// The parameters of a launch, as bytes: a manifest's list evaluated for a problem, with the
// addresses of its tensors.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "fuzz/case/case.h"
#include "harness/device/device.h"
#include "oracles/base/result.h"

namespace plumbline {

// A tensor on the device.
struct Placed {
  DeviceAddress first = 0;  // the address of its first element
  FormatId format = FormatId::f32;
};

using Placement = std::map<std::string, Placed>;

// Where a launch's parameters come from.
struct ParameterSource {
  const Case& test_case;
  const Placement& placement;
  Device& device;
  bool runs;  // tensor maps are made only for a launch that runs: an empty problem may have none
};

// The parameter block as the entry declares it, from the launch's parameter list. An Error where
// the lists differ, or where a value does not fit its type.
Result<std::vector<std::byte>> pack_parameters(const KernelLaunch& launch, const std::string& entry,
                                               const std::vector<ParameterSlot>& slots,
                                               const ParameterSource& source);

}  // namespace plumbline
