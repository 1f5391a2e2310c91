// SPDX-License-Identifier: MIT
// What this machine could hold at all.
#pragma once

namespace plumbline {

// How much of it is free right now is not asked: the answer would change from run to run, and what
// a case is must not.
double physical_memory_bytes();

}  // namespace plumbline
