// SPDX-License-Identifier: MIT
// Every kind of finding at least once, with the exact line, warp and lane; and the same programs
// done right, silent.
#include <algorithm>

#include "tests/harness/emulator/emulator_run.h"

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;

// The body starts at line 10 + 1: kThread is line 10.
constexpr std::string_view kThread =
    "mov.u32 %r0, %tid.x; mul.wide.u32 %d0, %r0, 4; add.s64 %d1, %out, %d0; add.s64 %d2, %in, %d0; "
    "mov.u32 %r30, tile; mad.lo.u32 %r31, %r0, 4, %r30;\n";
constexpr std::string_view kScope = ".shared .align 16 .b8 tile[2048];";

LaunchOutcome run(const std::string& body, std::int64_t threads = 64, std::size_t in_bytes = 1024,
                  KernelOptions options = {}) {
  options.block = {threads, 1, 1};
  return run_kernel(kernel_text(std::string(kThread) + body, 90, kScope),
                    std::vector<std::byte>(in_bytes), 1024, options)
      .outcome;
}

// The only finding, which must be this.
void expect(const LaunchOutcome& outcome, FindingKind kind, int line, int warp, int lane,
            bool completed, std::string_view part = "") {
  ASSERT_EQ(outcome.findings.size(), 1u) << findings_text(outcome);
  const Finding& finding = outcome.findings[0];
  EXPECT_EQ(finding.kind, kind) << finding.text();
  EXPECT_EQ(finding.ptx_line, line) << finding.text();
  EXPECT_EQ(finding.warp, warp) << finding.text();
  EXPECT_EQ(finding.lane, lane) << finding.text();
  EXPECT_EQ(finding.kernel, "k");
  EXPECT_EQ(finding.ptx_file, "test.ptx");
  EXPECT_FALSE(finding.ptx.empty());
  EXPECT_NE(finding.message.find(part), std::string::npos) << finding.text();
  EXPECT_EQ(outcome.completed, completed) << finding.text();
}

void expect_none(const LaunchOutcome& outcome) {
  EXPECT_TRUE(outcome.findings.empty()) << findings_text(outcome);
  EXPECT_TRUE(outcome.completed);
}

TEST(OutOfBounds, GlobalReadAndWriteBehindTheEnd) {
  expect(run("ld.global.u32 %r1, [%d2+836];"), FindingKind::out_of_bounds, 11, 1, 15, false,
         "0 bytes behind the 1024 bytes of \"in\"");
  expect(run("st.global.u32 [%d1+1021], %r0;"), FindingKind::misaligned, 11, 0, 0, false);
  expect(run("st.global.u32 [%d1+1024], %r0;"), FindingKind::out_of_bounds, 11, 0, 0, false,
         "writes 4 bytes");
  expect(run("ld.global.u32 %r1, [%d2+-4];"), FindingKind::out_of_bounds, 11, 0, 0, false,
         "4 bytes before");
  expect(run("mov.u64 %d3, 0; ld.global.u32 %r1, [%d3];"), FindingKind::out_of_bounds, 11, 0, 0,
         false, "a null pointer, or counted from one");
  expect(run("mov.u64 %d3, 0x100000000; ld.global.u32 %r1, [%d3];"), FindingKind::out_of_bounds, 11,
         0, 0, false, "in no allocation");
  expect_none(run("ld.global.u32 %r1, [%d2+768];"));
}

TEST(OutOfBounds, IsExactAlsoWhereTheAllocationIsKnownAlready) {
  // The same instruction twice; the second time its last lane is just outside.
  constexpr const char* kBody =
      "mov.u32 %r1, 0;\nLOOP: ld.global.u32 %r2, [%d2]; add.s64 %d2, %d2, {}; add.u32 %r1, %r1, 1; "
      "setp.lt.u32 %p1, %r1, 2; @%p1 bra LOOP;";
  expect_none(run(fmt::format(kBody, 896), 32));
  expect(run(fmt::format(kBody, 900), 32), FindingKind::out_of_bounds, 12, 0, 31, false,
         "0 bytes behind the 1024 bytes of \"in\"");
  expect(run(fmt::format(kBody, -4), 32), FindingKind::out_of_bounds, 12, 0, 0, false,
         "4 bytes before");
}

TEST(OutOfBounds, SharedLocalAndParameters) {
  expect(run("st.shared.u32 [%r31+1924], %r0;"), FindingKind::out_of_bounds, 11, 0, 31, false,
         "shared memory is 2048 bytes");
  expect(run("mov.u32 %r1, 0; ld.shared.u32 %r2, [%r1];"), FindingKind::out_of_bounds, 11, 0, 0,
         false);
  expect(run(".local .align 4 .b8 stack[8]; mov.u32 %r1, stack; add.u32 %r1, %r1, %r31; sub.u32 "
             "%r1, %r1, %r30; st.local.u32 [%r1], %r0;"),
         FindingKind::out_of_bounds, 11, 0, 4, false, "local");
  expect(run("mov.b64 %d3, p_out; ld.param.u32 %r1, [%d3+8];"), FindingKind::out_of_bounds, 11, 0,
         0, false, "16 bytes of parameters");
}

TEST(OutOfBounds, UseAfterTheEndOfASmallAllocationIsExact) {
  expect_none(run("@%p7 mov.u32 %r1, 0; mov.u32 %r1, %r0; ld.global.u8 %r2, [%d2];", 1, 1));
  expect(run("ld.global.u8 %r2, [%d2+1];", 1, 1), FindingKind::out_of_bounds, 11, 0, 0, false);
}

