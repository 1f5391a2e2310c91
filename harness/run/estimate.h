// SPDX-License-Identifier: MIT
// How long cases will take, before they run: good enough to say what is left of a run.
#pragma once

#include <vector>

#include "harness/run/run.h"

namespace plumbline {

// Seconds of one core.
double estimated_seconds(const Job& job);

// Seconds until all of them are done on so many threads.
double estimated_seconds(const std::vector<Job>& jobs, int threads);

}  // namespace plumbline
