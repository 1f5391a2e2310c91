// SPDX-License-Identifier: MIT
// The hand-written cases of quantization; see quantize/designed.cpp.
#pragma once

#include <vector>

#include "fuzz/case/generator.h"

namespace plumbline {

std::vector<DesignedCase> quantize_designed(const Manifest& manifest);

}  // namespace plumbline
