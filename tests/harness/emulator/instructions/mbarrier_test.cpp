// SPDX-License-Identifier: MIT
// mbarriers through PTX: when phases end, who may rely on what then, and what is wrong with a use.
#include <gmock/gmock.h>

#include "tests/harness/emulator/emulator_run.h"

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr int kThreads = 64;

// Two warps, of which the second goes first. %r0 is the thread, %p0 thread 32, %p1 warp 0, %p2 warp
// 1, %r2 the address of an mbarrier that thread 32 has made for `arrivals`, [data] a word of shared
// memory, %out where the thread may store one. WAIT(parity) waits in a loop.
KernelRun run(std::string body, int arrivals) {
  for (std::size_t at, i = 0; (at = body.find("WAIT(")) != std::string::npos; ++i) {
    const std::size_t end = body.find(')', at);
    body.replace(
        at, end - at + 1,
        fmt::format("W{}: mbarrier.try_wait.parity.shared.b64 %p7, [%r2], {}; @!%p7 bra W{};", i,
                    body.substr(at + 5, end - at - 5), i));
  }
  const std::string start = fmt::format(R"(
    .shared .align 8 .b64 bar; .shared .b32 data;
    mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 32; setp.lt.u32 %p1, %r0, 32; setp.ge.u32 %p2, %r0, 32;
    mul.wide.u32 %d0, %r0, 4; add.s64 %out, %out, %d0; mov.u32 %r2, bar;
    @%p0 mbarrier.init.shared.b64 [%r2], {}; bar.sync 0;
)",
                                        arrivals);
  KernelOptions options;
  options.block = {kThreads, 1, 1};
  return run_kernel(kernel_text(start + body), {}, kThreads * 4, options);
}

// What all threads stored, where nothing was wrong.
std::vector<u32> fine(const KernelRun& done) {
  EXPECT_TRUE(done.outcome.findings.empty()) << findings_text(done.outcome);
  return done.values<u32>();
}

std::string wrong(const KernelRun& done) {
  EXPECT_EQ(done.outcome.findings.size(), 1u) << findings_text(done.outcome);
  return findings_text(done.outcome);
}

TEST(Mbarrier, EndsAPhaseWithTheLastArrival) {
  const std::string body = "mbarrier.arrive.shared.b64 _, [%r2]; WAIT(0) st.global.u32 [%out], 1;";
  EXPECT_THAT(fine(run(body, kThreads)), Each(1u));
  EXPECT_THAT(wrong(run(body, kThreads + 1)),
              AllOf(HasSubstr("deadlock: no warp can run: warp 0 waits for mbarrier 0x400, whose "
                              "phase 0 lacks 1 of "
                              "65 arrivals and 0 bytes"),
                    HasSubstr("warp 1 waits")));
}

TEST(Mbarrier, BeginsAsIfAPhaseOfParityOneHadEnded) {
  EXPECT_THAT(fine(run("WAIT(1) st.global.u32 [%out], 1;", 1)), Each(1u));
  // The manual knows two parities. Of other numbers the lowest bit counts; Triton relies on that.
  EXPECT_THAT(fine(run("WAIT(-1) st.global.u32 [%out], 1;", 1)), Each(1u));
  EXPECT_THAT(wrong(run("WAIT(0) st.global.u32 [%out], 1;", 1)), HasSubstr("deadlock"));
}

TEST(Mbarrier, GoesOnToTheNextPhase) {
  const std::string body = R"(
    mov.u32 %r5, 0; mov.u32 %r6, 0;
    NEXT: mbarrier.arrive.shared.b64 _, [%r2]; WAIT(%r6)
    xor.b32 %r6, %r6, 1; add.u32 %r5, %r5, 1; setp.lt.u32 %p3, %r5, 8; @%p3 bra NEXT;
    st.global.u32 [%out], %r5;
)";
  EXPECT_THAT(fine(run(body, kThreads)), Each(8u));
}

