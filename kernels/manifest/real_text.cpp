// SPDX-License-Identifier: MIT
#include "kernels/manifest/real_text.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "oracles/base/text.h"

namespace plumbline {

std::string real_text(std::uint32_t bits) {
  const float value = std::bit_cast<float>(bits);
  if (std::isnan(value)) return fmt::format("0x{:08x}", bits);
  char buffer[32];
  const auto [end, error] = std::to_chars(std::begin(buffer), std::end(buffer), value);
  return {buffer, end};
}

std::optional<std::uint32_t> parse_real(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) {
    return parse_number<std::uint32_t>(text.substr(2), 16);
  }
  const std::optional<float> value = parse_number<float>(text);
  // "nan" would lose which NaN is meant: those are given as bits.
  if (!value || std::isnan(*value)) return std::nullopt;
  return std::bit_cast<std::uint32_t>(*value);
}

}  // namespace plumbline
