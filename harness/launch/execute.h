// SPDX-License-Identifier: MIT
// All launches of a case that its verdicts look at: once more with other bytes in unwritten memory
// and registers, in another legal order of CTAs, after a call with other inputs, on the emulator
// beside a GPU.
#pragma once

#include <cstdint>
#include <optional>

#include "harness/launch/launcher.h"

namespace plumbline {

// A launch, and the tensors with what it stored.
struct Launched {
  CaseTensors tensors;
  LaunchResult launch;
};

// A case that ran and was not judged yet.
struct Execution : Launched {
  std::uint64_t first = 0;         // fingerprint of the first launch
  int different = 0;               // of the launches after it, those that gave other bits
  std::optional<Launched> beside;  // on the emulator, beside a GPU
  double kernel_ms = 0;            // on a GPU, the least of its launches
  bool reordered = false;          // `launch` had its CTAs in another order than the first
  bool same_in_any_order = true;
  bool called_again = false;  // `launch` came after one with other inputs, and found what that left
  bool same_when_called_again = true;

  // Whether judging it would say what was said of the other: no verdict looks at anything else.
  bool same_as(const Execution& other) const;
};

Result<Execution> execute_case(const Case& test_case, const Target& target, Launcher& launcher,
                               std::uint64_t instruction_budget = 0);

// One launch with other inputs than the case's, as the case's own are judged: without reads of
// unwritten memory that nothing depends on. `tensors` hold the inputs, and are given back with what
// it stored.
Result<Launched> launch_beside(const Case& test_case, CaseTensors tensors, const Target& target,
                               Launcher& launcher, LaunchChoices choices);

// Launches again, with the bytes traced in which races of shared memory met: the findings then name
// both accesses.
Status name_other_accesses(const Case& test_case, const Target& target, Launcher& launcher,
                           Execution& execution);

// The emulator of the chip that a GPU is.
Target emulator_beside(const Target& gpu);

}  // namespace plumbline
