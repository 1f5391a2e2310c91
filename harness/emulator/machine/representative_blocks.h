// SPDX-License-Identifier: MIT
// Counts what a launch moves from a few of its blocks, where all others are alike by their
// addresses. That is shown, not assumed: the code has to be such that blocks of one way differ by
// even shifts (decode/block_dependence.h), and then all blocks of a box are alike where those in
// its corners are: in what they execute, by which lanes, in how comparisons come out that depend on
// the block, and in every count. Where the corners differ, as at the edge of a problem, the box is
// divided.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "harness/emulator/machine/cta.h"
#include "harness/emulator/machine/launch.h"

namespace plumbline::emulator {

struct Representatives {
  // As if it had run all CTAs: its counts, and its traffic. Null: they have to be run.
  std::unique_ptr<WorkerState> worker;
  std::int64_t ran = 0;
  std::string obstacle;  // why all have to be run; empty where there are few
};

// `worker` has run nothing yet.
Representatives run_representatives(const Launch& launch, WorkerState worker);

}  // namespace plumbline::emulator
