// SPDX-License-Identifier: MIT
#include "kernels/manifest/position.h"

#include <fmt/format.h>

#include <charconv>

namespace plumbline {
namespace {

// The number after the last colon; 0 where there is none.
std::size_t last_number(std::string_view where, std::size_t colon) {
  const std::string_view digits = where.substr(colon + 1);
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), number);
  return error == std::errc() && end == digits.end() ? number : 0;
}

}  // namespace

std::string advance_position(std::string_view where, std::size_t columns) {
  if (where.empty()) return {};
  const std::size_t colon = where.rfind(':');
  if (colon != std::string_view::npos) {
    if (const std::size_t column = last_number(where, colon); column > 0) {
      return fmt::format("{}:{}", where.substr(0, colon), column + columns);
    }
  }
  return fmt::format("{}:{}", where, columns + 1);
}

}  // namespace plumbline
