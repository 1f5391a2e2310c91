// SPDX-License-Identifier: MIT
#include "harness/code_coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace plumbline {
namespace {

constexpr std::size_t kMostHoles = 10;

std::vector<CodeHole> largest(const std::map<std::string, std::int64_t>& missing) {
  std::vector<CodeHole> holes;
  for (const auto& [where, instructions] : missing) holes.push_back({where, instructions});
  std::stable_sort(holes.begin(), holes.end(), [](const CodeHole& a, const CodeHole& b) {
    return a.instructions > b.instructions;
  });
  if (holes.size() > kMostHoles) holes.resize(kMostHoles);
  return holes;
}

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

std::map<std::string, CodeRecord> CodeCoverage::of(const std::string& kernel) const {
  std::map<std::string, CodeRecord> records;
  for (const auto& [key, code] : codes_) {
    if (key.first != kernel || code.places.empty()) continue;
    CodeRecord record;
    std::map<std::string, std::int64_t> missing;
    // A compiler makes several loops of one: what one of them repeats is repeated.
    std::map<std::string, bool> loops;  // that were reached; whether one was repeated
    for (const CodePlace& place : code.places) {
      ++record.instructions;
      if (code.executed[static_cast<std::size_t>(place.ptx_line)]) {
        ++record.executed;
        if (place.repeats_loop)
          loops[source_of(place)] |= code.repeated[static_cast<std::size_t>(place.ptx_line)];
      } else {
        ++missing[source_of(place)];
      }
    }
    for (const auto& [where, repeated] : loops)
      if (!repeated) record.unrepeated.push_back(where);
    record.holes = largest(missing);
    records[key.second] = std::move(record);
  }
  return records;
}

}  // namespace plumbline