TEST(Misaligned, NamesTheAccessSize) {
  expect(run("ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d2];"), FindingKind::misaligned, 11, 0, 1,
         false, "multiple of 16");
  expect(run("ld.shared.u64 %d3, [%r31];"), FindingKind::misaligned, 11, 0, 1, false,
         "multiple of 8");
  expect(run("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2, %r3, %r4}, [%r31];"),
         FindingKind::misaligned, 11, 0, 1, false);
}

TEST(ReadOfUnwritten, GlobalAndShared) {
  expect(run("ld.global.u32 %r1, [%d1];"), FindingKind::read_of_unwritten, 11, 0, 0, true,
         "byte 0 of \"out\"");
  expect(run("st.global.u16 [%d1], %r0; ld.global.u32 %r1, [%d1];"), FindingKind::read_of_unwritten,
         11, 0, 0, true);
  expect_none(run("st.global.u32 [%d1], %r0; ld.global.u32 %r1, [%d1];"));
  expect(run("ld.shared.u32 %r1, [%r31+512];"), FindingKind::read_of_unwritten, 11, 0, 0, true,
         "nothing wrote");
  expect(run("st.shared.u8 [%r31+1], %r0; st.shared.u16 [%r31+2], %r0; ld.shared.u32 %r1, [%r31];"),
         FindingKind::read_of_unwritten, 11, 0, 0, true);
  expect_none(
      run("st.shared.u16 [%r31], %r0; st.shared.u16 [%r31+2], %r0; ld.shared.u32 %r1, [%r31];"));
}

TEST(ReadOfUnwritten, SeesEveryByteOfAVector) {
  for (const int missing : {0, 4, 8, 12}) {
    std::string body;
    for (const int word : {0, 4, 8, 12}) {
      if (word != missing)
        body += fmt::format("st.global.u32 [%out+{}], 5; st.shared.u32 [%r30+{}], 5; ", word, word);
    }
    const std::string where = fmt::format("byte {}", 0);
    expect(run(body + "\nld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%out];", 1),
           FindingKind::read_of_unwritten, 12, 0, 0, true, where);
    expect(run(body + "\nld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%r30];", 1),
           FindingKind::read_of_unwritten, 12, 0, 0, true);
    expect(run(body + "\nLOOP: ld.global.v2.u64 {%d5, %d6}, [%in]; mov.u64 %in, %out; add.u32 %r6, "
                      "%r6, 1; setp.lt.u32 %p1, %r6, 2; @%p1 bra LOOP;",
               1),
           FindingKind::read_of_unwritten, 12, 0, 0, true);
  }
}

TEST(ReadOfUnwritten, IsCountedOncePerInstruction) {
  const LaunchOutcome outcome = run("ld.global.u32 %r1, [%d1];\nld.global.u32 %r1, [%d1];");
  ASSERT_EQ(outcome.findings.size(), 2u);
  EXPECT_EQ(outcome.findings[0].occurrences, 64u);
  EXPECT_EQ(outcome.findings[1].ptx_line, 12);
}

TEST(ReadOfUnwritten, IsNotCheckedWhenSwitchedOff) {
  KernelOptions options;
  options.emulator.check_shadow = false;
  expect_none(run("ld.global.u32 %r1, [%d1]; ld.shared.u32 %r2, [%r31];", 64, 1024, options));
}

TEST(Race, ReadWithoutABarrier) {
  constexpr const char* kBody =
      "st.shared.u32 [%r31], %r0;\n{}\nxor.b32 %r1, %r0, 32; mad.lo.u32 %r1, %r1, 4, "
      "%r30;\nld.shared.u32 %r2, [%r1];";
  // Warp 0 reads first, so it is warp 1's write that meets warp 0's read; warp 0 itself reads what
  // is not there yet.
  const LaunchOutcome outcome = run(fmt::format(kBody, ""));
  ASSERT_EQ(outcome.findings.size(), 3u) << findings_text(outcome);
  EXPECT_EQ(outcome.findings[0].kind, FindingKind::read_of_unwritten);
  EXPECT_EQ(outcome.findings[0].ptx_line, 14);
  EXPECT_EQ(outcome.findings[1].kind, FindingKind::race);
  EXPECT_EQ(outcome.findings[1].ptx_line, 11);
  EXPECT_EQ(outcome.findings[1].warp, 1);
  EXPECT_EQ(outcome.findings[2].kind, FindingKind::race);
  EXPECT_EQ(outcome.findings[2].ptx_line, 14);
  EXPECT_EQ(outcome.findings[2].warp, 1);
  EXPECT_EQ(outcome.findings[2].lane, 0);
  EXPECT_NE(outcome.findings[2].message.find("that warp 0 lane 0 wrote"), std::string::npos);
  expect_none(run(fmt::format(kBody, "bar.sync 0;")));
}

TEST(Race, WriteAfterWriteAndWriteAfterRead) {
  expect(run("shr.u32 %r1, %r0, 5; and.b32 %r2, %r0, 31; mad.lo.u32 %r2, %r2, 4, "
             "%r30;\nst.shared.u32 [%r2], %r1;"),
         FindingKind::race, 12, 1, 0, true, "warp 0 lane 0 wrote");
  constexpr const char* kReuse =
      "st.shared.u32 [%r31], %r0; bar.sync 0; xor.b32 %r1, %r0, 32; mad.lo.u32 %r1, %r1, 4, %r30; "
      "ld.shared.u32 %r2, [%r1];\n{}\nst.shared.u32 [%r31], %r2;";
  // Behind the barrier the warp that came last goes on first: warp 1 reads and overwrites what warp
  // 0 has yet to read.
  const LaunchOutcome reuse = run(fmt::format(kReuse, ""));
  ASSERT_EQ(reuse.findings.size(), 2u) << findings_text(reuse);
  EXPECT_EQ(reuse.findings[0].ptx_line, 11);
  EXPECT_NE(reuse.findings[0].message.find("that warp 1 lane 0 wrote"), std::string::npos);
  EXPECT_EQ(reuse.findings[1].ptx_line, 13);
  EXPECT_EQ(reuse.findings[1].warp, 0);
  EXPECT_NE(reuse.findings[1].message.find("that warp 1 read"), std::string::npos);
  expect_none(run(fmt::format(kReuse, "bar.sync 0;")));
}

