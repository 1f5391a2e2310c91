// SPDX-License-Identifier: MIT
// One declared variable: alignment, type, name, dimensions and initial value, at module scope, in a
// body, or as a parameter.
#pragma once

#include "harness/emulator/frontend/cursor.h"
#include "harness/emulator/frontend/module.h"

namespace plumbline::emulator {

struct Declaration {
  Variable variable;
  Token name;
};

// The part that several declarators share: `.align 4 .b8`.
struct DeclarationType {
  Space space = Space::global;
  bool is_extern = false;
  std::int64_t alignment = 0;  // 0 = natural
  std::int64_t vector = 1;     // elements of .v2, .v4
  Token type;
  bool is_pointer = false;
  std::int64_t pointer_alignment = 0;
};

// Reads attributes and the type, up to the name.
DeclarationType parse_declaration_type(Cursor& cursor, Space space, bool is_extern);

// Reads name, dimensions and, if there is one, an initial value of at most `initial_bytes_left`
// bytes (nullptr: there can be none).
Declaration parse_declarator(Cursor& cursor, const DeclarationType& type,
                             std::int64_t* initial_bytes_left);

// "( .param .u64 a, .param .align 8 .b8 b[16] )"; empty if the current token is no parenthesis.
std::vector<Variable> parse_parameters(Cursor& cursor);

// Skips from an opening bracket to its closing one.
void skip_balanced(Cursor& cursor, char open, char close);

}  // namespace plumbline::emulator
