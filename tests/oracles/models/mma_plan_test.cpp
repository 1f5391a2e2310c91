// SPDX-License-Identifier: MIT
// A plan kept from run to run, and A unpacked once for several B, give what mma_fast() gives
// afresh.
#include "oracles/models/mma_plan.h"

#include <gtest/gtest.h>

#include <cstring>
#include <iterator>

#include "tests/oracles/models/mma_cases.h"

namespace plumbline {
namespace {

class Plan : public testing::TestWithParam<FragmentKind> {};

TEST_P(Plan, SharesAnUnpackedAWithTheRunBefore) {
  const MmaKind& kind = GetParam().mma;
  const MmaPlan plan(kind);
  MmaWorkspace workspace;
  Random random(3);
  for (int i = 0; i < 200; ++i) {
    const ValueMix mix = kValueMixes[static_cast<std::size_t>(i) % std::size(kValueMixes)];
    Fragments in = random_fragments(kind, mix, random);
    for (int run = 0; run < 3; ++run) {
      if (run > 0) {
        const Fragments other = random_fragments(kind, mix, random);
        std::memcpy(in.b, other.b, sizeof in.b);
        std::memcpy(in.c, other.c, sizeof in.c);
      }
      LaneRegister shared[4], fresh[4];
      const bool done = plan.run_fast(in.a, in.b, in.c, shared, workspace, run > 0);
      ASSERT_EQ(done, mma_fast(kind, in.a, in.b, in.c, fresh)) << i << ", run " << run;
      if (done) {
        ASSERT_EQ(std::memcmp(shared, fresh, sizeof fresh), 0) << i << ", run " << run;
      }
    }
  }
}

TEST_P(Plan, RunFallsBackToTheSpecification) {
  const MmaKind& kind = GetParam().mma;
  const MmaPlan plan(kind);
  MmaWorkspace workspace;
  Random random(4);
  for (int i = 0; i < 20; ++i) {
    const ValueMix mix = kValueMixes[static_cast<std::size_t>(i) % std::size(kValueMixes)];
    const Fragments in = random_fragments(kind, mix, random);
    LaneRegister ran[4], spec[4];
    plan.run(in.a, in.b, in.c, ran, workspace);
    mma_spec(kind, in.a, in.b, in.c, spec);
    ASSERT_EQ(std::memcmp(ran, spec, sizeof spec), 0) << i;
  }
}

// Where the vector path declines, too.
void compare_tiles(const MmaKind& kind) {
  const MmaPlan plan(kind);
  MmaWorkspace workspace;
  Random random(5);
  for (int i = 0; i < 40; ++i) {
    const ValueMix mix = kValueMixes[static_cast<std::size_t>(i) % std::size(kValueMixes)];
    const Fragments in = random_fragments(kind, mix, random);
    LaneRegister spec[4] = {}, got[4] = {};
    mma_spec(kind, in.a, in.b, in.c, spec);
    MmaTile tile;
    to_tile(kind, in.c, tile);
    plan.run(in.a, in.b, tile, tile, workspace);
    to_registers(kind, tile, got);
    ASSERT_EQ(std::memcmp(got, spec, sizeof spec), 0) << i;
  }
}

TEST_P(Plan, TilesGiveWhatRegistersGive) { compare_tiles(GetParam().mma); }

TEST(PlanOfHalves, TilesGiveWhatRegistersGive) {
  compare_tiles(float_kind(90, FormatId::f16, FormatId::f16, 16, FormatId::f16).mma);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Plan, testing::ValuesIn(fast_kinds()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace plumbline
