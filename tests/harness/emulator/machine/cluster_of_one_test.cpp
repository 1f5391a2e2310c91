// SPDX-License-Identifier: MIT
// Kernels for clusters in a cluster of one block: what addresses the blocks of a cluster addresses
// the one there is.
#include <gmock/gmock.h>

#include "tests/harness/emulator/emulator_run.h"

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;
using ::testing::Each;
using ::testing::HasSubstr;

// A warp with a word of shared memory, `data`, and an mbarrier `bar` for 32 arrivals.
KernelRun run(std::string_view body) {
  const std::string start =
      ".shared .align 8 .b64 bar; .shared .b32 data; mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; "
      "mov.u32 %r2, bar; "
      "mov.u32 %r3, data; mul.wide.u32 %d0, %r0, 4; add.s64 %out, %out, %d0; "
      "@%p0 mbarrier.init.shared::cta.b64 [%r2], 32; bar.warp.sync 0xffffffff;\n";
  return run_kernel(kernel_text(start + std::string(body)), {}, 128);
}

std::vector<u32> fine(std::string_view body) {
  const KernelRun done = run(body);
  EXPECT_TRUE(done.outcome.findings.empty()) << findings_text(done.outcome);
  return done.values<u32>();
}

std::string refusal(std::string_view body) {
  const auto module = make_emulator({.sm = 90, .threads = 1})->load(kernel_text(body), "test.ptx");
  return module ? "accepted" : module.error().text();
}

TEST(ClusterOfOne, MapsAddressesToItself) {
  EXPECT_THAT(fine("mapa.shared::cluster.u32 %r4, %r2, 0; "
                   "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r4]; "
                   "W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p7, [%r2], 0, "
                   "0x989680; @!%p7 bra W; "
                   "st.global.u32 [%out], 1;"),
              Each(1u));
  EXPECT_THAT(fine("@%p0 st.shared.u32 [data], 5; bar.sync 0; cvta.shared.u64 %d1, data; mapa.u64 "
                   "%d2, %d1, 0; "
                   "getctarank.u64 %r5, %d2; ld.u32 %r4, [%d2]; add.u32 %r4, %r4, %r5; "
                   "st.global.u32 [%out], %r4;"),
              Each(5u));
  EXPECT_THAT(findings_text(run("mapa.shared::cluster.u32 %r4, %r2, 1; "
                                "ld.shared::cluster.u32 %r5, [%r4];")
                                .outcome),
              HasSubstr("out of bounds: reads 4 bytes of shared memory at 0x1000400"));
}

TEST(ClusterOfOne, ReadsAndWritesItsOwnSharedMemory) {
  EXPECT_THAT(
      fine(
          "mapa.shared::cluster.u32 %r4, %r3, 0; @%p0 st.shared::cluster.u32 [%r4], 3; bar.sync 0; "
          "red.relaxed.cluster.shared::cluster.add.u32 [%r4], 1; bar.sync 0; "
          "ld.shared::cluster.u32 %r5, [%r4]; "
          "cvta.shared::cluster.u64 %d1, data; isspacep.shared::cluster %p1, %d1; @!%p1 trap; "
          "st.global.u32 [%out], %r5;"),
      Each(35u));
}

KernelRun run_warps(std::string_view body) {
  const std::string start =
      ".shared .b32 data[64]; mov.u32 %r0, %tid.x; mad.lo.u32 %r3, %r0, 4, data; xor.b32 %r4, %r0, "
      "33; "
      "mad.lo.u32 %r4, %r4, 4, data; mul.wide.u32 %d0, %r0, 4; add.s64 %out, %out, %d0; "
      "setp.lt.u32 %p1, %r0, 32;\n";
  KernelOptions options;
  options.block = {64, 1, 1};
  return run_kernel(kernel_text(start + std::string(body)), {}, 256, options);
}

TEST(ClusterOfOne, MeetsAtItsBarrier) {
  const std::string arrive = "barrier.cluster.arrive.release.aligned; ",
                    wait = "barrier.cluster.wait.acquire.aligned; ";
  const std::string write =
      "mov.u32 %r8, 0; NEXT: add.u32 %r6, %r0, %r8; st.shared.u32 [%r3], %r6; ";
  const std::string read = "ld.shared.u32 %r5, [%r4]; add.u32 %r8, %r8, 1; ";
  const std::string next = "setp.lt.u32 %p2, %r8, 4; @%p2 bra NEXT; st.global.u32 [%out], %r5;";
  const KernelRun done =
      run_warps(write + arrive + wait + read +
                "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; " + next);
  EXPECT_TRUE(done.outcome.findings.empty()) << findings_text(done.outcome);
  EXPECT_EQ(done.values<u32>()[40], (40u ^ 33u) + 3);
  // One who has arrived may go on to the wait late; one who has exited is not waited for.
  const KernelRun late = run_warps("@%p1 bra LATE; " + arrive + wait + "ret; LATE: " + arrive +
                                   "nanosleep.u32 1; " + wait + "st.global.u32 [%out], 1;");
  EXPECT_TRUE(late.outcome.findings.empty()) << findings_text(late.outcome);
  const KernelRun alone = run_warps("@!%p1 ret; " + arrive + wait + "st.global.u32 [%out], 1;");
  EXPECT_TRUE(alone.outcome.findings.empty()) << findings_text(alone.outcome);
  EXPECT_THAT(findings_text(run_warps(write + read).outcome), HasSubstr("race"));
  EXPECT_THAT(
      findings_text(run_warps("@%p1 bra END; " + arrive + wait + "END: bar.sync 0;").outcome),
      HasSubstr("waits for barrier.cluster at line"));
  EXPECT_THAT(
      findings_text(run_warps("@%p1 bra END; " + arrive + arrive + "END: bar.sync 0;").outcome),
      HasSubstr("arrives at barrier.cluster twice"));
  EXPECT_THAT(
      findings_text(run_warps("setp.eq.u32 %p2, %r0, 3; @%p2 barrier.cluster.arrive;").outcome),
      HasSubstr("divergent barrier: only lanes 0x00000008 of 0xffffffff execute barrier.cluster, "
                "which needs all of them"));
}

TEST(ClusterOfOne, FencesWhatMayBeFenced) {
  EXPECT_THAT(fine("fence.proxy.alias; fence.proxy.async; fence.proxy.async.global; "
                   "fence.proxy.async.shared::cluster; "
                   "fence.mbarrier_init.release.cluster; "
                   "fence.proxy.tensormap::generic.acquire.gpu [%in], 128; "
                   "fence.proxy.tensormap::generic.release.cta; fence.acq_rel.cluster; "
                   "st.global.u32 [%out], 1;"),
              Each(1u));
}

TEST(ClusterOfOne, SaysWhatItLacks) {
  EXPECT_THAT(refusal("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add."
                      "u32 [%r1], %r2, [%r3];"),
              HasSubstr("asynchronous reductions are not emulated"));
  EXPECT_THAT(
      refusal("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.s32 [%out], [%r1], 16;"),
      HasSubstr("bulk reductions are emulated to global memory, and as additions"));
  EXPECT_THAT(
      refusal("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64 [%out], [%r1], 16;"),
      HasSubstr("of f32, f16, bf16 and s32"));
}

}  // namespace
}  // namespace plumbline::emulator