TEST(DivergentBarrier, SetMaxNRegNeedsTheWholeWarp) {
  expect_none(run("setmaxnreg.dec.sync.aligned.u32 40;", 32));
  expect(run("setp.lt.u32 %p1, %r0, 7;\n@%p1 setmaxnreg.dec.sync.aligned.u32 40;", 32),
         FindingKind::divergent_barrier, 12, 0, 7, false,
         "execute setmaxnreg, which needs all of them");
}

// As where a counter is set to 0, and read, with no barrier beside the atomics.
TEST(Race, PlainAccessesBesideAtomics) {
  constexpr const char* kSet = "setp.eq.u32 %p1, %r0, 0; @%p1 st.shared.u32 [%r30], 7;\n";
  constexpr const char* kAdd = "atom.shared.add.u32 %r1, [%r30], 1;\n";
  expect(run(std::string(kSet) + kAdd), FindingKind::race, 12, 1, 0, true,
         "that warp 0 lane 0 wrote with no barrier between");
  expect_none(run(std::string(kSet) + "bar.sync 0;\n" + kAdd));
  constexpr const char* kRead = "setp.gt.u32 %p2, %r0, 31; @%p2 ld.shared.u32 %r2, [%r30];";
  // Warp 1 adds nothing, and reads while warp 0 adds; it comes first here.
  const std::string adds =
      std::string(kSet) + "bar.sync 0; setp.lt.u32 %p3, %r0, 32;\n@%p3 " + kAdd;
  expect(run(adds + kRead), FindingKind::race, 13, 0, 0, true,
         "that warp 1 read with no barrier between");
  expect_none(run(adds + "bar.sync 0; " + kRead));
}

TEST(Race, TwoWritesOfTheSameValueAreNone) {
  // Each lane of both warps writes the same word of all.
  expect_none(run("and.b32 %r1, %r0, 31; mad.lo.u32 %r2, %r1, 4, %r30; st.shared.u32 [%r2], %r1;"));
  expect_none(run("st.shared.v2.u32 [tile], {7, 8};"));
  // One that changes something is one, be it a single byte.
  expect(run("shr.u32 %r1, %r0, 5; shl.b32 %r1, %r1, 24;\nst.shared.v2.u32 [tile], {7, %r1};"),
         FindingKind::race, 12, 1, 0, true, "warp 0 lane 31 wrote");
}

TEST(Race, BytesOfOneWordMayBelongToDifferentWarps) {
  // Warp w writes halfword w of every word; each reads its own.
  const char* kBody =
      "shr.u32 %r1, %r0, 5; and.b32 %r2, %r0, 31; shl.b32 %r2, %r2, 2; mad.lo.u32 %r2, %r1, 2, "
      "%r2; add.u32 %r2, %r2, %r30;\n"
      "st.shared.u16 [%r2], %r0; ld.shared.u16 %r3, [%r2];\nbar.sync 0;\nand.b32 %r5, %r0, 31; "
      "mad.lo.u32 %r5, %r5, 4, %r30; ld.shared.u32 %r4, [%r5];";
  expect_none(run(kBody));
  // But a whole word read with no barrier sees the other warp's half.
  const LaunchOutcome outcome =
      run("shr.u32 %r1, %r0, 5; and.b32 %r2, %r0, 31; shl.b32 %r2, %r2, 2; add.u32 %r3, %r2, %r30; "
          "mad.lo.u32 %r2, %r1, 2, %r3;\n"
          "st.shared.u16 [%r2], %r0;\nld.shared.u32 %r4, [%r3];");
  EXPECT_TRUE(std::any_of(outcome.findings.begin(), outcome.findings.end(), [](const Finding& f) {
    return f.kind == FindingKind::race && f.warp == 1;
  })) << findings_text(outcome);
}

TEST(Race, PartialBarriersOrderTheirWarpsOnly) {
  // Warps 0 and 1 meet at barrier 1; warp 2 reads too, but was not there.
  const char* kBody =
      "shr.u32 %r1, %r0, 5; setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r1, 2; and.b32 %r2, %r0, "
      "31; mad.lo.u32 %r2, %r2, 4, %r30;\n"
      "@%p1 st.shared.u32 [%r2], %r0;\n@!%p2 bar.sync 1, 64;\nld.shared.u32 %r3, [%r2];";
  expect_none(run(kBody, 64));
  expect(run(kBody, 96), FindingKind::race, 14, 2, 0, true, "warp 0 lane 0 wrote");
}

TEST(Race, LanesOfOneInstructionThatDisagree) {
  expect(run("st.shared.u32 [tile], %r0;", 32), FindingKind::race, 11, 0, 0, true,
         "lanes 0 and 1 write different values");
  expect(run("and.b32 %r1, %r0, 1;\nst.global.u32 [%out], %r1;", 32), FindingKind::race, 12, 0, 0,
         true, "write different values");
  expect_none(run("mov.u32 %r1, 5; st.shared.u32 [tile], %r1; st.global.u32 [%out], %r1;", 32));
}

