// SPDX-License-Identifier: MIT
// Barriers that work, CTAs that wait for each other, results that do not depend on threads.
#include <gmock/gmock.h>

#include "tests/harness/emulator/emulator_run.h"

namespace plumbline::emulator {
namespace {

using testing::HasSubstr;
using u32 = std::uint32_t;

constexpr std::string_view kThread = R"(
  mov.u32 %r0, %tid.x; mul.wide.u32 %d0, %r0, 4; add.s64 %d1, %out, %d0;
)";

std::vector<u32> run(const std::string& body, std::int64_t threads, std::int64_t ctas = 1,
                     bool written = false, int workers = 1) {
  KernelOptions options;
  options.block = {threads, 1, 1};
  options.grid = {ctas, 1, 1};
  options.out_is_written = written;
  options.emulator.threads = workers;
  const KernelRun run = run_kernel(kernel_text(std::string(kThread) + body), {}, 4096, options);
  EXPECT_TRUE(run.outcome.findings.empty()) << findings_text(run.outcome);
  EXPECT_TRUE(run.outcome.completed);
  return run.values<u32>();
}

TEST(Barrier, WarpsExchangeValuesThroughSharedMemory) {
  const std::vector<u32> out = run(R"(
    .shared .align 4 .b32 buffer[256];
    mov.u32 %r1, buffer; mad.lo.u32 %r2, %r0, 4, %r1; st.shared.u32 [%r2], %r0; bar.sync 0;
    xor.b32 %r3, %r0, 255; mad.lo.u32 %r3, %r3, 4, %r1; ld.shared.u32 %r4, [%r3]; bar.sync 0;
    st.shared.u32 [%r2], %r4; bar.sync 0; ld.shared.u32 %r5, [%r3]; st.global.u32 [%d1], %r5;)",
                                   256);
  for (u32 i = 0; i < 256; ++i) EXPECT_EQ(out[i], i);
}

TEST(Barrier, ReductionsReachEveryThread) {
  const std::vector<u32> out = run(R"(
    setp.lt.u32 %p1, %r0, 70; bar.red.popc.u32 %r1, 0, %p1; bar.red.and.pred %p2, 0, %p1; bar.red.or.pred %p3, 1, %p1;
    setp.lt.u32 %p4, %r0, 200; barrier.cta.red.and.aligned.pred %p5, 2, 128, %p4;
    selp.u32 %r2, 1000, 0, %p2; selp.u32 %r3, 2000, 0, %p3; selp.u32 %r4, 4000, 0, %p5;
    add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3; add.u32 %r1, %r1, %r4; st.global.u32 [%d1], %r1;)",
                                   128);
  for (u32 i = 0; i < 128; ++i) EXPECT_EQ(out[i], 70u + 2000 + 4000);
}

TEST(Barrier, NamedBarriersJoinProducersAndConsumers) {
  // Warp 0 produces for warps 1 and 2 through barrier 1 and does not wait; warp 3 has nothing to do
  // with it.
  const std::vector<u32> out = run(R"(
    .shared .align 4 .b32 buffer[32];
    shr.u32 %r1, %r0, 5; mov.u32 %r2, buffer; and.b32 %r3, %r0, 31; mad.lo.u32 %r2, %r3, 4, %r2; mov.u32 %r4, 1; mov.u32 %r5, 96;
    setp.eq.u32 %p1, %r1, 3; @%p1 bra END; setp.ne.u32 %p2, %r1, 0; @%p2 bra CONSUME;
    add.u32 %r6, %r3, 100; st.shared.u32 [%r2], %r6; bar.arrive %r4, %r5; bra END;
  CONSUME:
    bar.sync %r4, %r5; ld.shared.u32 %r6, [%r2]; st.global.u32 [%d1], %r6;
  END: mov.u32 %r1, 0;)",
                                   128);
  for (u32 i = 32; i < 96; ++i) EXPECT_EQ(out[i], 100 + i % 32);
}

TEST(Barrier, ExitedWarpsCountAsArrived) {
  const std::vector<u32> out = run(R"(
    setp.gt.u32 %p1, %r0, 63; @%p1 exit; bar.sync 0; st.global.u32 [%d1], %r0;)",
                                   128);
  for (u32 i = 0; i < 64; ++i) EXPECT_EQ(out[i], i);
}

