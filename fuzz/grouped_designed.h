// SPDX-License-Identifier: MIT
// The hand-written cases of grouped GEMM; see grouped_designed.cpp.
#pragma once

#include <vector>

#include "fuzz/generator.h"

namespace plumbline {

std::vector<DesignedCase> grouped_designed(const Manifest& manifest);

}  // namespace plumbline