TEST(Mbarrier, ReturnsStatesThatCanBeWaitedForAndCounted) {
  std::vector<u32> pending(kThreads);
  for (u32 t = 0; t < kThreads; ++t) pending[t] = t < 32 ? 32 - t : 96 - t;
  EXPECT_EQ(fine(run(R"(
    mbarrier.arrive.release.cta.shared::cta.b64 %d1, [%r2];
    S: mbarrier.test_wait.shared.b64 %p3, [%r2], %d1; @!%p3 bra S;
    mbarrier.pending_count.b64 %r5, %d1; st.global.u32 [%out], %r5;
)",
                     kThreads)),
            pending);
}

TEST(Mbarrier, CountsSeveralArrivalsAtOnceAndDropsThem) {
  // Of 64 arrivals 32 are made by one thread, 32 dropped by a warp: the next phase takes 32.
  EXPECT_THAT(fine(run(R"(
    @%p0 mbarrier.arrive.shared.b64 _, [%r2], 32; @%p2 mbarrier.arrive_drop.shared.b64 _, [%r2]; WAIT(0) bar.sync 0;
    @%p2 mbarrier.arrive.shared.b64 _, [%r2]; WAIT(1) st.global.u32 [%out], 1;
)",
                       kThreads)),
              Each(1u));
}

TEST(Mbarrier, WaitsForBytesToo) {
  const std::string expects = "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 48; ";
  const std::string completes = "@%p2 mbarrier.complete_tx.relaxed.cta.shared.b64 [%r2], 1; ";
  const std::string ends = "WAIT(0) st.global.u32 [%out], 1;";
  EXPECT_THAT(wrong(run(expects + completes + ends, 1)),
              HasSubstr("lacks 0 of 1 arrivals and 16 bytes"));
  const std::string rest = "@%p0 mbarrier.complete_tx.relaxed.cta.shared.b64 [%r2], 16; ";
  EXPECT_THAT(fine(run(expects + completes + rest + ends, 1)), Each(1u));
  // Bytes may come before a thread says to expect them.
  EXPECT_THAT(fine(run(completes + rest + expects + ends, 1)), Each(1u));
}

TEST(Mbarrier, MayFailAWait) {
  // Code that only looks, and arrives where it finds the phase open: the warp that does is first.
  const std::vector<u32> found = fine(run(R"(
    mbarrier.try_wait.parity.shared.b64 %p3, [%r2], 0; selp.u32 %r5, 1, 0, %p3;
    @%p0 mbarrier.arrive.shared.b64 _, [%r2]; WAIT(0) st.global.u32 [%out], %r5;
)",
                                          1));
  EXPECT_EQ(found[0], 1u);
  EXPECT_EQ(found[32], 0u);
}

// A thread that does not ask again goes on too early.
TEST(Mbarrier, HasToBeWaitedForInALoop) {
  // The warp that reads comes to its wait first.
  const auto read = [&](const std::string& wait) {
    return run(
        "@%p2 bra READ; @%p1 st.shared.u32 [data], 7; bar.warp.sync -1; setp.eq.u32 %p4, "
        "%r0, 0; @%p4 mbarrier.arrive.shared.b64 _, [%r2]; bra END;\nREAD: " +
            wait + " ld.shared.u32 %r5, [data]; st.global.u32 [%out], %r5;\nEND:",
        1);
  };
  EXPECT_EQ(fine(read("WAIT(0)"))[40], 7u);
  for (const std::string wait : {"try_wait", "test_wait"}) {
    const std::string once = "mbarrier." + wait + ".parity.shared.b64 %p7, [%r2], 0;";
    EXPECT_FALSE(read(once).outcome.findings.empty()) << wait;
  }
  // What does not block may say so more often than a loop of four asks.
  const std::string four =
      "mov.u32 %r6, 0;\nL: mbarrier.test_wait.parity.shared.b64 %p7, [%r2], 0; @%p7 bra M; "
      "add.u32 %r6, %r6, 1; setp.lt.u32 %p6, %r6, 4; @%p6 bra L;\nM:";
  EXPECT_FALSE(read(four).outcome.findings.empty());
}

