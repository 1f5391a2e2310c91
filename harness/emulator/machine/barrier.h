// SPDX-License-Identifier: MIT
// What Cta needs to know of barrier instructions.
#pragma once

#include <cstdint>

#include "harness/emulator/decode/program.h"

namespace plumbline::emulator {

class Warp;

// What bar.red gathered.
struct Reduction {
  std::uint32_t count = 0;
  bool all = true, any = false;
};

// The barrier that `inst` waits for is complete: its lanes get the reduction, where it has one.
void finish_reduction(Warp& warp, const Inst& inst, std::uint32_t lanes,
                      const Reduction& reduction);

// Where all live lanes of the warp have come to barrier `id`, the warp arrives.
void arrive_if_complete(Warp& warp, int id);

}  // namespace plumbline::emulator
