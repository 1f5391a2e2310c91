// SPDX-License-Identifier: MIT
// The emulator as a Device: runs PTX on the CPU, warp by warp, and watches every access while it
// does.
#pragma once

#include <memory>

#include "harness/device/device.h"
#include "harness/emulator/decode/emulator_options.h"

namespace plumbline {

std::unique_ptr<Device> make_emulator(const EmulatorOptions& options);

}  // namespace plumbline
