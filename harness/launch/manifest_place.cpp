// SPDX-License-Identifier: MIT
#include "harness/launch/manifest_place.h"

#include <fmt/format.h>

#include <algorithm>

#include "oracles/base/file.h"

namespace plumbline {
namespace {

std::string_view trimmed(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t{");
  return begin == std::string_view::npos ? std::string_view() : line.substr(begin);
}

}  // namespace

std::string place_in_manifest(const Manifest& kernel, std::string_view key) {
  const Result<std::string> text = read_text_file(kernel.path, "");
  std::string_view rest = text ? std::string_view(*text) : std::string_view();
  for (int number = 1; !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = trimmed(rest.substr(0, end));
    if (line.starts_with(key) && trimmed(line.substr(key.size())).starts_with('='))
      return fmt::format("{}:{}", kernel.path, number);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return kernel.path;
}

}  // namespace plumbline
