// SPDX-License-Identifier: MIT
// Every mutation operator on a kernel of a few instructions: what it makes of each, and what it
// leaves alone.
#include "harness/mutation/operators.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/mutation/planted_fault.h"

namespace plumbline {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

std::string kernel(std::string_view body) {
  return fmt::format(R"(.version 8.7
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{{
.reg .b16 %h<8>; .reg .b32 %r<32>; .reg .b64 %d<8>; .reg .f32 %f<16>; .reg .f64 %g<8>; .reg .pred %p<8>, done;
{}
end:
ret;
}}
)",
                     body);
}

// What the operator makes of one instruction.
std::vector<std::string> made(std::string_view kind, std::string_view instruction) {
  const Result<std::vector<PlantedFault>> faults = possible_faults(kernel(instruction), "k.ptx");
  EXPECT_TRUE(faults) << (faults ? "" : faults.error().text());
  std::vector<std::string> texts;
  if (!faults) return texts;
  for (const PlantedFault& fault : *faults) {
    if (fault.kind == kind) texts.push_back(fault.after);
  }
  return texts;
}

constexpr const char* kRemoved = "/* removed */";

TEST(Comparison, MovesTheBoundByOne) {
  EXPECT_THAT(made("comparison", "setp.lt.s32 %p1, %r1, %r2;"),
              ElementsAre("setp.le.s32 %p1, %r1, %r2;"));
  EXPECT_THAT(made("comparison", "setp.ge.f32 %p1, %f1, 0f00000000;"),
              ElementsAre("setp.gt.f32 %p1, %f1, 0f00000000;"));
  EXPECT_THAT(made("comparison", "setp.eq.s64 %p1, %d1, %d2;"),
              ElementsAre("setp.ne.s64 %p1, %d1, %d2;"));
  EXPECT_THAT(made("comparison", "setp.neu.f32 %p1, %f1, %f2;"),
              ElementsAre("setp.equ.f32 %p1, %f1, %f2;"));
  EXPECT_THAT(made("comparison", "add.s32 %r1, %r2, %r3;"), IsEmpty());
}

TEST(Predicate, TurnsAGuardRound) {
  EXPECT_THAT(made("predicate", "@%p1 add.s32 %r1, %r2, %r3;"),
              ElementsAre("@!%p1 add.s32 %r1, %r2, %r3;"));
  EXPECT_THAT(made("predicate", "@!%p1 bra end;"), ElementsAre("@%p1 bra end;"));
  EXPECT_THAT(made("predicate", "add.s32 %r1, %r2, %r3;"), IsEmpty());
  // A name without a percent sign, as in assembly that people wrote.
  EXPECT_THAT(made("predicate", "@!done bra end;"), ElementsAre("@done bra end;"));
}

TEST(Branch, IsForgottenOrAlwaysTaken) {
  EXPECT_THAT(made("branch", "@%p1 bra end;"), ElementsAre(kRemoved, "bra end;"));
  EXPECT_THAT(made("branch", "bra end;"), IsEmpty());
}

TEST(Logic, TakesTheOtherOfAndAndOr) {
  EXPECT_THAT(made("logic", "and.pred %p1, %p2, %p3;"), ElementsAre("or.pred %p1, %p2, %p3;"));
  EXPECT_THAT(made("logic", "xor.b32 %r1, %r2, %r3;"), IsEmpty());
}

TEST(Operation, IsLeftOutForOneOfItsSources) {
  EXPECT_THAT(made("operation", "add.rn.f32 %f1, %f2, %f3;"), ElementsAre("mov.b32 %f1, %f2;"));
  EXPECT_THAT(made("operation", "fma.rn.f32 %f1, %f2, %f3, %f4;"),
              ElementsAre("mov.b32 %f1, %f4;"));
  EXPECT_THAT(made("operation", "@%p1 neg.f32 %f1, %f2;"), ElementsAre("@%p1 mov.b32 %f1, %f2;"));
  EXPECT_THAT(made("operation", "or.pred %p1, %p2, %p3;"), ElementsAre("mov.pred %p1, %p2;"));
  EXPECT_THAT(made("operation", "shl.b64 %d1, %d2, 3;"), ElementsAre("mov.b64 %d1, %d2;"));
  // The source is half as wide as the result.
  EXPECT_THAT(made("operation", "mul.wide.s32 %d1, %r1, 2;"), IsEmpty());
}

