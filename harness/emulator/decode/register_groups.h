// SPDX-License-Identifier: MIT
// Registers that matrix instructions use as one fragment ({%f4, %f5, %f6, %f7}) are best given
// neighboring slots: mma then works on the register file in place instead of copying 1.3 KiB in and
// half a KiB out each time.
#pragma once

#include <vector>

#include "harness/emulator/frontend/module.h"

namespace plumbline::emulator {

// Each group is two or four 32-bit registers in the order they want. No register is in two groups:
// the first instruction that names it decides.
std::vector<std::vector<int>> register_groups(const Function& function);

}  // namespace plumbline::emulator
