// SPDX-License-Identifier: MIT
#include "harness/judge/promised_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumbline {
namespace {

using testing::HasSubstr;

Manifest softmax() {
  const Result<Manifest> kernel = parse_manifest(R"(
computes = "softmax"
summary = "softmax of rows"
ptx = "s.ptx"
targets = [80]
entry = "s"
parameters = ["ptr x", "ptr y", "s64 m", "s32 n"]
[problem]
out = ["f32"]
[launch]
grid = ['m']
block = [32]
[formats]
x = "bf16"
y = "f32"
[contract]
lanes = 32
normalize = "reciprocal"
)",
                                                 "s.toml");
  EXPECT_TRUE(kernel.ok()) << kernel.error().text();
  return *kernel;
}

TEST(PromisedSteps, AnApproximateReciprocalAloneIsRefusedWithBothLines) {
  const Status status =
      check_promised_steps(softmax(), "// rcp.rn.f32\n@%p rcp.approx.ftz.f32 %f1, %f2;\n", "s.ptx");
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("normalize = \"reciprocal\""));
  EXPECT_THAT(status.error().message, HasSubstr("s.ptx:2"));
  EXPECT_THAT(status.error().where, HasSubstr("s.toml"));
}

TEST(PromisedSteps, ARoundedFormBesideItIsEnough) {
  EXPECT_TRUE(check_promised_steps(
                  softmax(), "rcp.approx.f32 %f1, %f2;\n\trcp.rn.f32 %f1, %f2;\n", "s.ptx")
                  .ok());
  EXPECT_TRUE(check_promised_steps(softmax(), "ex2.approx.f32 %f1, %f2;\n", "s.ptx").ok());
}

}  // namespace
}  // namespace plumbline
