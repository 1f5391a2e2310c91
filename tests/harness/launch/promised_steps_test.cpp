// SPDX-License-Identifier: MIT
#include "harness/launch/promised_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/folders.h"

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

// Entry `s` begins at line 5; what follows it is `more`.
std::string ptx(const std::string& body, const std::string& more = "") {
  return ".version 8.7\n.target sm_80\n.address_size 64\n.visible .entry s() {\n" + body +
         "\nret; }\n" + more;
}

TEST(PromisedSteps, AnApproximateReciprocalAloneIsRefusedWithBothLines) {
  const Status status = check_promised_steps(
      softmax(),
      ptx(".reg .pred %p; .reg .f32 %f<3>; // rcp.rn.f32\n@%p rcp.approx.ftz.f32 %f1, %f2;"),
      "s.ptx");
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("normalize = \"reciprocal\""));
  EXPECT_THAT(status.error().message, HasSubstr("s.ptx:6"));
  EXPECT_THAT(status.error().where, HasSubstr("s.toml"));
}

TEST(PromisedSteps, ARoundedFormBesideItIsEnough) {
  const std::string registers = ".reg .f32 %f<3>;\n";
  EXPECT_TRUE(
      check_promised_steps(
          softmax(), ptx(registers + "rcp.approx.f32 %f1, %f2;\n\trcp.rn.f32 %f1, %f2;"), "s.ptx")
          .ok());
  EXPECT_TRUE(
      check_promised_steps(softmax(), ptx(registers + "ex2.approx.f32 %f1, %f2;"), "s.ptx").ok());
}

TEST(PromisedSteps, OnlyWhatTheKernelsEntriesReachCounts) {
  const auto body = [](const std::string& code) {
    return " { .reg .f32 %f<3>; " + code + " ret; }\n";
  };
  const std::string rounded = "rcp.rn.f32 %f1, %f2;", approximate = "rcp.approx.f32 %f1, %f2;";
  const auto accepted = [](const std::string& text) {
    return check_promised_steps(softmax(), text, "s.ptx").ok();
  };
  // Another entry is approximate; then it is the one that would have the rounded form.
  EXPECT_TRUE(accepted(ptx("", ".visible .entry other()" + body(approximate))));
  EXPECT_FALSE(
      accepted(ptx(".reg .f32 %f<3>; " + approximate, ".visible .entry other()" + body(rounded))));
  // A function is looked into where it is called.
  const std::string called = ".func f();\n.visible .entry s() { call f; ret; }\n.func f()",
                    header = ".version 8.7\n.target sm_80\n.address_size 64\n";
  EXPECT_FALSE(accepted(header + called + body(approximate)));
  EXPECT_TRUE(accepted(ptx("", ".func f()" + body(approximate))));
}

// Of a text's functions the library's own may be approximate inside; divisions and roots are not.
TEST(PromisedSteps, PreciseFunctionsDivideAndTakeRootsToNearest) {
  const Result<Manifest> kernel = read_manifest(
      PLUMBLINE_SOURCE_DIR "/kernels/shipped/quantize_per_token_fp8/quantize_per_token_fp8.toml");
  ASSERT_TRUE(kernel.ok()) << kernel.error().text();
  const auto checked = [&](const std::string& code) {
    return check_promised_steps(*kernel,
                                ".version 8.7\n.target sm_80\n.address_size 64\n.visible .entry "
                                "quantize_per_token_fp8() {\n.reg .f32 %f<4>;\n" +
                                    code + "\nret; }\n",
                                "q.ptx");
  };
  for (const char* wrong : {"div.full.f32 %f1, %f2, %f3;", "div.approx.f32 %f1, %f2, %f3;",
                            "sqrt.approx.ftz.f32 %f1, %f2;"}) {
    const Status status = checked(wrong);
    ASSERT_FALSE(status.ok()) << wrong;
    EXPECT_THAT(status.error().message, HasSubstr("functions = \"precise\""));
    EXPECT_THAT(status.error().message, HasSubstr("q.ptx:6"));
  }
  for (const char* right :
       {"div.rn.f32 %f1, %f2, %f3;", "sqrt.rn.f32 %f1, %f2;", "ex2.approx.f32 %f1, %f2;",
        "rcp.approx.f32 %f1, %f2;", "rsqrt.approx.f32 %f1, %f2;"}) {
    EXPECT_TRUE(checked(right).ok()) << right;
  }
}

}  // namespace
}  // namespace plumbline
