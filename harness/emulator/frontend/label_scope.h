// SPDX-License-Identifier: MIT
// Labels of nested { } scopes. A label may be used before it is declared and may repeat in sibling
// scopes (inline assembly does both), so a use is noted as a reference, looked for when its scope
// closes, and handed to the enclosing scope if it is not there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/emulator/frontend/cursor.h"
#include "harness/emulator/frontend/module.h"
#include "harness/emulator/frontend/scoped_map.h"

namespace plumbline::emulator {

class LabelScope {
 public:
  LabelScope(Cursor& cursor, Function& function) : cursor_(cursor), function_(function) {}

  void open();
  void close();

  // A label here, to be listed in Function::labels under a name that is unique there.
  void declare(const Token& name, std::string unique_name);

  // A label operand; its index is that of the reference until resolve().
  Operand refer(const Token& name);

  // After the last statement: gives every label operand its label, or fails.
  void resolve();

 private:
  struct Reference {
    Token name;
    int label = -1;
  };

  void resolve_pending();
  void fail_unknown(const Reference& reference);

  Cursor& cursor_;
  Function& function_;
  ScopedMap<int> labels_;
  std::vector<Reference> references_;
  std::vector<std::vector<int>> pending_ = {{}};  // references without a label yet, per open scope
};

}  // namespace plumbline::emulator
