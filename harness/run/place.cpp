// SPDX-License-Identifier: MIT
#include "harness/run/place.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <chrono>
#include <fstream>

#include "kernels/manifest/command.h"
#include "oracles/base/shell_word.h"
#include "oracles/models/mma.h"

namespace plumbline {
namespace {

// "AMD EPYC 7763 64-Core Processor"; empty where the kernel has no such line.
std::string processor_name() {
  std::ifstream lines("/proc/cpuinfo");
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

}  // namespace

PlaceRecord place_here(const std::string& folder) {
  PlaceRecord place;
  const auto now =
      std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
  place.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
  place.processor = processor_name();
  utsname system{};
  uname(&system);
  place.instruction_set = fmt::format("{}, {}", system.machine, mma_fast_target());
  const std::string git = "GIT_OPTIONAL_LOCKS=0 git -C " + shell_word(folder);
  const CommandOutcome commit = run_command(git + " rev-parse --verify HEAD");
  if (!commit.succeeded) return place;
  place.commit = commit.output.substr(0, commit.output.find('\n'));
  const CommandOutcome changes = run_command(git + " status --porcelain --untracked-files=no");
  place.uncommitted_changes = !changes.succeeded || !changes.output.empty();
  return place;
}

}  // namespace plumbline
