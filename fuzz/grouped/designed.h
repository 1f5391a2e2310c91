// SPDX-License-Identifier: MIT
// The hand-written cases of grouped GEMM; see grouped/designed.cpp.
#pragma once

#include <vector>

#include "fuzz/case/generator.h"

namespace plumbline {

std::vector<DesignedCase> grouped_designed(const Manifest& manifest);

}  // namespace plumbline
