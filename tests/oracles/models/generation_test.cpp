// SPDX-License-Identifier: MIT
#include "oracles/models/generation.h"

#include <gtest/gtest.h>

namespace plumbline {
namespace {

using enum FormatId;
using enum Instruction;

bool overlap(const GenerationRow& x, const GenerationRow& y) {
  return x.instruction == y.instruction && x.inputs == y.inputs && x.output == y.output &&
         x.sm_low <= y.sm_high && y.sm_low <= x.sm_high;
}

TEST(GenerationTable, HasOneRowAtMostForEachQuestion) {
  const auto rows = generation_table();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_LE(rows[i].sm_low, rows[i].sm_high);
    EXPECT_FALSE(rows[i].evidence.empty());
    for (std::size_t j = i + 1; j < rows.size(); ++j) {
      EXPECT_FALSE(overlap(rows[i], rows[j])) << "rows " << i << " and " << j;
    }
  }
}

// e_zero is -108 - F with f32 results, and 4 - F with f16 results, F being that of the chip's f16
// unit.
TEST(GenerationTable, FollowsThePublishedRuleForZeroExponents) {
  for (const GenerationRow& row : generation_table()) {
    const int base = row.sm_low < 75 ? 23 : row.sm_low < 90 ? 24 : 25;
    EXPECT_EQ(row.model.node.zero_exponent, row.output == f16 ? 4 - base : -108 - base)
        << row.sm_low << " " << row.inputs;
  }
}

TEST(GenerationTable, ConvertsToTheAccumulatorOfTheRow) {
  for (const GenerationRow& row : generation_table()) {
    const bool to_f16 = row.model.node.output == NodeOutput::f16_nearest_even;
    EXPECT_EQ(to_f16, row.output == f16) << row.sm_low << " " << row.inputs;
    const bool thirteen = row.model.node.fraction_bits == 13;
    const bool cut = row.model.node.output == NodeOutput::e8m13_toward_zero;
    EXPECT_EQ(cut, thirteen && row.output == f32) << row.sm_low << " " << row.inputs;
  }
}

TEST(GenerationTable, KnowsTheNodesOfAmpereAndHopper) {
  const auto ampere = dot_model(86, mma_sync, bf16, bf16, f32);
  ASSERT_TRUE(ampere);
  EXPECT_EQ(ampere->node.products, 8);
  EXPECT_EQ(ampere->node.fraction_bits, 24);
  const auto hopper = dot_model(90, wgmma, bf16, bf16, f32);
  ASSERT_TRUE(hopper);
  EXPECT_EQ(hopper->node.products, 16);
  EXPECT_EQ(hopper->node.fraction_bits, 25);
}

TEST(GenerationTable, MixesOnlyTheNarrowFormats) {
  EXPECT_TRUE(dot_model(89, mma_sync, e4m3, e5m2, f32));
  EXPECT_TRUE(dot_model(120, mma_sync, e2m1, e4m3, f32));
  EXPECT_FALSE(dot_model(89, mma_sync, e2m1, e4m3, f32));
  EXPECT_FALSE(dot_model(90, mma_sync, f16, bf16, f32));
  EXPECT_FALSE(dot_model(90, mma_sync, bf16, e4m3, f32));
}

TEST(GenerationTable, HasNothingForInstructionsAChipLacks) {
  EXPECT_FALSE(dot_model(75, mma_sync, bf16, bf16, f32));
  EXPECT_FALSE(dot_model(70, mma_sync, tf32, tf32, f32));
  EXPECT_FALSE(dot_model(86, mma_sync, e4m3, e4m3, f32));
  EXPECT_FALSE(dot_model(80, wgmma, bf16, bf16, f32));
  EXPECT_FALSE(dot_model(100, wgmma, bf16, bf16, f32));
  EXPECT_FALSE(dot_model(90, tcgen05, bf16, bf16, f32));
  EXPECT_FALSE(dot_model(90, mma_sync, bf16, bf16, f16));
  EXPECT_FALSE(dot_model(61, mma_sync, f16, f16, f32));
}

}  // namespace
}  // namespace plumbline
