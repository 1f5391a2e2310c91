// SPDX-License-Identifier: MIT
// The stacks that `plumbline propagate` runs layer by layer, token by token and step by step, of a
// language model's blocks and of a diffusion model's.
#pragma once

#include <functional>

#include "harness/propagation/stack_model.h"

namespace plumbline {

// Each is left out where it is 0.
struct StackRuns {
  int depth = 0;    // layers, there and back
  int decode = 0;   // tokens
  int denoise = 0;  // steps
  std::uint64_t seed = 1;
  int threads = 1;

  bool any() const { return depth > 0 || decode > 0 || denoise > 0; }
};

// Errors: the model gives a size that one of the runs is about, or that does not fit.
Status check_stacks(const StackRuns& runs, const StackModel& model);

// keep(record) with one result after the other, until Ctrl-C, of which the last has the curves that
// are whole. The model is one that fits.
void run_stacks(const StackRuns& runs, const StackModel& model,
                const std::function<void(DepthRecord)>& keep);

}  // namespace plumbline
