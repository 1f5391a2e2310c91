// SPDX-License-Identifier: MIT
// Numbers and words in texts that people wrote.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

namespace plumbline {

// The number that all of the text is, without sign "+", prefix or space; nullopt where it is none
// or does not fit. Of floating-point numbers "inf" and "nan" are some.
template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The same for a whole number in another base, 16 without "0x".
template <typename Number>
std::optional<Number> parse_number(std::string_view text, int base) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The parts between one separator and the next, empty ones too: one more than there are separators.
std::vector<std::string_view> split(std::string_view text, char separator);

// Whether a pattern has a character with a meaning.
bool is_glob(std::string_view pattern);

// `*` matches any run of characters, `?` any one.
bool glob_matches(std::string_view pattern, std::string_view text);

}  // namespace plumbline
