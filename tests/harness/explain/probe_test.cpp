// SPDX-License-Identifier: MIT
// The arithmetic of kernels written out in PTX, found by running them on the emulator, beside what
// a contract says of them. The kernels compute the diagonal of D only, one thread per element: that
// is where the probes' results are.
#include "harness/explain/probe.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumbline {
namespace {

using ::testing::HasSubstr;

// fma of a[t, p] * b[p, t] over p, in order; `every`, a power of two, starts a fresh sum every so
// many p. `body` is what every step does with the operands in %x and %y.
std::string diagonal_kernel(int every, std::string_view body) {
  return fmt::format(R"(.version 8.7
.target sm_80
.address_size 64
.visible .entry diagonal(.param .u64 p_a, .param .u64 p_b, .param .u64 p_d, .param .u32 p_n, .param .u32 p_k)
{{
.reg .b32 %r<16>; .reg .b64 %d<16>; .reg .f32 %x, %y, %part, %sum; .reg .pred %p<4>;
ld.param.u64 %d0, [p_a];
ld.param.u64 %d1, [p_b];
ld.param.u64 %d2, [p_d];
ld.param.u32 %r0, [p_n];
ld.param.u32 %r1, [p_k];
mov.u32 %r2, %ctaid.x;
mov.u32 %r3, %tid.x;
mad.lo.u32 %r2, %r2, 32, %r3;
setp.ge.u32 %p0, %r2, %r0;
@%p0 bra done;
mul.lo.u32 %r4, %r2, %r1;
mad.wide.u32 %d0, %r4, 2, %d0;
mad.wide.u32 %d1, %r2, 2, %d1;
mul.wide.u32 %d3, %r0, 2;
mad.lo.u32 %r5, %r2, %r0, %r2;
mad.wide.u32 %d2, %r5, 4, %d2;
mov.f32 %sum, 0f00000000;
mov.f32 %part, 0f00000000;
mov.u32 %r6, 0;
step:
ld.global.u16 %r7, [%d0];
ld.global.u16 %r8, [%d1];
shl.b32 %r7, %r7, 16;
shl.b32 %r8, %r8, 16;
mov.b32 %x, %r7;
mov.b32 %y, %r8;
{}
add.u64 %d0, %d0, 2;
add.u64 %d1, %d1, %d3;
add.u32 %r6, %r6, 1;
and.b32 %r9, %r6, {};
setp.ne.u32 %p1, %r9, 0;
@%p1 bra next;
add.rn.f32 %sum, %sum, %part;
mov.f32 %part, 0f00000000;
next:
setp.lt.u32 %p2, %r6, %r1;
@%p2 bra step;
add.rn.f32 %sum, %sum, %part;
st.global.f32 [%d2], %sum;
done:
ret;
}}
)",
                     body, every - 1);
}

constexpr std::string_view kFma = "fma.rn.f32 %part, %x, %y, %part;";
constexpr std::string_view kCutFma = "fma.rz.f32 %part, %x, %y, %part;";
constexpr int kNever = 1024;

std::string manifest_text(std::string_view contract, std::string_view out = "\"f32\"") {
  return fmt::format(R"(
computes = "gemm"
summary = "the diagonal of D"
ptx = "diagonal.ptx"
targets = [80]
entry = "diagonal"
parameters = ["ptr a", "ptr b", "ptr d", "s32 n", "s32 k"]
[problem]
out = [{}]
[launch]
grid = ['ceil_div(n, 32)']
block = [32]
[formats]
a = "bf16"
b = "bf16"
c = "{{out}}"
d = "{{out}}"
[contract]
{}
epilogue = []
)",
                     out, contract);
}

constexpr std::string_view kPromisesFma = "unit = \"fma.f32\"\nschedule = \"sequential\"";
constexpr std::string_view kPromisesMma = "unit = \"mma.sync\"\nschedule = \"sequential\"";

