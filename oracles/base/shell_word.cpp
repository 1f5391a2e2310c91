// SPDX-License-Identifier: MIT
#include "oracles/base/shell_word.h"

#include <algorithm>
#include <string_view>

namespace plumbline {

std::string shell_word(const std::string& text) {
  const auto plain = [](char c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return letter || (c >= '0' && c <= '9') ||
           std::string_view("_-./,:=+@%").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
  // Double quotes are what people write around a case; in single ones nothing at all is special.
  if (text.find_first_of("\"\\$`!") == std::string_view::npos) return '"' + text + '"';
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

}  // namespace plumbline