TEST(Sign, TakesTheOtherOfAddAndSub) {
  EXPECT_THAT(made("sign", "sub.s32 %r1, %r2, %r3;"), ElementsAre("add.s32 %r1, %r2, %r3;"));
  EXPECT_THAT(made("sign", "mul.lo.s32 %r1, %r2, %r3;"), IsEmpty());
}

TEST(Extremum, TakesTheOtherOfMinAndMax) {
  EXPECT_THAT(made("extremum", "max.f32 %f1, %f2, %f3;"), ElementsAre("min.f32 %f1, %f2, %f3;"));
  EXPECT_THAT(made("extremum", "atom.global.max.u32 %r1, [%d1], %r2;"),
              ElementsAre("atom.global.min.u32 %r1, [%d1], %r2;"));
  EXPECT_THAT(made("extremum", "add.f32 %f1, %f2, %f3;"), IsEmpty());
}

TEST(Operands, ChangePlacesWhereThatMatters) {
  EXPECT_THAT(made("operands", "sub.f32 %f1, %f2, %f3;"), ElementsAre("sub.f32 %f1, %f3, %f2;"));
  EXPECT_THAT(made("operands", "selp.b32 %r1, %r2, 0, %p1;"),
              ElementsAre("selp.b32 %r1, 0, %r2, %p1;"));
  EXPECT_THAT(made("operands", "setp.lt.s32 %p1, %r1, %r2;"),
              ElementsAre("setp.lt.s32 %p1, %r2, %r1;"));
  EXPECT_THAT(made("operands", "setp.ne.s32 %p1, %r1, %r2;"), IsEmpty());
  EXPECT_THAT(made("operands", "add.s32 %r1, %r2, %r3;"), IsEmpty());
  EXPECT_THAT(made("operands", "sub.s32 %r1, %r2, %r2;"), IsEmpty());
  // A shift count has 32 bits.
  EXPECT_THAT(made("operands", "shl.b64 %d1, %d2, 3;"), IsEmpty());
  EXPECT_THAT(made("operands", "shl.b64 %d1, %d2, %r1;"), IsEmpty());
}

TEST(Constant, IsOneMoreOrLess) {
  EXPECT_THAT(made("constant", "add.s32 %r1, %r2, -1;"),
              ElementsAre("add.s32 %r1, %r2, 0;", "add.s32 %r1, %r2, -2;"));
  EXPECT_THAT(made("constant", "setp.lt.s32 %p1, %r1, 8;"),
              ElementsAre("setp.lt.s32 %p1, %r1, 9;", "setp.lt.s32 %p1, %r1, 7;"));
  EXPECT_THAT(made("constant", "mul.f32 %f1, %f2, 0f3F800000;"),
              ElementsAre("mul.f32 %f1, %f2, 0f40000000;", "mul.f32 %f1, %f2, 0f00000000;"));
  EXPECT_THAT(made("constant", "mov.f32 %f1, 0fFF800000;"), IsEmpty());  // -Inf stays -Inf
  EXPECT_THAT(made("constant", "bar.sync 0;"), IsEmpty());
}

TEST(Rounding, GoesTowardZero) {
  EXPECT_THAT(made("rounding", "add.rn.f32 %f1, %f2, %f3;"),
              ElementsAre("add.rz.f32 %f1, %f2, %f3;"));
  EXPECT_THAT(made("rounding", "cvt.rn.bf16x2.f32 %r1, %f1, %f2;"),
              ElementsAre("cvt.rz.bf16x2.f32 %r1, %f1, %f2;"));
  EXPECT_THAT(made("rounding", "cvt.rni.s32.f32 %r1, %f1;"),
              ElementsAre("cvt.rzi.s32.f32 %r1, %f1;"));
  // To eight bits there is no other rounding.
  EXPECT_THAT(made("rounding", "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;"), IsEmpty());
}

TEST(Fused, RoundsTwice) {
  EXPECT_THAT(made("fused", "@%p1 fma.rn.f32 %f1, %f2, %f3, %f1;"),
              ElementsAre("{ .reg .f32 %mutant; @%p1 mul.rn.f32 %mutant, %f2, %f3; @%p1 add.rn.f32 "
                          "%f1, %mutant, %f1; }"));
  EXPECT_THAT(made("fused", "mad.lo.s32 %r1, %r2, %r3, %r4;"), IsEmpty());
}

