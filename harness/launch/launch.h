// SPDX-License-Identifier: MIT
// Steps 4 and 5 of a run: poison what the kernel must write, launch, read back, and see what it
// touched that it must not.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fuzz/case/case.h"
#include "harness/device/device.h"
#include "harness/launch/launch_result.h"
#include "oracles/base/result.h"

namespace plumbline {

// What a launch is free to choose; as in LaunchRequest.
struct LaunchChoices {
  std::uint64_t cta_order = 0;
  std::uint64_t instruction_budget = 0;
  std::uint64_t rounding_seed = 0;
  ApproximationErrors approximation{};
  // The byte that memory is full of where nothing has written; nothing: poison_code() and, in
  // shared memory, 0xff.
  std::optional<std::uint8_t> garbage = std::nullopt;
  std::uint8_t register_garbage = 0;    // the same of registers
  bool keep_writers = false;            // LaunchResult::writers
  std::vector<SharedByte> traced = {};  // in every launch of the case
  bool one_worker = false;
  bool older_values = false;  // as in LaunchRequest
  // Variables of modules have what the launch before left in them: a second call of the library.
  bool keep_variables = false;
  bool count_traffic = false;  // LaunchResult::traffic
  bool count_representatives = false;
};

// Runs a case's kernel on tensors made by materialize(); outputs are overwritten with what the
// kernel wrote. A launch whose grid is empty (m == 0) runs nothing and succeeds.
Result<LaunchResult> launch_case(const Case& test_case, CaseTensors& tensors, Device& device,
                                 const Module& module, const LaunchChoices& choices = {});

}  // namespace plumbline
