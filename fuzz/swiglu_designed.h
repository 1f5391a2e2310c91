// SPDX-License-Identifier: MIT
// The hand-written cases of a SwiGLU MLP; see swiglu_designed.cpp.
#pragma once

#include <vector>

#include "fuzz/generator.h"

namespace plumbline {

std::vector<DesignedCase> swiglu_designed(const Manifest& manifest);

}  // namespace plumbline
