// SPDX-License-Identifier: MIT
// Cases whose single errors are all admissible and whose errors together are not, from launch to
// verdict: a kernel small enough to know the answer, one thread for each element of a GEMM.
#include "harness/population/population.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fuzz/case/fresh_draw.h"
#include "harness/judge/case_runner.h"
#include "tests/harness/tiny_gemm.h"

namespace plumbline {
namespace {

using ::testing::HasSubstr;

// In every eighth step from the 65th on, %p3 is set where `{armed}` lets it.
constexpr std::string_view kPtx = R"(.version 8.7
.target sm_80
.address_size 64
.visible .entry tiny(.param .u64 p_a, .param .u64 p_b, .param .u64 p_d, .param .u32 p_m, .param .u32 p_n, .param .u32 p_k)
{
.reg .b32 %r<20>; .reg .b64 %d<16>; .reg .f32 %x, %y, %sum; .reg .pred %p<6>;
ld.param.u64 %d0, [p_a];
ld.param.u64 %d1, [p_b];
ld.param.u64 %d2, [p_d];
ld.param.u32 %r0, [p_n];
ld.param.u32 %r1, [p_k];
ld.global.u16 %r15, [%d0];
mov.u32 %r2, %ctaid.x;
mov.u32 %r3, %tid.x;
mad.lo.u32 %r2, %r2, 32, %r3;
div.u32 %r12, %r2, %r0;
rem.u32 %r13, %r2, %r0;
mul.lo.u32 %r4, %r12, %r1;
mad.wide.u32 %d0, %r4, 2, %d0;
mad.wide.u32 %d1, %r13, 2, %d1;
mul.wide.u32 %d3, %r0, 2;
mad.wide.u32 %d2, %r2, 4, %d2;
mov.f32 %sum, 0f00000000;
mov.u32 %r6, 0;
step:
setp.ge.u32 %p2, %r6, %r1;
@%p2 bra last;
ld.global.u16 %r7, [%d0];
ld.global.u16 %r8, [%d1];
shl.b32 %r7, %r7, 16;
shl.b32 %r8, %r8, 16;
mov.b32 %x, %r7;
mov.b32 %y, %r8;
and.b32 %r14, %r6, 7;
setp.eq.u32 %p3, %r14, 7;
setp.ge.and.u32 %p3, %r6, 64, %p3;
{armed}
@%p3 fma.rz.f32 %sum, %x, %y, %sum;
@!%p3 fma.rn.f32 %sum, %x, %y, %sum;
add.u64 %d0, %d0, 2;
add.u64 %d1, %d1, %d3;
add.u32 %r6, %r6, 1;
bra step;
last:
st.global.f32 [%d2], %sum;
ret;
}
)";

std::string with(std::string text, std::string_view hole, std::string_view filling) {
  text.replace(text.find(hole), hole.size(), filling);
  return text;
}

struct Population : testing::Test {
  Manifest kernel;
  Case test_case;

  void SetUp() override { promise("sequential"); }

  void promise(std::string_view schedule) {
    Result<Manifest> parsed = parse_manifest(tiny_gemm_manifest(kTinyEntry, schedule), "tiny.toml");
    ASSERT_TRUE(parsed.ok()) << parsed.error().text();
    kernel = *std::move(parsed);
    kernel.promised.contract.bits = false;  // the bound alone: these faults are within it
    test_case.kernel = &kernel;
    test_case.problem = Problem(kernel.schema());
    for (const std::string_view size : {"m", "n"}) test_case.problem.set_integer(size, 64);
    test_case.problem.set_integer("k", 512);
  }

  CaseRunner runner(std::string_view armed) const {
    RunnerOptions options;
    options.image = [ptx = with(std::string(kPtx), "{armed}", armed)](const Manifest&, int) {
      return Result<std::string>(ptx);
    };
    return CaseRunner(options);
  }