TEST(Barrier, LanesMayArriveFromDifferentPlacesWithoutAligned) {
  const std::vector<u32> out = run(R"(
    and.b32 %r1, %r0, 1; setp.eq.u32 %p1, %r1, 0; @%p1 bra EVEN; barrier.sync 0; mov.u32 %r2, 5; bra END;
  EVEN: barrier.sync 0; mov.u32 %r2, 6;
  END: st.global.u32 [%d1], %r2;)",
                                   64);
  for (u32 i = 0; i < 64; ++i) EXPECT_EQ(out[i], i % 2 != 0 ? 5u : 6u);
}

// Warp 0 hands 32 values to warp 1 through barrier 1, half of its lanes at a time, and does not
// wait.
constexpr const char* kTwoHalvesArrive = R"(
    .shared .align 4 .b32 buffer[32];
    shr.u32 %r1, %r0, 5; mov.u32 %r2, buffer; and.b32 %r3, %r0, 31; mad.lo.u32 %r2, %r3, 4, %r2;
    setp.ne.u32 %p1, %r1, 0; setp.ge.u32 %p2, %r0, 16; @%p1 bra CONSUME; mov.u32 %r4, 0; add.u32 %r6, %r0, 100; @%p2 bra LATER;
    st.shared.u32 [%r2], %r6; barrier.arrive 1, 64; bra END;
  LATER:
    add.u32 %r4, %r4, 1; setp.lt.u32 %p3, %r4, 2000; @%p3 bra LATER; st.shared.u32 [%r2], %r6; {} bra END;
  CONSUME:
    barrier.sync 1, 64; ld.shared.u32 %r6, [%r2]; st.global.u32 [%d1], %r6;
  END: mov.u32 %r1, 0;)";

TEST(Barrier, AWarpArrivesOnceWhenAllItsLanesHaveCome) {
  // At one instruction, at two, or by leaving.
  for (const char* later : {"barrier.arrive 1, 64;", "exit;"}) {
    const std::vector<u32> out = run(fmt::format(kTwoHalvesArrive, later), 64);
    for (u32 i = 32; i < 64; ++i) EXPECT_EQ(out[i], 100 + i % 32) << later;
  }
  const std::vector<u32> out = run(R"(
    .shared .align 4 .b32 buffer[32];
    shr.u32 %r1, %r0, 5; mov.u32 %r2, buffer; and.b32 %r3, %r0, 31; mad.lo.u32 %r2, %r3, 4, %r2; add.u32 %r6, %r0, 100; mov.u32 %r4, 0;
    setp.ne.u32 %p1, %r1, 0; @%p1 bra CONSUME; setp.lt.u32 %p2, %r0, 16; @%p2 bra ARRIVE;
  LATER: add.u32 %r4, %r4, 1; setp.lt.u32 %p3, %r4, 2000; @%p3 bra LATER;
  ARRIVE: st.shared.u32 [%r2], %r6; bar.arrive 1, 64; bra END;
  CONSUME: bar.sync 1, 64; ld.shared.u32 %r6, [%r2]; st.global.u32 [%d1], %r6;
  END: mov.u32 %r1, 0;)",
                                   64);
  for (u32 i = 32; i < 64; ++i) EXPECT_EQ(out[i], 100 + i % 32);
}

TEST(Barrier, LanesThatComeForTheNextPhaseWaitForIt) {
  // Half of warp 0 waits at barrier 1 again while its first phase, in which the warp has only
  // arrived, goes on.
  const std::vector<u32> out = run(R"(
    .shared .align 4 .b32 word;
    setp.ge.u32 %p1, %r0, 32; @%p1 bra SECOND; setp.ge.u32 %p2, %r0, 16; mov.u32 %r4, 0;
    bar.arrive 1, 64; @!%p2 bra WAIT;
  COUNT: add.u32 %r4, %r4, 1; setp.lt.u32 %p3, %r4, 5000; @%p3 bra COUNT;
  WAIT: bar.sync 1, 64; ld.shared.u32 %r5, [word]; st.global.u32 [%d1], %r5; bra END;
  SECOND: bar.sync 1, 64; setp.eq.u32 %p4, %r0, 32; mov.u32 %r5, 9; @%p4 st.shared.u32 [word], %r5; bar.sync 1, 64;
  END: mov.u32 %r1, 0;)",
                                   64);
  for (u32 i = 0; i < 32; ++i) EXPECT_EQ(out[i], 9u);
}

