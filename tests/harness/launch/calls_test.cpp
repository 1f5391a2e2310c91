// SPDX-License-Identifier: MIT
// What a kernel keeps in variables of its module from one call to the next.
#include <gtest/gtest.h>

#include "fuzz/case/fresh_draw.h"
#include "harness/judge/case_runner.h"
#include "tests/harness/tiny_gemm.h"

namespace plumbline {
namespace {

// d = a b of one element each; `body` comes between %product and the store of %result.
std::string product_kernel(std::string_view body) {
  return fmt::format(R"(.version 8.7
.target sm_80
.address_size 64
.global .align 4 .u32 calls;
.global .align 4 .f32 kept;
.visible .entry tiny(.param .u64 p_a, .param .u64 p_b, .param .u64 p_d, .param .u32 p_m, .param .u32 p_n, .param .u32 p_k)
{{
  .reg .b64 %a, %b, %d;
  .reg .b16 %x, %y;
  .reg .b32 %r, %s, %calls, %thread;
  .reg .f32 %f, %g, %product, %result;
  .reg .pred %p, %first;
  mov.u32 %thread, %tid.x;
  setp.ne.u32 %p, %thread, 0;
  @%p ret;
  ld.param.u64 %a, [p_a];
  ld.param.u64 %b, [p_b];
  ld.param.u64 %d, [p_d];
  ld.global.u16 %x, [%a];
  ld.global.u16 %y, [%b];
  cvt.u32.u16 %r, %x;
  cvt.u32.u16 %s, %y;
  shl.b32 %r, %r, 16;
  shl.b32 %s, %s, 16;
  mov.b32 %f, %r;
  mov.b32 %g, %s;
  mul.rn.f32 %product, %f, %g;
  mov.f32 %result, %product;
  ld.global.u32 %calls, [calls];
{}
  st.global.f32 [%d], %result;
  ret;
}}
)",
                     body);
}

constexpr std::string_view kCounts = R"(
  add.u32 %calls, %calls, 1;
  st.global.u32 [calls], %calls;)";

// The result of the first call, for ever.
constexpr std::string_view kCaches = R"(
  setp.eq.u32 %first, %calls, 0;
  @%first st.global.f32 [kept], %product;
  add.u32 %calls, %calls, 1;
  st.global.u32 [calls], %calls;
  ld.global.f32 %result, [kept];)";

// Its second call takes the counter for that of a block that has finished.
constexpr std::string_view kNeverResets = R"(
  setp.ne.u32 %first, %calls, 0;
  @%first mov.f32 %result, 0f00000000;
  add.u32 %calls, %calls, 1;
  st.global.u32 [calls], %calls;)";

Case tiny_case(const Manifest& kernel) {
  Case test_case;
  test_case.kernel = &kernel;
  test_case.problem = Problem(kernel.schema());
  for (const std::string_view size : {"m", "n", "k"}) test_case.problem.set_integer(size, 1);
  return test_case;
}

CaseRecord record_of(std::string_view body, int repeat = 1) {
  const Result<Manifest> kernel = parse_manifest(tiny_gemm_manifest(kTinyEntry), "tiny.toml");
  EXPECT_TRUE(kernel.ok()) << kernel.error().text();
  const Case test_case = tiny_case(*kernel);
  RunnerOptions options;
  options.repeat = repeat;
  options.image = [&](const Manifest&, int) { return Result<std::string>(product_kernel(body)); };
  return CaseRunner(options).run(test_case, {.sm = 80}).value();
}

TEST(Calls, AKernelMayCountThem) {
  EXPECT_EQ(record_of("").verdict, Verdict::pass) << record_of("").reason;
  EXPECT_EQ(record_of(kCounts).verdict, Verdict::pass) << record_of(kCounts).reason;
  EXPECT_EQ(record_of(kCounts, 3).verdict, Verdict::pass) << record_of(kCounts, 3).reason;
}

TEST(Calls, AResultOfTheCallBeforeIsWrong) {
  const CaseRecord record = record_of(kCaches);
  EXPECT_EQ(record.verdict, Verdict::fail);
  EXPECT_EQ(record.claims.at(Claim::deterministic), Verdict::fail);
}

TEST(Calls, ACounterThatIsNotResetIsFound) {
  EXPECT_EQ(record_of(kNeverResets).verdict, Verdict::fail);
}

// The call in between has other inputs, and with those alone the kernel leaves its memory.
TEST(Calls, WhatTheCallInBetweenDoesIsFound) {
  const Result<Manifest> kernel = parse_manifest(tiny_gemm_manifest(kTinyEntry), "tiny.toml");
  ASSERT_TRUE(kernel.ok()) << kernel.error().text();
  const Case test_case = tiny_case(*kernel);
  const std::uint64_t own = materialize(test_case)->find("a")->bits(0);
  ASSERT_NE(own, materialize(with_fresh_draw(test_case, 0))->find("a")->bits(0));
  const std::string leaves = fmt::format(
      "{}\n  setp.ne.u32 %first, %r, {};\n"
      "  @%first st.global.f32 [%d+4096], %result;",
      kCounts, own << 16);
  const CaseRecord record = record_of(leaves);
  EXPECT_EQ(record.verdict, Verdict::fail);
  EXPECT_EQ(record.claims.at(Claim::in_bounds), Verdict::fail);
  EXPECT_NE(record.reason.find("called with other inputs"), std::string::npos) << record.reason;
}

TEST(Calls, RepeatedLaunchesFindWhatTheOneBeforeLeft) {
  const CaseRecord record = record_of(kNeverResets, 3);
  EXPECT_EQ(record.verdict, Verdict::fail);
  EXPECT_EQ(record.claims.at(Claim::deterministic), Verdict::fail);
}

}  // namespace
}  // namespace plumbline
