// SPDX-License-Identifier: MIT
// What can be chosen of an emulated GPU.
#pragma once

#include <atomic>
#include <cstdint>

namespace plumbline {

// Monte Carlo arithmetic: every rounding of floating-point arithmetic moved at random, by bits that
// LaunchRequest::rounding_seed chooses (oracles/formats/random_rounding.h; docs/emulator.md says
// what is moved). It is decided when a module is loaded.
enum class RandomRounding : std::uint8_t {
  off,
  on,
  unbiased_nodes,  // and tensor cores, which cut toward zero, go to nearest instead
};

struct EmulatorOptions {
  int sm = 90;      // the chip whose tensor cores are modeled; PTX for a later target is refused
  int threads = 0;  // workers; 0 = one per hardware thread
  // Reads of unwritten memory, races in shared memory and between CTAs in global memory, missing
  // waits. Bounds are always checked.
  bool check_shadow = true;
  // Warp instructions one warp may execute in loops before the launch is stopped as endless.
  std::uint64_t instruction_budget = 20'000'000;
  // CTAs that take turns where CTAs of a kernel wait for each other; 0: as many of them as an H100
  // holds, and 1024 at least.
  int resident_ctas = 0;
  RandomRounding random_rounding = RandomRounding::off;
  // Once true, the launch that runs is given up within about a second, others before they begin: an
  // Error. Null: never.
  const std::atomic<bool>* give_up = nullptr;
};

}  // namespace plumbline
