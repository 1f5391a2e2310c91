// SPDX-License-Identifier: MIT
// Steps 4 and 5 of a run: poison what the kernel must write, launch, read back, and see what it
// touched that it must not.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/case/case.h"
#include "harness/device/device.h"
#include "oracles/base/result.h"

namespace plumbline {

// Elements of an output that still hold their poison.
struct Unwritten {
  std::string output;
  std::int64_t first = 0;  // row-major index
  std::int64_t count = 0;
};

// What a launch left behind, beside the outputs now in the CaseTensors.
struct LaunchResult {
  // The device's own, and writes outside the outputs found afterwards; of those that the manifest
  // knows only what it says of them.
  std::vector<Finding> findings;
  std::vector<Finding> unwritten_registers;  // as in LaunchOutcome
  std::vector<std::string> known;
  bool completed = true;       // false: a finding stopped the kernel and the outputs mean nothing
  std::int64_t unwritten = 0;  // output elements that still hold their poison
  std::vector<Unwritten> unwritten_of;  // those of each output that has any
  bool communicates = false;  // CTAs exchange data: another order of them is another execution
  bool undecided = false;     // as in LaunchOutcome; launch_case() decides it
  std::vector<std::string> absent;  // outputs nobody handed over (a dump may lack some)
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
};

// Who stored an element of an output (row-major index), where it is known.
const Writer* writer_of(const LaunchResult& launch, const std::string& output,
                        const TensorLayout& layout, std::int64_t index);

// The PTX lines that were executed at all, in increasing order.
std::vector<int> executed_lines(const LaunchResult& launch);

// A code for each instruction of the PTX for this chip that ran, and the order of magnitude of its
// executions.
std::vector<std::uint32_t> reached_codes(const LaunchResult& launch, int sm);

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
  // Variables of modules have what the launch before left in them: a second call of the library.
  bool keep_variables = false;
};

// Runs a case's kernel on tensors made by materialize(); outputs are overwritten with what the
// kernel wrote. A launch whose grid is empty (m == 0) runs nothing and succeeds.
Result<LaunchResult> launch_case(const Case& test_case, CaseTensors& tensors, Device& device,
                                 const Module& module, const LaunchChoices& choices = {});

// The code outputs and workspaces are filled with before a launch: a NaN with a payload no hardware
// produces where the format has one, else the byte 0xa5.
std::uint64_t poison_code(const Format& format);

// An Error when host and device copies of the case would not fit into the memory that is free now,
// so many times (explain keeps one examined case while it tries the next).
Status check_memory(const Case& test_case, int copies = 1);

}  // namespace plumbline
