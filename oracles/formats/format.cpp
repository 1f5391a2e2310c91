// SPDX-License-Identifier: MIT
#include "oracles/formats/format.h"

#include <array>
#include <cstddef>

namespace plumbline {
namespace {

constexpr bool rows_follow_the_enumeration() {
  for (std::size_t row = 0; row < kFormats.size(); ++row) {
    if (static_cast<std::size_t>(kFormats[row].id) != row) return false;
  }
  return true;
}

static_assert(rows_follow_the_enumeration());

}  // namespace

std::span<const Format> all_formats() { return kFormats; }

std::optional<FormatId> format_by_name(std::string_view name) {
  for (const Format& candidate : kFormats) {
    if (candidate.name == name) return candidate.id;
  }
  return std::nullopt;
}

}  // namespace plumbline