TEST(Load, LeavesZero) {
  EXPECT_THAT(made("load", "ld.global.u16 %h1, [%d1+2];"), ElementsAre("mov.b16 %h1, 0;"));
  EXPECT_THAT(made("load", "ld.shared.v2.f32 {%f1, %f2}, [%r1];"),
              ElementsAre("mov.b32 %f1, 0; mov.b32 %f2, 0;"));
  EXPECT_THAT(made("load", "ld.param.u64 %d1, [p];"), IsEmpty());
}

TEST(Store, IsLeftOut) {
  EXPECT_THAT(made("store", "@%p1 st.global.f32 [%d1], %f1;"), ElementsAre(kRemoved));
  EXPECT_THAT(made("store", "cp.async.cg.shared.global [%r1], [%d1], 16;"), ElementsAre(kRemoved));
  EXPECT_THAT(made("store", "cp.async.wait_group 1;"), IsEmpty());
}

TEST(Address, IsOneAccessOff) {
  EXPECT_THAT(made("address", "ld.global.u16 %h1, [%d1+2];"),
              ElementsAre("ld.global.u16 %h1, [%d1+4];", "ld.global.u16 %h1, [%d1+0];"));
  EXPECT_THAT(made("address", "st.shared.v4.b32 [%r1], {%r2, %r3, %r4, %r5};"),
              ElementsAre("st.shared.v4.b32 [%r1+16], {%r2, %r3, %r4, %r5};",
                          "st.shared.v4.b32 [%r1+-16], {%r2, %r3, %r4, %r5};"));
  EXPECT_THAT(made("address", "cp.async.ca.shared.global [%r1], [%d1], 4;"),
              ElementsAre("cp.async.ca.shared.global [%r1+4], [%d1], 4;",
                          "cp.async.ca.shared.global [%r1+-4], [%d1], 4;",
                          "cp.async.ca.shared.global [%r1], [%d1+4], 4;",
                          "cp.async.ca.shared.global [%r1], [%d1+-4], 4;"));
  EXPECT_THAT(made("address", "ld.param.u64 %d1, [p];"), IsEmpty());
}

TEST(ZeroFill, IsForgotten) {
  EXPECT_THAT(made("zero fill", "cp.async.cg.shared.global [%r1], [%d1], 16, %r2;"),
              ElementsAre("cp.async.cg.shared.global [%r1], [%d1], 16;"));
  EXPECT_THAT(made("zero fill", "cp.async.cg.shared.global [%r1], [%d1], 16;"), IsEmpty());
}

TEST(BarrierFault, IsRemoved) {
  EXPECT_THAT(made("barrier", "bar.sync 0;"), ElementsAre(kRemoved));
  EXPECT_THAT(made("barrier", "membar.gl;"), ElementsAre(kRemoved));
}

TEST(Wait, IsRemovedOrWeaker) {
  EXPECT_THAT(made("wait", "cp.async.wait_group 1;"),
              ElementsAre(kRemoved, "cp.async.wait_group 2;"));
  EXPECT_THAT(made("wait", "cp.async.commit_group;"), ElementsAre(kRemoved));
}

TEST(Wait, OfWarpgroupsAndBulkCopiesIsTheSame) {
  EXPECT_THAT(made("wait", "wgmma.wait_group.sync.aligned 0;"),
              ElementsAre(kRemoved, "wgmma.wait_group.sync.aligned 1;"));
  EXPECT_THAT(made("wait", "wgmma.commit_group.sync.aligned;"), ElementsAre(kRemoved));
  EXPECT_THAT(made("wait", "cp.async.bulk.wait_group.read 0;"),
              ElementsAre(kRemoved, "cp.async.bulk.wait_group.read 1;"));
}

TEST(MbarrierFault, LeavesOutArrivalsAndWaits) {
  EXPECT_THAT(made("mbarrier", "mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 64;"),
              ElementsAre(kRemoved));
  EXPECT_THAT(made("mbarrier", "mbarrier.arrive.shared.b64 %d1, [%r1];"), IsEmpty());
  EXPECT_THAT(made("mbarrier", "@%p2 mbarrier.try_wait.parity.shared.b64 %p1, [%r1], %r2;"),
              ElementsAre("@%p2 mov.pred %p1, 1;",
                          "{ .reg .b32 %mutant; @%p2 xor.b32 %mutant, %r2, 1; @%p2 "
                          "mbarrier.try_wait.parity.shared.b64 %p1, [%r1], %mutant; }"));
}

