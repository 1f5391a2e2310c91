// SPDX-License-Identifier: MIT
// Rows so far apart that 32 bits cannot count the elements to the second one, signed, and to the
// fourth, whatever the sign. Such tensors are kept in pieces (kernels/manifest/pieces.h).
#pragma once

#include <cstdint>
#include <string_view>

namespace plumbline {

inline constexpr std::int64_t kFarApart = (std::int64_t{1} << 30) + 64;  // elements
inline constexpr std::string_view kFarPurpose =
    "offsets beyond 2^31 elements: 32-bit arithmetic of addresses";

}  // namespace plumbline