TEST(Race, DivergedLanesOfAWarpNeedASync) {
  constexpr const char* kBody =
      "setp.eq.u32 %p1, %r0, 0; @%p1 bra A; bra B;\nA: st.shared.u32 [tile], %r0; {}\nB: "
      "{}ld.shared.u32 %r1, [tile];";
  // Lanes meet at B before they read. With the read inside the branch of the others it is a race;
  // lane_races_test.cpp has more of these.
  expect_none(run(fmt::format(kBody, "", "bar.warp.sync -1; "), 32));
  const LaunchOutcome outcome =
      run("setp.eq.u32 %p1, %r0, 0; @!%p1 bra B;\nst.shared.u32 [tile], %r0; bra C;\nB: "
          "ld.shared.u32 %r1, [tile]; st.global.u32 [%d1], %r1;\nC: mov.u32 %r2, 0;",
          32);
  expect(outcome, FindingKind::race, 13, 0, 1, true, "lane 0 of the same warp wrote");
}

TEST(MissingWait, ReadBeforeTheCopyIsWaitedFor) {
  constexpr const char* kBody =
      "mad.lo.u32 %r1, %r0, 16, %r30; mul.wide.u32 %d3, %r0, 16; add.s64 %d3, %d3, %in; and.b64 "
      "%d3, %d3, -16;\n"
      "cp.async.cg.shared.global [%r1], [%d3], 16; cp.async.commit_group;\n{}\nld.shared.u32 %r2, "
      "[%r1];";
  expect(run(fmt::format(kBody, "")), FindingKind::missing_wait, 14, 0, 0, true, "still filling");
  expect(run(fmt::format(kBody, "cp.async.wait_group 1;")), FindingKind::missing_wait, 14, 0, 0,
         true);
  expect_none(run(fmt::format(kBody, "cp.async.wait_group 0;")));
  expect_none(run(fmt::format(kBody, "cp.async.wait_all;")));
}

TEST(MissingWait, OthersNeedABarrierToo) {
  constexpr const char* kBody =
      "mad.lo.u32 %r1, %r0, 16, %r30; mul.wide.u32 %d3, %r0, 16; add.s64 %d3, %d3, %in; xor.b32 "
      "%r3, %r1, 512;\n"
      "cp.async.cg.shared.global [%r1], [%d3], 16; cp.async.commit_group;\n{}\nld.shared.u32 %r2, "
      "[%r3];";
  expect_none(run(fmt::format(kBody, "cp.async.wait_group 0; bar.sync 0;")));
  // A barrier without the wait: each warp reads what the other has only issued.
  const LaunchOutcome no_wait = run(fmt::format(kBody, "bar.sync 0;"));
  expect(no_wait, FindingKind::missing_wait, 14, 1, 0, true, "warp 0 lane 0");
  EXPECT_EQ(no_wait.findings[0].occurrences, 64u);
  // The wait without a barrier.
  const LaunchOutcome no_barrier = run(fmt::format(kBody, "cp.async.wait_all;"));
  EXPECT_TRUE(std::any_of(no_barrier.findings.begin(), no_barrier.findings.end(),
                          [](const Finding& f) {
                            return f.kind == FindingKind::race && f.ptx_line == 14 && f.warp == 1;
                          }))
      << findings_text(no_barrier);
}

TEST(MissingWait, GroupsCompleteInOrder) {
  // Two groups; waiting for all but one completes the first only.
  constexpr const char* kBody =
      "mad.lo.u32 %r1, %r0, 16, %r30; mul.wide.u32 %d3, %r0, 16; add.s64 %d3, %d3, %in;\n"
      "cp.async.cg.shared.global [%r1], [%d3], 16; cp.async.commit_group; "
      "cp.async.ca.shared.global [%r1+1024], [%d3+16], 8; cp.async.commit_group;\n"
      "cp.async.wait_group 1; ld.shared.u32 %r2, [%r1];\nld.shared.u32 %r3, [%r1+{}];";
  expect_none(run(fmt::format(kBody, 12), 32));
  expect(run(fmt::format(kBody, 1024), 32), FindingKind::missing_wait, 14, 0, 0, true);
}

// A pipeline of two stages: each thread copies 16 bytes of a tile and reads 4 of what the other
// warp copied.
LaunchOutcome run_pipeline(std::string_view wait, std::string_view barrier_before_refill,
                           std::string_view barrier_behind_wait = "bar.sync 0;") {
  return run(
      fmt::format("mad.lo.u32 %r1, %r0, 16, %r30; xor.b32 %r3, %r0, 32; mad.lo.u32 %r2, %r3, 16, "
                  "%r30; mul.wide.u32 %d3, %r0, 16; "
                  "add.s64 %d3, %d3, %in; mov.u32 %r8, 0;\n"
                  "cp.async.cg.shared.global [%r1], [%d3], 16; cp.async.commit_group; "
                  "cp.async.cg.shared.global [%r1+1024], [%d3+1024], 16; cp.async.commit_group;\n"
                  "LOOP: and.b32 %r4, %r8, 1; shl.b32 %r4, %r4, 10; {}\n{}\nadd.u32 %r5, %r2, %r4; "
                  "ld.shared.u32 %r6, [%r5];\n{}\n"
                  "add.u32 %r5, %r1, %r4; add.s64 %d3, %d3, 1024; cp.async.cg.shared.global [%r5], "
                  "[%d3+1024], 16; cp.async.commit_group;\n"
                  "add.u32 %r8, %r8, 1; setp.lt.u32 %p1, %r8, 4; @%p1 bra LOOP;",
                  wait, barrier_behind_wait, barrier_before_refill),
      64, 6144);
}

