// SPDX-License-Identifier: MIT
// Decode functions that several opcodes share: `add` is integer, float, packed or predicate work,
// by its type.
#pragma once

#include "harness/emulator/decode/decode.h"

namespace plumbline::emulator {

void decode_integer(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                    Inst& out);
void decode_float(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                  Inst& out);
void decode_packed(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                   Inst& out);
void decode_predicate(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                      Inst& out);

// add.cc, addc and their like.
void decode_carry(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                  Inst& out);

// cp.async.bulk, behind "cp.async.bulk".
// `reduces`: cp.reduce.async.bulk.
void decode_bulk(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                 bool reduces, Inst& out);

// st.async, behind "st.async".
void decode_async_store(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                        Inst& out);

// Chooses one of the four by the types the instruction names.
void decode_by_type(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                    Inst& out);

}  // namespace plumbline::emulator
