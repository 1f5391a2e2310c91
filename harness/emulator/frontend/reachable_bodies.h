// SPDX-License-Identifier: MIT
// Parses of a skimmed module only the bodies that some entries need: files of 66 MB hold hundreds
// of kernels, and a run launches one.
#pragma once

#include <string_view>
#include <vector>

#include "harness/emulator/frontend/cursor.h"
#include "harness/emulator/frontend/module_scope.h"

namespace plumbline::emulator {

// Where the "{" of a body stands that was passed over.
struct SkimmedBody {
  int function = -1;      // index into Module::functions
  std::string_view text;  // from the "{" on
  int line = 1;
  int column = 1;
};

// Parses the bodies of the wanted entries, and of the functions that they call or take the address
// of, directly or through tables of addresses. The first error becomes the cursor's, or, where
// ParseOptions keeps the unreadable, each error its function's. Parses no body where
// ParseOptions::wanted is empty.
void parse_reachable_bodies(Cursor& cursor, ModuleScope& scope, const ParseOptions& options,
                            const std::vector<SkimmedBody>& skimmed);

}  // namespace plumbline::emulator