TEST(Mbarrier, MayBeOneOfManyThatAWarpLooksAt) {
  // Ten mbarriers that no thread arrives at; then the warp does what the other one waits for.
  std::string looks;
  for (int i = 0; i < 10; ++i)
    looks +=
        fmt::format("mbarrier.test_wait.parity.shared.b64 %p3, [%r3+{}], 0; @%p3 trap;\n", 8 * i);
  EXPECT_THAT(
      fine(run(
          ".shared .align 8 .b64 more[10]; mov.u32 %r3, more; @!%p0 bra MADE; mov.u32 %r4, 0; "
          "MAKE: add.u32 %r5, %r3, %r4; "
          "mbarrier.init.shared.b64 [%r5], 1; add.u32 %r4, %r4, 8; setp.lt.u32 %p3, %r4, 80; @%p3 "
          "bra MAKE; "
          "MADE: bar.sync 0; @%p1 bra WAITS;" +
              looks +
              "@%p0 mbarrier.arrive.shared.b64 _, [%r2]; WAITS: WAIT(0) st.global.u32 [%out], 1;",
          1)),
      Each(1u));
}

TEST(Mbarrier, TakesGenericAddresses) {
  EXPECT_THAT(fine(run("cvt.u64.u32 %d1, %r2; cvta.shared.u64 %d1, %d1; mbarrier.arrive.b64 _, "
                       "[%d1]; WAIT(0) st.global.u32 "
                       "[%out], 1;",
                       kThreads)),
              Each(1u));
}

TEST(Mbarrier, HandsOnWhatThreadsDidBeforeTheyArrived) {
  const std::string write = "@%p0 st.shared.u32 [data], 7; ";
  const std::string arrive = "@%p0 mbarrier.arrive.shared.b64 _, [%r2]; ";
  const std::string relaxed = "@%p0 mbarrier.arrive.relaxed.cta.shared.b64 _, [%r2]; ";
  const std::string read = "ld.shared.u32 %r5, [data]; st.global.u32 [%out], %r5;";
  EXPECT_THAT(fine(run(write + arrive + "WAIT(0)" + read, 1)), Each(7u));
  EXPECT_THAT(wrong(run(write + arrive + read, 1)), HasSubstr("race: reads shared memory"));
  EXPECT_THAT(wrong(run(write + relaxed + "WAIT(0)" + read, 1)),
              HasSubstr("race: reads shared memory"));
  // What comes after the arrival is not handed on.
  EXPECT_THAT(wrong(run(arrive + write + "WAIT(0)" + read, 1)),
              HasSubstr("race: reads shared memory"));
}

TEST(Mbarrier, HandsOnNothingToARelaxedWait) {
  // Warp 1 waits before warp 0 arrives.
  const auto by = [](std::string_view order) {
    return fmt::format(
        "@%p2 bra READ; st.shared.u32 [data], 7; mbarrier.arrive.shared.b64 _, [%r2]; ret; READ: "
        "W: mbarrier.try_wait.parity.{}.cta.shared.b64 %p7, [%r2], 0; @!%p7 bra W; "
        "ld.shared.u32 %r5, [data]; st.global.u32 [%out], %r5;",
        order);
  };
  EXPECT_EQ(fine(run(by("acquire"), 32))[40], 7u);
  EXPECT_THAT(wrong(run(by("relaxed"), 32)), HasSubstr("race: reads shared memory"));
}

TEST(Mbarrier, TakesStatesOfItsPhaseAndTheOneBefore) {
  const auto later = [](int phases) {
    std::string body = "@!%p0 ret; mbarrier.arrive.shared.b64 %d1, [%r2]; ";
    for (int i = 1; i < phases; ++i) body += "mbarrier.arrive.shared.b64 _, [%r2]; ";
    return body +
           "mbarrier.test_wait.shared.b64 %p3, [%r2], %d1; selp.u32 %r5, 1, 0, %p3; st.global.u32 "
           "[%out], %r5;";
  };
  EXPECT_EQ(fine(run(later(1), 1))[32], 1u);
  EXPECT_THAT(
      wrong(run(later(2), 1)),
      HasSubstr("bad operand: waits for phase 0 of the mbarrier 0x400, which is in phase 2"));
}

