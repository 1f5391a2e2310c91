// SPDX-License-Identifier: MIT
// What a manifest says about one problem: entry name, formats, acceptance. Reading one is
// manifest_reader.cpp.
#include "kernels/manifest.h"

#include "oracles/base/assert.h"

#include <fmt/format.h>

#include <filesystem>

namespace plumbline {
namespace {

// The word or number of a field, as entry names carry it.
std::string field_text(const Problem& problem, std::string_view name) {
  for (const Field& field : problem.schema()) {
    if (field.name != name) continue;
    if (field.kind == FieldKind::word) return std::string(problem.word(name));
    if (field.kind == FieldKind::integer) return fmt::format("{}", problem.integer(name));
  }
  PLUMB_ASSERT(!"the reader checks the names in braces");
  return {};
}

// "gemm_{layout}" with every {field} replaced.
std::string fill_in(std::string_view pattern, const Problem& problem) {
  std::string text;
  while (true) {
    const std::size_t open = pattern.find('{');
    text += pattern.substr(0, open);
    if (open == std::string_view::npos) return text;
    const std::size_t close = pattern.find('}', open);
    PLUMB_ASSERT(close != std::string_view::npos);
    text += field_text(problem, pattern.substr(open + 1, close - open - 1));
    pattern.remove_prefix(close + 1);
  }
}

}  // namespace

std::string Manifest::entry(const Problem& problem) const {
  return fill_in(entry_pattern, problem);
}

FormatId Manifest::tensor_format(std::string_view tensor, const Problem& problem) const {
  const auto declared = formats.find(std::string(tensor));
  PLUMB_ASSERT(declared != formats.end());
  const std::optional<FormatId> format = format_by_name(fill_in(declared->second, problem));
  PLUMB_ASSERT(format);
  return *format;
}

std::optional<std::string> Manifest::excluded(const Problem& problem) const {
  for (const DomainRule& rule : domain) {
    const Result<std::int64_t> accepted = rule.condition.evaluate(problem);
    if (!accepted) return accepted.error().text();
    if (*accepted == 0) return rule.reason;
  }
  return std::nullopt;
}

std::string Manifest::ptx_path(int sm) const {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!ptx.empty()) return folder / ptx;
  return folder / fmt::format("{}.sm_{}.ptx", name, sm);
}

}  // namespace plumbline
