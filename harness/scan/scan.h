// SPDX-License-Identifier: MIT
// Scans: one instruction executed on all its inputs, on the emulator or a GPU, each result held
// against the real number.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "harness/launch/target.h"
#include "harness/scan/instruction.h"
#include "harness/scan/tally.h"
#include "oracles/base/result.h"

namespace plumbline {

struct ScanOptions {
  Target target;
  int threads = 1;
  std::uint64_t sample = 0;  // so many of the inputs, spread over them; 0: all
  const std::atomic<bool>* give_up = nullptr;
  std::function<void(double share)> progress;  // from any thread, one at a time; may be empty
};

struct ScanResult {
  ScanInstruction instruction;
  std::uint64_t inputs = 0;  // of every element of a pair; pairs of division
  bool exhaustive = false;
  ScanTally tally;
};

// Inputs that a scan without a sample runs on: all, or of division 2^26 pairs.
std::uint64_t scan_inputs(const ScanInstruction& instruction);

// PTX of the kernel that executes it: `a`, `b` and `d` are arrays of 32-bit words, 32 of them for
// each thread.
std::string scan_kernel(const ScanInstruction& instruction, int sm);

// An Error says why the device does not run the instruction, or that it was given up.
Result<ScanResult> scan(const ScanInstruction& instruction, const ScanOptions& options);

}  // namespace plumbline
