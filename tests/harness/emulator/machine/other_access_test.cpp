// SPDX-License-Identifier: MIT
// A finding that two accesses make names both: which thread made the earlier one, by which
// instruction, and what it did.
#include <algorithm>

#include "tests/harness/emulator/emulator_run.h"

namespace plumbline::emulator {
namespace {

// The body starts at line 10 + 1: kThread is line 10. %r31 is the thread's word of the tile.
constexpr std::string_view kThread =
    "mov.u32 %r0, %tid.x; mov.u32 %r30, tile; mad.lo.u32 %r31, %r0, 4, %r30; shr.u32 %r29, %r0, 5; "
    "setp.eq.u32 %p7, %r29, 0; "
    "and.b32 %r28, %r0, 31; mad.lo.u32 %r28, %r28, 4, %r30;\n";
constexpr std::string_view kScope = ".shared .align 16 .b8 tile[2048];";

LaunchOutcome run(const std::string& body, KernelOptions options) {
  return run_kernel(kernel_text(std::string(kThread) + body, 90, kScope),
                    std::vector<std::byte>(4096), 1024, options)
      .outcome;
}

// The findings of a launch, and of a second one in which the bytes of all of them are traced.
struct TwoLaunches {
  LaunchOutcome first, traced;
};

TwoLaunches run_twice(const std::string& body, std::int64_t threads = 64, std::int64_t ctas = 1) {
  KernelOptions options;
  options.block = {threads, 1, 1};
  options.grid = {ctas, 1, 1};
  TwoLaunches both{run(body, options), {}};
  for (const Finding& finding : both.first.findings) {
    if (finding.shared_address) options.traced.push_back({finding.cta, *finding.shared_address});
  }
  both.traced = run(body, options);
  return both;
}

// Both launches find the same, and the second one says of the finding at this line what the other
// access was.
void expect_other(const TwoLaunches& both, int line, std::string_view access_kind, int warp,
                  int lane, int other_line) {
  ASSERT_EQ(both.first.findings.size(), both.traced.findings.size()) << findings_text(both.traced);
  for (std::size_t i = 0; i < both.first.findings.size(); ++i) {
    EXPECT_EQ(both.first.findings[i].message, both.traced.findings[i].message);
    EXPECT_EQ(both.first.findings[i].occurrences, both.traced.findings[i].occurrences)
        << both.traced.findings[i].text();
  }
  const auto finding = std::ranges::find(both.traced.findings, line, &Finding::ptx_line);
  ASSERT_NE(finding, both.traced.findings.end()) << findings_text(both.traced);
  ASSERT_TRUE(finding->other.has_value()) << finding->text();
  EXPECT_EQ(finding->other->access_kind, access_kind) << finding->text();
  EXPECT_EQ(finding->other->warp, warp) << finding->text();
  EXPECT_EQ(finding->other->lane, lane) << finding->text();
  EXPECT_EQ(finding->other->ptx_line, other_line) << finding->text();
  EXPECT_EQ(finding->other->ptx_file, "test.ptx");
  EXPECT_FALSE(finding->other->ptx.empty());
  EXPECT_EQ(finding->other->cta, finding->cta);
}

TEST(OtherAccess, OfAReadIsTheWrite) {
  const TwoLaunches both =
      run_twice("@%p7 st.shared.u32 [%r31], %r0;\n@!%p7 ld.shared.u32 %r1, [%r31+-128];");
  expect_other(both, 12, "write", 0, 0, 11);
  EXPECT_FALSE(both.first.findings[0].other.has_value());  // not without tracing
}

TEST(OtherAccess, OfAWriteIsTheReadOfThatWarp) {
  // Behind the barrier warp 3 goes first, then 0, 1, 2: three warps read one word, each by another
  // lane and instruction, and the last one writes it.
  const TwoLaunches both = run_twice(
      "@%p7 st.shared.u32 [%r31], %r0; bar.sync 0; setp.eq.u32 %p1, %r0, 101; setp.eq.u32 %p2, "
      "%r0, 7; setp.eq.u32 %p3, %r0, 64;\n"
      "@%p1 ld.shared.u32 %r1, [tile];\n@%p2 ld.shared.u32 %r1, [tile];\n@%p3 ld.shared.u32 %r1, "
      "[tile];\n@%p3 st.shared.u32 [tile], 77;",
      128);
  ASSERT_EQ(both.first.findings.size(), 1u) << findings_text(both.first);
  expect_other(both, 15, "read", 0, 7, 13);
}

TEST(OtherAccess, OfAWriteIsTheWriteBeforeIt) {
  expect_other(run_twice("@%p7 st.shared.u32 [%r28], 1;\n@!%p7 st.shared.u32 [%r28], 2;"), 12,
               "write", 0, 0, 11);
  // A piece of a word, and another CTA than the first.
  expect_other(run_twice("mov.u32 %r1, %ctaid.x; setp.ne.u32 %p6, %r1, 2; @%p6 bra END;\n@%p7 "
                         "st.shared.u16 [%r28+2], 1;\n"
                         "@!%p7 st.shared.u16 [%r28+2], 2;\nEND: mov.u32 %r2, 0;",
                         64, 3),
               13, "write", 0, 0, 12);
}

TEST(OtherAccess, OfAMissingWaitIsTheCopy) {
  const TwoLaunches both = run_twice(
      "mad.lo.u32 %r1, %r0, 16, %r30; xor.b32 %r2, %r1, 512;\ncp.async.cg.shared.global [%r1], "
      "[%in], 16; cp.async.commit_group;\n"
      "bar.sync 0;\nld.shared.u32 %r3, [%r2];");
  expect_other(both, 14, "cp.async", 0, 0, 12);
}

TEST(OtherAccess, OfAReadBehindACopyIsTheCopy) {
  // Waited for, with no barrier behind the wait.
  const TwoLaunches both = run_twice(
      "mul.lo.u32 %r1, %r0, 16; add.u32 %r1, %r1, %r30;\n@%p7 cp.async.cg.shared.global [%r1], "
      "[%in], 16; cp.async.wait_all;\n"
      "@!%p7 ld.shared.u32 %r3, [%r1+-512];");
  expect_other(both, 13, "cp.async", 0, 0, 12);
}

TEST(OtherAccess, OfAWriteBehindACopyIsTheRead) {
  const TwoLaunches both = run_twice(
      "mad.lo.u32 %r1, %r0, 16, %r30; setp.eq.u32 %p1, %r0, 37; setp.eq.u32 %p2, %r0, 0;\n"
      "@%p7 cp.async.cg.shared.global [%r1], [%in], 16; cp.async.wait_all; bar.sync 0;\n@%p1 "
      "ld.shared.u32 %r3, [tile];\n"
      "@%p2 st.shared.u32 [tile], 9;");
  expect_other(both, 14, "read", 1, 5, 13);
}

TEST(OtherAccess, OfTwoLanesOfAnInstructionIsTheOtherLane) {
  KernelOptions options;
  const LaunchOutcome outcome = run("st.shared.u32 [tile], %r0;", options);
  ASSERT_EQ(outcome.findings.size(), 1u);
  ASSERT_TRUE(outcome.findings[0].other.has_value());
  EXPECT_EQ(outcome.findings[0].other->lane, 1);
  EXPECT_EQ(outcome.findings[0].other->ptx_line, 11);
}

TEST(OtherAccess, InGlobalMemoryIsTheOtherCtas) {
  KernelOptions options;
  options.grid = {2, 1, 1};
  const LaunchOutcome outcome =
      run("mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 0;\n@%p1 st.global.u32 [%out+8], 1;\n@!%p1 "
          "st.global.u32 [%out+8], 2;",
          options);
  ASSERT_EQ(outcome.findings.size(), 1u) << findings_text(outcome);
  ASSERT_TRUE(outcome.findings[0].other.has_value());
  const OtherAccess& other = *outcome.findings[0].other;
  EXPECT_EQ(other.access_kind, "write");
  EXPECT_EQ(other.cta[0], 1 - outcome.findings[0].cta[0]);
  EXPECT_EQ(other.ptx_line, other.cta[0] == 0 ? 12 : 13);
}

TEST(OtherAccess, IsInTheTextWithItsSourceLine) {
  const std::string text = header(90) +
                           ".file 1 \"kernel.cu\"\n.shared .b8 tile[4];\n.visible .entry k(.param "
                           ".u64 a, .param .u64 b)\n{\n"
                           ".reg .b32 %r<4>; .reg .pred %p<2>;\nmov.u32 %r0, %tid.x; setp.eq.u32 "
                           "%p0, %r0, 0; setp.eq.u32 %p1, %r0, 32;\n"
                           ".loc 1 42 7\n@%p0 st.shared.u32 [tile], 1;\n.loc 1 43 7\n@%p1 "
                           "st.shared.u32 [tile], 2;\nret;\n}\n";
  KernelOptions options;
  options.block = {64, 1, 1};
  options.traced = {
      {{0, 0, 0}, run_kernel(text, {}, 64, options).outcome.findings.at(0).shared_address.value()}};
  const LaunchOutcome outcome = run_kernel(text, {}, 64, options).outcome;
  ASSERT_EQ(outcome.findings.size(), 1u);
  const std::string said = outcome.findings[0].text();
  EXPECT_EQ(said.substr(said.find("; the other")),
            "; the other access: write by warp 0, lane 0 at test.ptx:11 `st.shared.u32 [tile], 1` "
            "(kernel.cu:42)");
}

TEST(OtherAccess, TracingFindsNothingByItself) {
  KernelOptions options;
  options.block = {64, 1, 1};
  for (std::uint64_t address = 0; address < 4096; address += 97)
    options.traced.push_back({{0, 0, 0}, address});
  const LaunchOutcome outcome =
      run("st.shared.u32 [%r31], %r0; bar.sync 0; ld.shared.u32 %r1, [%r31]; mad.lo.u32 %r2, %r0, "
          "16, %r30; bar.sync 0;\n"
          "cp.async.cg.shared.global [%r2], [%in], 16; cp.async.wait_all; bar.sync 0; "
          "ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r2]; bar.sync 0;\n"
          "st.shared.v2.u32 [%r2], {%r3, %r4}; ld.shared.u16 %r5, [%r2];",
          options);
  EXPECT_TRUE(outcome.findings.empty()) << findings_text(outcome);
}

}  // namespace
}  // namespace plumbline::emulator
