// SPDX-License-Identifier: MIT
// The three directives every PTX module begins with: .version, .target and .address_size.
#pragma once

#include "harness/emulator/frontend/cursor.h"
#include "harness/emulator/frontend/module.h"

namespace plumbline::emulator {

// The current token is the one after the directive.
void parse_version(Cursor& cursor, const Token& directive, PtxModule& module);
void parse_target(Cursor& cursor, PtxModule& module);
void parse_address_size(Cursor& cursor, PtxModule& module);

// Fails at this token if there was no .version or .target before it.
bool require_header(Cursor& cursor, const Token& at, const PtxModule& module);

}  // namespace plumbline::emulator
