// SPDX-License-Identifier: MIT
// Rows so far apart that the offset of row 2 exceeds signed 32 bits, and that of row 4 unsigned 32
// bits (rows count from 0). Such tensors are kept in pieces (kernels/manifest/pieces.h).
#pragma once

#include <cstdint>
#include <string_view>

namespace plumbline {

inline constexpr std::int64_t kFarApart = (std::int64_t{1} << 30) + 64;  // elements
inline constexpr std::string_view kFarPurpose =
    "offsets beyond 2^31 elements: 32-bit arithmetic of addresses";

}  // namespace plumbline
