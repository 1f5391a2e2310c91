// SPDX-License-Identifier: MIT
#include "harness/judge/code_coverage.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>
#include <utility>

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
    for (const CodePlace& place : code.places) code.sources.push_back(source_of(place));
    if (!code.places.empty())
      code.executed.resize(static_cast<std::size_t>(code.places.back().ptx_line) + 1);
    code.repeated.resize(code.executed.size());
  }
  const auto mark = [&](std::vector<bool>& lines, int ptx_line) {
    const auto line = static_cast<std::size_t>(ptx_line);
    code.has_grown = code.has_grown || !lines[line];
    lines[line] = true;
  };
  for (const std::vector<InstructionCount>& counts : launch.executions) {
    for (const InstructionCount& count : counts) {
      if (count.executions > 0) mark(code.executed, count.ptx_line);
      if (count.repeats > 0) mark(code.repeated, count.ptx_line);
    }
  }
}

CodeParts CodeCoverage::Code::parts() const {
  CodeParts parts;
  // A compiler makes several loops of one: what one of them repeats is repeated.
  std::set<std::string> reached_loops, repeated_loops;
  for (std::size_t i = 0; i < places.size(); ++i) {
    ++parts.instructions;
    const auto line = static_cast<std::size_t>(places[i].ptx_line);
    if (!executed[line]) {
      parts.missing[sources[i]].push_back(places[i].ptx_line);
    } else if (places[i].repeats_loop) {
      reached_loops.insert(sources[i]);
      if (repeated[line]) repeated_loops.insert(sources[i]);
    }
  }
  parts.reached.assign(reached_loops.begin(), reached_loops.end());
  parts.repeated.assign(repeated_loops.begin(), repeated_loops.end());
  return parts;
}

std::map<std::string, CodeParts> CodeCoverage::of(const std::string& kernel) const {
  const std::scoped_lock lock(mutex_);
  std::map<std::string, CodeParts> all;
  for (const auto& [key, code] : codes_) {
    if (key.first == kernel && !code.places.empty()) all[key.second] = code.parts();
  }
  return all;
}

std::optional<CodeParts> CodeCoverage::growth(const std::string& kernel,
                                              const std::string& device) {
  const std::scoped_lock lock(mutex_);
  const auto code = codes_.find({kernel, device});
  if (code == codes_.end() || !std::exchange(code->second.has_grown, false)) return {};
  return code->second.parts();
}

}  // namespace plumbline