TEST(Mbarrier, HandsOnThatThreadsHaveRead) {
  const std::string before =
      "@%p0 st.shared.u32 [data], 7; bar.sync 0; mov.u32 %r5, 7; @%p2 ld.shared.u32 %r5, [data]; ";
  const std::string arrive = "@%p2 mbarrier.arrive.shared.b64 _, [%r2]; ";
  const std::string write = "@%p1 st.shared.u32 [data], 8; st.global.u32 [%out], %r5;";
  EXPECT_THAT(fine(run(before + arrive + "@%p2 bra END; WAIT(0) END: " + write, 32)), Each(7u));
  EXPECT_THAT(wrong(run(before + arrive + write, 32)),
              HasSubstr("race: reads shared memory at 0x408 that warp 0"));
}

// A flag in global memory, set by block 0 behind its data, is seen by warp 1 of block 1; warp 0 of
// it learns that through an mbarrier, and may read the data.
TEST(Mbarrier, HandsOnWhatAWarpKnowsOfOtherBlocks) {
  const auto flagged = [](std::string_view wait) {
    KernelOptions options;
    options.block = {kThreads, 1, 1};
    options.grid = {2, 1, 1};
    const std::string body = fmt::format(R"(
      .shared .align 8 .b64 bar; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, bar;
      setp.eq.u32 %p0, %r0, 0; setp.eq.u32 %p3, %r1, 0; setp.eq.u32 %p4, %r0, 32; setp.lt.u32 %p5, %r0, 32;
      @%p0 mbarrier.init.shared.b64 [%r2], 1; bar.sync 0;
      @!%p3 bra READER;
      @%p0 st.global.u32 [%out], 7; @%p0 fence.acq_rel.gpu; @%p0 st.relaxed.gpu.global.u32 [flag], 1; ret;
      READER: @%p5 bra LEARN; @!%p4 ret;
      F: ld.acquire.gpu.global.u32 %r5, [flag]; setp.eq.u32 %p6, %r5, 0; @%p6 bra F;
      mbarrier.arrive.shared.b64 _, [%r2]; ret;
      LEARN: {}
      @%p0 ld.global.u32 %r6, [%out]; @%p0 st.global.u32 [%out+8], %r6;
)",
                                         wait);
    return run_kernel(kernel_text(body, 90, ".global .align 4 .u32 flag;"), {}, 16, options);
  };
  const KernelRun done =
      flagged("W: mbarrier.try_wait.parity.shared.b64 %p7, [%r2], 0; @!%p7 bra W;");
  EXPECT_EQ(fine(done)[2], 7u);
  EXPECT_THAT(wrong(flagged("")),
              HasSubstr("race: reads byte 0 of \"out\", which cta 0,0,0 writes"));
}

TEST(Mbarrier, IsUsedOnlyBehindItsInitialization) {
  EXPECT_THAT(
      wrong(run("mov.u32 %r3, bar; add.u32 %r3, %r3, 64; mbarrier.arrive.shared.b64 _, [%r3];", 1)),
      HasSubstr("bad operand: there is no mbarrier at 0x440"));
  EXPECT_THAT(
      wrong(run(
          "@%p0 mbarrier.inval.shared.b64 [%r2]; bar.sync 0; mbarrier.arrive.shared.b64 _, [%r2];",
          1)),
      HasSubstr("there is no mbarrier"));
  EXPECT_THAT(
      wrong(run("@%p0 mbarrier.inval.shared.b64 [%r2]; @%p0 mbarrier.init.shared.b64 [%r2], 32; "
                "@%p1 mbarrier.arrive.shared.b64 _, [%r2];",
                1)),
      HasSubstr("race: uses the mbarrier 0x400 that warp 1 made with no barrier between"));
}