bool any_of(const LaunchOutcome& outcome, FindingKind kind, int line, std::string_view part) {
  return std::ranges::any_of(outcome.findings, [&](const Finding& f) {
    return f.kind == kind && f.ptx_line == line && f.message.find(part) != std::string::npos;
  });
}

TEST(Refill, OfWhatAnotherWarpStillReadsIsARace) {
  expect_none(run_pipeline("cp.async.wait_group 1;", "bar.sync 0;"));
  // Every thread waits for all it needs: it is the barrier at the loop's end that is missing.
  const LaunchOutcome outcome = run_pipeline("cp.async.wait_group 1;", "");
  EXPECT_TRUE(any_of(
      outcome, FindingKind::race, 15,
      "already refills, with no barrier between; between reading the old contents and the copy"))
      << findings_text(outcome);
  EXPECT_TRUE(any_of(outcome, FindingKind::race, 17, "refills shared memory at"))
      << findings_text(outcome);
  EXPECT_FALSE(any_of(outcome, FindingKind::missing_wait, 15, "")) << findings_text(outcome);
}

TEST(Refill, ThatNoThreadWaitsForIsAMissingWait) {
  for (const std::string_view wait : {"", "cp.async.wait_group 2;"}) {
    const LaunchOutcome outcome = run_pipeline(wait, "bar.sync 0;");
    EXPECT_TRUE(
        any_of(outcome, FindingKind::missing_wait, 15,
               "still filling; the copy is complete only after that thread's cp.async.wait_group"))
        << findings_text(outcome);
    EXPECT_FALSE(any_of(outcome, FindingKind::race, 15, "")) << findings_text(outcome);
  }
  // The first time there is nothing old to read.
  const LaunchOutcome first =
      run("mad.lo.u32 %r1, %r0, 16, %r30; xor.b32 %r3, %r0, 32; mad.lo.u32 %r2, %r3, 16, %r30;\n"
          "cp.async.cg.shared.global [%r1], [%in], 16; cp.async.commit_group;\nld.shared.u32 %r6, "
          "[%r2];");
  EXPECT_TRUE(any_of(first, FindingKind::missing_wait, 13, "visible to others after a barrier"))
      << findings_text(first);
  EXPECT_FALSE(any_of(first, FindingKind::race, 13, "")) << findings_text(first);
}

// Thread 32 fills 512 bytes by a bulk copy and again by another, which it waits for at the end.
LaunchOutcome run_refill_in_bulk(std::string_view before_refill, std::string_view before_read) {
  constexpr std::string_view kCopy =
      "mbarrier.arrive.expect_tx.shared.b64 _, [%r20], 512; "
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r30], [%in], 512, "
      "[%r20];";
  return run(fmt::format(
      ".shared .align 8 .b64 bar; mov.u32 %r20, bar; setp.eq.u32 %p5, %r0, 32; setp.lt.u32 %p6, "
      "%r0, 32; "
      "@%p5 mbarrier.init.shared.b64 [%r20], 1; bar.sync 0;\n"
      "@!%p5 bra FILLED; {0} W: mbarrier.try_wait.parity.shared.b64 %p4, [%r20], 0; @!%p4 bra "
      "W;\nFILLED: bar.sync 0; bar.sync 0;\n"
      "{1}\n@!%p5 bra READ; {0}\nREAD: {2}\n@%p6 ld.shared.u32 %r6, [tile];\nbar.sync 0;\n"
      "@!%p5 bra END; V: mbarrier.try_wait.parity.shared.b64 %p4, [%r20], 1; @!%p4 bra V;\nEND: "
      "mov.u32 %r1, 0;",
      kCopy, before_refill, before_read));
}

TEST(Refill, InBulkOfWhatIsReadIsARaceToo) {
  // Warp 1 comes to the second barrier last and goes on first.
  expect(run_refill_in_bulk("", ""), FindingKind::race, 17, 0, 0, true,
         "that a bulk copy of warp 1 lane 0 already refills, with nothing that orders the two; who "
         "reads the old contents has to arrive");
  expect(run_refill_in_bulk("", "bar.sync 0;"), FindingKind::missing_wait, 17, 0, 0, true,
         "still filling; the copy is complete when the phase of its mbarrier is");
}

TEST(MissingWait, OverwritingAPendingDestinationIsARace) {
  expect(run("mad.lo.u32 %r1, %r0, 16, %r30; cp.async.cg.shared.global [%r1], [%in], "
             "16;\nst.shared.u32 [%r1], %r0;",
             32),
         FindingKind::race, 12, 0, 0, true, "still filling");
}

