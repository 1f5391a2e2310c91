// SPDX-License-Identifier: MIT
#include "harness/judge/code_sizes.h"
#include "tests/folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/judge/case_runner.h"
#include "kernels/registry.h"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string kernel_of(std::string_view body) {
  return std::string(R"(.version 8.7
.target sm_80
.address_size 64
.visible .entry k(.param .u32 p_n)
{
  .reg .b32 %n, %x;
  .reg .f32 %f;
  .reg .pred %p;
  ld.param.u32 %n, [p_n];
)") + std::string(body) +
         "  ret;\n}\n";
}

TEST(CodeSizes, AreWhatIntegersAreComparedWithFirst) {
  EXPECT_THAT(code_sizes(kernel_of("setp.eq.s32 %p, %n, 8192;\n"
                                   "shr.u32 %x, %n, 9;\n"
                                   "setp.lt.u32 %p, 288, %n;\n"
                                   "and.b32 %x, %n, 1023;\n"
                                   "and.b32 %x, %n, -2048;\n"
                                   "rem.u32 %x, %n, 300;\n"
                                   "min.s32 %x, %n, 40000;\n"),
                         "k.ptx"),
              ElementsAre(40000, 8192, 288, 2048, 1024, 512, 300));
}

// Numbers that every plan has, addresses' and conversions', and real ones.
TEST(CodeSizes, LeaveOutWhatIsNoSize) {
  EXPECT_THAT(code_sizes(kernel_of("setp.eq.s32 %p, %n, 16;\n"
                                   "setp.gt.s32 %p, %n, 2147483647;\n"
                                   "setp.gt.s32 %p, %n, -1;\n"
                                   "shl.b32 %x, %n, 16;\n"
                                   "and.b32 %x, %n, 37;\n"
                                   "add.s32 %x, %n, 5000;\n"
                                   "setp.gt.f32 %p, %f, 0f42C80000;\n"),
                         "k.ptx"),
              IsEmpty());
  EXPECT_THAT(code_sizes("no PTX at all", "k.ptx"), IsEmpty());
}

TEST(CodeSizes, OfAKernelAreThoseOfAllItsBuilds) {
  const Result<Registry> registry = Registry::open(std::string(PLUMBLINE_SOURCE_DIR) + "/kernels");
  ASSERT_TRUE(registry.ok());
  const Manifest* kernel = registry->find("gemm_bf16");
  ASSERT_NE(kernel, nullptr);
  const auto image = [&](const Manifest&, int sm) {
    return Result<std::string>(
        kernel_of(sm == 80 ? "setp.eq.s32 %p, %n, 100;\n" : "setp.eq.s32 %p, %n, 200;\n"));
  };
  EXPECT_THAT(code_sizes(*kernel, image), ElementsAre(200, 100));
}

}  // namespace
}  // namespace plumbline
