// SPDX-License-Identifier: MIT
// Fills the input tensors of a grouped GEMM case by its value class and routing.
#pragma once

#include "fuzz/case/case.h"

namespace plumbline {

void grouped_fill(const Case& test_case, CaseTensors& tensors);

}  // namespace plumbline
