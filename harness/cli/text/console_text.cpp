// SPDX-License-Identifier: MIT
#include "harness/cli/text/console_text.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "reports/record/escape.h"

namespace plumbline {
namespace {

// What Terminal::paint writes.
constexpr std::array<std::string_view, 6> kColors = {"\x1b[31m", "\x1b[32m", "\x1b[33m",
                                                     "\x1b[2m",  "\x1b[1m",  "\x1b[0m"};

// The color sequence that begins at `at`, or nothing.
std::string_view color_at(std::string_view text, std::size_t at) {
  for (const std::string_view color : kColors) {
    if (text.substr(at).starts_with(color)) return color;
  }
  return {};
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

// GitHub sets "true", Azure Pipelines "True".
bool a_runner_reads_the_log() {
  const char *actions = std::getenv("GITHUB_ACTIONS"), *azure = std::getenv("TF_BUILD");
  return (actions != nullptr && std::string_view(actions) == "true") ||
         (azure != nullptr && std::string_view(azure) == "True");
}

// GitHub looks for commands at the start of a line, blanks aside, and for the older "##[" anywhere;
// Azure Pipelines for "##[" and "##vso[".
std::string without_commands(const std::string& text) {
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    std::string line = text.substr(begin, end - begin);
    const std::size_t first = line.find_first_not_of(" \t");
    if (first != std::string::npos && line.compare(first, 2, "::") == 0)
      line.insert(first + 1, " ");
    replace_all(line, "##[", "## [");
    replace_all(line, "##vso[", "## vso[");
    out += line;
    begin = end;
  }
  return out;
}

}  // namespace

std::string console_text(std::string_view text) {
  std::string out;
  std::size_t plain = 0;  // where the text begins that was not copied yet
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view color = color_at(text, at);
    if (color.empty()) {
      ++at;
      continue;
    }
    out += readable(text.substr(plain, at - plain));
    out += color;
    at += color.size();
    plain = at;
  }
  out += readable(text.substr(plain));
  return a_runner_reads_the_log() ? without_commands(out) : out;
}

std::string one_line(std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(line, [](char c) { return c == '\n' || c == '\t' || c == '\r'; }, ' ');
  return line;
}

std::string console_line(std::string_view text) { return console_text(one_line(text)); }

}  // namespace plumbline
