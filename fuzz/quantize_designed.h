// SPDX-License-Identifier: MIT
// The hand-written cases of quantization; see quantize_designed.cpp.
#pragma once

#include <vector>

#include "fuzz/generator.h"

namespace plumbline {

std::vector<DesignedCase> quantize_designed(const Manifest& manifest);

}  // namespace plumbline
