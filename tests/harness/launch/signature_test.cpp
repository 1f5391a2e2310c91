// SPDX-License-Identifier: MIT
// What a manifest says of its entries, held against the PTX beside it before anything is launched.
#include "harness/launch/signature.h"

#include <gmock/gmock.h>

#include "tests/harness/tiny_gemm.h"
#include "tests/kernels/manifest/manifest_files.h"

namespace plumbline {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr std::string_view kPtx = R"(.version 8.7
.target sm_80
.address_size 64
.visible .entry tiny_f32(.param .u64 p_a, .param .u64 p_d, .param .u32 p_n)
{
unknown.instruction of.a.later.chip;
}
)";

// The first thing that does not agree; empty when all does. The manifest's first line is empty, so
// that computes, summary, ptx and targets are lines 2 to 5, and `entry` is line 6.
std::string disagreement(const std::string& entry, const std::string& parameters,
                         const std::string& ptx = std::string(kPtx)) {
  const TemporaryFolder folder;
  if (!ptx.empty()) folder.write("tiny.ptx", ptx);
  const std::string path = folder.write(
      "k.toml", tiny_gemm_manifest("entry = \"" + entry + "\"\nparameters = [" + parameters + "]"));
  const Result<Manifest> kernel = read_manifest(path);
  EXPECT_TRUE(kernel.ok()) << kernel.error().text();
  const Status same = check_signatures(*kernel);
  return same ? "" : same.error().text();
}

const std::string kRight = R"("ptr a", "ptr d", "s32 n")";

TEST(Signature, ThatAgreesIsSilent) {
  EXPECT_EQ(disagreement("tiny_f32", kRight), "");
  EXPECT_EQ(disagreement("tiny_{out}", kRight), "");
  EXPECT_EQ(disagreement("tiny_f{m}", R"("ptr a")"), "") << "numbers are not tried";
}

TEST(Signature, EntriesThatAreMissingArePointedAt) {
  EXPECT_THAT(
      disagreement("tiny_f3", kRight),
      EndsWith("k.toml:6:10: there is no entry \"tiny_f3\" in tiny.ptx (entries: tiny_f32)"));
  EXPECT_THAT(disagreement("tiny_{layout}", kRight), HasSubstr("there is no entry \"tiny_nn\""));
}

TEST(Signature, ParametersAreCounted) {
  EXPECT_THAT(
      disagreement("tiny_f32", R"("ptr a", "s32 n")"),
      EndsWith("k.toml:7:14: entry tiny_f32 takes 3 parameters, the manifest lists 2 (they "
               "must match the kernel's signature in order and type; the first that differs "
               "is number 2, 8 bytes there and \"s32 n\" here)"));
  EXPECT_THAT(disagreement("tiny_{out}", R"("ptr a", "ptr d", "s32 n", "s32 k")"),
              HasSubstr("takes 3 parameters, the manifest lists 4 (they must match the kernel's "
                        "signature in order and type)"));
}

TEST(Signature, ParametersOfAnotherWidthArePointedAt) {
  EXPECT_THAT(disagreement("tiny_f32", R"("ptr a", "ptr d", "s64 n")"),
              HasSubstr("k.toml:7:34: parameter 3 (s64 n) is 4 bytes wide in entry tiny_f32, 8 in "
                        "the manifest"));
}

TEST(Signature, WithoutAPtxThatCanBeReadIsNotJudged) {
  EXPECT_EQ(disagreement("nothing", kRight, ""), "");
  EXPECT_EQ(disagreement("nothing", kRight, "no PTX"), "");
}

}  // namespace
}  // namespace plumbline
