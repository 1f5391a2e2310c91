// SPDX-License-Identifier: MIT
// 64-bit fingerprints (xxHash XXH3) for sharding, case names and output comparison.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace plumbline {

std::uint64_t fingerprint(std::string_view text);
std::uint64_t fingerprint(std::span<const std::byte> bytes);

// The first six hexadecimal digits: enough to name a case file or a run.
std::string short_name(std::uint64_t fingerprint);

}  // namespace plumbline
