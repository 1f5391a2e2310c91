// SPDX-License-Identifier: MIT
// Positions in text for error messages: "file:line:column", moved along one line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace plumbline {

// "gemm.toml:7:12" moved by 5 columns is "gemm.toml:7:17". A text that does not end in a column
// ("--only") gets one: "--only:6". Empty stays empty.
std::string advance_position(std::string_view where, std::size_t columns);

}  // namespace plumbline
