// SPDX-License-Identifier: MIT
// Which variables of a module its parsed functions can reach: a library of kernels has tables for
// kernels that are not launched.
#pragma once

#include <vector>

#include "harness/emulator/frontend/module.h"

namespace plumbline::emulator {

// By index into PtxModule::variables: whether an instruction names it, or the initial value of a
// variable that is reached.
std::vector<bool> reachable_variables(const PtxModule& module);

}  // namespace plumbline::emulator
