// SPDX-License-Identifier: MIT
// A race of shared memory in a case's record: the case is launched again to learn of the other
// access. The kernel is one thread for each element of a GEMM over k = 0, whose answer is 0; in
// every block its second warp reads what the first one wrote.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/judge/case_runner.h"
#include "tests/harness/tiny_gemm.h"

namespace plumbline {
namespace {

constexpr std::string_view kPtx = R"(.version 8.7
.target sm_80
.address_size 64
.file 1 "zeros.cu"
.visible .entry zeros(.param .u64 p_d, .param .u32 p_m)
{
.reg .b32 %r<8>; .reg .b64 %d<4>; .reg .pred %p<4>;
.shared .align 4 .b8 tile[256];
ld.param.u64 %d0, [p_d];
mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; and.b32 %r4, %r0, 31;
mad.lo.u32 %r1, %r1, 32, %r4; mad.wide.u32 %d0, %r1, 4, %d0;
setp.lt.u32 %p0, %r0, 32; mov.u32 %r5, tile; mad.lo.u32 %r5, %r4, 4, %r5;
.loc 1 20 3
@%p0 st.shared.u32 [%r5], 0;
.loc 1 30 3
@!%p0 ld.shared.u32 %r6, [%r5];
@!%p0 st.global.u32 [%d0], 0;
ret;
}
)";

TEST(OtherAccess, IsInTheRecordOfACase) {
  std::string manifest =
      tiny_gemm_manifest("entry = \"zeros\"\nparameters = [\"ptr d\", \"s32 m\"]");
  manifest.replace(manifest.find("block = [32]"), 12, "block = [64]");
  const Result<Manifest> kernel = parse_manifest(manifest, "zeros.toml");
  ASSERT_TRUE(kernel.ok()) << kernel.error().text();
  Case test_case;
  test_case.kernel = &*kernel;
  test_case.problem = Problem(kernel->schema());
  for (const std::string_view size : {"m", "n"}) test_case.problem.set_integer(size, 8);
  test_case.problem.set_integer("k", 0);
  RunnerOptions options;
  options.image = [](const Manifest&, int) { return Result<std::string>(std::string(kPtx)); };
  const std::optional<CaseRecord> record =
      CaseRunner(options).run(test_case, Target{.sm = 80, .gpu_name = ""});
  ASSERT_TRUE(record);
  ASSERT_EQ(record->findings.size(), 1u) << record->reason;
  const FindingRecord& race = record->findings[0];
  EXPECT_EQ(race.kind, "race");
  EXPECT_EQ(race.source_line, 30);
  ASSERT_TRUE(race.other);
  EXPECT_EQ(race.other->access, "write");
  EXPECT_EQ(race.other->warp, 0);
  EXPECT_EQ(race.other->lane, 0);
  EXPECT_EQ(race.other->source_file, "zeros.cu");
  EXPECT_EQ(race.other->source_line, 20);
  EXPECT_THAT(race.other->text, testing::StartsWith("write by warp 0, lane 0 at "));
  EXPECT_THAT(race.text, testing::EndsWith("; the other access: " + race.other->text));
}

}  // namespace
}  // namespace plumbline
