// SPDX-License-Identifier: MIT
// Runs the tools that kernels need: compiler and patch.
#pragma once

#include <atomic>
#include <string>

namespace plumbline {

struct CommandOutcome {
  bool succeeded = false;
  int exit_code = -1;  // of a signal 128 and its number; -1: it could not be started
  std::string output;  // stdout and stderr
};

// By the shell, waiting for its end; the command reads nothing. Once `give_up` is true, or when
// this program ends or is killed, it is killed with all that it started.
CommandOutcome run_command(const std::string& command, const std::atomic<bool>* give_up = nullptr);

}  // namespace plumbline
