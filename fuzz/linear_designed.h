// SPDX-License-Identifier: MIT
// The hand-written cases of a linear layer's backward pass; see linear_designed.cpp.
#pragma once

#include <vector>

#include "fuzz/generator.h"

namespace plumbline {

std::vector<DesignedCase> linear_designed(const Manifest& manifest);

}  // namespace plumbline
