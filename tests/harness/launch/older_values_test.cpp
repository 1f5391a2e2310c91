// SPDX-License-Identifier: MIT
// A kernel whose last block reads what the others stored as volatile: a finding where the outputs
// depend on a fence that is missing. One element of a GEMM over k = 0 for each block.
#include <gtest/gtest.h>

#include "harness/judge/case_runner.h"
#include "tests/harness/tiny_gemm.h"

namespace plumbline {
namespace {

constexpr std::string_view kPtx = R"(.version 8.7
.target sm_80
.address_size 64
.global .align 4 .u32 stored[2];
.global .align 4 .u32 count;
.visible .entry zeros(.param .u64 p_d)
{{
.reg .b32 %r<8>; .reg .b64 %d<4>; .reg .pred %p<4>;
ld.param.u64 %d0, [p_d];
mov.u32 %r0, %tid.x;
setp.ne.u32 %p0, %r0, 0;
@%p0 ret;
mov.u32 %r1, %ctaid.x;
mul.wide.u32 %d1, %r1, 4;
mov.u64 %d2, stored;
add.s64 %d2, %d2, %d1;
st.volatile.global.u32 [%d2], 1;
{}
atom.global.inc.u32 %r2, [count], 1;
setp.ne.u32 %p1, %r2, 1;
@%p1 ret;
ld.volatile.global.u32 %r3, [stored];
ld.volatile.global.u32 %r4, [stored+4];
mov.u32 %r5, 0;
st.volatile.global.u32 [stored], %r5;
st.volatile.global.u32 [stored+4], %r5;
{}
st.global.u32 [%d0], %r5;
st.global.u32 [%d0+4], %r5;
ret;
}}
)";

// Both blocks have stored 1.
constexpr std::string_view kUsesThem = "add.u32 %r5, %r3, %r4; sub.u32 %r5, %r5, 2;";

CaseRecord record_of(std::string_view fence, std::string_view use) {
  std::string manifest = tiny_gemm_manifest("entry = \"zeros\"\nparameters = [\"ptr d\"]");
  constexpr std::string_view kOneBlock = "ceil_div(m * n, 32)";
  manifest.replace(manifest.find(kOneBlock), kOneBlock.size(), "m * n");
  const Result<Manifest> kernel = parse_manifest(manifest, "zeros.toml");
  EXPECT_TRUE(kernel.ok()) << kernel.error().text();
  Case test_case;
  test_case.kernel = &*kernel;
  test_case.problem = Problem(kernel->schema());
  test_case.problem.set_integer("m", 2);
  test_case.problem.set_integer("n", 1);
  test_case.problem.set_integer("k", 0);
  RunnerOptions options;
  options.image = [ptx = fmt::format(kPtx, fence, use)](const Manifest&, int) {
    return Result<std::string>(ptx);
  };
  return CaseRunner(options).run(test_case, Target{.sm = 80}).value();
}

TEST(OlderValues, ThatReachAnOutputAreFindings) {
  EXPECT_EQ(record_of("membar.gl;", kUsesThem).verdict, Verdict::pass);
  EXPECT_EQ(record_of("", "").verdict, Verdict::pass) << "nothing depends on them";
  const CaseRecord record = record_of("", kUsesThem);
  EXPECT_EQ(record.verdict, Verdict::fail);
  ASSERT_EQ(record.findings.size(), 1u);
  EXPECT_EQ(record.findings[0].kind, "race");
}

}  // namespace
}  // namespace plumbline
