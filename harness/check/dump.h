// SPDX-License-Identifier: MIT
// Dump: one call of a kernel that ran elsewhere, as a safetensors file with its inputs and outputs
// by name. Nothing is launched: the outputs are what the file says, and they are judged like any
// case's.
//
// The metadata say which call it was:
//   case     "gemm_bf16 m=128 n=64 k=512": the kernel whose contract holds, and the problem
//   sm       "90": the chip whose arithmetic it is held to
//   device   "NVIDIA H200": for reports
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "fuzz/case/literal.h"
#include "harness/judge/case_runner.h"
#include "kernels/registry.h"

namespace plumbline {

struct Dump {
  Case test_case;  // its inputs are literals
  Target target;
  Literals outputs;
  std::vector<std::string> absent;  // outputs that the file lacks, where that is allowed
};

// What the command line says wins over the metadata; an empty case text and no chip leave it to
// them. Tensors must have the shape the problem gives them, dimensions of size 1 aside. Errors
// (bad_input) name the file and the tensor: an input or an output is missing (with `partial`: every
// output), a tensor is not the problem's, shape or format differ.
Result<Dump> read_dump(const std::string& path, const Registry& registry,
                       const std::string& case_text, std::optional<int> sm, bool partial);

// Step 8 of a run on the dump's outputs. A pass has to say something: where the contract leaves the
// order of additions open, the orders that kernels use are tried, and outputs that are one of them
// bit for bit are held to it; others are mistrusted when the contract allows so many codes that a
// wrong output would pass as well.
struct ExaminedDump {
  std::unique_ptr<Examined> examined;
  // What the outputs were held to, in words: the contract's bits, the order of additions that gives
  // them, or how far from exact half of them may be.
  std::string arithmetic;
};

Result<ExaminedDump> examine_dump(const Dump& dump, const JudgeOptions& options);

// A case that ran, as a dump: what read_dump() reads.
Status write_dump(const std::string& path, const Case& test_case, const Target& target,
                  const CaseTensors& tensors);

}  // namespace plumbline
