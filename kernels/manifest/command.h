// SPDX-License-Identifier: MIT
// Runs the tools that kernels need: compiler and patch.
#pragma once

#include <string>

namespace plumbline {

struct CommandOutcome {
  bool succeeded = false;
  std::string output;  // stdout and stderr
};

// By the shell, waiting for its end.
CommandOutcome run_command(const std::string& command);

}  // namespace plumbline
