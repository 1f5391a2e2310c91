// SPDX-License-Identifier: MIT
// Fills the input tensors of a GEMM case by its value class.
#pragma once

#include "fuzz/case/case.h"

namespace plumbline {

void gemm_fill(const Case& test_case, CaseTensors& tensors);

}  // namespace plumbline
