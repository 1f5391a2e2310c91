// SPDX-License-Identifier: MIT
// What a PTX file holds and which of its instructions the emulator lacks: all of them, where
// loading stops at the first one.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oracles/base/result.h"

namespace plumbline::emulator {

// Instructions of one spelling that do not run.
struct MissingInstruction {
  std::string form;    // "cvt.rs.f16x2.f32": opcode and modifiers
  std::string reason;  // may be empty
  int count = 0;
  int first_line = 0;
};

struct ParameterSurvey {
  std::int64_t bytes = 0;
  std::string type;         // of one element, as written: "u64", "f32", "b8"
  bool is_pointer = false;  // marked .ptr, as newer compilers do
};

struct EntrySurvey {
  std::string name;
  int line = 0;
  std::vector<ParameterSurvey> parameters;
  std::int64_t static_shared_bytes = 0;
  bool dynamic_shared = false;
  std::array<std::int64_t, 3> threads{0, 0, 0};  // .maxntid, .reqntid; 0: not given
  bool exact_threads = false;                    // .reqntid
  std::array<std::int64_t, 3> cluster{0, 0, 0};  // .reqnctapercluster; 0: not given
  std::map<std::string, int>
      units;  // matrix instructions: "mma m16n8k16 f32.bf16.bf16.f32", and how often
  // Reads %envreg1 or %envreg2, which tell a cooperative launch: grid.sync() does.
  bool asks_for_cooperation = false;
  std::vector<MissingInstruction> missing;  // by their first line
  std::string refused;  // why the entry as a whole cannot run; empty: nothing of the kind
  // Why its text, or that of a function it calls, is no PTX; then the file has to be corrected.
  std::optional<Error> unreadable;
};

struct PtxSurvey {
  std::string version;  // "8.7"
  std::string target;   // "sm_90a"
  int target_sm = 0;    // 90
  std::vector<EntrySurvey> entries;
};

// Every entry as on the chip that the file is compiled for. Errors are of whole files; an entry has
// its own.
Result<PtxSurvey> survey_ptx(std::string_view text, std::string_view file);

}  // namespace plumbline::emulator
