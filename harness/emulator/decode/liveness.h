// SPDX-License-Identifier: MIT
// Gives the registers of a function few 32-lane storage slots: registers that are never alive at
// the same time share. nvcc numbers registers without end (10,000 in a large kernel, 45,000 seen);
// a warp would need megabytes otherwise.
//
// Why liveness of one thread is enough although the lanes of a warp may be at different places of
// the program: a slot is an array of 32 lanes, and an instruction executed under a mask touches
// only the lanes in the mask. So lane L's column of all slots sees exactly the reads and writes
// along lane L's own path, and that path is a path of the control-flow graph. Two registers that
// are never alive together on any path cannot meet in any column. That holds for registers of one
// width only: 64 bits of lane 16 lie where another slot has 32 bits of lane 0. So a slot belongs to
// one width for good. Instructions that read other
// lanes' registers (shfl, mma, ...) do so while those lanes stand at the same instruction, where
// their own operands are alive too.
#pragma once

#include <vector>

#include "harness/emulator/decode/control_flow.h"
#include "harness/emulator/decode/operand_roles.h"
#include "harness/emulator/frontend/module.h"

namespace plumbline::emulator {

// From the first to the last instruction, in text order, at which a register holds a value that
// matters or is named. Closed at both ends: an operand read by an instruction and a register
// written by it overlap, so handlers may write destinations before they have read all sources.
struct LiveInterval {
  int first = -1;
  int last = -1;  // -1: the register is never named

  bool empty() const { return last < 0; }
};

std::vector<LiveInterval> live_intervals(const Function& function, const ControlFlow& flow,
                                         const OperandRoles& roles);

// A register that some way from the function's start reaches a read of without a write.
struct UnwrittenRegister {
  int index = 0;       // in Function::registers
  int first_read = 0;  // in Function::instructions, in text order
};

std::vector<UnwrittenRegister> unwritten_registers(const Function& function,
                                                   const OperandRoles& roles = default_role);

struct SlotMap {
  std::vector<int> slot;  // per register: its first 32-bit slot (16 bits take one, 64 two, 128
                          // four); -1 for none
  int words = 0;          // 32-bit slots in all
  std::vector<int> predicate_slot;  // per register: its mask slot; -1 unless it is a predicate
  int predicates = 0;               // mask slots in all
};

SlotMap assign_slots(const Function& function, const OperandRoles& roles = default_role);

}  // namespace plumbline::emulator
