// SPDX-License-Identifier: MIT
// What a launch moves, counted from a few of its blocks: where it is, it is to the unit what all of
// them move; where blocks are not alike, all are run. If one of these fails, `plumbline perf` says
// something wrong of large problems.
#include <gmock/gmock.h>

#include "tests/harness/emulator/emulator_run.h"

namespace plumbline::emulator {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kBytes = 1024 * 1024;

// %r0: thread; %r1, %r2: block along x and y; %r3: 64 * %r1 + thread, a column of 4 bytes in rows
// of 4096; %d1: that of "out" in the row of the block; %d2: the row of "in".
constexpr std::string_view kAddresses =
    "mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y;\n"
    "shl.b32 %r4, %r1, 6; or.b32 %r3, %r4, %r0;\n"
    "mad.lo.u32 %r5, %r2, 1024, %r3; mul.wide.u32 %d0, %r5, 4; add.s64 %d1, %out, %d0;\n"
    "mul.wide.u32 %d2, %r2, 4096; add.s64 %d2, %in, %d2;\n";

LaunchTraffic traffic_of(std::string_view body, bool representatives, int block_rows = 16) {
  KernelOptions options;
  options.grid = {16, block_rows, 1};
  options.block = {64, 1, 1};
  options.count_traffic = true;
  options.count_representatives = representatives;
  options.out_is_written = true;
  const std::vector<std::byte> in(kBytes);
  const KernelRun run =
      run_kernel(kernel_text(std::string(kAddresses) + std::string(body)), in, kBytes, options);
  EXPECT_TRUE(run.outcome.completed) << findings_text(run.outcome);
  return run.outcome.traffic;
}

void expect_same(const LaunchTraffic& few, const LaunchTraffic& all) {
  EXPECT_EQ(few.sectors_only_read, all.sectors_only_read);
  EXPECT_EQ(few.sectors_written, all.sectors_written);
  ASSERT_EQ(few.instructions.size(), all.instructions.size());
  for (std::size_t i = 0; i < all.instructions.size(); ++i) {
    EXPECT_EQ(few.instructions[i].instruction, all.instructions[i].instruction);
    EXPECT_TRUE(few.instructions[i].counts == all.instructions[i].counts)
        << all.instructions[i].instruction;
  }
}

void expect_representatives(std::string_view body, std::int64_t most, int block_rows = 16) {
  const LaunchTraffic few = traffic_of(body, true, block_rows);
  EXPECT_EQ(few.all_ran_because, "") << body;
  EXPECT_GT(few.representatives, 0) << body;
  EXPECT_LE(few.representatives, most) << body;
  expect_same(few, traffic_of(body, false, block_rows));
}

void expect_all(std::string_view body, std::string_view why) {
  const LaunchTraffic all = traffic_of(body, true);
  EXPECT_EQ(all.representatives, 0) << body;
  EXPECT_THAT(all.all_ran_because, HasSubstr(why)) << body;
  expect_same(all, traffic_of(body, false));
}

TEST(RepresentativeBlocks, AreTheCornersWhereAddressesShift) {
  expect_representatives("ld.global.u32 %r6, [%d1]; st.global.u32 [%d1], %r6;", 4);
  // A row that all blocks of a row share, and one that all share.
  expect_representatives(
      "ld.global.u32 %r6, [%d2]; ld.global.u32 %r7, [%in]; st.global.u32 [%d1], %r6;", 4);
}

TEST(RepresentativeBlocks, OfAnEdgeAreCountedApart) {
  // Columns from 1000 on are none: the last block along x.
  expect_representatives("setp.lt.u32 %p0, %r3, 1000; @%p0 st.global.u32 [%d1], %r0;", 6);
  // And rows from 12 on.
  expect_representatives(
      "setp.ge.u32 %p1, %r2, 12; @%p1 ret; setp.lt.u32 %p0, %r3, 1000; @%p0 st.global.u32 [%d1], "
      "%r0;",
      27);
  // By a selection in place of a guard.
  expect_representatives(
      "setp.lt.u32 %p0, %r3, 1000; selp.b32 %r6, 16, 0, %p0; setp.ne.u32 %p1, %r6, 0; @%p1 "
      "st.global.u32 [%d1], %r0;",
      6);
}

// The two halves of a row of blocks read two places, as far apart as 15 steps of 128 sectors.
TEST(RepresentativeBlocks, CompareAlikeWhereOnlyAnAddressDependsOnIt) {
  expect_representatives(
      "setp.lt.u32 %p0, %r1, 8; selp.b64 %d3, 0, 61440, %p0; add.s64 %d4, %in, %d3; ld.global.u32 "
      "%r6, [%d4];",
      32);
}

TEST(RepresentativeBlocks, MayTakeAMinimum) {
  // The last row of "in" stands for those behind it.
  expect_representatives(
      "min.u32 %r6, %r2, 11; mul.wide.u32 %d3, %r6, 4096; add.s64 %d3, %in, %d3; "
      "ld.global.u32 %r7, [%d3];",
      18);
  // What is left of 900 columns.
  expect_representatives(
      "sub.s32 %r6, 900, %r3; max.s32 %r7, %r6, 0; min.s32 %r8, %r7, 1; setp.eq.s32 %p0, %r8, 1; "
      "@%p0 st.global.u32 [%d1], %r0;",
      18);
}

// Tiles in one row: a block's number is divided.
TEST(RepresentativeBlocks, MayDivideTheirNumber) {
  constexpr std::string_view kTile =
      "mul.wide.u32 %d3, %r20, 4096; mul.wide.u32 %d4, %r21, 128; add.s64 %d5, %d3, %d4; add.s64 "
      "%d6, %in, %d5; ld.global.u32 %r9, [%d6];";
  const auto tiles = [&](std::string_view division) {
    return std::string("mad.lo.u32 %r19, %r2, 0, %r1;\n") + std::string(division) +
           std::string(kTile);
  };
  // 16 in a row of the grid: rows of 4, of 5 (the last one is short), and groups of 2 rows of 4.
  expect_representatives(tiles("div.u32 %r20, %r19, 4; rem.u32 %r21, %r19, 4;"), 8);
  expect_representatives(
      tiles("div.u32 %r20, %r19, 5; mul.lo.u32 %r22, %r20, 5; sub.u32 %r21, %r19, %r22;"), 12);
  expect_representatives(
      tiles("div.u32 %r22, %r19, 8; rem.u32 %r23, %r19, 8; mul.lo.u32 %r24, %r22, 2; rem.u32 %r25, "
            "%r23, 2; add.u32 %r20, %r24, %r25; div.u32 %r21, %r23, 2;"),
      16);
  expect_representatives(tiles("shr.u32 %r20, %r19, 2; and.b32 %r21, %r19, 3;"), 8);
}

TEST(RepresentativeBlocks, GoThroughLoops) {
  expect_representatives(
      "mov.u32 %r6, 0; mov.u64 %d3, %d2;\n"
      "L: ld.global.u32 %r7, [%d3]; add.s64 %d3, %d3, 256; add.u32 %r6, %r6, 1; setp.lt.u32 %p0, "
      "%r6, 16; @%p0 bra L;\nst.global.u32 [%d1], %r7;",
      4);
}

TEST(RepresentativeBlocks, AreNotTakenWhereBlocksDiffer) {
  // By what was loaded.
  expect_all("ld.global.u32 %r6, [%d1]; setp.gt.u32 %p0, %r6, 0; @%p0 st.global.u32 [%d1], %r0;",
             "the guard of `st.global.u32 [%d1], %r0`");
  expect_all(
      "ld.global.u32 %r6, [%d1]; mul.wide.u32 %d3, %r6, 4; add.s64 %d3, %in, %d3; "
      "ld.global.u32 %r7, [%d3];",
      "the address of");
  // By a quotient of something else than a block's number.
  expect_all(
      "add.u32 %r6, %r1, 1; div.u32 %r8, %r6, 3; mul.wide.u32 %d3, %r8, 128; add.s64 %d4, %in, "
      "%d3; ld.global.u32 %r7, [%d4];",
      "the address of");
  // By 16 bits of it.
  expect_all(
      "cvt.u16.u32 %h0, %r1; cvt.u32.u16 %r6, %h0; mul.wide.u32 %d3, %r6, 128; add.s64 %d4, "
      "%in, %d3; ld.global.u32 %r7, [%d4];",
      "the address of");
  // By steps that are no whole sectors.
  expect_all("mul.wide.u32 %d3, %r1, 4; add.s64 %d3, %in, %d3; ld.global.u32 %r7, [%d3];",
             "the step of the address");
  // By a number of turns that grows with the block along both axes.
  expect_all(
      "mov.u32 %r6, 0; add.u32 %r8, %r1, %r2;\nL: add.u32 %r6, %r6, 1; setp.le.u32 %p0, %r6, %r8; "
      "@%p0 bra L;\n"
      "mad.lo.u32 %r7, %r2, 16, %r1; setp.lt.u32 %p1, %r6, 99; @%p1 st.global.u32 [%d1], %r7;",
      "too few are alike");
  // A block of its own in the middle of the grid.
  expect_all("setp.eq.u32 %p0, %r1, 7; @%p0 st.global.u32 [%d1], %r0;", "the guard");
}

TEST(RepresentativeBlocks, AreNotTakenOfSmallLaunches) {
  const LaunchTraffic all = traffic_of("st.global.u32 [%d1], %r0;", true, 3);
  EXPECT_EQ(all.representatives, 0);
  EXPECT_EQ(all.all_ran_because, "");
}

}  // namespace
}  // namespace plumbline::emulator
