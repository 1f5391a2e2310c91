// SPDX-License-Identifier: MIT
#include "harness/cli/draft/source_names.h"

#include <algorithm>
#include <cctype>

namespace plumbline {
namespace {

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string without_comments(std::string_view source) {
  std::string text;
  for (std::size_t at = 0; at < source.size(); ++at) {
    const bool line = source.substr(at, 2) == "//", block = source.substr(at, 2) == "/*";
    if (line || block) {
      at = source.find(line ? "\n" : "*/", at + 2);
      if (at == std::string_view::npos) break;
      if (block) ++at;
      text += ' ';
    } else {
      text += source[at];
    }
  }
  return text;
}

// The last name of "const float* __restrict__ x[4] = nullptr".
std::string name_of(std::string_view parameter) {
  parameter = parameter.substr(0, parameter.find_first_of("=["));
  std::size_t end = parameter.size();
  while (end > 0 && !is_of_name(parameter[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && is_of_name(parameter[begin - 1])) --begin;
  const std::string_view name = parameter.substr(begin, end - begin);
  const bool digits = !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) != 0;
  const bool alone = parameter.find_first_not_of(" \t\r\n") == begin;  // a type and no name
  return digits || alone || name.starts_with("__") ? std::string() : std::string(name);
}

// The parameters between this "(" and its ")".
std::vector<std::string> names_in(std::string_view text) {
  std::vector<std::string> names;
  int depth = 0;
  std::size_t begin = 1;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '(' || c == '<' || c == '{') ++depth;
    if (c == ')' || c == '>' || c == '}') --depth;
    if ((c != ',' || depth != 1) && depth != 0) continue;
    names.push_back(name_of(text.substr(begin, at - begin)));
    if (names.back().empty()) return {};
    if (depth == 0) return names;
    begin = at + 1;
  }
  return {};
}

}  // namespace

std::vector<std::string> parameter_names(std::string_view source, std::string_view function) {
  const std::string text = without_comments(source);
  for (std::size_t at = text.find("__global__"); at != std::string::npos;
       at = text.find("__global__", at + 1)) {
    // __launch_bounds__(128) may stand before the name; a body, or a declaration's end, behind it.
    const std::size_t end = std::min(text.find_first_of("{;", at), text.size());
    for (std::size_t name = text.find(function, at); name < end;
         name = text.find(function, name + 1)) {
      const std::size_t behind = name + function.size();
      const std::size_t open = text.find_first_not_of(" \t\r\n", behind);
      const bool whole = !is_of_name(text[name - 1]) && open != std::string::npos;
      if (whole && text[open] == '(') return names_in(std::string_view(text).substr(open));
    }
  }
  return {};
}

}  // namespace plumbline
