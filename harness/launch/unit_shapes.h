// SPDX-License-Identifier: MIT
// The tensor-core instructions of a kernel's entries, held against its contract before anything
// runs: a node of a chip takes as many products as the instruction brings, and a contract that
// names another unit is about another kernel.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/manifest/manifest.h"

namespace plumbline {

// k of the shortest tensor-core instruction that the entries use, where it is shorter than the
// usual one of its operands' formats (8 for mma.m16n8k8 of 16-bit elements); 0 where none is, or
// the PTX cannot be read.
std::int64_t short_instruction_k(const Manifest& kernel, std::string_view ptx);

// An Error with both lines where the contract's unit is not in the PTX, or its instruction_k is
// another than the PTX's. `file` names the PTX in messages. PTX that cannot be read is for those to
// tell who load it.
Status check_units(const Manifest& kernel, std::string_view ptx, std::string_view file);

}  // namespace plumbline
