// SPDX-License-Identifier: MIT
// The exit codes: part of the interface, shared word for word with docs/cli.md (a test compares
// them).
#pragma once

#include <array>
#include <string_view>

namespace plumbline {

enum class ExitCode : int {
  held = 0,
  broken = 1,
  wrong_input = 2,
  could_not_run = 3,
  nothing_selected = 4,
  mistrusted = 5,
  internal = 70,
  interrupted = 130,
};

struct ExitCodeInfo {
  ExitCode code;
  std::string_view means;
};

// clang-format off
inline constexpr std::array<ExitCodeInfo, 8> kExitCodes = {{
    {ExitCode::held,             "every promise held"},
    {ExitCode::broken,           "a promise was broken; the smallest case is on disk"},
    {ExitCode::wrong_input,      "the command line, a manifest or a file was wrong; nothing ran"},
    {ExitCode::could_not_run,    "could not run: no device, compile error, unsupported instruction, launch failure"},
    {ExitCode::nothing_selected, "nothing was selected"},
    {ExitCode::mistrusted,             "nothing failed, but the pass is mistrusted: too little was compared, a bound allows nearly anything, or shards are missing; not with --allow-mistrusted"},
    {ExitCode::internal,         "a bug in plumbline; prints where the details are"},
    {ExitCode::interrupted,      "interrupted; what had finished is in the record"},
}};
// clang-format on

}  // namespace plumbline