TEST(AsyncCopy, SourceSizeZeroReadsNothingAndFillsZeros) {
  // The source lies outside every allocation: allowed, as nothing is read.
  const KernelRun fill = run_kernel(
      kernel_text("mov.u32 %r0, %tid.x; mov.u32 %r30, tile; mad.lo.u32 %r1, %r0, 16, %r30; "
                  "mul.wide.u32 %d0, %r0, 16; add.s64 %d1, %out, %d0; add.s64 %d2, %in, %d0;\n"
                  "and.b32 %r2, %r0, 1; mul.lo.u32 %r3, %r2, 5; setp.eq.u32 %p1, %r2, 0; @%p1 "
                  "add.s64 %d2, %d2, 4096;\n"
                  "cp.async.cg.shared.global [%r1], [%d2], 16, %r3; cp.async.commit_group; "
                  "cp.async.wait_group 0;\n"
                  "ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r1]; st.global.v4.u32 [%d1], {%r4, "
                  "%r5, %r6, %r7};",
                  90, kScope),
      std::vector<std::byte>(512, std::byte{0x77}), 512);
  EXPECT_TRUE(fill.outcome.findings.empty()) << findings_text(fill.outcome);
  const auto out = fill.values<u32>();
  for (std::size_t lane = 0; lane < 32; ++lane) {
    const bool odd = lane % 2 != 0;
    EXPECT_EQ(out[4 * lane], odd ? 0x77777777u : 0u);
    EXPECT_EQ(out[4 * lane + 1], odd ? 0x77u : 0u);
    EXPECT_EQ(out[4 * lane + 2], 0u);
  }
}

TEST(AsyncCopy, ChecksItsSource) {
  expect(run("cp.async.cg.shared.global [%r30], [%in+1024], 16;", 1), FindingKind::out_of_bounds,
         11, 0, 0, false, "behind the 1024 bytes of \"in\"");
  expect(run("cp.async.cg.shared.global [%r30], [%out], 16;", 1), FindingKind::read_of_unwritten,
         11, 0, 0, true);
  expect(run("cp.async.cg.shared.global [%r30], [%in+8], 16;", 1), FindingKind::misaligned, 11, 0,
         0, false);
  expect(run("mov.u32 %r1, 17; cp.async.cg.shared.global [%r30], [%in], 16, %r1;", 1),
         FindingKind::bad_operand, 11, 0, 0, false, "src-size is 17");
  expect(run("mov.u32 %r1, 0; cp.async.cg.shared.global [%r30], [%in+8], 16, %r1;", 1),
         FindingKind::misaligned, 11, 0, 0, false);
  // Only the bytes that are copied need to be there.
  expect_none(run(
      "mov.u32 %r1, 4; cp.async.cg.shared.global [%r30], [%in+1008], 16, %r1; cp.async.wait_all;",
      1));
}

TEST(DivergentBarrier, IsOneInstructionForTheWholeWarp) {
  const LaunchOutcome outcome =
      run("setp.lt.u32 %p1, %r0, 20; @!%p1 bra B;\nbar.sync 0; bra C;\nB: bar.sync 0;\nC: mov.u32 "
          "%r1, 0;",
          32);
  expect(outcome, FindingKind::divergent_barrier, 13, 0, 20, true, "at line 12");
  // Lanes that come to the same barrier one group after the other are one warp again there.
  expect_none(
      run("setp.lt.u32 %p1, %r0, 20; @!%p1 bra B;\nadd.u32 %r1, %r0, 1;\nB: bar.sync 0;", 32));
}

TEST(DivergentBarrier, ArrivingIsOneInstructionForTheWholeWarpToo) {
  constexpr const char* kBody =
      "shr.u32 %r1, %r0, 5; setp.ne.u32 %p2, %r1, 0; @%p2 bra S; setp.lt.u32 %p1, %r0, 20; @!%p1 "
      "bra B;\n"
      "{0} 1, 64; bra C;\nB: {0} 1, 64; bra C;\nS: barrier.sync 1, 64;\nC: mov.u32 %r1, 0;";
  expect(run(fmt::format(kBody, "bar.arrive")), FindingKind::divergent_barrier, 13, 0, 20, true,
         "at line 12");
  expect_none(run(fmt::format(kBody, "barrier.arrive")));
  // Where some of its lanes leave instead.
  expect(run("setp.eq.u32 %p1, %r0, 5; setp.lt.u32 %p2, %r0, 20; @%p1 bra C; @!%p2 bra "
             "B;\nbar.sync 0; bra C;\nB: bar.sync 0;\nC: mov.u32 %r1, 0;",
             32),
         FindingKind::divergent_barrier, 13, 0, 20, true, "at line 12");
}

TEST(Deadlock, NamesEveryWaitingWarp) {
  const LaunchOutcome outcome =
      run("shr.u32 %r1, %r0, 5; setp.eq.u32 %p1, %r1, 0; @%p1 bra B;\nbar.sync 1; bra C;\nB: "
          "bar.sync 2;\nC: mov.u32 %r1, 0;",
          96);
  expect(outcome, FindingKind::deadlock, 13, 0, 0, false,
         "warp 0 waits for barrier 2 at line 13, warp 1 waits for barrier 1 at line 12, warp 2 "
         "waits for barrier 1 at line 12");
}

TEST(Deadlock, LanesThatWaitForLanesWhichLeft) {
  // Lane 5 never comes to the warp barrier: it waits at another one.
  const LaunchOutcome outcome =
      run("setp.eq.u32 %p1, %r0, 5; @%p1 bra B;\nbar.warp.sync -1; bra C;\nB: barrier.sync 3;\nC: "
          "mov.u32 %r1, 0;",
          32);
  ASSERT_EQ(outcome.findings.size(), 1u) << findings_text(outcome);
  EXPECT_EQ(outcome.findings[0].kind, FindingKind::deadlock);
  EXPECT_NE(outcome.findings[0].message.find("waits for other lanes of 0xffffffff at line 12"),
            std::string::npos);
}

TEST(Deadlock, LanesAtAWarpBarrierAndAtAVoteDoNotMeet) {
  const LaunchOutcome outcome =
      run("setp.lt.u32 %p1, %r0, 5; @%p1 bra B;\nbar.warp.sync -1; bra C;\nB: vote.sync.ballot.b32 "
          "%r1, %p1, -1;\nC: mov.u32 %r1, 0;",
          32);
  expect(outcome, FindingKind::deadlock, 12, 0, 5, false,
         "warp 0 (lanes 0xffffffe0) waits for other lanes of 0xffffffff at line 12");
}

