// SPDX-License-Identifier: MIT
// What a name means inside a function body: registers, variables and labels of nested { } scopes,
// then the module's names, then special registers.
//
// `.reg .b32 %r<1000>;` declares a thousand names but costs nothing: a register gets its index when
// an instruction first mentions it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/emulator/frontend/cursor.h"
#include "harness/emulator/frontend/label_scope.h"
#include "harness/emulator/frontend/module_scope.h"
#include "harness/emulator/frontend/scoped_map.h"

namespace plumbline::emulator {

class FunctionScope {
 public:
  // Declares the parameters and results. `function` must stay where it is.
  FunctionScope(Cursor& cursor, const ModuleScope& module, Function& function);

  void open(const Token& brace);
  void close();

  int depth() const { return meanings_.depth(); }

  void declare_register(const Token& name, int bits);
  void declare_register_range(const Token& prefix, int bits, std::int64_t count);
  void declare_variable(const Token& name, SymbolTable table, int index);
  void declare_label(const Token& name);
  void declare_prototype(const Token& name);
  void declare_branch_targets(const Token& name, std::vector<Token> labels);

  // The operand this name stands for; an error if nothing has the name.
  Operand resolve(const Token& name);

  Operand label_reference(const Token& name) { return labels_.refer(name); }

  Operand branch_targets(const Token& name);

  // After the last statement: gives every label operand its label, or fails.
  void resolve_labels() { labels_.resolve(); }

 private:
  enum class Kind : std::uint8_t { reg, symbol, prototype, branch_targets };

  struct Meaning {
    Kind kind = Kind::reg;
    SymbolTable table = SymbolTable::variables;
    int bits = 0;    // of a register
    int index = -1;  // of a register: -1 until it is mentioned
  };

  struct Range {
    int bits = 0;
    std::int64_t count = 0;
    int depth = 0;    // of the scope that declares it
    int hidden = -1;  // the outer range of the same prefix, which still has the higher numbers
  };

  void declare(const Token& name, Meaning meaning);
  bool find_in_range(std::string_view name, Meaning& meaning, int& depth);
  Operand operand(const Token& name, Meaning& meaning, int depth);
  int add_register(std::string_view name, int bits, int depth);
  std::string unique(std::string_view name, int depth) const;
  void fail_unknown(const Token& name);

  Cursor& cursor_;
  const ModuleScope& module_;
  Function& function_;
  ScopedMap<Meaning> meanings_;
  ScopedMap<int> range_of_;  // prefix to index into ranges_
  std::vector<Range> ranges_;
  LabelScope labels_;
  int nested_ranges_ = 0;
  std::vector<int> scope_number_ = {0};  // of each open scope, counted through the function
  int scopes_ = 0;
  std::vector<std::vector<Token>> target_lists_;
  std::size_t targets_expanded_ = 0;
};

}  // namespace plumbline::emulator
