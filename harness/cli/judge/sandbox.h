// SPDX-License-Identifier: MIT
// Runs a program on files that are not trusted where they can do no harm: in namespaces of its own
// (bwrap), without a network, seeing the system's libraries, the compiler and one work folder, with
// limits on time, memory and what is written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "oracles/base/result.h"

namespace plumbline {

struct SandboxLimits {
  double seconds = 60;
  std::int64_t memory_bytes = std::int64_t{8} << 30;     // of address space, of each process
  std::int64_t written_bytes = std::int64_t{256} << 20;  // of each file
  bool isolated = true;  // false: these limits alone, without namespaces
};

struct SandboxCommand {
  std::vector<std::string> words{};                                // the program's, in front
  std::vector<std::filesystem::path> shown{};                      // readable, beside the usual
  std::vector<std::pair<std::string, std::string>> environment{};  // beside the usual
};

struct SandboxOutcome {
  int exit_code = 0;
  bool timed_out = false;
  bool killed = false;  // by the system, before its time was over
  std::string output;   // the first 64 KiB of stdout and stderr
};

// An Error (cannot_run) where namespaces cannot be had: bwrap is missing, or this system refuses
// them.
Status check_sandbox();

// This program, wherever it lies.
std::filesystem::path own_program();

// Runs a command in `folder` (absolute), which is the only one it can write to and where its words
// name their files. What it prints goes to `folder`/output.txt first. An Error (cannot_run) where
// the sandbox could not be started; after Ctrl-C all in it is killed.
Result<SandboxOutcome> run_in_sandbox(const SandboxCommand& command,
                                      const std::filesystem::path& folder,
                                      const SandboxLimits& limits);

}  // namespace plumbline
