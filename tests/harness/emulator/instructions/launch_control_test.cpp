// SPDX-License-Identifier: MIT
// clusterlaunchcontrol: clusters that take the work of others.
#include <gmock/gmock.h>

#include "tests/harness/emulator/emulator_run.h"

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// One thread. Each block adds 1 to the word of its own x, and then of every one that it takes; the
// word behind those says how many rounds it made. READ reads the answer into %q.
KernelRun run(std::string body, std::uint64_t order) {
  const auto replace = [&](std::string_view what, std::string_view by) {
    for (std::size_t at; (at = body.find(what)) != std::string::npos;)
      body.replace(at, what.size(), by);
  };
  replace("WAIT", "W: mbarrier.try_wait.parity.shared.b64 %p7, [%r2], %r5, 10000; @!%p7 bra W;");
  replace("READ", "ld.shared.v2.b64 {%d2, %d3}, [%r1]; mov.b128 %q, {%d2, %d3};");
  const std::string start = R"(
    .shared .align 16 .b8 answer[16]; .shared .align 8 .b64 bar; .reg .b128 %q;
    mov.u32 %r1, answer; mov.u32 %r2, bar; mov.u32 %r3, %ctaid.x; mov.u32 %r5, 0;
    mbarrier.init.shared.b64 [%r2], 1; bar.warp.sync 0xffffffff;
    NEXT: mul.wide.u32 %d0, %r3, 4; add.s64 %d0, %out, %d0; ld.global.u32 %r6, [%d0];
    add.u32 %r6, %r6, 1; st.global.u32 [%d0], %r6;
)";
  KernelOptions options;
  options.emulator.sm = 100;
  options.emulator.threads = 2;
  options.grid = {5, 1, 1};
  options.block = {1, 1, 1};
  options.out_is_written = true;
  options.cta_order = order;
  return run_kernel(kernel_text(start + body, 100), {}, 20, options);
}

constexpr std::string_view kTake =
    "mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 16;\n"
    "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r1], "
    "[%r2];\n";
constexpr std::string_view kGoOn =
    "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p1, %q; @!%p1 ret;\n"
    "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r3, %r7, %r8, _}, %q;\n"
    "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r9, %q;\n"
    "setp.ne.u32 %p2, %r9, %r3; @%p2 trap; or.b32 %r7, %r7, %r8; setp.ne.u32 %p2, %r7, 0; @%p2 "
    "trap; xor.b32 %r5, %r5, 1; fence.proxy.async.shared::cta; bra NEXT;";

TEST(LaunchControl, WorkIsDoneOnceInEveryOrderOfCtas) {
  for (const std::uint64_t order : {0, 1, 2, 3}) {
    const KernelRun done = run(std::string(kTake) + "WAIT READ\n" + std::string(kGoOn), order);
    EXPECT_TRUE(done.outcome.findings.empty()) << findings_text(done.outcome);
    EXPECT_THAT(done.values<u32>(), ElementsAre(1, 1, 1, 1, 1)) << order;
    EXPECT_TRUE(done.outcome.communicates);
  }
}

TEST(LaunchControl, TheAnswerHasToBeWaitedFor) {
  EXPECT_THAT(findings_text(run(std::string(kTake) + "READ\n" + std::string(kGoOn), 0).outcome),
              HasSubstr("missing wait"));
}

TEST(LaunchControl, IsOfBlackwell) {
  const auto module = make_emulator({.sm = 90, .threads = 1})
                          ->load(kernel_text(std::string(kTake), 90), "test.ptx");
  ASSERT_FALSE(module);
  EXPECT_THAT(module.error().text(), HasSubstr("it needs .target sm_100"));
}

}  // namespace
}  // namespace plumbline::emulator
