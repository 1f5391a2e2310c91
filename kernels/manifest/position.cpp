// SPDX-License-Identifier: MIT
#include "kernels/manifest/position.h"

#include <fmt/format.h>

#include "oracles/base/text.h"

namespace plumbline {
namespace {

// The number after the last colon; 0 where there is none.
std::size_t last_number(std::string_view where, std::size_t colon) {
  return parse_number<std::size_t>(where.substr(colon + 1)).value_or(0);
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
