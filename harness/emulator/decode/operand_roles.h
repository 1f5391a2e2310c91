// SPDX-License-Identifier: MIT
// Which operands an instruction reads and which it writes, by the rule that holds for nearly all of
// PTX: the first operand is the destination, all others are sources, and everything inside [ ] is a
// source. The exceptions are one table. decode knows more about each instruction and may pass roles
// of its own to assign_slots.
#pragma once

#include <cstdint>
#include <functional>

#include "harness/emulator/frontend/module.h"

namespace plumbline::emulator {

enum class OperandRole : std::uint8_t {
  read,
  write,       // every register of it, completely, in every lane that executes
  read_write,  // accumulators in place (wgmma), or a write that may leave the old value
};

using OperandRoles = std::function<OperandRole(const Instruction&, std::size_t operand)>;

OperandRole default_role(const Instruction& instruction, std::size_t operand);

// Calls `use(register index, role)` for every register the instruction mentions, its guard
// included.
void for_each_register(const Instruction& instruction, const OperandRoles& roles,
                       const std::function<void(int, OperandRole)>& use);

}  // namespace plumbline::emulator
