// SPDX-License-Identifier: MIT
// Handlers that decode itself needs.
#pragma once

#include <cstdint>

#include "harness/emulator/decode/program.h"

namespace plumbline::emulator {

// The lanes leave the kernel.
void exit_lanes(Warp& warp, const Inst& inst, std::uint32_t mask);

}  // namespace plumbline::emulator
