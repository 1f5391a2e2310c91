// SPDX-License-Identifier: MIT
// Which branches repeat a loop, and how often they were taken.
#include <gmock/gmock.h>

#include "tests/harness/emulator/emulator_run.h"

namespace plumbline::emulator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The lines of a kernel's branches that repeat a loop.
std::vector<int> loop_lines(std::string_view body) {
  const auto device = make_emulator({.sm = 90});
  const auto module = device->load(kernel_text(body), "test.ptx");
  if (!module) {
    ADD_FAILURE() << module.error().text();
    return {};
  }
  std::vector<int> lines;
  for (const CodePlace& place : (*module)->code()) {
    if (place.repeats_loop) lines.push_back(place.ptx_line);
  }
  return lines;
}

TEST(Loops, EndWithABranchBackward) {
  EXPECT_THAT(loop_lines("mov.u32 %r0, 0;\nA: add.u32 %r0, %r0, 1; setp.lt.u32 %p0, %r0, 3;\n@%p0 "
                         "bra A;\nbra B;\nB: mov.u32 %r1, 0;"),
              ElementsAre(12));
  EXPECT_THAT(loop_lines("A: bra A;"), ElementsAre(10));
}

TEST(Loops, ThatWaitForOthersAreNone) {
  EXPECT_THAT(loop_lines(".shared .align 8 .b64 bar; mov.u32 %r2, bar;\nW: "
                         "mbarrier.try_wait.parity.shared.b64 %p7, [%r2], 0;\n@!%p7 bra W;"),
              IsEmpty());
  EXPECT_THAT(loop_lines(".shared .align 8 .b64 bar; mov.u32 %r2, bar;\nW: "
                         "mbarrier.try_wait.parity.shared.b64 %p7, [%r2], 0;\n"
                         "selp.u32 %r3, 1, 0, %p7; setp.eq.u32 %p6, %r3, 0;\n@%p6 bra W;"),
              IsEmpty());
  EXPECT_THAT(
      loop_lines("W: ld.acquire.gpu.global.u32 %r2, [%in]; setp.eq.u32 %p1, %r2, 0;\n@%p1 bra W;"),
      IsEmpty());
  EXPECT_THAT(
      loop_lines("W: atom.global.cas.b32 %r2, [%in], 0, 1; setp.ne.u32 %p1, %r2, 0;\n@%p1 bra W;"),
      IsEmpty());
}

TEST(Loops, InWhichSomethingWaitsAreLoops) {
  EXPECT_THAT(
      loop_lines(".shared .align 8 .b64 bar; mov.u32 %r2, bar; mov.u32 %r0, 0;\nK: mov.u32 %r1, "
                 "0;\nW: mbarrier.try_wait.parity.shared.b64 %p7, [%r2], 0;\n"
                 "@!%p7 bra W;\nadd.u32 %r0, %r0, 1; setp.lt.u32 %p0, %r0, 3;\n@%p0 bra K;"),
      ElementsAre(15));
  // The next tile from a counter that all share.
  EXPECT_THAT(
      loop_lines("T: atom.global.add.u32 %r2, [%in], 1; setp.lt.u32 %p1, %r2, 9;\n@%p1 bra T;"),
      ElementsAre(11));
}

TEST(Loops, AreCountedWhenTheyAreRepeated) {
  KernelOptions options;
  options.block = {64, 1, 1};
  const auto repeats = [&](int turns) {
    const KernelRun run = run_kernel(
        kernel_text(fmt::format(
            "mov.u32 %r0, 0;\nA: add.u32 %r0, %r0, 1; setp.lt.u32 %p0, %r0, {};\n@%p0 bra A;",
            turns)),
        {}, 4, options);
    for (const InstructionCount& one : run.outcome.executions) {
      if (one.ptx_line == 12) return std::pair(one.executions, one.repeats);
    }
    return std::pair(std::uint64_t{0}, ~std::uint64_t{0});
  };
  EXPECT_EQ(repeats(1), std::pair(std::uint64_t{2}, std::uint64_t{0}));  // two warps
  EXPECT_EQ(repeats(5), std::pair(std::uint64_t{10}, std::uint64_t{8}));
}

}  // namespace
}  // namespace plumbline::emulator