TEST(Mbarrier, IsMadeAgainOnlyAfterItsEnd) {
  const std::string again =
      "@%p0 mbarrier.init.shared.b64 [%r2], 64; bar.sync 0; mbarrier.arrive.shared.b64 _, [%r2]; "
      "WAIT(0)";
  EXPECT_THAT(
      fine(run("@%p0 mbarrier.inval.shared.b64 [%r2]; " + again + " st.global.u32 [%out], 1;", 1)),
      Each(1u));
  EXPECT_THAT(
      wrong(run(again, 1)),
      HasSubstr("there is an mbarrier at 0x400 already; mbarrier.inval has to end it first"));
}

TEST(Mbarrier, HasItsBytesForItself) {
  EXPECT_THAT(wrong(run("@%p0 st.shared.u32 [%r2+4], 7;", 1)),
              HasSubstr("bad operand: writes shared memory at 0x404, where an mbarrier is"));
  EXPECT_THAT(wrong(run("@%p0 ld.shared.u32 %r5, [%r2];", 1)),
              HasSubstr("bad operand: reads shared memory at 0x400, where an mbarrier is"));
  EXPECT_THAT(wrong(run("@%p0 atom.shared.add.u32 %r5, [%r2], 1;", 1)),
              HasSubstr("where an mbarrier is"));
  const std::string end = "@%p0 mbarrier.inval.shared.b64 [%r2]; bar.sync 0; ";
  EXPECT_THAT(fine(run(end + "@%p0 st.shared.u32 [%r2], 7; bar.sync 0; ld.shared.u32 %r5, [%r2]; "
                             "st.global.u32 [%out], %r5;",
                       1)),
              Each(7u));
  EXPECT_THAT(wrong(run(end + "@%p0 ld.shared.u32 %r5, [%r2];", 1)),
              HasSubstr("nothing wrote byte 0x400"));
}

TEST(Mbarrier, MayLieInTheLastBytes) {
  const auto at = [](int offset) {
    return run_kernel(
        kernel_text(fmt::format(
            ".shared .align 8 .b8 all[64]; mov.u32 %r2, all; "
            "mbarrier.init.shared.b64 [%r2+{0}], 32; mbarrier.arrive.shared.b64 _, [%r2+{0}]; "
            "W: mbarrier.try_wait.parity.shared.b64 %p7, [%r2+{0}], 0, 1000; @!%p7 bra W;",
            offset)),
        {}, 4);
  };
  // Every lane makes it: 31 too many.
  EXPECT_THAT(findings_text(at(56).outcome), HasSubstr("already"));
  EXPECT_THAT(wrong(at(64)), HasSubstr("out of bounds: an mbarrier at 0x440"));
  EXPECT_THAT(wrong(at(-8)), HasSubstr("out of bounds"));
}

TEST(Mbarrier, RefusesWhatDoesNotFit) {
  EXPECT_THAT(
      wrong(run("@%p0 mbarrier.arrive.shared.b64 _, [%r2], 3;", 2)),
      HasSubstr("bad operand: 3 arrivals at the mbarrier 0x400, whose phase 0 wants 2 more of 2"));
  EXPECT_THAT(wrong(run("@%p0 mbarrier.arrive.shared.b64 _, [%r2], 0;", 2)),
              HasSubstr("0 arrivals"));
  EXPECT_THAT(wrong(run("@%p0 mbarrier.arrive.noComplete.shared.b64 %d1, [%r2], 2;", 2)),
              HasSubstr(".noComplete"));
  EXPECT_THAT(wrong(run("@%p0 mbarrier.init.shared.b64 [%r2], 0;", 1)),
              HasSubstr("an mbarrier for 0 arrivals"));
  EXPECT_THAT(wrong(run("@%p0 mbarrier.init.shared.b64 [%r2+4], 1;", 1)), HasSubstr("misaligned"));
  EXPECT_THAT(wrong(run("@%p0 mbarrier.init.shared.b64 [%r2+4096], 1;", 1)),
              HasSubstr("out of bounds"));
  EXPECT_THAT(wrong(run("@%p0 mbarrier.expect_tx.relaxed.cta.shared.b64 [%r2], 1048576;", 1)),
              HasSubstr("counts 1048576 bytes; 1048575 are the most"));
}

}  // namespace
}  // namespace plumbline::emulator
