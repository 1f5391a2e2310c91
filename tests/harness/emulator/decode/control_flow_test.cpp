// SPDX-License-Identifier: MIT
#include "harness/emulator/decode/control_flow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/harness/emulator/ptx_text.h"

namespace plumbline::emulator {
namespace {

using testing::ElementsAre;

ControlFlow flow_of(std::string_view statements) {
  return control_flow(test::body(".reg .pred %p<2>; .reg .b32 %r<2>;\n" + std::string(statements)));
}

TEST(ControlFlow, StraightLineIsOneBlock) {
  const ControlFlow flow = flow_of("membar.cta; call k; ret;");
  ASSERT_EQ(flow.blocks.size(), 1u);
  EXPECT_EQ(flow.blocks[0].last, 3);
  EXPECT_TRUE(flow.blocks[0].successors.empty());
}

TEST(ControlFlow, GuardedBranchesFallThrough) {
  const ControlFlow flow = flow_of("@%p1 bra L; membar.cta; L: ret;");
  ASSERT_EQ(flow.blocks.size(), 3u);
  EXPECT_THAT(flow.blocks[0].successors, ElementsAre(1, 2));
  EXPECT_THAT(flow.blocks[1].successors, ElementsAre(2));
  EXPECT_THAT(flow.blocks[2].predecessors, ElementsAre(0, 1));
  EXPECT_THAT(flow.block_of, ElementsAre(0, 1, 2));
}

TEST(ControlFlow, PlainBranchesDoNot) {
  const ControlFlow flow = flow_of("L: bra.uni L; ret;");
  ASSERT_EQ(flow.blocks.size(), 2u);
  EXPECT_THAT(flow.blocks[0].successors, ElementsAre(0));
  EXPECT_TRUE(flow.blocks[1].predecessors.empty());
}

TEST(ControlFlow, EndsMayBeGuarded) {
  for (const char* end : {"ret", "exit", "trap"}) {
    const ControlFlow guarded = flow_of("@%p1 " + std::string(end) + "; membar.cta;");
    EXPECT_THAT(guarded.blocks[0].successors, ElementsAre(1)) << end;
    const ControlFlow plain = flow_of(std::string(end) + "; membar.cta;");
    EXPECT_TRUE(plain.blocks[0].successors.empty()) << end;
  }
}

TEST(ControlFlow, BranchTablesGoEverywhere) {
  const ControlFlow flow =
      flow_of("t: .branchtargets A, B, A; brx.idx %r1, t; membar.cta; A: ret; B: ret;");
  EXPECT_THAT(flow.blocks[0].successors, ElementsAre(2, 3));
}

TEST(ControlFlow, ALabelAtTheEndIsTheEnd) {
  const ControlFlow flow = flow_of("@%p1 bra END; membar.cta; END:");
  ASSERT_EQ(flow.blocks.size(), 2u);
  EXPECT_THAT(flow.blocks[0].successors, ElementsAre(1));
  EXPECT_TRUE(flow_of("").blocks.empty());
  EXPECT_TRUE(flow_of("X: Y:").blocks.empty());
}

}  // namespace
}  // namespace plumbline::emulator
