// SPDX-License-Identifier: MIT
// How many rows each group of a grouped GEMM gets: the words of its field `routing`.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "oracles/base/random.h"

namespace plumbline {

// `groups` sizes of 0 or more that add up to m, for every m >= 0 and groups >= 1.
std::vector<std::int64_t> grouped_sizes(std::string_view routing, std::int64_t m,
                                        std::int64_t groups, Random random);

}  // namespace plumbline
