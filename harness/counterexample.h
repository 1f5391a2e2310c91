// SPDX-License-Identifier: MIT
// Step 9 of a run: a failure made small, explained, and saved as a case file.
#pragma once

#include <optional>

#include "harness/run.h"

namespace plumbline {

// Ctrl-C ends the shrinking: the smallest case so far is explained and saved. Nothing when it came
// before the failure was seen again.
std::optional<Counterexample> make_counterexample(const Job& failed, const RunOptions& options,
                                                  Observer& observer);

}  // namespace plumbline