TEST(Trap, StopsTheLaunch) {
  expect(run("setp.eq.u32 %p1, %r0, 40; @%p1 trap;"), FindingKind::trap, 11, 1, 8, false);
}

TEST(EndlessLoop, NamesTheLinesOfTheLoop) {
  KernelOptions options;
  options.emulator.instruction_budget = 100000;
  const LaunchOutcome outcome =
      run("mov.u32 %r1, 0;\nLOOP:\nadd.u32 %r1, %r1, 1;\nxor.b32 %r2, %r1, 1;\nbra LOOP;", 32, 1024,
          options);
  expect(outcome, FindingKind::endless_loop, 15, 0, 0, false, "lines 13 to 15");
}

TEST(BadOperand, BarrierNumbersAndCounts) {
  expect(run("mov.u32 %r1, 16; bar.sync %r1;"), FindingKind::bad_operand, 11, 0, 0, false,
         "barrier 16 does not exist");
  expect(run("mov.u32 %r1, 33; bar.sync 1, %r1;"), FindingKind::bad_operand, 11, 0, 0, false,
         "multiple of 32");
  expect(run("shfl.sync.idx.b32 %r1, %r0, 0, 31, 1;"), FindingKind::bad_operand, 11, 0, 1, false,
         "not in its member mask");
}

TEST(BadOperand, ABranchTargetBehindTheEndOfTheList) {
  expect(run("T: .branchtargets A, B;\nA: B: @%p1 ret; setp.eq.u32 %p1, %r0, %r0;\nsub.u32 %r1, "
             "%r0, 30; and.b32 %r1, %r1, 63;\n brx.idx %r0, T;",
             32),
         FindingKind::bad_operand, 14, 0, 2, false, "branch target 2 of a list of 2");
}

TEST(DivisionByZero, OfIntegersIsFoundOncePerInstruction) {
  expect(run("sub.u32 %r1, %r0, 5; div.u32 %r2, %r0, %r1;"), FindingKind::division_by_zero, 11, 0,
         5, true, "divides 5 by 0");
  expect(run("shr.u32 %r1, %r0, 5; rem.s32 %r2, %r0, %r1;"), FindingKind::division_by_zero, 11, 0,
         0, true, "takes the remainder of 0 by 0");
  expect(run("mov.u64 %d3, 0; div.s64 %d3, %d1, %d3;"), FindingKind::division_by_zero, 11, 0, 0,
         true);
  expect_none(run("add.u32 %r1, %r0, 1; div.u32 %r2, %r0, %r1; rem.u32 %r2, %r0, %r1;"));
  // Lanes that do not take part divide nothing.
  expect_none(run("setp.ne.u32 %p1, %r0, 0; @%p1 div.u32 %r2, %r0, %r0;"));
}

// As an array on the stack whose last element is never set.
TEST(ReadOfUnwritten, LocalMemoryCountsWhereOutputsDependOnIt) {
  const auto ran = [](const std::string& result, std::uint8_t garbage) {
    KernelOptions options;
    options.register_garbage = garbage;
    return run_kernel(kernel_text(".local .align 8 .b8 stack[16]; st.local.u32 [stack], 7;\n"
                                  "ld.local.v2.u32 {%r1, %r2}, [stack];\n"
                                  "st.global.u32 [%out], " +
                                  result + ";"),
                      {}, 4, options);
  };
  const KernelRun first = ran("%r2", 0);
  EXPECT_TRUE(first.outcome.findings.empty()) << findings_text(first.outcome);
  ASSERT_EQ(first.outcome.unwritten_registers.size(), 1u);
  EXPECT_EQ(first.outcome.unwritten_registers[0].kind, FindingKind::read_of_unwritten);
  EXPECT_EQ(first.outcome.unwritten_registers[0].ptx_line, 11);
  EXPECT_EQ(ran("%r2", 0xdc).values<u32>()[0], 0xdcdcdcdcu);
  EXPECT_EQ(ran("%r1", 0xdc).values<u32>()[0], 7u);
}

// Many reads of what nothing wrote, which may be idle, hide nothing else: neither a race nor that
// there are more of them.
TEST(Findings, OfOneKindHideNoOther) {
  std::string body;
  for (int i = 0; i < 70; ++i) body += fmt::format("ld.shared.u32 %r1, [%r31+{}];\n", 1024);
  body += "st.shared.u32 [%r30], %r0;";
  const LaunchOutcome outcome = run(body);
  ASSERT_EQ(outcome.findings.size(), 66u) << findings_text(outcome);
  const auto count = [&](FindingKind kind) {
    return std::ranges::count(outcome.findings, kind, &Finding::kind);
  };
  EXPECT_EQ(count(FindingKind::read_of_unwritten), 65);
  EXPECT_EQ(count(FindingKind::race), 1);
  const auto others = std::ranges::find_if(outcome.findings, [](const Finding& finding) {
    return finding.message.starts_with("at more instructions");
  });
  ASSERT_NE(others, outcome.findings.end());
  EXPECT_EQ(others->occurrences, 6u * 64) << others->text();
}

