// SPDX-License-Identifier: MIT
// Reads of shared memory that nothing wrote: a finding when something depends on them, and only
// then. The kernel is one thread for each element of a GEMM over k = 0, whose answer is 0.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/judge/case_runner.h"
#include "tests/harness/tiny_gemm.h"

namespace plumbline {
namespace {

// %f0 is read from shared memory that nothing wrote, and %f2, which is stored, is 0 but for what
// {use} makes of it.
constexpr std::string_view kPtx = R"(.version 8.7
.target sm_80
.address_size 64
.visible .entry zeros(.param .u64 p_d, .param .u64 p_scratch)
{{
.reg .b32 %r<8>; .reg .b64 %d<4>; .reg .f32 %f<4>; .reg .pred %p;
.shared .align 4 .b8 tile[256];
ld.param.u64 %d0, [p_d];
ld.param.u64 %d1, [p_scratch];
mov.u32 %r0, %tid.x;
mov.u32 %r1, %ctaid.x;
mad.lo.u32 %r1, %r1, 32, %r0;
mad.wide.u32 %d0, %r1, 4, %d0;
ld.shared.f32 %f0, [tile];
mov.f32 %f2, 0f00000000;
{}
st.global.f32 [%d0], %f2;
ret;
}}
)";

struct Circumstances {
  bool reordered = false;  // the blocks run a second time, in another order
  std::int64_t ldd = 0;
};

std::vector<std::string> findings_of(std::string_view use, Circumstances circumstances = {}) {
  const Result<Manifest> kernel = parse_manifest(
      tiny_gemm_manifest(
          "entry = \"zeros\"\nparameters = [\"ptr d\", \"ptr workspace\"]\nworkspace = 4",
          "sequential", "free = [\"ldd\"]"),
      "zeros.toml");
  EXPECT_TRUE(kernel.ok()) << kernel.error().text();
  Case test_case;
  test_case.kernel = &*kernel;
  test_case.problem = Problem(kernel->schema());
  for (const std::string_view size : {"m", "n"}) test_case.problem.set_integer(size, 8);
  test_case.problem.set_integer("k", 0);
  test_case.problem.set_integer("ldd", circumstances.ldd);
  RunnerOptions options;
  options.all_relations = circumstances.reordered;
  options.image = [ptx = fmt::format(kPtx, use)](const Manifest&, int) {
    return Result<std::string>(ptx);
  };
  const Result<Execution> execution =
      CaseRunner(options).execute(test_case, Target{.sm = 80, .gpu_name = ""});
  EXPECT_TRUE(execution.ok()) << execution.error().text();
  EXPECT_EQ(execution->reordered, circumstances.reordered && execution->launch.findings.empty());
  std::vector<std::string> findings;
  for (const Finding& finding : execution->launch.findings) findings.push_back(name(finding.kind));
  return findings;
}

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kFound = "read of unwritten memory";

TEST(IdleReads, AreNoFindings) {
  EXPECT_THAT(findings_of(""), IsEmpty());
  EXPECT_THAT(findings_of("mul.f32 %f1, %f0, %f0;"), IsEmpty()) << "what comes of it is dropped";
  EXPECT_THAT(findings_of("st.shared.f32 [tile+128], %f0;"), IsEmpty());
}

// The padding of an output is as much garbage as the rest, and differs from launch to launch.
TEST(IdleReads, AreNoFindingsWhereOutputsHavePadding) {
  constexpr std::string_view kRows =
      "shr.u32 %r2, %r1, 3; mul.lo.u32 %r2, %r2, 16; mad.wide.u32 %d0, %r2, 1, %d0;";
  EXPECT_THAT(findings_of(kRows, {.ldd = 12}), IsEmpty());
  EXPECT_THAT(findings_of(std::string(kRows) + "add.f32 %f2, %f2, %f0;", {.ldd = 12}),
              ElementsAre(kFound));
}

TEST(IdleReads, OfScratchMemoryAndOfOutputsAreLikewise) {
  for (const std::string_view from : {"%d1", "%d0"}) {
    const std::string load = fmt::format("ld.global.f32 %f3, [{}];", from);
    EXPECT_THAT(findings_of(load), IsEmpty()) << from;
    EXPECT_THAT(findings_of(load + "max.f32 %f2, %f2, %f3;"), Contains(kFound)) << from;
  }
}

TEST(IdleReads, AreNoFindingsInAnotherOrderOfBlocks) {
  EXPECT_THAT(findings_of("", {.reordered = true}), IsEmpty());
  EXPECT_THAT(findings_of("add.f32 %f2, %f2, %f0;", {.reordered = true}), ElementsAre(kFound));
}

TEST(IdleReads, ThatReachAnOutputAreFindings) {
  EXPECT_THAT(findings_of("add.f32 %f2, %f2, %f0;"), ElementsAre(kFound));
}

TEST(IdleReads, ThatShowForNumbersOfOneSignAloneAreFindings) {
  EXPECT_THAT(findings_of("max.f32 %f2, %f2, %f0;"), ElementsAre(kFound)) << "drops NaN";
  EXPECT_THAT(findings_of("min.f32 %f2, %f2, %f0;"), ElementsAre(kFound));
}

// Registers %f3, %r5, %d3 and %p are written nowhere.
TEST(UnwrittenRegisters, AreFindingsWhereAnOutputDependsOnThem) {
  constexpr const char* kRegister = "unwritten register";
  EXPECT_THAT(findings_of("add.f32 %f2, %f2, %f3;"), ElementsAre(kRegister));
  EXPECT_THAT(findings_of("@%p mov.f32 %f2, 0f3f800000;"), ElementsAre(kRegister));
  EXPECT_THAT(findings_of("add.u64 %d0, %d0, %d3;"), ElementsAre(kRegister)) << "an address";
  EXPECT_THAT(findings_of("setp.ne.u32 %p, %r5, 0; @!%p bra over; mov.f32 %f2, 0f3f800000; over:"),
              ElementsAre(kRegister))
      << "a way";
  EXPECT_THAT(findings_of("setp.ne.u32 %p, %r5, 0; again: @%p bra again;"), ElementsAre(kRegister))
      << "the end";
}

TEST(UnwrittenRegisters, AreNoFindingsWhereNothingComesOfThem) {
  EXPECT_THAT(findings_of("mul.f32 %f1, %f3, %f3;"), IsEmpty()) << "what comes of it is dropped";
  EXPECT_THAT(
      findings_of(
          "mul.f32 %f1, %f3, 0f00000000; selp.f32 %f2, %f1, %f2, %p; mov.f32 %f2, 0f00000000;"),
      IsEmpty());
  // Written for every thread, by guarded instructions; and on a way that is never taken.
  EXPECT_THAT(findings_of("setp.lt.u32 %p, %r0, 16; @%p mov.f32 %f3, 0f00000000;"
                          " @!%p mov.f32 %f3, 0f00000000; add.f32 %f2, %f2, %f3;"),
              IsEmpty());
  EXPECT_THAT(findings_of("setp.gt.u32 %p, %r0, 99; @!%p bra over; add.f32 %f2, %f2, %f3; over:"),
              IsEmpty());
}

// A way that leads to the same outputs is none; one that writes others or does not end is.
TEST(IdleReads, ThatChooseAWayAreFindingsWhereItMatters) {
  const auto way = [](std::string_view code) {
    return fmt::format("setp.gt.f32 %p, %f0, 0f00000000; @!%p bra over; {} over:", code);
  };
  EXPECT_THAT(findings_of(way("mul.f32 %f1, %f0, %f0;")), IsEmpty());
  EXPECT_THAT(findings_of(way("mov.f32 %f2, 0f3f800000;")), ElementsAre(kFound));
  EXPECT_THAT(findings_of(way("again: bra again;")), ElementsAre(kFound));
}

// No compiler computes a quotient ahead of the branch that asks whether there is a divisor: one
// that reaches no output is a mistake of the source all the same.
TEST(IdleReads, ForgiveNoDivisionByZero) {
  const std::string quotient = "mov.u32 %r2, 0; div.u32 %r3, %r1, %r2;";
  constexpr const char* kDivided = "division by zero";
  EXPECT_THAT(findings_of(quotient), Contains(kDivided));
  EXPECT_THAT(findings_of(quotient + "setp.eq.u32 %p, %r3, 12345; @%p mov.f32 %f2, 0f3f800000;"),
              Contains(kDivided));
  EXPECT_THAT(findings_of("mov.u32 %r2, 3; div.u32 %r3, %r1, %r2;"), IsEmpty());
}

TEST(IdleReads, DoNotHideOtherFindings) {
  EXPECT_THAT(findings_of("st.shared.f32 [tile+1024], %f2;").size(), 2u);
}

}  // namespace
}  // namespace plumbline
