// SPDX-License-Identifier: MIT
// What a kernel's gradients do to training: several draws of data about one point, as batches of a
// training set are, each gradient against exact arithmetic on the stored inputs.
#pragma once

#include <string>
#include <vector>

#include "harness/judge/case_runner.h"
#include "reports/record/propagation.h"

namespace plumbline {

struct GradientOptions {
  int draws = 32;
};

struct ComparedGradients {
  std::vector<CaseRecord> judged;       // one per draw
  std::vector<GradientRecord> outputs;  // one per gradient
};

// Errors: an operation without stages, and those of CaseRunner::examine().
Result<ComparedGradients> compare_gradients_of(CaseRunner& runner, const Case& test_case,
                                               const Target& target,
                                               const GradientOptions& options);

// Whether an operation's outputs are gradients.
bool has_gradients(const Operation& operation);

}  // namespace plumbline
