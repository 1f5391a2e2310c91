// SPDX-License-Identifier: MIT
// The emulator as a Device: runs PTX on the CPU, warp by warp, and watches every access while it does.
#pragma once

#include <cstdint>
#include <memory>

#include "harness/device/device.h"

namespace plumbline {

struct EmulatorOptions {
  int sm = 90;      // the chip whose tensor cores are modelled; PTX for a later target is refused
  int threads = 0;  // workers; 0 = one per hardware thread
  // Reads of unwritten memory, races in shared memory and between CTAs in global memory, missing waits. Bounds are always
  // checked.
  bool check_shadow = true;
  // Warp instructions one warp may execute in loops before the launch is stopped as endless.
  std::uint64_t instruction_budget = 20'000'000;
  // CTAs that take turns where CTAs of a kernel wait for each other.
  int resident_ctas = 1024;
};

std::unique_ptr<Device> make_emulator(const EmulatorOptions& options);

}  // namespace plumbline
