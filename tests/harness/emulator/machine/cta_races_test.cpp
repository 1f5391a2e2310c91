// SPDX-License-Identifier: MIT
// CTAs that use the same global memory: what is a race between them, and which protocols are none.
// Each protocol is also shown with one of its parts left out.
#include "tests/harness/emulator/emulator_run.h"

namespace plumbline::emulator {
namespace {

constexpr std::string_view kFlags = ".global .align 4 .u32 flag; .global .align 4 .u32 flag2;";

// %r0: thread; %r10: CTA; %d1: the thread's word of "out"; %d20, %d21: the flags. The body begins
// in line 11.
constexpr std::string_view kThread =
    "mov.u32 %r0, %tid.x; mov.u32 %r10, %ctaid.x; mul.wide.u32 %d0, %r0, 4; add.s64 %d1, %out, "
    "%d0; "
    "mov.u64 %d20, flag; mov.u64 %d21, flag2; setp.eq.u32 %p0, %r0, 0; setp.eq.u32 %p1, %r10, 0; "
    "setp.eq.u32 %p2, %r10, 1;\n";

KernelOptions options_of(std::int64_t ctas, int workers = 1) {
  KernelOptions options;
  options.grid = {ctas, 1, 1};
  options.block = {64, 1, 1};
  options.emulator.threads = workers;
  return options;
}

LaunchOutcome run(const std::string& body, const KernelOptions& options = options_of(2)) {
  return run_kernel(kernel_text(std::string(kThread) + body, 90, kFlags), {}, 4096, options)
      .outcome;
}

bool races(const std::string& body, const KernelOptions& options = options_of(2)) {
  const LaunchOutcome outcome = run(body, options);
  EXPECT_TRUE(outcome.completed) << findings_text(outcome);
  for (const Finding& finding : outcome.findings)
    EXPECT_EQ(finding.kind, FindingKind::race) << finding.text();
  return !outcome.findings.empty();
}

// The same marks say who stored a word.
TEST(Writers, AreTheThreadsThatStoredLast) {
  for (const std::int64_t ctas : {1, 2}) {
    for (const int workers : {1, 2}) {
      KernelOptions options = options_of(ctas, workers);
      options.watch_out = true;
      // Each thread its word of its CTA's 64, and thread 40 that of thread 3 once more.
      const LaunchOutcome outcome =
          run("mad.lo.u32 %r1, %r10, 64, %r0; mul.wide.u32 %d2, %r1, 4; add.s64 %d2, %out, %d2;\n"
              "st.global.u32 [%d2], %r0;\n"
              "bar.sync 0; setp.eq.u32 %p3, %r0, 40; add.s64 %d2, %d2, -148;\n"
              "@%p3 st.global.u32 [%d2], %r0;",
              options);
      ASSERT_EQ(outcome.writers.size(), 1u);
      const std::vector<Writer>& words = outcome.writers[0];
      ASSERT_EQ(words.size(), 1024u);
      ASSERT_EQ(outcome.stores.size(), 2u);
      EXPECT_EQ(outcome.stores[0].ptx_line, 12);
      EXPECT_EQ(outcome.stores[1].ptx_line, 14);
      for (std::size_t i = 0; i < words.size(); ++i) {
        if (i >= static_cast<std::size_t>(64 * ctas)) {
          EXPECT_FALSE(words[i].known());
          continue;
        }
        const std::size_t thread = i % 64 == 3 ? 40 : i % 64;
        EXPECT_EQ(words[i].cta[0], static_cast<std::int32_t>(i / 64));
        EXPECT_EQ(words[i].warp, static_cast<std::int16_t>(thread / 32));
        EXPECT_EQ(words[i].lane, static_cast<std::int16_t>(thread % 32));
        EXPECT_EQ(words[i].ptx_line, i % 64 == 3 ? 14 : 12);
      }
    }
  }
}

TEST(Writers, OfWordsThatSeveralCtasUseAreNotKnown) {
  KernelOptions options = options_of(2);
  options.watch_out = true;
  const LaunchOutcome outcome = run("st.global.u32 [%d1], %r0;", options);
  EXPECT_FALSE(outcome.writers.at(0).at(5).known());
  options.watch_out = false;
  EXPECT_TRUE(run("st.global.u32 [%d1], %r0;", options).writers.empty());
}

TEST(CtaRace, IsTwoWritesOfDifferentValues) {
  const LaunchOutcome outcome = run("st.global.u32 [%d1+256], %r10;");
  ASSERT_EQ(outcome.findings.size(), 1u) << findings_text(outcome);
  const Finding& finding = outcome.findings[0];
  EXPECT_EQ(finding.kind, FindingKind::race);
  EXPECT_EQ(finding.ptx_line, 11);
  EXPECT_EQ(finding.occurrences, 64u);
  EXPECT_EQ(finding.cta[0], 1);
  EXPECT_EQ(finding.message,
            "writes byte 256 of \"out\", which cta 0,0,0 writes something else to at line 11 with "
            "nothing that orders the two");
  EXPECT_FALSE(races("st.global.u32 [%d1], %r0;"));
}

TEST(CtaRace, IsDecidedByteByByte) {
  EXPECT_FALSE(
      races("mad.lo.u32 %r1, %r0, 2, %r10; cvt.u64.u32 %d2, %r1; add.s64 %d2, %out, %d2; "
            "st.global.u8 [%d2], %r10;"));
  EXPECT_TRUE(
      races("mad.lo.u32 %r1, %r0, 2, %r10; cvt.u64.u32 %d2, %r1; add.s64 %d2, %out, %d2; "
            "@%p1 st.global.u16 [%d2], 7; @!%p1 st.global.u8 [%d2+-1], 9;"));
  // Vectors across words.
  EXPECT_TRUE(races("@%p1 st.global.v2.u32 [%out], {7, 8}; @%p2 st.global.u8 [%out+7], 9;"));
  EXPECT_FALSE(races("@%p1 st.global.v2.u32 [%out], {7, 8}; @%p2 st.global.u8 [%out+8], 9;"));
}

TEST(CtaRace, IsAReadOfWhatAnotherCtaWrites) {
  const std::string body = "@%p1 st.global.u32 [%d1], %r0; @%p2 ld.global.u32 %r2, [%d1];";
  EXPECT_TRUE(races(body));
  // Among three CTAs, also with another one in between.
  EXPECT_TRUE(
      races("st.global.u32 [%d1], 5; setp.eq.u32 %p3, %r10, 2; @%p3 ld.global.u32 %r2, [%d1];",
            options_of(3)));
  // Of many readers some are kept, and a writer behind them meets those.
  for (const int writer : {0, 1, 7, 15}) {
    const std::string of_one =
        fmt::format("setp.eq.u32 %p3, %r10, {}; @!%p3 ld.global.u32 %r2, [%d20]; ", writer);
    EXPECT_TRUE(races(of_one + "@%p3 st.global.u32 [%d20], 5;", options_of(16)));
    EXPECT_FALSE(races(of_one + "@%p3 ld.global.u32 %r2, [%d20];", options_of(16)));
  }
}

TEST(CtaRace, IsFoundByAnyNumberOfWorkers) {
  for (const int workers : {1, 2, 4}) {
    EXPECT_TRUE(races("st.global.u32 [%d1], %r10;", options_of(64, workers)));
    EXPECT_FALSE(
        races("mad.wide.u32 %d1, %r10, 64, %d1; shl.b32 %r0, %r0, 2; cvt.u64.u32 %d0, %r0; sub.s64 "
              "%d1, %d1, %d0; "
              "mov.u32 %r0, %tid.x; cvt.u64.u32 %d0, %r0; add.s64 %d1, %d1, %d0; st.global.u8 "
              "[%d1], %r10;",
              options_of(64, workers)));
  }
}

TEST(CtaRace, BetweenWritesIsDecidedByOneWorker) {
  const std::string same = "st.global.u32 [%d1], %r0;",
                    apart = "mad.wide.u32 %d1, %r10, 256, %d1; " + same;
  KernelOptions several = options_of(8, 2), one = several;
  one.one_worker = true;
  EXPECT_TRUE(run(same, several).undecided);
  EXPECT_FALSE(run(same, one).undecided);
  EXPECT_FALSE(races(same, one));
  EXPECT_TRUE(races("st.global.u32 [%d1], %r10;", one));
  EXPECT_FALSE(run(apart, several).undecided);
  // Atomics have order where values matter: blocks that communicate run on one worker anyway.
  EXPECT_FALSE(run(same + " red.global.add.u32 [%d21], 1;", several).undecided);
}

TEST(CtaRace, IsInVariablesOfTheModuleToo) {
  // __device__ float sum; sum += x;
  const LaunchOutcome outcome =
      run("@!%p0 ret;\nld.global.f32 %f1, [flag]; add.f32 %f1, %f1, 0f3F800000;\nst.global.f32 "
          "[flag], %f1;");
  ASSERT_EQ(outcome.findings.size(), 2u) << findings_text(outcome);
  for (const Finding& finding : outcome.findings) {
    EXPECT_EQ(finding.kind, FindingKind::race);
    EXPECT_NE(finding.message.find("byte 0 of \"flag\", which cta 0,0,0 writes"), std::string::npos)
        << finding.text();
  }
  for (const int workers : {1, 2})
    EXPECT_TRUE(races("st.global.u32 [%d20], %r10;", options_of(64, workers)));
  EXPECT_FALSE(races("@%p0 ld.global.u32 %r1, [flag]; @%p0 red.global.add.u32 [flag2], 1;"));
  EXPECT_FALSE(races("@%p1 st.global.u32 [flag], %r0; @%p2 st.global.u32 [flag2], %r0;", [] {
    KernelOptions one = options_of(2);
    one.block = {1, 1, 1};
    return one;
  }()));
  // The last block takes the count back.
  EXPECT_FALSE(
      races("@!%p0 ret; membar.gl; atom.global.add.u32 %r1, [flag], 1; setp.eq.u32 %p3, %r1, 1; "
            "@%p3 st.global.u32 [flag], 0;"));
}

TEST(CtaRace, IsNotLookedForWhenChecksAreOff) {
  KernelOptions options = options_of(2);
  options.emulator.check_shadow = false;
  EXPECT_FALSE(races("st.global.u32 [%d1], %r10;", options));
}

TEST(CtaRace, AtomicsAreNoneAmongThemselves) {
  EXPECT_FALSE(races("red.global.add.u32 [%d20], 1; atom.global.add.u32 %r2, [%d21], 1;"));
  EXPECT_TRUE(races("@%p1 st.global.u32 [%out], 1; @%p2 red.global.add.u32 [%out], 1;"));
}

// CTA 0 writes with both warps and passes a flag; CTA 1 waits and reads with both warps.
std::string hand_over(const std::string& before_flag, const std::string& set_flag,
                      const std::string& after_wait) {
  return "@%p2 bra CONSUME; st.global.u32 [%d1], %r0; " + before_flag + " @%p0 " + set_flag +
         " bra END;\nCONSUME: @!%p0 bra WAITED; WAIT: ld.acquire.gpu.global.u32 %r1, [%d20]; "
         "setp.eq.u32 %p3, %r1, 0; @%p3 bra WAIT;\nWAITED: " +
         after_wait +
         " xor.b32 %r3, %r0, 32; mul.wide.u32 %d2, %r3, 4; add.s64 %d2, %out, %d2; "
         "ld.global.u32 %r4, [%d2];\nEND:";
}

TEST(CtaOrder, AFlagPassesWhatItsWriterKnows) {
  constexpr const char* kRelease = "st.release.gpu.global.u32 [%d20], 1;";
  EXPECT_FALSE(races(hand_over("bar.sync 0;", kRelease, "bar.sync 0;")));
  EXPECT_TRUE(races(hand_over("", kRelease, "bar.sync 0;"))) << "the other warp's writes";
  EXPECT_TRUE(races(hand_over("bar.sync 0;", kRelease, ""))) << "the other warp's reads";
  EXPECT_TRUE(
      races(hand_over("bar.sync 0;", "st.release.cta.global.u32 [%d20], 1;", "bar.sync 0;")));
}

TEST(CtaOrder, AFenceMakesAnyStrongWriteAFlag) {
  for (const std::string flag :
       {"st.volatile.global.u32 [%d20], 1;", "st.relaxed.gpu.global.u32 [%d20], 1;",
        "red.global.add.u32 [%d20], 1;", "atom.global.exch.b32 %r9, [%d20], 1;"}) {
    EXPECT_FALSE(races(hand_over("bar.sync 0; membar.gl;", flag, "bar.sync 0;"))) << flag;
    EXPECT_FALSE(races(hand_over("fence.acq_rel.gpu; bar.sync 0;", flag, "bar.sync 0;"))) << flag;
    EXPECT_TRUE(races(hand_over("bar.sync 0;", flag, "bar.sync 0;"))) << flag;
    EXPECT_TRUE(races(hand_over("bar.sync 0; membar.cta;", flag, "bar.sync 0;"))) << flag;
    EXPECT_TRUE(
        races(hand_over("membar.gl; st.global.u32 [%d1], 3; bar.sync 0;", flag, "bar.sync 0;")))
        << flag;
  }
}

// The last CTA of a round sets the counter back by a plain store, which others have an order with;
// its own next atomic has none with theirs, and needs none.
TEST(CtaOrder, ABarrierMayBeSetBackByAPlainStore) {
  EXPECT_FALSE(races(
      "@!%p0 bra MEET; mov.u32 %r5, 0;\nROUND: membar.gl; atom.global.add.u32 %r2, [%d21], 0; "
      "membar.gl; atom.global.add.u32 %r3, [%d20], 1; setp.eq.u32 %p3, %r3, 2; @!%p3 bra WAIT;\n"
      "st.global.u32 [%d20], 0; membar.gl; add.u32 %r4, %r2, 1; atom.global.exch.b32 %r9, [%d21], "
      "%r4; "
      "bra NEXT;\nWAIT: atom.global.add.u32 %r6, [%d21], 0; setp.eq.u32 %p4, %r6, %r2; @%p4 bra "
      "WAIT;\nNEXT: membar.gl; add.u32 %r5, %r5, 1; setp.lt.u32 %p4, %r5, 2; @%p4 bra ROUND;\n"
      "MEET: mov.u32 %r1, 0;",
      options_of(3)));
  // What a CTA stored before its own atomic is still seen.
  EXPECT_TRUE(races("@!%p0 ret; @%p1 st.global.u32 [%d20], 0; red.global.add.u32 [%d20], 1;"));
  EXPECT_TRUE(races("@!%p0 ret; @%p2 ld.global.u32 %r1, [%d20]; red.global.add.u32 [%d20], 1;"));
}

// Blocks take turns by a counter, and the last one sets it back: it has seen all that it waited
// for.
TEST(CtaOrder, AFlagMayBeSetBackByWhoHasSeenIt) {
  constexpr const char* kTurns =
      "@!%p0 ret;\nWAIT: ld.acquire.gpu.global.u32 %r2, [%d20]; setp.ne.u32 %p3, %r2, %r10; @%p3 "
      "bra WAIT;\nsetp.eq.u32 %p4, %r10, 2; {}\n@!%p4 fence.acq_rel.gpu; @!%p4 "
      "red.relaxed.gpu.global.add.u32 [%d20], 1;";
  EXPECT_FALSE(
      races(fmt::format(kTurns, "@%p4 st.global.u32 [%d20], 0; @%p4 ret;"), options_of(3)));
  // Who has seen the first of two turns has not seen the second.
  EXPECT_TRUE(
      races("@!%p0 ret; @%p1 red.relaxed.gpu.global.add.u32 [%d20], 1;\n@%p2 bra "
            "ELSE;\nred.relaxed.gpu.global.add.u32 [%d20], 1; ret;\nELSE: "
            "st.global.u32 [%d20], 0;"));
}

TEST(CtaOrder, CtaScopeOrdersNoOtherCta) {
  // Atomics of the scope of a block, on one place.
  const LaunchOutcome outcome = run("@!%p0 ret;\nred.relaxed.cta.global.add.u32 [%d20], 1;");
  ASSERT_EQ(outcome.findings.size(), 1u) << findings_text(outcome);
  EXPECT_EQ(outcome.findings[0].kind, FindingKind::race);
  EXPECT_EQ(outcome.findings[0].ptx_line, 12);
  EXPECT_TRUE(races(
      "@%p1 atom.cta.global.add.u32 %r1, [%d20], 1; @%p2 atom.global.add.u32 %r1, [%d20], 1;"));
  EXPECT_FALSE(races(
      "@%p1 atom.cta.global.add.u32 %r1, [%d20], 1; @%p2 atom.cta.global.add.u32 %r1, [%d21], 1;"));
  EXPECT_FALSE(
      races("atom.cta.global.add.u32 %r1, [%d20], 1; ld.relaxed.cta.global.u32 %r1, [%d20];",
            options_of(1)));
  // Flags.
  constexpr const char* kRelease = "st.release.gpu.global.u32 [%d20], 1;";
  std::string acquires = hand_over("bar.sync 0;", kRelease, "bar.sync 0;");
  acquires.replace(acquires.find("acquire.gpu"), 11, "acquire.cta");
  EXPECT_TRUE(races(acquires));
  EXPECT_TRUE(
      races("@%p1 st.relaxed.cta.global.u32 [%d20], 1; @%p2 st.relaxed.cta.global.u32 [%d20], 2;"));
  EXPECT_TRUE(
      races("@%p1 st.relaxed.cta.global.u32 [%d20], 1; @%p2 ld.relaxed.gpu.global.u32 %r1, [%d20]; "
            "@%p2 ld.relaxed.cta.global.u32 %r1, [%d20];"));
  // In shared memory it is all there is.
  EXPECT_FALSE(
      races(".shared .align 4 .u32 cell; @%p0 st.relaxed.cta.shared.u32 [cell], 1; bar.sync 0; "
            "atom.cta.shared.add.u32 %r1, [cell], 1;"));
}

TEST(CtaOrder, IsPassedOnByWhoLearnedIt) {
  // CTA 0 to CTA 1 by the first flag, CTA 1 to CTA 2 by the second.
  const auto body = [](const std::string& wait_of_1) {
    return "setp.eq.u32 %p4, %r10, 2; @%p4 bra THIRD; @%p2 bra SECOND; @%p0 st.global.u32 [%out], "
           "1; "
           "@%p0 st.release.gpu.global.u32 [%d20], 1; bra END;\n"
           "SECOND: @!%p0 bra END; WAIT: " +
           wait_of_1 +
           " setp.eq.u32 %p3, %r1, 0; @%p3 bra WAIT; "
           "st.release.gpu.global.u32 [%d21], 1; bra END;\n"
           "THIRD: @!%p0 bra END; WAIT2: ld.acquire.gpu.global.u32 %r1, [%d21]; "
           "setp.eq.u32 %p3, %r1, 0; @%p3 bra WAIT2; ld.global.u32 %r2, [%out];\nEND:";
  };
  EXPECT_FALSE(races(body("ld.acquire.gpu.global.u32 %r1, [%d20];"), options_of(3)));
  EXPECT_TRUE(races(body("mov.u32 %r1, 1;"), options_of(3)));
}

TEST(CtaOrder, AFlagThatIsNotAcquiredOrdersNoLoads) {
  constexpr const char* kRelease = "st.release.gpu.global.u32 [%d20], 1;";
  constexpr std::string_view kAcquire = "ld.acquire.gpu";
  for (const std::string read : {"ld.relaxed.gpu", "ld.volatile"}) {
    const auto reads_by = [&](const std::string& after_wait) {
      std::string body = hand_over("bar.sync 0;", kRelease, after_wait);
      return body.replace(body.find(kAcquire), kAcquire.size(), read);
    };
    EXPECT_FALSE(races(reads_by("membar.gl; bar.sync 0;"))) << read;
    EXPECT_FALSE(races(reads_by("bar.sync 0; fence.acq_rel.gpu;"))) << read;
    EXPECT_TRUE(races(reads_by("membar.cta; bar.sync 0;"))) << read;
    const LaunchOutcome outcome = run(reads_by("bar.sync 0;"));
    ASSERT_FALSE(outcome.findings.empty()) << read;
    EXPECT_NE(outcome.findings[0].text().find(
                  "was read without .acquire, and no fence (__threadfence()) followed"),
              std::string::npos)
        << outcome.findings[0].text();
  }
}

TEST(CtaOrder, TheLastCtaThatCountsMayReadWhatAllWrote) {
  const auto body = [](const std::string& fence, const std::string& acquire) {
    return "mul.wide.u32 %d2, %r10, 4; add.s64 %d2, %out, %d2; @!%p0 bra END; "
           "st.global.u32 [%d2], %r10; " +
           fence +
           " atom.global.add.u32 %r1, [%d20], 1; "
           "setp.ne.u32 %p3, %r1, 2; @%p3 bra END;\n" +
           acquire +
           " ld.global.u32 %r2, [%out]; ld.global.u32 %r3, [%out+4]; ld.global.u32 %r4, "
           "[%out+8];\nEND:";
  };
  EXPECT_FALSE(races(body("membar.gl;", "membar.gl;"), options_of(3)));
  EXPECT_TRUE(races(body("membar.gl;", ""), options_of(3)));
  EXPECT_TRUE(races(body("", "membar.gl;"), options_of(3)));
}

// The order of the CUDA sample threadFenceReduction: each block stores its result, fences and
// counts; the last one to count goes on with what all of them stored (the sample loads it as
// volatile, where plain loads need a fence). Every thread stores a word here. The last block's
// threads learn of it by a word of shared memory.
std::string last_block(const std::string& before_count, const std::string& before_last,
                       const std::string& last) {
  return ".shared .align 4 .u32 is_last;\n"
         "mad.lo.u32 %r1, %r10, 64, %r0; mul.wide.u32 %d2, %r1, 4; add.s64 %d2, %out, %d2;\n"
         "st.global.u32 [%d2], %r1;\n" +
         before_count +
         "\n@!%p0 bra COUNTED; atom.global.inc.u32 %r2, [%d20], 2; st.shared.u32 [is_last], %r2;\n"
         "COUNTED: " +
         before_last +
         " ld.shared.u32 %r3, [is_last]; setp.ne.u32 %p3, %r3, 2; @%p3 bra END;\n"
         "add.u32 %r4, %r0, 32; rem.u32 %r4, %r4, 64; mul.wide.u32 %d3, %r4, 4; "
         "add.s64 %d3, %out, %d3;\n" +
         last + "\nEND:";
}

TEST(CtaOrder, TheLastBlockGoesOnWithWhatTheOthersFenced) {
  constexpr const char *kFenced = "membar.gl; bar.sync 0;", *kMet = "bar.sync 0;",
                       *kLoad =
                           "ld.global.u32 %r5, [%d3]; ld.global.u32 %r5, [%d3+256]; "
                           "ld.global.u32 %r5, [%d3+512];",
                       *kStore =
                           "st.global.u32 [%d3], 0; st.global.u32 [%d3+256], 0; "
                           "st.global.u32 [%d3+512], 0;",
                       *kUpdate =
                           "red.global.add.u32 [%d3], 1; red.global.add.u32 [%d3+256], 1; "
                           "red.global.add.u32 [%d3+512], 1;";
  for (const std::string last : {kLoad, kStore, kUpdate}) {
    EXPECT_EQ(races(last_block(kFenced, kMet, last), options_of(3)), last == kLoad)
        << "no fence behind the count, " << last;
    EXPECT_FALSE(
        races(last_block(kFenced, "membar.gl; bar.sync 0; membar.gl;", last), options_of(3)))
        << last;
    EXPECT_TRUE(races(last_block("bar.sync 0;", kMet, last), options_of(3)))
        << "no fence before the count, " << last;
    EXPECT_TRUE(
        races(last_block("bar.sync 0;", "membar.gl; bar.sync 0; membar.gl;", last), options_of(3)))
        << "a fence behind the count only, " << last;
    EXPECT_TRUE(races(last_block("membar.gl;", kMet, last), options_of(3)))
        << "the count does not wait for the block's other threads, " << last;
    // That is found where they learn of it, in shared memory.
    EXPECT_FALSE(run(last_block(kFenced, "", last), options_of(3)).findings.empty())
        << "the last block's threads do not wait for its count, " << last;
  }
}

// One word that blocks store to or load, and the last one sets back.
TEST(CtaOrder, TheLastBlockMaySetBackWhatTheOthersFenced) {
  const auto body = [](const std::string& fence, const std::string& store) {
    return "@!%p0 bra END; " + store + fence +
           " atom.global.add.u32 %r1, [%d20], 1; setp.ne.u32 %p3, %r1, 2; @%p3 bra END;\n"
           "st.global.u32 [%d21], 0;\nEND:";
  };
  for (const std::string store :
       {"st.global.u32 [%d21], 1;", "@%p1 st.global.u32 [%d21], 1;",
        "@%p1 ld.global.u32 %r7, [%d21];", "ld.global.u32 %r7, [%d21];"}) {
    EXPECT_FALSE(races(body(" membar.gl;", store), options_of(3))) << store;
    EXPECT_TRUE(races(body("", store), options_of(3))) << store;
  }
}

TEST(CtaOrder, ALaterLaunchHasSeenEverything) {
  const auto device = make_emulator({.sm = 90, .threads = 1});
  auto module = device->load(
      kernel_text(std::string(kThread) + "st.global.u32 [%in], 1; @%p1 st.global.u32 [%d1], %r0; ",
                  90, kFlags),
      "test.ptx");
  ASSERT_TRUE(module.ok());
  LaunchRequest request;
  request.entry = "k";
  request.grid = {2, 1, 1};
  request.block = {64, 1, 1};
  request.parameters.resize(16);
  for (const std::size_t parameter : {0u, 8u}) {
    const DeviceAddress address = *device->allocate(1024, "memory");
    ASSERT_TRUE(device->poison(address, std::vector<std::byte>(1024)).ok());
    std::memcpy(request.parameters.data() + parameter, &address, 8);
  }
  for (int launch = 0; launch < 2; ++launch) {
    const auto outcome = device->launch(**module, request);
    ASSERT_TRUE(outcome.ok());
    EXPECT_TRUE(outcome->findings.empty()) << findings_text(*outcome);
    // What CTA 0 wrote to one of them, CTA 1 may write or read in the next launch.
    std::swap_ranges(request.parameters.begin(), request.parameters.begin() + 8,
                     request.parameters.begin() + 8);
  }
}

// A tensor with far rows is kept in pieces, which begin wherever its elements do.
TEST(CtaRaces, AreFoundInAPieceThatBeginsBetweenTwoWords) {
  constexpr std::int64_t kApart = (std::int64_t{1} << 31) + 2, kKept = 64;
  for (const bool same_element : {false, true}) {
    const auto device = make_emulator({.sm = 90, .threads = 1});
    const auto module = device->load(
        kernel_text(std::string(kThread) + "mul.wide.u32 %d2, %r10, " + (same_element ? "0" : "2") +
                        "; add.s64 %d2, %in, %d2; @%p0 st.global.u16 [%d2], %r10;",
                    90, kFlags),
        "test.ptx");
    ASSERT_TRUE(module.ok()) << module.error().text();
    const DeviceAddress address =
        *device->allocate_pieces(2 * kKept, kKept, kApart, "rows") + kApart;
    LaunchRequest request;
    request.entry = "k";
    request.grid = {2, 1, 1};
    request.block = {64, 1, 1};
    request.parameters.resize(16);
    std::memcpy(request.parameters.data(), &address, 8);
    const auto outcome = device->launch(**module, request);
    ASSERT_TRUE(outcome.ok());
    EXPECT_EQ(outcome->findings.size(), same_element ? 1u : 0u) << findings_text(*outcome);
    for (const Finding& finding : outcome->findings) EXPECT_EQ(finding.kind, FindingKind::race);
  }
}

// An input that the kernel writes over is watched like an output.
TEST(CtaRaces, AreFoundInWhatIsWrittenOver) {
  constexpr std::string_view kNext =  // thread 0 of either CTA: the other's word, then its own
      "mov.u32 %r20, %tid.x; setp.eq.u32 %p6, %r20, 0; mov.u32 %r21, %ctaid.x; xor.b32 %r22, %r21, "
      "1; mul.wide.u32 %d8, %r21, 4; add.s64 %d8, %in, %d8; mul.wide.u32 %d9, %r22, 4; add.s64 "
      "%d9, "
      "%in, %d9; @%p6 ld.global.u32 %r23, [%d9]; @%p6 st.global.u32 [%d8], %r23;";
  for (const bool told : {false, true}) {
    const auto device = make_emulator({.sm = 90, .threads = 1});
    const auto module = device->load(kernel_text(kNext), "test.ptx");
    ASSERT_TRUE(module.ok()) << module.error().text();
    const DeviceAddress address = *device->allocate(8, "x");
    ASSERT_TRUE(device->write(address, std::vector<std::byte>(8)).ok());
    if (told) device->will_change(address);
    LaunchRequest request;
    request.entry = "k";
    request.grid = {2, 1, 1};
    request.block = {32, 1, 1};
    request.parameters.resize(16);
    std::memcpy(request.parameters.data(), &address, 8);
    const auto outcome = device->launch(**module, request);
    ASSERT_TRUE(outcome.ok());
    EXPECT_EQ(outcome->findings.empty(), !told) << findings_text(*outcome);
    for (const Finding& finding : outcome->findings) EXPECT_EQ(finding.kind, FindingKind::race);
  }
}

TEST(ReadOnlyData, ThatTheLaunchHasWrittenIsAFinding) {
  const std::string write = "st.global.u32 [%d1], %r0;\n", barrier = "bar.sync 0;\n",
                    plain = "ld.global.u32 %r1, [%d1];\n",
                    read_only = "ld.global.nc.u32 %r1, [%d1];\n";
  const KernelOptions one_cta = options_of(1);
  // The thread itself wrote it, in a launch of one CTA.
  EXPECT_FALSE(races(write + barrier + plain, one_cta));
  EXPECT_TRUE(races(write + barrier + read_only, one_cta));
  EXPECT_TRUE(races(write + barrier + "ldu.global.u32 %r1, [%d1];\n", one_cta));
  // Read before it is written: what is there is what was there before the launch.
  const std::string read_flag = "ld.global.nc.u32 %r1, [%d20];\n",
                    set_flag = "mov.u32 %r2, 7; st.global.u32 [%d20], %r2;\n";
  EXPECT_FALSE(races(read_flag + barrier + set_flag, one_cta));
  EXPECT_TRUE(races(set_flag + barrier + read_flag, one_cta));
  // An atomic, and bytes beside those that are read.
  EXPECT_TRUE(races("atom.global.add.u32 %r1, [%d20], 1;\n" + barrier + read_flag, one_cta));
  EXPECT_FALSE(
      races("mov.u32 %r2, 7; st.global.u8 [%d20], %r2; ld.global.nc.u8 %r1, [%d20+1];\n", one_cta));
  // A word that two CTAs have written, both the same.
  EXPECT_FALSE(races(set_flag));
  EXPECT_TRUE(races(set_flag + read_flag));

  const LaunchOutcome outcome = run(write + barrier + read_only, one_cta);
  ASSERT_EQ(outcome.findings.size(), 1u);
  const std::string text = outcome.findings[0].text();
  EXPECT_NE(text.find("of \"out\" as read-only data (.nc), which cta 0,0,0 writes at line 11"),
            std::string::npos)
      << text;
  ASSERT_TRUE(outcome.findings[0].other.has_value());
  EXPECT_EQ(outcome.findings[0].other->access_kind, "write");
}

// The threads of one CTA: %d2 is the word of the thread of the other warp with the same lane, %d3
// that of the neighbor in the warp; %p3 holds in warp 0, which runs first.
constexpr std::string_view kOthers =
    "xor.b32 %r1, %r0, 32; mul.wide.u32 %d2, %r1, 4; add.s64 %d2, %out, %d2; xor.b32 %r1, %r0, 1; "
    "mul.wide.u32 %d3, %r1, 4; add.s64 %d3, %out, %d3; "
    "setp.lt.u32 %p3, %r0, 32;\n";

LaunchOutcome run_one_cta(const std::string& body) {
  return run(std::string(kOthers) + body, options_of(1));
}

void expect_race_in_cta(const std::string& body, int line, std::string_view message) {
  const LaunchOutcome outcome = run_one_cta(body);
  EXPECT_TRUE(outcome.completed);
  ASSERT_FALSE(outcome.findings.empty()) << body;
  const Finding& finding = outcome.findings[0];
  EXPECT_EQ(finding.kind, FindingKind::race) << finding.text();
  EXPECT_EQ(finding.ptx_line, line);
  EXPECT_EQ(finding.message, message);
}

void expect_none_in_cta(const std::string& body) {
  const LaunchOutcome outcome = run_one_cta(body);
  EXPECT_TRUE(outcome.completed && outcome.findings.empty()) << body << findings_text(outcome);
}

TEST(RacesInACta, AReadOfWhatAnotherWarpWroteNeedsABarrier) {
  constexpr const char* kBody =
      "@%p3 st.global.u32 [%d1], %r0;\n{}\n@!%p3 ld.global.u32 %r2, [%d2];";
  for (const char* none : {"", "membar.gl;", "bar.warp.sync -1;"}) {
    expect_race_in_cta(fmt::format(kBody, none), 14,
                       "reads byte 0 of \"out\", which warp 0 lane 0 writes at line 12 with no "
                       "barrier between");
  }
  for (const char* order : {"bar.sync 0;", "bar.sync 1, 64;", "barrier.cta.sync.aligned 0;",
                            "bar.red.popc.u32 %r2, 0, %p0;"})
    expect_none_in_cta(fmt::format(kBody, order));
}

TEST(RacesInACta, AReadOfWhatAnotherLaneWroteNeedsASyncwarp) {
  constexpr const char* kBody = "st.global.u32 [%d1], %r0;\n{}\nld.global.u32 %r2, [%d3];";
  expect_race_in_cta(fmt::format(kBody, ""), 14,
                     "reads byte 4 of \"out\", which lane 1 of the same warp writes at line 12 "
                     "with no __syncwarp() (bar.warp.sync) between");
  for (const char* order :
       {"bar.warp.sync -1;", "bar.sync 0;", "shfl.sync.bfly.b32 %r2, %r0, 1, 31, -1;"})
    expect_none_in_cta(fmt::format(kBody, order));
}

// The mark of a word that the launch has not written stands with its last reader.
TEST(RacesInACta, AWriteOfWhatAnotherWarpReadNeedsABarrier) {
  constexpr const char* kBody =
      "@%p3 ld.global.u32 %r2, [%d20];\n{}\nsetp.eq.u32 %p4, %r0, 32; @%p4 st.global.u32 [%d20], "
      "7;";
  const LaunchOutcome outcome = run_one_cta(fmt::format(kBody, ""));
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_EQ(outcome.findings[0].message,
            "writes byte 0 of \"flag\", which warp 0 lane 31 reads at line 12 with no barrier "
            "between");
  expect_none_in_cta(fmt::format(kBody, "bar.sync 0;"));
}

TEST(RacesInACta, TwoWritesOfOneValueAreNone) {
  expect_race_in_cta("st.global.u32 [%d1], %r0;\nst.global.u32 [%d2], %r0;", 12,
                     "writes byte 128 of \"out\", which warp 0 lane 0 writes something else to at "
                     "line 13 with no barrier between");
  expect_none_in_cta("st.global.u32 [%d1], 7; st.global.u32 [%d2], 7;");
  expect_none_in_cta("st.global.u32 [%d1], %r0; bar.sync 0; st.global.u32 [%d2], %r0;");
}

// Threads of both warps share words: each has its byte. Of a word in pieces the last writer is held
// against the next thread.
TEST(RacesInACta, AreDecidedByteByByte) {
  const std::string own_byte =
      "and.b32 %r1, %r0, 31; shr.u32 %r2, %r0, 5; mad.lo.u32 %r1, %r1, 2, %r2; cvt.u64.u32 %d4, "
      "%r1; add.s64 %d4, %out, %d4; ";
  expect_none_in_cta(own_byte + "st.global.u8 [%d4], %r0; ld.global.u8 %r3, [%d4];");
  expect_race_in_cta(own_byte + "@%p3 st.global.u8 [%d4], %r0;\n@!%p3 ld.global.u8 %r3, [%d4+-1];",
                     13,
                     "reads byte 2 of \"out\", which warp 0 lane 1 writes at line 12 with no "
                     "barrier between");
}

// As in shared memory: what threads do through strong accesses counts as an order.
TEST(RacesInACta, FlagsAreAnOrder) {
  expect_none_in_cta(
      "setp.lt.u32 %p3, %r0, 32; @%p3 st.global.u32 [%d1], %r0; @%p3 "
      "st.release.cta.global.u32 [%d20], 1; bar.warp.sync -1;\n"
      "@!%p3 ld.acquire.cta.global.u32 %r2, [%d20]; @!%p3 ld.global.u32 %r3, [%d2];");
}

// A strong load of what nobody wrote, or what a barrier has ordered, is no flag and orders nothing.
TEST(RacesInACta, StrongLoadsOfAnythingElseAreNoOrder) {
  constexpr const char* kBody =
      "setp.lt.u32 %p3, %r0, 32; {}\nbar.sync 0; @%p3 st.global.u32 [%d1], %r0;\n"
      "@!%p3 {};\n@!%p3 ld.global.u32 %r3, [%d2];";
  for (const char* load :
       {"ld.volatile.global.u32 %r2, [%d20]", "ld.relaxed.gpu.global.u32 %r2, [%d20]",
        "ld.volatile.shared.u32 %r2, [cell]"}) {
    for (const char* before :
         {"st.volatile.shared.u32 [cell], 1;",
          "@%p3 st.volatile.global.u32 [%d20], 1; @%p3 st.volatile.shared.u32 [cell], 1;"}) {
      const std::string body =
          ".shared .align 4 .u32 cell; " + fmt::format(fmt::runtime(kBody), before, load);
      const LaunchOutcome outcome = run_one_cta(body);
      EXPECT_NE(std::ranges::find(outcome.findings, FindingKind::race, &Finding::kind),
                outcome.findings.end())
          << body;
    }
  }
}

}  // namespace
}  // namespace plumbline::emulator
