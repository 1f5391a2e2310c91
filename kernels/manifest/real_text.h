// SPDX-License-Identifier: MIT
// f32 scalars as text: the shortest decimal that reads back to the same f32, or the bits in
// hexadecimal where no decimal does (NaN with its payload).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plumbline {

// 0x3dcccccd is "0.1"; infinities are "inf" and "-inf"; a NaN is "0x7fc00000".
std::string real_text(std::uint32_t bits);

// Decimals ("1", "-0.5", "1e-3", "inf"), rounded to nearest even, or "0x" and up to eight
// hexadecimal digits of bits. nullopt for anything else, and for decimals beyond the range of f32.
std::optional<std::uint32_t> parse_real(std::string_view text);

}  // namespace plumbline
