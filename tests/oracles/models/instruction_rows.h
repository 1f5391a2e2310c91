// SPDX-License-Identifier: MIT
// The matrix instructions of an H100 whose outputs on hard operands are in
// tests/data/tensor_core_outputs/H100, one file each. A row of a file is the words of a, b, c and
// d, register by register, 32 lanes each (mma.h), little-endian.
#pragma once

#include <string>
#include <vector>

#include "tests/oracles/models/mma_cases.h"

namespace plumbline {

inline std::vector<FragmentKind> h100_instructions() {
  using enum FormatId;
  constexpr int kHopper = 90;
  std::vector<FragmentKind> kinds;
  const auto add = [&](Instruction instruction, FormatId a, FormatId b, int k, FormatId accumulator,
                       bool saturate = false) {
    std::string name = instruction == Instruction::wgmma ? "wgmma_" : "";
    name += format(a).name;
    if (a != b || accumulator == s32) name += "_" + std::string(format(b).name);
    if (accumulator == f16) name += "_to_f16";
    if (saturate) name += "_satfinite";
    MmaKind kind{{16, 8, k}, a, b, accumulator, saturate, {}};
    if (accumulator != s32) kind.model = dot_model(kHopper, instruction, a, b, accumulator).value();
    kinds.push_back({name + "_k" + std::to_string(k), kind});
  };
  for (const Instruction instruction : {Instruction::mma_sync, Instruction::wgmma}) {
    const bool warp = instruction == Instruction::mma_sync;
    add(instruction, bf16, bf16, 16, f32);
    add(instruction, f16, f16, 16, f32);
    add(instruction, f16, f16, 16, f16);
    add(instruction, tf32, tf32, 8, f32);
    for (const FormatId a : {e4m3, e5m2})
      for (const FormatId b : {e4m3, e5m2}) add(instruction, a, b, 32, f32);
    add(instruction, e4m3, e4m3, 32, f16);
    add(instruction, e5m2, e5m2, 32, f16);
    add(instruction, s8, s8, 32, s32);
    add(instruction, u8, u8, 32, s32);
    add(instruction, s8, u8, 32, s32);
    if (!warp) continue;
    add(instruction, bf16, bf16, 8, f32);
    add(instruction, f16, f16, 8, f32);
    add(instruction, f16, f16, 8, f16);
    add(instruction, tf32, tf32, 4, f32);
    add(instruction, e4m3, e4m3, 16, f32);
    add(instruction, e5m2, e5m2, 16, f32);
    add(instruction, e4m3, e4m3, 16, f16);
    add(instruction, u8, s8, 32, s32);
    add(instruction, s8, s8, 32, s32, true);
    add(instruction, u8, u8, 32, s32, true);
    add(instruction, s8, s8, 16, s32);
    add(instruction, s8, s8, 16, s32, true);
  }
  return kinds;
}

}  // namespace plumbline
