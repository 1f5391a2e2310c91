// SPDX-License-Identifier: MIT
// Files that users name: manifests, cases, records, PTX.
#pragma once

#include <cstdint>
#include <string>

#include "oracles/base/result.h"

namespace plumbline {

// No file that we read has any business being longer.
inline constexpr std::uint64_t kLongestFile = std::uint64_t{1} << 30;

// All of a file, or of a pipe. Errors (bad input, with the path and this hint): it cannot be read,
// is a folder, is a device (/dev/zero has no end), or holds more than `longest` bytes.
Result<std::string> read_text_file(const std::string& path, std::string hint,
                                   std::uint64_t longest = kLongestFile);

}  // namespace plumbline
