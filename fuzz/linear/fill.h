// SPDX-License-Identifier: MIT
// Fills the input tensors of a linear layer's backward pass by its value class.
#pragma once

#include "fuzz/case/case.h"

namespace plumbline {

void linear_fill(const Case& test_case, CaseTensors& tensors);

}  // namespace plumbline