TEST(Findings, AreTheSameForAnyNumberOfThreads) {
  std::vector<std::string> texts;
  for (const int threads : {1, 2, 7}) {
    KernelOptions options;
    options.emulator.threads = threads;
    options.grid = {40, 1, 1};
    // Every CTA reads unwritten memory; CTA 9 and later ones also leave the buffer.
    const LaunchOutcome outcome =
        run("mov.u32 %r1, %ctaid.x; ld.global.u32 %r2, [%d1];\nsetp.gt.u32 %p1, %r1, 8; @%p1 "
            "add.s64 %d1, %d1, 1024;\nst.global.u32 [%d2], %r1;\n@%p1 st.global.u32 [%d1], %r1;",
            32, 1024, options);
    texts.push_back(findings_text(outcome));
    EXPECT_FALSE(outcome.completed);
    ASSERT_EQ(outcome.findings.size(), 2u) << texts.back();
    EXPECT_EQ(outcome.findings[1].kind, FindingKind::out_of_bounds);
    EXPECT_EQ(outcome.findings[1].cta[0], 9);
  }
  EXPECT_EQ(texts[1].substr(texts[1].find("out of bounds")),
            texts[0].substr(texts[0].find("out of bounds")));
  EXPECT_EQ(texts[2].substr(texts[2].find("out of bounds")),
            texts[0].substr(texts[0].find("out of bounds")));
}

TEST(Findings, CarryTheSourceLine) {
  const std::string text = header(90) +
                           ".file 1 \"kernel.cu\"\n.visible .entry k(.param .u64 a, .param .u64 "
                           "b)\n{\n.reg .b64 %d<2>;\n.loc 1 42 7\nld.param.u64 %d0, [b];\n"
                           ".loc 1 43 7\nld.global.u64 %d1, [%d0+4096];\nret;\n}\n";
  const LaunchOutcome outcome = run_kernel(text, {}, 64).outcome;
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_EQ(outcome.findings[0].source_file, "kernel.cu");
  EXPECT_EQ(outcome.findings[0].source_line, 43);
  EXPECT_EQ(outcome.findings[0].text().substr(outcome.findings[0].text().find(" [k")),
            " [k, cta 0,0,0, warp 0, lane 0] at test.ptx:11 `ld.global.u64 %d1, [%d0+4096]` "
            "(kernel.cu:43)");
}

TEST(Findings, CarryTheCallOfAnInlinedLine) {
  const std::string text = header(90) +
                           ".file 1 \"kernel.cu\"\n.file 2 \"loads.cuh\"\n.visible .entry k(.param "
                           ".u64 a, .param .u64 b)\n{\n"
                           ".reg .b64 %d<2>;\nld.param.u64 %d0, [b];\n"
                           ".loc 2 7 3, function_name $name, inlined_at 1 43 7\nld.global.u64 %d1, "
                           "[%d0+4096];\nret;\n}\n";
  const LaunchOutcome outcome = run_kernel(text, {}, 64).outcome;
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_EQ(outcome.findings[0].inlined_at, "kernel.cu:43");
  EXPECT_EQ(outcome.findings[0].text().substr(outcome.findings[0].text().find(" (")),
            " (loads.cuh:7, inlined at kernel.cu:43)");
}

// As nvcc writes them: each call has its own .loc before what was inlined there.
TEST(Findings, CarryEachCallUpToTheKernel) {
  const auto calls_of = [](int depth) {
    std::string text =
        header(90) +
        ".file 1 \"kernel.cu\"\n.file 2 \"loads.cuh\"\n.visible .entry k(.param .u64 "
        "a, .param .u64 b)\n{\n.reg .b64 %d<2>;\nld.param.u64 %d0, [b];\n"
        // The same functions were inlined before, elsewhere.
        ".loc 2 1 3, function_name $name, inlined_at 1 12 7\n"
        ".loc 2 2 3, function_name $name, inlined_at 2 1 3\n"
        ".loc 1 43 7\n.loc 2 1 3, function_name $name, inlined_at 1 43 7\n";
    for (int i = 2; i <= depth; ++i)
      text += fmt::format(".loc 2 {} 3, function_name $name, inlined_at 2 {} 3\n", i, i - 1);
    text += "ld.global.u64 %d1, [%d0+4096];\nret;\n}\n";
    const LaunchOutcome outcome = run_kernel(text, {}, 64).outcome;
    return outcome.findings.empty() ? "" : outcome.findings[0].inlined_at;
  };
  EXPECT_EQ(calls_of(1), "kernel.cu:43");
  EXPECT_EQ(calls_of(2), "loads.cuh:1, inlined at kernel.cu:43");
  EXPECT_EQ(calls_of(4),
            "loads.cuh:3, inlined at loads.cuh:2, inlined at loads.cuh:1, inlined at kernel.cu:43");
  EXPECT_EQ(calls_of(7),
            "loads.cuh:6, inlined at loads.cuh:5, inlined at ... (3 more calls) ..., inlined at "
            "loads.cuh:1, inlined at kernel.cu:43");
  // More than are kept.
  EXPECT_NE(calls_of(1000), "");
}

TEST(Findings, ALongListOfRegistersIsCut) {
  Finding finding;
  finding.ptx = "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0";
  for (int i = 1; i < 32; ++i) finding.ptx += fmt::format(", %f{}", i);
  finding.ptx += "}, %rd1, %rd2, p, 1, 1";
  EXPECT_EQ(finding.text().substr(finding.text().find('`')),
            "`wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, ..., %f31}, %rd1, %rd2, p, "
            "1, 1`");
  finding.ptx = "mma.sync {%f0, %f1}, {%r0}, {%r1}, {%f0, %f1}";
  EXPECT_NE(finding.text().find("{%f0, %f1}, {%r0}"), std::string::npos);
}

}  // namespace
}  // namespace plumbline::emulator