  CaseRecord run(std::string_view armed) const {
    return *runner(armed).run(test_case, Target{.sm = 80, .gpu_name = ""});
  }
};

constexpr std::string_view kNever = "setp.ne.u32 %p3, %r6, %r6;", kAlways = "";

TEST_F(Population, AKernelThatKeepsItsContractPassesAndSaysWhatWouldBeSeen) {
  const CaseRecord record = run(kNever);
  EXPECT_EQ(record.verdict, Verdict::pass) << record.reason;
  EXPECT_EQ(record.claims.at(Claim::population), Verdict::pass);
  EXPECT_THAT(record.population, HasSubstr("32 of k counted"));
}

TEST_F(Population, ALeanInsideEveryBoundFailsWhenItIsThereOnEveryDraw) {
  const CaseRecord record = run(kAlways);
  EXPECT_EQ(record.verdict, Verdict::fail);
  EXPECT_EQ(record.claims.at(Claim::bound), Verdict::pass);
  EXPECT_EQ(record.claims.at(Claim::population), Verdict::fail);
  EXPECT_THAT(record.reason, HasSubstr("lean toward zero"));
  EXPECT_THAT(record.reason, HasSubstr("3 other draws"));
}

// The same fault, armed by the first element of A as this draw has it.
TEST_F(Population, WhatOneDrawShowsAloneIsNoVerdict) {
  const Result<CaseTensors> tensors = materialize(test_case);
  ASSERT_TRUE(tensors.ok());
  const auto examined =
      runner(fmt::format("setp.eq.and.u32 %p3, %r15, {}, %p3;", tensors->find("a")->bits(0)))
          .examine(test_case, Target{.sm = 80, .gpu_name = ""});
  ASSERT_TRUE(examined.ok());
  const Examined& seen = **examined;
  const auto on_this_draw = test_population(test_case, seen.tensors, *seen.oracle, 1);
  ASSERT_TRUE(on_this_draw.has_value());
  EXPECT_FALSE(on_this_draw->suspicions.empty());
  EXPECT_EQ(seen.record.verdict, Verdict::pass) << seen.record.reason;
  EXPECT_EQ(seen.record.claims.at(Claim::population), Verdict::pass);
  EXPECT_THAT(seen.record.population, HasSubstr("only this draw of inputs shows errors that lean"));
}

// On the draws that are to confirm what this one shows it writes where it must not.
TEST_F(Population, WhatAFreshDrawBreaksFails) {
  const Result<CaseTensors> tensors = materialize(test_case);
  ASSERT_TRUE(tensors.ok());
  const CaseRecord record =
      run(fmt::format("setp.ne.u32 %p4, %r15, {}; @%p4 st.global.f32 [%d2+16777216], %sum;",
                      tensors->find("a")->bits(0)));
  EXPECT_EQ(record.verdict, Verdict::fail);
  EXPECT_EQ(record.claims.at(Claim::in_bounds), Verdict::fail);
  EXPECT_THAT(record.reason, HasSubstr("with other inputs of the same class (tiny"));
}

TEST_F(Population, WithoutAPromisedOrderThereIsNothingToCompareWith) {
  promise("any");
  const CaseRecord record = run(kAlways);
  EXPECT_EQ(record.verdict, Verdict::pass) << record.reason;
  EXPECT_FALSE(record.claims.contains(Claim::population));
  EXPECT_EQ(record.population, "");
}

TEST_F(Population, FreshDrawsDifferInTheirSeedsAlone) {
  Case fresh = with_fresh_draw(test_case, 0);
  EXPECT_NE(fresh.recipe.seed, test_case.recipe.seed);
  EXPECT_NE(fresh.recipe.seed, with_fresh_draw(test_case, 1).recipe.seed);
  fresh.recipe.seed = test_case.recipe.seed;
  EXPECT_EQ(fresh.text(), test_case.text());
}

TEST(Suspicions, OfAnotherOutputConfirmNothing) {
  Suspicion of_dx;
  of_dx.output = "dx";
  of_dx.words = "errors that lean toward zero";
  Suspicion of_dw = of_dx;
  of_dw.output = "dw";
  EXPECT_TRUE(confirmed({of_dx}, {of_dw}).empty());
  const std::vector<Suspicion> both = confirmed({of_dx}, {of_dw, of_dx});
  ASSERT_EQ(both.size(), 1);
  EXPECT_THAT(words_of(both), HasSubstr("all errors of dx at once show errors that lean"));
}

}  // namespace
}  // namespace plumbline