TEST(BulkCopyFault, IsLeftOutOrElsewhere) {
  const std::string load =
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], ";
  EXPECT_THAT(made("store", load + "[%d1, {%r2, %r3}], [%r4];"), ElementsAre(kRemoved));
  EXPECT_THAT(made("coordinates", load + "[%d1, {%r2, %r3}], [%r4];"),
              ElementsAre(load + "[%d1, {%r3, %r2}], [%r4];"));
  EXPECT_THAT(made("coordinates", load + "[%d1, {%r2, %r2}], [%r4];"), IsEmpty());
  EXPECT_THAT(made("address", load + "[%d1, {%r2, %r3}], [%r4];"), IsEmpty());
}

TEST(Mma, OfAWarpgroupIsLeftOutOrHasRegistersInTheWrongOrder) {
  const std::string head = "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 ";
  const std::string text = head + "{%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, %d2, 1, 1, 1, 0;";
  EXPECT_THAT(made("mma", text), ElementsAre(kRemoved));
  EXPECT_THAT(made("fragment", text),
              ElementsAre(head + "{%f2, %f1, %f3, %f4}, {%r1, %r2, %r3, %r4}, %d2, 1, 1, 1, 0;",
                          head + "{%f1, %f3, %f2, %f4}, {%r1, %r2, %r3, %r4}, %d2, 1, 1, 1, 0;",
                          head + "{%f1, %f2, %f3, %f4}, {%r2, %r1, %r3, %r4}, %d2, 1, 1, 1, 0;",
                          head + "{%f1, %f2, %f3, %f4}, {%r1, %r3, %r2, %r4}, %d2, 1, 1, 1, 0;"));
}

constexpr std::string_view kMma =
    "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1, %f2, %f3, %f4}, "
    "{%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f1, %f2, %f3, %f4};";

TEST(Mma, IsLeftOut) {
  EXPECT_THAT(made("mma", kMma), ElementsAre(kRemoved));
  EXPECT_THAT(
      made("mma",
           "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1, %f2, %f3, %f4}, "
           "{%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f5, %f6, %f7, %f8};"),
      ElementsAre("mov.b32 %f1, %f5; mov.b32 %f2, %f6; mov.b32 %f3, %f7; mov.b32 %f4, %f8;"));
}

TEST(Fragment, HasRegistersInTheWrongOrder) {
  const std::string head = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 ";
  EXPECT_THAT(
      made("fragment", kMma),
      ElementsAre(
          head + "{%f2, %f1, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f1, %f2, %f3, %f4};",
          head + "{%f1, %f3, %f2, %f4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f1, %f2, %f3, %f4};",
          head + "{%f1, %f2, %f3, %f4}, {%r2, %r1, %r3, %r4}, {%r5, %r6}, {%f1, %f2, %f3, %f4};",
          head + "{%f1, %f2, %f3, %f4}, {%r1, %r3, %r2, %r4}, {%r5, %r6}, {%f1, %f2, %f3, %f4};",
          head + "{%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r6, %r5}, {%f1, %f2, %f3, %f4};"));
  EXPECT_THAT(made("fragment", "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r1, %r2}, [%r3];"),
              ElementsAre("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r2, %r1}, [%r3];",
                          "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1, %r2}, [%r3];"));
  EXPECT_THAT(made("fragment", "ld.global.f32 %f1, [%d1];"), IsEmpty());
}

TEST(Shuffle, ReadsAnotherLane) {
  EXPECT_THAT(made("shuffle", "shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 31, -1;"),
              ElementsAre("shfl.sync.bfly.b32 %r1|%p1, %r2, 17, 31, -1;",
                          "shfl.sync.down.b32 %r1|%p1, %r2, 16, 31, -1;"));
  EXPECT_THAT(made("shuffle", "shfl.sync.idx.b32 %r1, %r2, %r3, 31, -1;"),
              ElementsAre("{ .reg .b32 %mutant; xor.b32 %mutant, %r3, 1; shfl.sync.idx.b32 %r1, "
                          "%r2, %mutant, 31, -1; }"));
}

// No instruction is without an operator by oversight: each of the table offers something somewhere
// above.
TEST(Operators, HaveDifferentNames) {
  std::vector<std::string> names;
  for (const FaultOperator& one : fault_operators()) {
    EXPECT_THAT(names, Not(Contains(std::string(one.name))));
    names.emplace_back(one.name);
    EXPECT_FALSE(one.about.empty());
  }
  EXPECT_EQ(names.size(), 22u);
}

}  // namespace
}  // namespace plumbline
