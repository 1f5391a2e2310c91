// SPDX-License-Identifier: MIT
// The branches of a program that repeat a loop. A loop whose body never ran twice in a row has
// shown nothing of what one turn leaves to the next: a persistent kernel's second tile, a stage of
// a pipeline that is filled again.
#pragma once

#include <vector>

#include "harness/emulator/decode/program.h"

namespace plumbline::emulator {

// For each instruction whether it is a branch backward that a kernel takes to go on with its work.
// A branch whose condition comes from a wait for an mbarrier, from a strong load or from a lock is
// none: it asks again, and may never have to.
std::vector<bool> loop_branches(const Program& program);

}  // namespace plumbline::emulator
