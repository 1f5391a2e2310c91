// SPDX-License-Identifier: MIT
#include "kernels/manifest/command.h"

#include <cstdio>

namespace plumbline {

CommandOutcome run_command(const std::string& command) {
  CommandOutcome outcome;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return outcome;
  char buffer[4096];
  while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, pipe))
    outcome.output.append(buffer, count);
  outcome.succeeded = ::pclose(pipe) == 0;
  return outcome;
}

}  // namespace plumbline
