// SPDX-License-Identifier: MIT
// A case that starts before its inputs were quantized: f32 data of the case's class, and the case
// whose literal inputs are those data rounded to the kernel's formats, with the scales that go with
// them. Error propagation asks what that rounding costs.
#pragma once

#include "fuzz/case/case.h"

namespace plumbline {

struct UnquantizedCase {
  CaseTensors sources;  // as materialize() gives them, but f32 where quantized() of the operation
                        // names an input
  Case stored;          // the case with literals
};

// Draw 0 is the data of the case's seed. Every other draw is that with fresh data of half the size
// added, as one batch of a training set follows another: what they have in common stays.
// Errors: those of materialize(), and an operation without stages.
Result<UnquantizedCase> unquantized(const Case& test_case, int draw = 0);

}  // namespace plumbline
