// SPDX-License-Identifier: MIT
// The hand-written cases of a SwiGLU MLP; see swiglu/designed.cpp.
#pragma once

#include <vector>

#include "fuzz/case/generator.h"

namespace plumbline {

std::vector<DesignedCase> swiglu_designed(const Manifest& manifest);

}  // namespace plumbline
