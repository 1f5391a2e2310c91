// SPDX-License-Identifier: MIT
// The node parameters of every NVIDIA generation and instruction, as one table (generation.cpp),
// with how sure each row is. What hardware may choose is data here, never an `if` in the
// arithmetic.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "oracles/formats/format.h"
#include "oracles/models/node.h"

namespace plumbline {

enum class Instruction : std::uint8_t { mma_sync, wgmma, tcgen05 };

struct GenerationRow {
  int sm_low, sm_high;  // compute capabilities covered, e.g. 80..89
  Instruction instruction;
  std::string_view inputs;  // "f16", "bf16", "tf32", "fp8" (e4m3, e5m2 and mixes)
  FormatId output;          // f32 or f16 accumulator
  DotModel model;
  std::string_view evidence;  // which published data or model supports the row
};

std::span<const GenerationRow> generation_table();

// Whether the table covers a chip at all.
bool is_modeled(int sm);

// Why nothing is said of a chip, whatever the kernel: "Rubin (sm_107) is not emulated: ...". Empty
// for the others.
std::string_view refused_chip(int sm);

// The model of an instruction on a target (sm as 80, 89, 90, 100, 120); empty when the chip has no
// such instruction.
std::optional<DotModel> dot_model(int sm, Instruction instruction, FormatId a, FormatId b,
                                  FormatId accumulator);

// The node of a block-scaled instruction on that many products of f8f6f4 (32) or of e2m1 (64): the
// f32 result of mxf8f6f4, and of mxf4 and mxf4nvf4. Evidence: model, MMA-Sim 2.1 (RTX PRO 6000 and
// B200). Empty when the chip has no such instruction.
std::optional<NodeModel> scaled_node_model(int sm, Instruction instruction, int products);

}  // namespace plumbline
