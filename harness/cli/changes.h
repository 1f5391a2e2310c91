// SPDX-License-Identifier: MIT
// What verify, compare and accept print of changes since a baseline.
#pragma once

#include <vector>

#include "harness/cli/arguments.h"
#include "harness/cli/exit_code.h"
#include "harness/cli/terminal.h"
#include "reports/change.h"

namespace plumbline {

// A line per kernel that changed, one for those that did not, and the closing count. `broken`
// when a promise broke that held before, or any error grew and --strict-baseline is given; else
// `could_not_run` where a kernel did not.
ExitCode show_changes(const std::vector<KernelChange>& changes, const Arguments& arguments,
                      Terminal& terminal);

}  // namespace plumbline
