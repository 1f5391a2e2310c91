// SPDX-License-Identifier: MIT
// The module being parsed and its names: what a function body may refer to outside itself.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>

#include "harness/emulator/frontend/cursor.h"
#include "harness/emulator/frontend/module.h"

namespace plumbline::emulator {

struct ModuleScope {
  PtxModule module;
  std::unordered_map<std::string_view, int>
      variables;  // name, a view into the text, to Module::variables
  std::unordered_map<std::string_view, int> functions;  // likewise
  std::int64_t initial_bytes_left = 0;  // initializers may not outgrow the text by much

  std::optional<int> variable(std::string_view name) const;
  std::optional<int> function(std::string_view name) const;
};

// Finds what the addresses in the initial values of the variables from `first` on name; that may be
// declared after them.
void resolve_relocations(Cursor& cursor, ModuleScope& scope, std::size_t first = 0);

}  // namespace plumbline::emulator
