// SPDX-License-Identifier: MIT
#include "harness/cli/text/wrap.h"

#include <algorithm>

namespace plumbline {

std::string wrap(std::string_view line, int width, std::size_t column) {
  const std::size_t limit = static_cast<std::size_t>(width);
  if (line.size() <= limit) return std::string(line);
  const std::size_t first = line.find_first_not_of(' ');
  if (first == std::string_view::npos) return "";
  if (column == 0 || column > limit / 2) column = first + 2;
  const std::string indent(column < limit / 2 ? column : 2, ' ');
  std::string out(line.substr(0, first));
  std::size_t at = first;
  bool fresh = true;
  line.remove_prefix(first);
  while (!line.empty()) {
    const std::size_t gap = std::min(line.find_first_not_of(' '), line.size());
    const std::size_t end = std::min(line.find(' ', gap), line.size());
    const std::string_view word = line.substr(gap, end - gap);
    if (!fresh && at + gap + word.size() > limit) {
      out += "\n" + indent;
      at = indent.size();
    } else {
      out += std::string(gap, ' ');
      at += gap;
    }
    out += word;
    at += word.size();
    fresh = false;
    line.remove_prefix(end);
  }
  return out;
}

std::string shortened(std::string_view line, int width) {
  const auto limit = static_cast<std::size_t>(width);
  if (line.size() <= limit) return std::string(line);
  const std::size_t space = line.find_last_of(' ', limit);
  if (space == std::string_view::npos) return std::string(line.substr(0, limit));  // one long word
  return std::string(line.substr(0, line.find_last_not_of(' ', space) + 1));
}

}  // namespace plumbline
