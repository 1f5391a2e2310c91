// SPDX-License-Identifier: MIT
// Directives without meaning for execution: debug tables, hints, and directives that later PTX
// versions add.
#pragma once

#include "harness/emulator/frontend/cursor.h"
#include "harness/emulator/frontend/module.h"

namespace plumbline::emulator {

// .file, into Module::files. The current token is the one after the directive, as for all of these.
void parse_file(Cursor& cursor, PtxModule& module);

// .section name { ... }
void skip_section(Cursor& cursor);

// Passes over an unknown directive: to the ";", the end of its line or the "}" of its block,
// whichever is its end; notes it in Module::skipped.
void skip_unknown(Cursor& cursor, const Token& directive, PtxModule& module);

// Notes a directive that is passed over in Module::skipped.
void note_skipped(const Cursor& cursor, const Token& directive, PtxModule& module);

// To the ";", which is taken.
void skip_to_semicolon(Cursor& cursor);

}  // namespace plumbline::emulator