Result<std::vector<ProbedArithmetic>> probe(const std::string& manifest, const std::string& ptx) {
  const Result<Manifest> kernel = parse_manifest(manifest, "diagonal.toml");
  if (!kernel) return kernel.error();
  RunnerOptions options;
  options.image = [&ptx](const Manifest&, int) { return Result<std::string>(ptx); };
  CaseRunner runner(options);
  return probe_arithmetic(*kernel, Target{.sm = 80, .gpu_name = ""}, runner);
}

ProbedArithmetic probed(std::string_view contract, const std::string& ptx) {
  const Result<std::vector<ProbedArithmetic>> result = probe(manifest_text(contract), ptx);
  EXPECT_TRUE(result.ok()) << result.error().text();
  EXPECT_TRUE(result.ok() && result->size() == 1);
  return result.ok() && !result->empty() ? result->front() : ProbedArithmetic();
}

TEST(ProbeArithmetic, AKernelThatKeepsItsContractAgrees) {
  const ProbedArithmetic fma = probed(kPromisesFma, diagonal_kernel(kNever, kFma));
  EXPECT_TRUE(fma.agrees());
  EXPECT_EQ(fma.words(), "23 fraction bits, 24-bit results rounded to nearest, 1 product per step");
}

TEST(ProbeArithmetic, AnotherUnitIsRefusedBeforeAnythingRuns) {
  const auto refused = probe(manifest_text(kPromisesMma), diagonal_kernel(kNever, kFma));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("says unit = \"mma.sync\", but no entry in"));
}

TEST(ProbeArithmetic, AnotherRoundingIsSaid) {
  const ProbedArithmetic cut = probed(kPromisesFma, diagonal_kernel(kNever, kCutFma));
  EXPECT_FALSE(cut.agrees());
  EXPECT_THAT(cut.words(),
              HasSubstr("24-bit results cut toward zero, 1 product per step; its contract says"));
}

TEST(ProbeArithmetic, FreshAccumulatorsAreFound) {
  const std::string every_64 = diagonal_kernel(64, kFma);
  const ProbedArithmetic unsaid = probed(kPromisesFma, every_64);
  EXPECT_FALSE(unsaid.agrees());
  EXPECT_EQ(unsaid.found.words(),
            "23 fraction bits, 24-bit results rounded to nearest, 1 product per step, a fresh "
            "accumulator every 64 of k");
  EXPECT_TRUE(
      probed("unit = \"fma.f32\"\nschedule = \"promote\"\ninterval = 64", every_64).agrees());
}

TEST(ProbeArithmetic, SumsThatCannotBeSeenAreLeftOut) {
  const auto none = [](const Result<std::vector<ProbedArithmetic>>& result) {
    return result.ok() && result->empty();
  };
  EXPECT_TRUE(none(probe(manifest_text(kPromisesFma, "\"e4m3\""), diagonal_kernel(kNever, kFma))))
      << "no output in f32, bf16 or f16";
  EXPECT_TRUE(none(probe(manifest_text(kPromisesFma), diagonal_kernel(kNever, "trap;"))))
      << "it does not complete";
  const auto with = [](std::string_view field) {
    std::string text = manifest_text(kPromisesFma);
    return text.replace(text.find("[problem]"), 9, fmt::format("[problem]\n{}", field));
  };
  std::string gelu = with("act = [\"gelu\"]");
  gelu.replace(gelu.find("epilogue = []"), 13, "epilogue = [\"gelu erff\"]");
  EXPECT_TRUE(none(probe(gelu, diagonal_kernel(kNever, kFma)))) << "an activation";
  EXPECT_TRUE(none(probe(with("bias = [\"column\"]"), diagonal_kernel(kNever, kFma)))) << "a bias";
}

TEST(ProbeArithmetic, AKernelThatCannotRunIsAnError) {
  const Result<std::vector<ProbedArithmetic>> result = probe(manifest_text(kPromisesFma), "no ptx");
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().text(), HasSubstr("diagonal"));
}

}  // namespace
}  // namespace plumbline
