// SPDX-License-Identifier: MIT
// Whether a manifest and the PTX it describes agree: entries there are, and the number and widths
// of their parameters. What a parameter means no compiler writes down.
#pragma once

#include <span>
#include <string>

#include "harness/device/device.h"
#include "kernels/manifest/manifest.h"
#include "oracles/base/result.h"

namespace plumbline {

// Of one entry: the parameters as the device has them. Errors are at the manifest's list, or at the
// parameter of another width.
Status check_parameters(const KernelLaunch& launch, const std::string& entry,
                        std::span<const ParameterSlot> slots);

// Of all launches, in the PTX of every target that is there and not outdated, before anything runs.
// Of an entry name with fields of words in it one has to be there: the domain may leave others out;
// with numbers in it none is looked for. PTX that cannot be read is for those to tell who load it.
Status check_signatures(const Manifest& kernel);

}  // namespace plumbline
