// SPDX-License-Identifier: MIT
#include "harness/emulator/frontend/module_scope.h"

#include <fmt/format.h>

namespace plumbline::emulator {
namespace {

std::optional<int> find(const std::unordered_map<std::string_view, int>& map,
                        std::string_view name) {
  const auto found = map.find(name);
  if (found == map.end()) return std::nullopt;
  return found->second;
}

}  // namespace

std::optional<int> ModuleScope::variable(std::string_view name) const {
  return find(variables, name);
}

std::optional<int> ModuleScope::function(std::string_view name) const {
  return find(functions, name);
}

void resolve_relocations(Cursor& cursor, ModuleScope& scope, std::size_t first) {
  auto& variables = scope.module.variables;
  for (std::size_t i = first; i < variables.size(); ++i) {
    for (Relocation& relocation : variables[i].relocations) {
      const auto target = scope.variable(relocation.name);
      const auto function = scope.function(relocation.name);
      if (!target && !function) {
        cursor.fail(Token{TokenKind::word, relocation.name, relocation.line, relocation.column},
                    fmt::format("{} is not declared", in_quotes(relocation.name)));
        return;
      }
      relocation.is_function = !target;
      relocation.index = target ? *target : *function;
    }
  }
}

}  // namespace plumbline::emulator
