// SPDX-License-Identifier: MIT
// Races between the lanes of one warp in shared memory: a missing __syncwarp() is found, at the
// access that may come too early, and code that has one, or needs none, is silent.
#include <algorithm>

#include "tests/harness/emulator/emulator_run.h"

namespace plumbline::emulator {
namespace {

// %r0: thread; %r31: its word of the tile; %r29: the word of its neighbor; %r30: the tile. The body
// begins in line 11. All of the tile is written, in order for all.
constexpr std::string_view kThread =
    "mov.u32 %r0, %tid.x; mov.u32 %r30, tile; mad.lo.u32 %r31, %r0, 4, %r30; xor.b32 %r29, %r0, 1; "
    "mad.lo.u32 %r29, %r29, 4, %r30; st.shared.u32 [%r31], %r0; st.shared.u32 [%r31+128], %r0; "
    "bar.sync 0; mul.wide.u32 %d0, %r0, 4; add.s64 %d1, %out, %d0; setp.eq.u32 %p1, %r0, 0; "
    "setp.lt.u32 %p2, %r0, 16; and.b32 %r28, %r0, 1; setp.eq.u32 %p3, %r28, 0;\n";
constexpr std::string_view kScope = ".shared .align 128 .b8 tile[2048]; .shared .align 8 .b64 bar;";

LaunchOutcome run(const std::string& body, std::int64_t threads = 32, bool traced = false) {
  KernelOptions options;
  options.block = {threads, 1, 1};
  const auto go = [&] {
    return run_kernel(kernel_text(std::string(kThread) + body, 90, kScope),
                      std::vector<std::byte>(1024), 1024, options)
        .outcome;
  };
  LaunchOutcome outcome = go();
  if (!traced || outcome.findings.empty()) return outcome;
  const Finding& first = outcome.findings.front();
  options.traced = {SharedByte{first.cta, first.shared_address.value()}};
  return go();
}

void expect_race(const LaunchOutcome& outcome, int line, int lane, std::string_view part) {
  ASSERT_EQ(outcome.findings.size(), 1u) << findings_text(outcome);
  const Finding& finding = outcome.findings[0];
  EXPECT_EQ(finding.kind, FindingKind::race) << finding.text();
  EXPECT_EQ(finding.ptx_line, line) << finding.text();
  EXPECT_EQ(finding.lane, lane) << finding.text();
  EXPECT_NE(finding.message.find("a race between lanes of a warp"), std::string::npos)
      << finding.text();
  EXPECT_NE(finding.message.find(part), std::string::npos) << finding.text();
  EXPECT_TRUE(outcome.completed);
}

void expect_none(const LaunchOutcome& outcome, std::string_view what = "") {
  EXPECT_TRUE(outcome.findings.empty()) << what << "\n" << findings_text(outcome);
  EXPECT_TRUE(outcome.completed);
}

// What orders the lanes of a warp: that which the manual says, and that which is tolerated.
constexpr const char* kOrders[] = {
    "bar.warp.sync -1;",
    "@%p2 bar.warp.sync 0xffff; @!%p2 bar.warp.sync 0xffff0000; bar.warp.sync -1;",
    "bar.sync 0;",
    "bar.sync 1, 32;",
    "shfl.sync.bfly.b32 %r2, %r0, 1, 31, -1;",
    "vote.sync.ballot.b32 %r2, %p1, -1;",
    "match.any.sync.b32 %r2, %r0, -1;",
    "redux.sync.add.u32 %r2, %r0, -1;",
    "elect.sync _|%p5, -1;",
    "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%f0, %f1, %f2, %f3}, {%r4, %r5}, {%r6}, "
    "{%f0, %f1, %f2, %f3};",
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [tile+1024];",
};

TEST(LaneRaces, AReadOfWhatAnotherLaneWroteNeedsASync) {
  constexpr const char* kBody = "st.shared.u32 [%r31], %r0;\n{}\nld.shared.u32 %r1, [%r29];";
  expect_race(run(fmt::format(kBody, "")), 13, 0,
              "that lane 1 of the same warp wrote with no __syncwarp() (bar.warp.sync) between");
  for (const char* order : kOrders) {
    const std::string registers =
        "mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0; mov.b32 "
        "%r4, 0; mov.b32 %r5, 0; mov.b32 %r6, 0; @%p2 st.shared.v4.u32 [tile+1024], {%r4, %r4, "
        "%r4, %r4}; bar.sync 0; ";
    expect_none(run(registers + fmt::format(kBody, order)), order);
  }
}

TEST(LaneRaces, AWriteOfWhatAnotherLaneReadNeedsASync) {
  constexpr const char* kBody = "ld.shared.u32 %r1, [%r29];\n{}\nst.shared.u32 [%r31], %r1;";
  expect_race(run(fmt::format(kBody, "")), 13, 0, "that lane 1 of the same warp read with no");
  expect_none(run(fmt::format(kBody, "bar.warp.sync -1;")));
  expect_none(run(fmt::format(kBody, "bar.sync 0;")));
}

TEST(LaneRaces, AWriteOfWhatAnotherLaneWroteNeedsASyncUnlessItChangesNothing) {
  constexpr const char* kBody = "st.shared.u32 [%r31], %r0;\n{}\nst.shared.u32 [%r29], {};";
  expect_race(run(fmt::format(kBody, "", "%r0")), 13, 0, "that lane 1 of the same warp wrote");
  expect_none(run(fmt::format(kBody, "bar.warp.sync -1;", "%r0")));
  expect_none(run(fmt::format(kBody, "xor.b32 %r2, %r0, 1;", "%r2")));
}

TEST(LaneRaces, LanesOfOneInstructionThatWriteOneWordAreNone) {
  // All lanes the same value, in a loop; by fours; and by bytes.
  expect_none(
      run("mov.u32 %r1, 0;\nLOOP: st.shared.u32 [tile], %r1; add.u32 %r1, %r1, 1; "
          "setp.lt.u32 %p4, %r1, 5; @%p4 bra LOOP;"));
  expect_none(
      run("and.b32 %r1, %r0, 28; mad.lo.u32 %r2, %r1, 4, %r30; st.shared.v4.u32 [%r2], "
          "{%r1, %r1, %r1, %r1};"));
  expect_none(run("mov.u32 %r1, 3; st.shared.u8 [tile+1], %r1; st.shared.u16 [tile+2], %r1;"));
}

TEST(LaneRaces, AnExchangeByCopiesOfTheLanesNeedsASyncBehindTheWait) {
  constexpr const char* kBody =
      "mad.lo.u32 %r1, %r0, 16, %r30; xor.b32 %r2, %r0, 1; mad.lo.u32 %r2, %r2, 16, %r30; mul.wide"
      ".u32 %d3, %r0, 16; add.s64 %d3, %d3, %in;\n"
      "cp.async.cg.shared.global [%r1+512], [%d3], 16; {}cp.async.wait_all; {}\nld.shared.u32 %r3, "
      "[%r2+512];";
  expect_race(run(fmt::format(kBody, "", "")), 13, 0, "that lane 1 of the same warp wrote");
  expect_race(run(fmt::format(kBody, "bar.warp.sync -1;", "")), 13, 0, "that lane 1");
  expect_none(run(fmt::format(kBody, "", "bar.warp.sync -1;")));
}

TEST(LaneRaces, MatricesOfAWarpAreAccessesLikeOthers) {
  // A row of 16 bytes for each of the first 8 lanes, written by another lane.
  constexpr const char* kLoad =
      "st.shared.u32 [%r31], %r0; {}\nmad.lo.u32 %r1, %r0, 16, %r30; @!%p2 mov.u32 %r1, %r30;\n"
      "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r2}}, [%r1];";
  expect_race(run(fmt::format(kLoad, "")), 13, 0, "reads");
  expect_none(run(fmt::format(kLoad, "bar.warp.sync -1;")));
  constexpr const char* kStore =
      "mad.lo.u32 %r1, %r0, 16, %r30; @!%p2 mov.u32 %r1, %r30;\n"
      "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {{%r0}}; {}\nld.shared.u32 %r2, [%r31];";
  expect_race(run(fmt::format(kStore, "")), 13, 1, "that lane 0 of the same warp wrote");
  expect_none(run(fmt::format(kStore, "bar.warp.sync -1;")));
}

TEST(LaneRaces, BytesOfOneWordMayBelongToDifferentLanes) {
  constexpr const char* kBody =
      "mad.lo.u32 %r1, %r0, 2, %r30; st.shared.u16 [%r1], %r0; ld.shared.u16 %r2, [%r1];{}\n"
      "xor.b32 %r3, %r1, 2; ld.shared.u16 %r4, [%r3];";
  expect_race(run(fmt::format(kBody, "")), 12, 0, "that lane 1 of the same warp wrote");
  expect_none(run(fmt::format(kBody, "bar.warp.sync -1;")));
}

TEST(LaneRaces, ASyncOfSomeLanesOrdersThoseAlone) {
  // Halves meet; lane l reads what l ^ 1 wrote, or what l ^ 16 did.
  constexpr const char* kBody =
      "xor.b32 %r1, %r0, {}; mad.lo.u32 %r1, %r1, 4, %r30; mov.u32 %r2, 0xffff; @!%p2 mov.u32 %r2, "
      "0xffff0000;\nst.shared.u32 [%r31], %r0; bar.warp.sync %r2; {}\nld.shared.u32 %r3, [%r1];";
  expect_none(run(fmt::format(kBody, 1, "")));
  expect_race(run(fmt::format(kBody, 16, "")), 13, 0, "that lane 16 of the same warp wrote");
  // By way of a third lane: 0 and 8 meet, then 8 and 16, each with its own.
  constexpr const char* kChain =
      "and.b32 %r1, %r0, 7; mov.u32 %r2, 0x0101; shl.b32 %r2, %r2, %r1; mov.u32 %r3, 0x010100; "
      "shl.b32 %r3, %r3, %r1;\nsetp.ge.u32 %p4, %r0, 8; setp.lt.u32 %p5, %r0, 24; and.pred %p4, "
      "%p4, %p5;\n"
      "st.shared.u32 [%r31], %r0; @%p2 bar.warp.sync %r2; {}@%p4 bar.warp.sync %r3;\nsub.u32 %r4, "
      "%r0, 16; mad.lo.u32 %r4, %r4, 4, %r30; @!%p2 bra A; bra B;\nA: @%p5 ld.shared.u32 %r5, "
      "[%r4];\nB: mov.u32 %r6, 0;";
  expect_none(run(fmt::format(kChain, "")));
  EXPECT_FALSE(run(fmt::format(kChain, "@%p2 st.shared.u32 [%r31], %r1; ")).findings.empty());
}

TEST(LaneRaces, MeetingAgainBehindABranchIsNoOrder) {
  // Lane 0 writes on a way of its own; the warp is whole again before the others read.
  constexpr const char* kBody = "@%p1 st.shared.u32 [tile], %r0;\n{}\nld.shared.u32 %r1, [tile];";
  expect_race(run(fmt::format(kBody, "")), 13, 1, "that lane 0 of the same warp wrote");
  expect_none(run(fmt::format(kBody, "bar.warp.sync -1;")));
  expect_race(run("@!%p1 bra A; st.shared.u32 [tile], %r0;\nA: ld.shared.u32 %r1, [tile];"), 12, 1,
              "that lane 0 of the same warp wrote");
}

TEST(LaneRaces, FlagsAtomicsAndMbarriersAreOrder) {
  constexpr const char* kAtomic =
      "st.shared.u32 [%r31], %r0; atom.shared.add.u32 %r2, [tile+128], 1; {} ld.shared.u32 %r1, "
      "[%r29];";
  expect_none(run(fmt::format(kAtomic, "add.u32 %r3, %r2, 1;")));
  // What an atomic gives and nobody reads tells nothing.
  EXPECT_FALSE(run(fmt::format(kAtomic, "")).findings.empty());
  expect_none(run("st.volatile.shared.u32 [%r31], %r0; ld.volatile.shared.u32 %r1, [%r29];"));
  // Lane 0 has bytes copied, and all wait for them.
  expect_none(
      run("@%p1 mbarrier.init.shared.b64 [bar], 1; bar.sync 0; @!%p1 bra W; "
          "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128; cp.async.bulk.shared::cluster.global"
          ".mbarrier::complete_tx::bytes [tile+512], [%in], 128, [bar];\n"
          "W: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra W; ld.shared.u32 %r1, "
          "[%r31+512];"));
}

TEST(LaneRaces, WhatALaneHasCopiedInBulkHasToBeInOrderWhenItAsks) {
  constexpr const char* kBody =
      "st.shared.u32 [%r31], %r0; fence.proxy.async.shared::cta; {}\n@!%p1 bra END;\n"
      "cp.async.bulk.global.shared::cta.bulk_group [%out], [tile], 128; "
      "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;\nEND: {}\nst.shared.u32 "
      "[%r31], "
      "%r28;";
  expect_none(run(fmt::format(kBody, "bar.warp.sync -1;", "bar.warp.sync -1;")));
  expect_race(run(fmt::format(kBody, "", "bar.warp.sync -1;")), 13, 0,
              "that lane 1 of the same warp wrote");
  // The memory is used again before lane 0 knows that it has been read.
  expect_race(run(fmt::format(kBody, "bar.warp.sync -1;", "")), 15, 1,
              "that lane 0 of the same warp read");
}

TEST(LaneRaces, NamesTheOtherAccess) {
  const LaunchOutcome outcome =
      run("st.shared.u32 [%r31], %r0;\nld.shared.u32 %r1, [%r29];", 32, true);
  ASSERT_EQ(outcome.findings.size(), 1u) << findings_text(outcome);
  ASSERT_TRUE(outcome.findings[0].other.has_value());
  EXPECT_EQ(outcome.findings[0].other->ptx_line, 11);
  EXPECT_EQ(outcome.findings[0].other->lane, 1);
}

TEST(LaneRaces, DoNotHideRacesBetweenWarps) {
  // Both warps read all words, at different times of their own, and one writes: with syncs of each
  // warp between, it is a race between warps all the same.
  const LaunchOutcome outcome =
      run("ld.shared.u32 %r1, [%r31]; xor.b32 %r2, %r0, 32; mad.lo.u32 %r2, %r2, 4, %r30; "
          "ld.shared.u32 %r3, [%r2]; bar.warp.sync -1; ld.shared.u32 %r3, [%r2]; bar.warp.sync "
          "-1;\nst.shared.u32 [%r31], %r0; st.shared.u32 [%r31], %r3;",
          64);
  EXPECT_TRUE(std::ranges::any_of(outcome.findings, [](const Finding& f) {
    return f.message.find("with no barrier between") != std::string::npos;
  })) << findings_text(outcome);
}

}  // namespace
}  // namespace plumbline::emulator
