// SPDX-License-Identifier: MIT
// The numbers that a kernel's code holds sizes against: what its PTX compares integers with,
// divides, masks and shifts them by. A path that only n == 8192 takes stands there, and in no list
// of sizes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/manifest/manifest.h"
#include "oracles/base/result.h"

namespace plumbline {

// Of a module: comparisons first, and large numbers first. Empty where the text is no PTX.
std::vector<std::int64_t> code_sizes(std::string_view ptx, std::string_view file);

// Of all builds of a kernel that are there, each number once.
std::vector<std::int64_t> code_sizes(
    const Manifest& kernel,
    const std::function<Result<std::string>(const Manifest&, int sm)>& image);

}  // namespace plumbline
