// SPDX-License-Identifier: MIT
// Calls are expanded before decoding: every call of a .func with a body becomes a copy of that
// body. The .param variables of a call become local memory of the caller, `ret` becomes a branch
// behind the call. So a program is one flat piece of code, lanes in different calls never share a
// program counter, and nothing needs a return stack. Refused: recursion and indirect calls. Calls
// of functions without a body (vprintf, __assertfail) stay calls.
#pragma once

#include "harness/emulator/frontend/module.h"
#include "oracles/base/result.h"

namespace plumbline::emulator {

bool has_calls(const Function& function);

// The function with its calls expanded.
Result<Function> inline_calls(const PtxModule& module, const Function& function);

}  // namespace plumbline::emulator
