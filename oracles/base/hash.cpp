// SPDX-License-Identifier: MIT
#include "oracles/base/hash.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace plumbline {

std::uint64_t fingerprint(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

std::uint64_t fingerprint(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::string short_name(std::uint64_t fingerprint) {
  return fmt::format("{:06x}", fingerprint >> 40);
}

}  // namespace plumbline
