// SPDX-License-Identifier: MIT
// The hand-written cases of attention; see attention/designed.cpp.
#pragma once

#include <vector>

#include "fuzz/case/generator.h"

namespace plumbline {

std::vector<DesignedCase> attention_designed(const Manifest& manifest);

}  // namespace plumbline
