// SPDX-License-Identifier: MIT
#include "reports/excerpt.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>

#include "oracles/base/file.h"
#include "reports/card.h"
#include "reports/places.h"
#include "reports/record/escape.h"
#include "reports/record/inlined_calls.h"

namespace plumbline {

namespace fs = std::filesystem;

namespace {

constexpr int kAround = 2;
constexpr std::size_t kWidest = 120;

// Indented by what all lines have in common less; tabs count as four spaces.
void unindent(std::vector<std::string>& lines) {
  std::size_t common = kWidest;
  for (const std::string& line : lines)
    if (const std::size_t begin = line.find_first_not_of(' '); begin != std::string::npos)
      common = std::min(common, begin);
  for (std::string& line : lines) line.erase(0, std::min(common, line.size()));
}

std::string shown(const std::string& line) {
  std::string out;
  for (const char c : line) out += c == '\t' ? "    " : std::string(1, c);
  out.erase(out.find_last_not_of(" \r") + 1);
  out = readable(out);
  if (out.size() <= kWidest) return out;
  std::size_t end = kWidest - 3;
  while ((static_cast<unsigned char>(out[end]) & 0xc0) == 0x80) --end;  // where a character begins
  return out.substr(0, end) + "...";
}

// PTX names its sources itself: what it may have quoted is source code, and no other file that the
// user can read.
bool is_source_code(const std::string& file) {
  constexpr std::string_view kEndings[] = {".c",  ".cc",  ".cpp", ".cu",  ".cuh", ".cxx", ".h",
                                           ".hh", ".hpp", ".inc", ".inl", ".ptx", ".py"};
  std::error_code missing;
  const std::string ending = fs::path(file).extension();
  return std::ranges::find(kEndings, ending) != std::end(kEndings) &&
         fs::is_regular_file(file, missing);
}

std::optional<SourceExcerpt> read(const std::string& what, const CodeLine& place,
                                  const std::string& root) {
  constexpr std::uint64_t kLongestSource = std::uint64_t{1} << 26;
  if (place.line <= 0 || !is_source_code(place.file)) return std::nullopt;
  const Result<std::string> source = read_text_file(place.file, "", kLongestSource);
  if (!source) return std::nullopt;
  std::istringstream in(*source);
  SourceExcerpt excerpt{
      what, relative_to(root, place.file), place.line, std::max(1, place.line - kAround), {}};
  std::string text;
  for (int number = 1; number <= place.line + kAround && std::getline(in, text); ++number)
    if (number >= excerpt.first) excerpt.text.push_back(shown(text));
  if (excerpt.first + std::ssize(excerpt.text) <= place.line) return std::nullopt;
  unindent(excerpt.text);
  return excerpt;
}

// Of a finding or its other access.
template <typename Access>
void add(const std::string& what, const Access& access, const std::string& root,
         std::vector<SourceExcerpt>& excerpts) {
  // The call of a small function of another file says more than its line, and a line of the
  // kernel's own file more than the macro or function that it was written into there.
  std::vector<CodeLine> places;
  for (const std::string& call : calls_of(access.inlined_at)) places.push_back(named_line(call));
  const bool same_file = !places.empty() && places.front().file == access.source_file;
  places.insert(same_file ? places.begin() : places.end(),
                {access.source_file, access.source_line});
  places.push_back({access.ptx_file, access.ptx_line});
  for (const CodeLine& place : places) {
    std::optional<SourceExcerpt> excerpt = read(what, place, root);
    if (!excerpt) continue;
    excerpts.push_back(*std::move(excerpt));
    return;
  }
}

}  // namespace

std::vector<SourceExcerpt> source_excerpts(const Counterexample& counterexample,
                                           const std::string& root) {
  std::vector<SourceExcerpt> excerpts;
  for (const FindingRecord& finding : of_every_kind_first(counterexample.findings)) {
    add("where it happens", finding, root, excerpts);
    if (excerpts.empty()) continue;
    if (finding.other) add("the other access", *finding.other, root, excerpts);
    return excerpts;
  }
  if (counterexample.findings.empty()) add("which stored it", counterexample.store, root, excerpts);
  return excerpts;
}

std::vector<std::string> excerpt_lines(const SourceExcerpt& excerpt) {
  std::vector<std::string> lines = {
      fmt::format("{}:{}, {}", excerpt.file, excerpt.line, excerpt.what)};
  const auto last = excerpt.first + static_cast<int>(excerpt.text.size()) - 1;
  const std::size_t width = std::to_string(last).size();
  for (std::size_t i = 0; i < excerpt.text.size(); ++i) {
    const int number = excerpt.first + static_cast<int>(i);
    lines.push_back(fmt::format("{} {:>{}} | {}", number == excerpt.line ? '>' : ' ', number, width,
                                excerpt.text[i]));
  }
  return lines;
}

}  // namespace plumbline