TEST(Ctas, MayWaitForALaterOne) {
  // CTA i waits until CTA i + 1 has written; the last one starts the chain. Needs all of them
  // resident.
  for (const int workers : {1, 4}) {
    const std::vector<u32> out = run(R"(
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x; mul.wide.u32 %d2, %r1, 4; add.s64 %d2, %out, %d2;
    add.u32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, %r2; mov.u32 %r4, 1; @%p1 bra WRITE;
  SPIN: ld.acquire.gpu.global.u32 %r4, [%d2+4]; setp.eq.u32 %p2, %r4, 0; @%p2 bra SPIN; add.u32 %r4, %r4, 1;
  WRITE: st.release.gpu.global.u32 [%d2], %r4;)",
                                     32, 20, true, workers);
    for (u32 i = 0; i < 20; ++i) EXPECT_EQ(out[i], 20 - i);
  }
}

TEST(Ctas, OfACooperativeLaunchAreResidentTogether) {
  // All wait until all have come. Of CTAs with that much shared memory an H100 holds eight on each
  // multiprocessor.
  KernelOptions options;
  options.emulator.instruction_budget = 100'000;
  options.grid = {1056, 1, 1};
  options.dynamic_shared_bytes = 28'160;
  options.out_is_written = true;
  const std::string body = R"(
    mov.u32 %r0, %tid.x; setp.ne.u32 %p0, %r0, 0; @%p0 ret; mov.u32 %r2, %nctaid.x; red.relaxed.gpu.global.add.u32 [%out], 1;
  WAIT: nanosleep.u32 100; ld.relaxed.gpu.global.u32 %r1, [%out]; setp.lt.u32 %p1, %r1, %r2; @%p1 bra WAIT;)";
  const KernelRun all = run_kernel(kernel_text(body), {}, 4, options);
  EXPECT_TRUE(all.outcome.findings.empty()) << findings_text(all.outcome);
  options.grid = {1057, 1, 1};
  options.emulator.instruction_budget = EmulatorOptions().instruction_budget;
  const LaunchOutcome too_many = run_kernel(kernel_text(body), {}, 4, options).outcome;
  EXPECT_FALSE(too_many.completed);
  ASSERT_EQ(too_many.findings.size(), 1u) << findings_text(too_many);
  EXPECT_EQ(too_many.findings[0].kind, FindingKind::endless_loop);
  EXPECT_THAT(too_many.findings[0].message, HasSubstr("1 have not begun"));
}

// The budget of a warp would take minutes where hundreds of CTAs spend it.
TEST(Ctas, ThatAllWaitForWhatNoThreadWritesAreFoundAtOnce) {
  for (const char* poll :
       {"ld.acquire.gpu.global.u32 %r1, [%out]", "atom.global.cas.b32 %r1, [%out], 1, 1",
        "atom.global.add.u32 %r1, [%out], 0"}) {
    KernelOptions options;
    options.grid = {64, 1, 1};
    options.out_is_written = true;
    options.emulator.instruction_budget = UINT64_MAX;
    const LaunchOutcome outcome =
        run_kernel(kernel_text(fmt::format("mov.u32 %r0, %tid.x; setp.ne.u32 %p0, %r0, 0;\n"
                                           "@%p0 bra MEET;\nWAIT:\n{}; setp.ne.u32 %p1, %r1, 1;\n"
                                           "@%p1 bra WAIT;\nMEET: bar.sync 0;",
                                           poll)),
                   {}, 4, options)
            .outcome;
    EXPECT_FALSE(outcome.completed);
    ASSERT_EQ(outcome.findings.size(), 1u) << findings_text(outcome);
    EXPECT_EQ(outcome.findings[0].kind, FindingKind::endless_loop);
    EXPECT_THAT(outcome.findings[0].message, HasSubstr("memory that nothing writes any more"));
    EXPECT_LT(outcome.instructions, 100'000'000u);
  }
}

// While all others poll, one computes in registers for long: no standstill.
TEST(Ctas, MayWaitLongForOneThatComputes) {
  const std::vector<u32> out = run(R"(
    mov.u32 %r5, %ctaid.x; mov.u32 %r6, 0; setp.ne.u32 %p1, %r5, 19; @%p1 bra WAIT;
  COUNT: add.u32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, 1000000; @%p2 bra COUNT;
    st.global.release.gpu.u32 [%out+1024], %r6;
  WAIT: ld.global.acquire.gpu.u32 %r4, [%out+1024]; setp.eq.u32 %p2, %r4, 0; @%p2 bra WAIT;
    mul.wide.u32 %d2, %r5, 4; add.s64 %d2, %out, %d2; st.global.u32 [%d2], %r4;)",
                                   1, 20, true);
  for (u32 i = 0; i < 20; ++i) EXPECT_EQ(out[i], 1'000'000u);
}

