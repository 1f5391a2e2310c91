// SPDX-License-Identifier: MIT
// What "inlined at" says of a place in the code: the calls up to the kernel, from the inside out.
#pragma once

#include <string>
#include <vector>

namespace plumbline {

// "tile.cuh:31" and "gemm.cu:40" of "tile.cuh:31, inlined at gemm.cu:40".
std::vector<std::string> calls_of(const std::string& inlined_at);

}  // namespace plumbline
