// SPDX-License-Identifier: MIT
// The module level of a PTX file: headers, variables, functions; bodies go to BodyParser.
#pragma once

#include <string_view>
#include <vector>

#include "harness/emulator/frontend/cursor.h"
#include "harness/emulator/frontend/declaration_parser.h"
#include "harness/emulator/frontend/module_scope.h"
#include "harness/emulator/frontend/reachable_bodies.h"

namespace plumbline::emulator {

class ModuleParser {
 public:
  ModuleParser(std::string_view text, std::string_view file, const ParseOptions& options);

  Result<PtxModule> parse();

 private:
  void parse_directive();
  void parse_alias();
  void parse_variables(Space space, bool is_extern);
  void add_variable(Declaration declaration);
  void parse_function(bool is_entry);
  void parse_function_attributes(Function& function);
  void parse_threads(std::int64_t (&extent)[3]);
  int add_function(Function function, const Token& name);
  void skim_body(int function);

  std::string_view text_;
  ParseOptions options_;
  Cursor cursor_;
  ModuleScope scope_;
  std::vector<SkimmedBody> skimmed_;
};

}  // namespace plumbline::emulator
