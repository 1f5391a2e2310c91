// SPDX-License-Identifier: MIT
#include "harness/launch/named_entries.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace plumbline {
namespace {

bool matches(const Manifest& kernel, std::string_view pattern, std::string_view name);

// The rest of a pattern behind a number: "-12", as an integer field is written.
bool matches_number(const Manifest& kernel, std::string_view rest, std::string_view name) {
  std::size_t end = name.starts_with('-') ? 1 : 0;
  const std::size_t first_digit = end;
  while (end < name.size() && std::isdigit(static_cast<unsigned char>(name[end])) != 0) ++end;
  return end > first_digit && matches(kernel, rest, name.substr(end));
}

bool matches(const Manifest& kernel, std::string_view pattern, std::string_view name) {
  const std::size_t open = pattern.find('{');
  if (open == std::string_view::npos) return pattern == name;
  const std::size_t close = pattern.find('}', open);
  if (!name.starts_with(pattern.substr(0, open))) return false;
  name.remove_prefix(open);
  const std::string_view field = pattern.substr(open + 1, close - open - 1);
  const std::string_view rest = pattern.substr(close + 1);
  const auto known = std::ranges::find(kernel.schema(), field, &Field::name);
  if (known == kernel.schema().end()) return false;
  if (known->kind == FieldKind::integer) return matches_number(kernel, rest, name);
  return std::ranges::any_of(known->choices, [&](std::string_view word) {
    return name.starts_with(word) && matches(kernel, rest, name.substr(word.size()));
  });
}

}  // namespace

EntryFilter entries_of(const Manifest& kernel) {
  return [&kernel](const std::string& entry) {
    const std::string readable = cpp_name(entry);
    return std::ranges::any_of(kernel.launches, [&](const KernelLaunch& launch) {
      return matches(kernel, launch.entry, entry) || matches(kernel, launch.entry, readable);
    });
  };
}

Result<emulator::PtxModule> parse_named_entries(const Manifest& kernel, std::string_view ptx,
                                                std::string_view file) {
  return emulator::parse_ptx(ptx, file, {.wanted = entries_of(kernel)});
}

}  // namespace plumbline
