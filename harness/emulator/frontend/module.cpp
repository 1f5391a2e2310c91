// SPDX-License-Identifier: MIT
#include "harness/emulator/frontend/module.h"

#include <algorithm>

#include "harness/emulator/frontend/parser.h"

namespace plumbline::emulator {

bool Instruction::has_modifier(std::string_view modifier) const {
  return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

const Function* PtxModule::entry(std::string_view name) const {
  for (const Function& function : functions) {
    if (function.is_entry && function.name == name) return &function;
  }
  return nullptr;
}

Result<PtxModule> parse_ptx(std::string_view text, std::string_view file,
                            const ParseOptions& options) {
  return ModuleParser(text, file, options).parse();
}

Result<PtxModule> parse_ptx(std::string_view text, std::string_view file) {
  return parse_ptx(text, file, ParseOptions{});
}

}  // namespace plumbline::emulator
