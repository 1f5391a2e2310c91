// SPDX-License-Identifier: MIT
// Step 9 of a run: a failure made small, explained, and saved as a case file.
#pragma once

#include "harness/run.h"

namespace plumbline {

Counterexample make_counterexample(const Job& failed, const RunOptions& options,
                                   Observer& observer);

}  // namespace plumbline
