// SPDX-License-Identifier: MIT
// A first manifest for a kernel of which only the PTX is known: what the PTX says is filled in, and
// every line that had to be guessed ends in a comment with TODO. Pure text, for `plumbline init`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/emulator/ptx_survey.h"
#include "kernels/manifest/operation.h"

namespace plumbline {

struct OperationGuess {
  const Operation* operation = nullptr;
  std::string reason;       // "its name has "softmax""
  std::string text;         // the file that says it, seen from the manifest; empty: it is built in
  bool is_guessed = false;  // nobody said so
};

// By the entry's name, else by the units it uses; none where neither says anything.
OperationGuess guess_operation(const emulator::EntrySurvey& entry);

struct DraftSource {
  std::string file;                       // "mine.ptx" or "mine.cu", beside the manifest
  std::string version;                    // of its PTX
  std::string target;                     // "sm_90a"
  std::vector<std::string> parameters{};  // what a CUDA source calls them; empty: not known
  std::vector<std::string> types{};       // their declarations; empty: not known
};

// The manifest's text. It can be read for every guess, where every parameter has 1, 2, 4 or 8
// bytes. A comment names each struct or tensor map that is passed by value, and the manual's page
// for it.
std::string draft_manifest(const emulator::EntrySurvey& entry, const OperationGuess& guess,
                           const DraftSource& source);

}  // namespace plumbline
