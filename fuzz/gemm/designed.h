// SPDX-License-Identifier: MIT
// The hand-written cases of GEMM; see gemm/designed.cpp.
#pragma once

#include <vector>

#include "fuzz/case/generator.h"

namespace plumbline {

std::vector<DesignedCase> gemm_designed(const Manifest& manifest);

}  // namespace plumbline
