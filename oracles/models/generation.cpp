// SPDX-License-Identifier: MIT
// The node parameters of every generation, one row per chip, instruction, input family and
// accumulator.
// Sources: MMA-Sim is Xie et al., arXiv 2511.10909; Leeds is Khattak & Mikaitis, arXiv 2512.07004,
// who publish raw GPU outputs.
// "measured": every published output of that GPU is reproduced, 5000 rows per file; golden_test.cpp
// repeats that for A100, Ada and H200 where the files are present. "model": stated by a model whose
// authors compared it with the GPU over about 10^6 random bit patterns per instruction.
// Zero exponents show only at the bottom of the range: -108-F with f32 results and 4-F with f16
// results, F being that of the generation's f16 unit. With f16 results they are "model" everywhere:
// MMA-Sim 2.1.1 and Leeds of August 2026 agree on them, and no published output decides.
#include "oracles/models/generation.h"

#include <algorithm>
#include <array>

namespace plumbline {
namespace {

using enum Chaining;
using enum FormatId;
using enum Instruction;
using enum NodeOutput;

constexpr std::string_view kHalf = "f16";
constexpr std::string_view kBrain = "bf16";
constexpr std::string_view kTf32 = "tf32";
constexpr std::string_view kFp8 = "fp8";
constexpr std::string_view kNarrow = "f8f6f4";  // e4m3, e5m2, e3m2, e2m3, e2m1 and mixes

// clang-format off
constexpr std::array kRows{
    //            sm low high instruction inputs  output    L   F  e_zero  conversion           chaining     evidence
    GenerationRow{ 70,  72, mma_sync, kHalf,   f32, {{ 4, 23, -131, f32_toward_zero},   in_order},   "measured: V100 (Leeds)"},
    GenerationRow{ 70,  72, mma_sync, kHalf,   f16, {{ 4, 23,  -19, f16_nearest_even},  in_order},   "measured: V100 (Leeds)"},

    GenerationRow{ 75,  75, mma_sync, kHalf,   f32, {{ 8, 24, -132, f32_toward_zero},   in_order},   "model: MMA-Sim"},
    GenerationRow{ 75,  75, mma_sync, kHalf,   f16, {{ 8, 24,  -20, f16_nearest_even},  in_order},   "model: MMA-Sim"},

    GenerationRow{ 80,  88, mma_sync, kHalf,   f32, {{ 8, 24, -132, f32_toward_zero},   in_order},   "measured: A100, A2 at k8 (Leeds); k16 as two nodes: MMA-Sim"},
    GenerationRow{ 80,  88, mma_sync, kHalf,   f16, {{ 8, 24,  -20, f16_nearest_even},  in_order},   "measured: A100, A2 at k8 (Leeds); k16 as two nodes: MMA-Sim"},
    GenerationRow{ 80,  88, mma_sync, kBrain,  f32, {{ 8, 24, -132, f32_toward_zero},   in_order},   "measured: A100, A2 at k8 (Leeds); k16 as two nodes: MMA-Sim"},
    GenerationRow{ 80,  88, mma_sync, kTf32,   f32, {{ 4, 24, -132, f32_toward_zero},   in_order},   "measured: A100, A2 at k4 (Leeds); k8 as two nodes: MMA-Sim"},

    GenerationRow{ 89,  89, mma_sync, kHalf,   f32, {{ 8, 24, -132, f32_toward_zero},   in_order},   "measured: L40S, RTX 1000 at k8 (Leeds)"},
    GenerationRow{ 89,  89, mma_sync, kHalf,   f16, {{ 8, 24,  -20, f16_nearest_even},  in_order},   "measured: L40S, RTX 1000 at k8 (Leeds)"},
    GenerationRow{ 89,  89, mma_sync, kBrain,  f32, {{ 8, 24, -132, f32_toward_zero},   in_order},   "measured: L40S, RTX 1000 at k8 (Leeds)"},
    GenerationRow{ 89,  89, mma_sync, kTf32,   f32, {{ 4, 24, -132, f32_toward_zero},   in_order},   "measured: L40S, RTX 1000 at k4 (Leeds)"},
    GenerationRow{ 89,  89, mma_sync, kFp8,    f32, {{16, 13, -132, e8m13_toward_zero}, in_order},   "measured: L40S, RTX 1000 (Leeds)"},
    GenerationRow{ 89,  89, mma_sync, kFp8,    f16, {{16, 13,  -20, f16_nearest_even},  in_order},   "measured: L40S, RTX 1000 (Leeds)"},

    GenerationRow{ 90,  90, mma_sync, kHalf,   f32, {{16, 25, -133, f32_toward_zero},   in_order},   "measured: H100, H200 (Leeds)"},
    GenerationRow{ 90,  90, mma_sync, kHalf,   f16, {{16, 25,  -21, f16_nearest_even},  in_order},   "measured: H100, H200 (Leeds)"},
    GenerationRow{ 90,  90, mma_sync, kBrain,  f32, {{16, 25, -133, f32_toward_zero},   in_order},   "measured: H100, H200 (Leeds)"},
    GenerationRow{ 90,  90, mma_sync, kTf32,   f32, {{ 8, 25, -133, f32_toward_zero},   in_order},   "measured: H100, H200 at k4 (Leeds); L = 8: H100 (plumbline)"},
    GenerationRow{ 90,  90, mma_sync, kFp8,    f32, {{16, 25, -133, f32_toward_zero},   hopper_fp8}, "measured: H100, H200 (Leeds); ptxas 13.0 output"},
    GenerationRow{ 90,  90, mma_sync, kFp8,    f16, {{16, 25,  -21, f16_nearest_even},  hopper_fp8}, "measured: H100, H200 (Leeds); ptxas 13.0 output"},

    GenerationRow{ 90,  90, wgmma,    kHalf,   f32, {{16, 25, -133, f32_toward_zero},   in_order},   "measured: H100 (plumbline)"},
    GenerationRow{ 90,  90, wgmma,    kHalf,   f16, {{16, 25,  -21, f16_nearest_even},  in_order},   "measured: H100 (plumbline)"},
    GenerationRow{ 90,  90, wgmma,    kBrain,  f32, {{16, 25, -133, f32_toward_zero},   in_order},   "measured: H100 (plumbline); whole kernels: dfyz/reproducible-inference"},
    GenerationRow{ 90,  90, wgmma,    kTf32,   f32, {{ 8, 25, -133, f32_toward_zero},   in_order},   "measured: H100 (plumbline)"},
    GenerationRow{ 90,  90, wgmma,    kFp8,    f32, {{32, 13, -133, e8m13_toward_zero}, in_order},   "measured: H100, H200 with C = 0 (Leeds); C: H100 (plumbline)"},
    GenerationRow{ 90,  90, wgmma,    kFp8,    f16, {{32, 13,  -21, f16_nearest_even},  in_order},   "measured: H100 (plumbline)"},

    GenerationRow{100, 103, mma_sync, kHalf,   f32, {{16, 25, -133, f32_toward_zero},   in_order},   "measured: B200 (Leeds)"},
    GenerationRow{100, 103, mma_sync, kHalf,   f16, {{16, 25,  -21, f16_nearest_even},  in_order},   "measured: B200 (Leeds)"},
    GenerationRow{100, 103, mma_sync, kBrain,  f32, {{16, 25, -133, f32_toward_zero},   in_order},   "measured: B200 (Leeds)"},
    GenerationRow{100, 103, mma_sync, kTf32,   f32, {{ 8, 25, -133, f32_toward_zero},   in_order},   "measured: B200 at k4 (Leeds)"},
    GenerationRow{100, 103, mma_sync, kFp8,    f32, {{16, 25, -133, f32_toward_zero},   hopper_fp8}, "measured: B200 (Leeds); ptxas 13.0 output"},
    GenerationRow{100, 103, mma_sync, kFp8,    f16, {{16, 25,  -21, f16_nearest_even},  hopper_fp8}, "measured: B200 (Leeds); ptxas 13.0 output"},

    GenerationRow{100, 103, tcgen05,  kHalf,   f32, {{16, 25, -133, f32_toward_zero},   in_order},   "model: MMA-Sim"},
    GenerationRow{100, 103, tcgen05,  kHalf,   f16, {{16, 25,  -21, f16_nearest_even},  in_order},   "model: MMA-Sim"},
    GenerationRow{100, 103, tcgen05,  kBrain,  f32, {{16, 25, -133, f32_toward_zero},   in_order},   "model: MMA-Sim"},
    GenerationRow{100, 103, tcgen05,  kTf32,   f32, {{ 8, 25, -133, f32_toward_zero},   in_order},   "model: MMA-Sim"},
    GenerationRow{100, 103, tcgen05,  kNarrow, f32, {{32, 25, -133, f32_toward_zero},   in_order},   "model: MMA-Sim"},
    GenerationRow{100, 103, tcgen05,  kNarrow, f16, {{32, 25,  -21, f16_nearest_even},  in_order},   "model: MMA-Sim"},

    GenerationRow{120, 121, mma_sync, kHalf,   f32, {{16, 25, -133, f32_toward_zero},   in_order},   "model: MMA-Sim (RTX PRO 6000)"},
    GenerationRow{120, 121, mma_sync, kHalf,   f16, {{16, 25,  -21, f16_nearest_even},  in_order},   "model: MMA-Sim (RTX PRO 6000)"},
    GenerationRow{120, 121, mma_sync, kBrain,  f32, {{16, 25, -133, f32_toward_zero},   in_order},   "model: MMA-Sim (RTX PRO 6000)"},
    GenerationRow{120, 121, mma_sync, kTf32,   f32, {{ 8, 25, -133, f32_toward_zero},   in_order},   "model: MMA-Sim (RTX PRO 6000)"},
    GenerationRow{120, 121, mma_sync, kNarrow, f32, {{32, 25, -133, f32_toward_zero},   in_order},   "model: MMA-Sim (RTX PRO 6000)"},
    GenerationRow{120, 121, mma_sync, kNarrow, f16, {{32, 25,  -21, f16_nearest_even},  in_order},   "model: MMA-Sim (RTX PRO 6000)"},
};

// clang-format on

// Only the 8-bit and narrower formats may be mixed.
bool row_takes(const GenerationRow& row, FormatId a, FormatId b) {
  if (row.inputs == kFp8) return is_fp8(a) && is_fp8(b);
  if (row.inputs == kNarrow) return is_narrow(a) && is_narrow(b);
  return a == b && format(a).name == row.inputs;
}

}  // namespace

std::span<const GenerationRow> generation_table() { return kRows; }

bool is_modeled(int sm) {
  const auto table = generation_table();
  return std::any_of(table.begin(), table.end(), [&](const GenerationRow& row) {
    return row.sm_low <= sm && sm <= row.sm_high;
  });
}

std::string_view refused_chip(int sm) {
  return sm == 107 ? "Rubin (sm_107) is not emulated: nothing public says how its tensor cores add"
                   : "";
}

std::optional<DotModel> dot_model(int sm, Instruction instruction, FormatId a, FormatId b,
                                  FormatId accumulator) {
  for (const GenerationRow& row : kRows) {
    const bool chip = row.sm_low <= sm && sm <= row.sm_high;
    const bool same = row.instruction == instruction && row.output == accumulator;
    if (chip && same && row_takes(row, a, b)) return row.model;
  }
  return std::nullopt;
}

std::optional<NodeModel> scaled_node_model(int sm, Instruction instruction, int products) {
  const bool there = instruction == mma_sync ? sm == 120 || sm == 121
                                             : instruction == tcgen05 && sm >= 100 && sm <= 103;
  if (!there) return std::nullopt;
  return products == 64 ? NodeModel{64, 35, -139, f32_toward_zero, 16}
                        : NodeModel{32, 25, -133, f32_toward_zero};
}

}  // namespace plumbline
