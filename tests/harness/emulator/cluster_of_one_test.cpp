// SPDX-License-Identifier: MIT
// Kernels for clusters in a cluster of one block: what addresses the blocks of a cluster addresses the one there is.
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
      ".shared .align 8 .b64 bar; .shared .b32 data; mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; mov.u32 %r2, bar; "
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
  EXPECT_THAT(fine("mapa.shared::cluster.u32 %r4, %r2, 0; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r4]; "
                   "W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p7, [%r2], 0, 0x989680; @!%p7 bra W; "
                   "st.global.u32 [%out], 1;"),
              Each(1u));
  EXPECT_THAT(fine("@%p0 st.shared.u32 [data], 5; bar.sync 0; cvta.shared.u64 %d1, data; mapa.u64 %d2, %d1, 0; "
                   "getctarank.u64 %r5, %d2; ld.u32 %r4, [%d2]; add.u32 %r4, %r4, %r5; st.global.u32 [%out], %r4;"),
              Each(5u));
  EXPECT_THAT(findings_text(run("mapa.shared::cluster.u32 %r4, %r2, 1;").outcome),
              HasSubstr("bad operand: CTA 1 of a cluster of one"));
}

TEST(ClusterOfOne, ReadsAndWritesItsOwnSharedMemory) {
  EXPECT_THAT(fine("mapa.shared::cluster.u32 %r4, %r3, 0; @%p0 st.shared::cluster.u32 [%r4], 3; bar.sync 0; "
                   "red.relaxed.cluster.shared::cluster.add.u32 [%r4], 1; bar.sync 0; ld.shared::cluster.u32 %r5, [%r4]; "
                   "cvta.shared::cluster.u64 %d1, data; isspacep.shared::cluster %p1, %d1; @!%p1 trap; "
                   "st.global.u32 [%out], %r5;"),
              Each(35u));
}

TEST(ClusterOfOne, FencesWhatMayBeFenced) {
  EXPECT_THAT(fine("fence.proxy.alias; fence.proxy.async; fence.proxy.async.global; fence.proxy.async.shared::cluster; "
                   "fence.mbarrier_init.release.cluster; fence.proxy.tensormap::generic.acquire.gpu [%in], 128; "
                   "fence.proxy.tensormap::generic.release.cta; fence.acq_rel.cluster; st.global.u32 [%out], 1;"),
              Each(1u));
}

TEST(ClusterOfOne, SaysWhatItLacks) {
  EXPECT_THAT(refusal("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], %r2, [%r3];"),
              HasSubstr("asynchronous stores are not emulated"));
  EXPECT_THAT(refusal("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r1], %r2, [%r3];"),
              HasSubstr("asynchronous reductions are not emulated"));
  EXPECT_THAT(refusal("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%out], [%r1], 16;"),
              HasSubstr("bulk reductions are not emulated"));
}

}  // namespace
}  // namespace plumbline::emulator
