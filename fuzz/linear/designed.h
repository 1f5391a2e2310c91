// SPDX-License-Identifier: MIT
// The hand-written cases of a linear layer's backward pass; see linear/designed.cpp.
#pragma once

#include <vector>

#include "fuzz/case/generator.h"

namespace plumbline {

std::vector<DesignedCase> linear_designed(const Manifest& manifest);

}  // namespace plumbline
