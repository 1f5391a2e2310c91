// SPDX-License-Identifier: MIT
// The basic blocks of a function and which block may follow which, for one thread (one lane).
//
//   bra L        to L               @p bra L     to L, or on
//   ret exit     to the end         @p ret       to the end, or on
//   brx.idx {..} to any target      trap         to the end
//
// Running off the last instruction, or branching to a label after it, is the end too.
#pragma once

#include <vector>

#include "harness/emulator/frontend/module.h"

namespace plumbline::emulator {

struct BasicBlock {
  int first = 0;                // index of its first instruction
  int last = 0;                 // index one past its last
  std::vector<int> successors;  // blocks; the end of the function is not one
  std::vector<int> predecessors;
};

struct ControlFlow {
  std::vector<BasicBlock> blocks;  // in text order; the first is the entry
  std::vector<int> block_of;       // per instruction
};

ControlFlow control_flow(const Function& function);

}  // namespace plumbline::emulator