TEST(Ctas, MayWaitWithABarrierInTheLoop) {
  // All of a CTA asks together whether its first thread has seen the flag, as CUTLASS's semaphore
  // does. The CTA that sets it counts long enough for the other one to start.
  const std::vector<u32> out = run(R"(
    mov.u32 %r5, %ctaid.x; mov.u32 %r4, 0; setp.eq.u32 %p1, %r5, 1; @%p1 bra WAIT;
    mov.u32 %r6, 0;
  COUNT: add.u32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, 300000; @%p2 bra COUNT;
    bar.sync 0; mov.u32 %r4, 1; setp.eq.u32 %p3, %r0, 0; @%p3 st.global.release.gpu.u32 [%out+1024], %r4; bra END;
  ASK: ld.global.acquire.gpu.u32 %r4, [%out+1024];
  WAIT:
    setp.ne.u32 %p2, %r4, 1; bar.red.and.pred %p3, 0, %p2; @!%p3 bra SEEN;
    setp.gt.u32 %p4, %r0, 0; @%p4 bra WAIT; bra ASK;
  SEEN: mov.u32 %r4, 2; add.s64 %d1, %d1, 512;
  END: st.global.u32 [%d1], %r4;)",
                                   64, 2, true);
  for (u32 i = 0; i < 64; ++i) {
    EXPECT_EQ(out[i], 1u);
    EXPECT_EQ(out[128 + i], 2u);
  }
}

TEST(Ctas, TakeTurnsAtALock) {
  const std::vector<u32> out = run(R"(
    setp.ne.u32 %p1, %r0, 0; @%p1 ret;
  LOCK: atom.global.cas.b32 %r1, [%out], 0, 1; setp.ne.u32 %p2, %r1, 0; @%p2 bra LOCK;
    ld.volatile.global.u32 %r2, [%out+4]; nanosleep.u32 100; add.u32 %r2, %r2, 1; st.volatile.global.u32 [%out+4], %r2;
    fence.acq_rel.gpu; atom.global.exch.b32 %r3, [%out], 0;)",
                                   32, 50, true);
  EXPECT_EQ(out[1], 50u);
}

TEST(Ctas, AreIndependentOfTheNumberOfThreads) {
  const std::string body = R"(
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %nctaid.x; mad.lo.u32 %r1, %r2, %r3, %r1; mul.lo.u32 %r4, %r1, 2654435761;
    mul.wide.u32 %d2, %r1, 128; add.s64 %d2, %d2, %d1; add.u32 %r4, %r4, %r0; st.global.u32 [%d2], %r4;)";
  KernelOptions options;
  options.grid = {4, 8, 1};
  std::vector<u32> first;
  for (const int workers : {1, 2, 5}) {
    options.emulator.threads = workers;
    const KernelRun run = run_kernel(kernel_text(std::string(kThread) + body), {}, 4096, options);
    EXPECT_TRUE(run.outcome.findings.empty()) << findings_text(run.outcome);
    if (first.empty()) first = run.values<u32>();
    EXPECT_EQ(run.values<u32>(), first);
  }
  EXPECT_EQ(first[33], 2654435761u + 1);
}

TEST(Coverage, CountsEveryInstructionByLine) {
  KernelOptions options;
  options.block = {64, 1, 1};
  const KernelRun run = run_kernel(kernel_text("mov.u32 %r0, %tid.x;\nsetp.lt.u32 %p1, %r0, "
                                               "32;\n@%p1 bra END;\nmov.u32 %r1, 1;\nbra END;\n"
                                               "mov.u32 %r1, 2;\nEND: mov.u32 %r2, 1;"),
                                   {}, 4, options);
  const auto count = [&](int line) {
    for (const InstructionCount& one : run.outcome.executions) {
      if (one.ptx_line == line) return one.executions;
    }
    return ~std::uint64_t{0};
  };
  EXPECT_EQ(count(10), 2u);
  EXPECT_EQ(count(13), 1u);
  EXPECT_EQ(count(15), 0u);  // never reached
  EXPECT_EQ(count(16), 2u);
  EXPECT_EQ(run.outcome.instructions, 2u * 2 + 2 * 3 + 1 + 1 + 2 + 2);
}

}  // namespace
}  // namespace plumbline::emulator
