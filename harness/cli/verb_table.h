// SPDX-License-Identifier: MIT
// Every verb in one row: its operands, its help, its flags, and the function that does it. The only
// other file that knows CLI11 is arguments.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "harness/cli/arguments.h"
#include "harness/cli/exit_code.h"
#include "harness/cli/terminal.h"

namespace CLI {
class App;
}

namespace plumbline {

// The flags that need more than CLI11's conversions, as typed.
struct RawFlags {
  std::string on = "auto", profile = "default", seed, duration, shard, oracle = "auto",
              format = "human", color = "auto", sm;
};

// Where a verb's flags go.
struct FlagTargets {
  CLI::App& app;
  Arguments& arguments;
  RawFlags& raw;
};

struct Example {
  std::string_view command, help;
};

struct Verb {
  std::string_view name;
  std::string_view operands, operands_help;  // "KERNEL"; both empty: none
  std::string_view help;
  void (*add_flags)(FlagTargets);
  ExitCode (*run)(const Arguments&, Terminal&);
  std::span<const Example> examples;
  bool json = true;   // it has results for programs: --format json
  bool lines = true;  // and lines of them: --format line
};

std::span<const Verb> verb_table();

// The values of a flag that has a few ("--on"); empty for others.
std::span<const std::string_view> flag_choices(std::string_view flag);

// Groups of flags that help shows.
inline constexpr const char *kChoosing = "What to run", *kPlace = "Where", *kJudging = "Judging",
                            *kFailing = "When something fails", *kOutput = "Output";

}  // namespace plumbline
