// SPDX-License-Identifier: MIT
// What the launches of a case left behind, and what can be read from it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/device/device.h"
#include "oracles/formats/tensor.h"

namespace plumbline {

// Elements of an output that still hold their poison.
struct Unwritten {
  std::string output;
  std::int64_t first = 0;  // row-major index
  std::int64_t count = 0;
};

// What one launch of a case moved, and how it was launched.
struct CountedLaunch {
  std::array<std::int64_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  std::int64_t dynamic_shared_bytes = 0;
  LaunchTraffic traffic;
};

// What a launch left behind, beside the outputs now in the CaseTensors.
struct LaunchResult {
  // The device's own, and writes outside the outputs found afterwards; of those that the manifest
  // knows only what it says of them.
  std::vector<Finding> findings;
  std::vector<Finding> unwritten_registers, older_values;  // as in LaunchOutcome
  std::vector<std::string> known;
  bool completed = true;       // false: a finding stopped the kernel and the outputs mean nothing
  std::int64_t unwritten = 0;  // output elements that still hold their poison
  std::vector<Unwritten> unwritten_of;  // those of each output that has any
  bool communicates = false;  // CTAs exchange data: another order of them is another execution
  bool undecided = false;     // as in LaunchOutcome; launch_case() decides it
  std::vector<std::string> absent;  // outputs that were not handed over (a dump may lack some)
  bool changed_variables = false;   // it left something that a next call finds (Device)
  double elapsed_ms = 0;
  std::uint64_t fingerprint = 0;  // of all logical output bits
  // What the device can count: warp instructions of all launches together, and for each launch how
  // often each of its instructions ran. 0 and empty elsewhere.
  std::uint64_t instructions = 0;
  std::vector<std::vector<InstructionCount>> executions;
  // Of every output, when asked for and the device can tell: who stored each 4 bytes of its storage
  // last, and the instructions they did it with by PTX line.
  std::map<std::string, std::vector<Writer>> writers;
  std::map<int, CodePlace> stores;
  std::vector<CountedLaunch> traffic;  // of every launch that ran, when asked for
};

// Who stored an element of an output (row-major index), where it is known.
const Writer* writer_of(const LaunchResult& launch, const std::string& output,
                        const TensorLayout& layout, std::int64_t index);

// The PTX lines that were executed at all, in increasing order.
std::vector<int> executed_lines(const LaunchResult& launch);

// A code for each instruction of the PTX for this chip that ran, and the order of magnitude of its
// executions.
std::vector<std::uint32_t> reached_codes(const LaunchResult& launch, int sm);

}  // namespace plumbline
