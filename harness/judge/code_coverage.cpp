// SPDX-License-Identifier: MIT
#include "harness/judge/code_coverage.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>

namespace plumbline {
namespace {

std::string source_of(const CodePlace& place) {
  if (place.source_file.empty()) return fmt::format("PTX line {}", place.ptx_line);
  return fmt::format("{}:{}", std::filesystem::path(place.source_file).filename().string(),
                     place.source_line);
}

}  // namespace

void CodeCoverage::add(const std::string& kernel, const std::string& device, const Module& module,
                       const LaunchResult& launch) {
  const std::scoped_lock lock(mutex_);
  Code& code = codes_[{kernel, device}];
  if (code.places.empty()) {
    code.places = module.code();
    if (!code.places.empty())
      code.executed.resize(static_cast<std::size_t>(code.places.back().ptx_line) + 1);
    code.repeated.resize(code.executed.size());
  }
  for (const std::vector<InstructionCount>& counts : launch.executions) {
    for (const InstructionCount& count : counts) {
      if (count.executions > 0) code.executed[static_cast<std::size_t>(count.ptx_line)] = true;
      if (count.repeats > 0) code.repeated[static_cast<std::size_t>(count.ptx_line)] = true;
    }
  }
}

std::map<std::string, CodeParts> CodeCoverage::of(const std::string& kernel) const {
  std::map<std::string, CodeParts> all;
  for (const auto& [key, code] : codes_) {
    if (key.first != kernel || code.places.empty()) continue;
    CodeParts parts;
    // A compiler makes several loops of one: what one of them repeats is repeated.
    std::set<std::string> reached, repeated;
    for (const CodePlace& place : code.places) {
      ++parts.instructions;
      const auto line = static_cast<std::size_t>(place.ptx_line);
      if (!code.executed[line]) {
        parts.missing[source_of(place)].push_back(place.ptx_line);
      } else if (place.repeats_loop) {
        reached.insert(source_of(place));
        if (code.repeated[line]) repeated.insert(source_of(place));
      }
    }
    parts.reached.assign(reached.begin(), reached.end());
    parts.repeated.assign(repeated.begin(), repeated.end());
    all[key.second] = std::move(parts);
  }
  return all;
}

}  // namespace plumbline
