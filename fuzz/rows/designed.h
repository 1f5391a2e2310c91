// SPDX-License-Identifier: MIT
// The hand-written cases of the row operations; see rows/designed.cpp.
#pragma once

#include <span>
#include <vector>

#include "fuzz/case/generator.h"

namespace plumbline {

// `strides`: the leading dimensions the operation has.
std::vector<DesignedCase> row_designed(const Manifest& manifest,
                                       std::span<const std::string_view> strides);

}  // namespace plumbline
