// SPDX-License-Identifier: MIT
// Every rule of another project on a few numbers: what it accepts, what it rejects, and what it is
// for.
#include "harness/mutation/peer_rules.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "oracles/formats/encode.h"

namespace plumbline {
namespace {

const PeerRule& rule(std::string_view name) {
  for (const PeerRule& one : peer_rules()) {
    if (one.name == name) return one;
  }
  ADD_FAILURE() << name;
  return peer_rules().front();
}

bool accepts(std::string_view name, const std::vector<double>& got,
             const std::vector<double>& expected, FormatId operand = FormatId::bf16,
             FormatId output = FormatId::bf16, std::int64_t k = 64) {
  return rule(name).accepts({"gemm", operand, output, k, got, expected});
}

// Those that look at outputs only.
std::vector<PeerRule> simple_rules() {
  std::vector<PeerRule> simple;
  for (const PeerRule& one : peer_rules()) {
    const bool some = one.applies({"gemm", FormatId::bf16, FormatId::bf16, 8, {}, {}}) ||
                      one.applies({"gemm", FormatId::e4m3, FormatId::bf16, 8, {}, {}}) ||
                      one.applies({"attention", FormatId::bf16, FormatId::bf16, 0, {}, {}}) ||
                      one.applies({"attention", FormatId::e4m3, FormatId::bf16, 0, {}, {}});
    if (some) simple.push_back(one);
  }
  return simple;
}

TEST(PeerRules, AnExactResultPassesAllOfThem) {
  const std::vector<double> values = {0, 1, -2, 1e-6, 3e4};
  EXPECT_EQ(simple_rules().size(), 20u);
  for (const PeerRule& one : simple_rules()) {
    EXPECT_TRUE(accepts(one.name, values, values)) << one.name;
    EXPECT_TRUE(accepts(one.name, {}, {})) << one.name;
    EXPECT_TRUE(accepts(one.name, {0, 0}, {0, 0})) << one.name;
  }
}

TEST(PeerRules, NoneAcceptsZeroForNumbersOfAllSizes) {
  const std::vector<double> expected = {100, -200, 300, -400};
  for (const PeerRule& one : simple_rules()) {
    EXPECT_FALSE(accepts(one.name, {0, 0, 0, 0}, expected)) << one.name;
  }
}

// Errors of 0.1 where a framework's are allow 0.2 for O, 0.3 for gradients, and 8 times as much for
// PyTorch's dV; NaN is never close.
TEST(PeerRules, AMultipleOfTheUnfusedErrorIsAllowed) {
  const std::vector<double> expected = {1, 2}, unfused = {1.1, 2};
  const auto accepts = [&](std::string_view name, std::string_view output, double error) {
    const std::vector<double> got = {1, 2 + error};
    PeerInput in{"attention", FormatId::bf16, FormatId::bf16, 0, got, expected};
    in.name = output;
    in.unfused = unfused;
    EXPECT_TRUE(rule(name).applies(in));
    return rule(name).accepts(in);
  };
  EXPECT_TRUE(accepts("FlashAttention 2", "o", 0.19));
  EXPECT_FALSE(accepts("FlashAttention 2", "o", 0.21));
  EXPECT_TRUE(accepts("FlashAttention 2", "dq", 0.29));
  EXPECT_FALSE(accepts("FlashAttention 2", "dq", 0.31));
  // fl(fl(1 + 0.3) - 0.3) - 1 = 1/256 in bf16, fl(2.296875 - 0.3) - 2 = -1/256: twice that.
  EXPECT_TRUE(accepts("FlashAttention 3", "o", 0.2 + 1 / 129.0));
  EXPECT_FALSE(accepts("FlashAttention 3", "o", 0.2 + 1 / 127.0));
  EXPECT_TRUE(accepts("PyTorch SDPA", "dv", 0.79));
  EXPECT_FALSE(accepts("PyTorch SDPA", "dv", 0.81));
  EXPECT_TRUE(accepts("PyTorch SDPA", "dq", 15.9));
  EXPECT_FALSE(accepts("PyTorch SDPA", "o", std::nan("")));
}

// 1.001 is 1 in bf16: the kernel that stores 1 is not off at all.
TEST(PeerRules, FlashAttentionsReferenceIsStored) {
  const std::vector<double> got = {1}, expected = {1.001}, unfused = {1};
  for (const std::string_view name : {"FlashAttention 2", "FlashAttention 3"}) {
    PeerInput in{"attention", FormatId::bf16, FormatId::bf16, 0, got, expected};
    in.name = "o";
    in.unfused = unfused;
    EXPECT_TRUE(rule(name).accepts(in));
    in.output = FormatId::f32;
    EXPECT_FALSE(rule(name).applies(in)) << "outputs have the format of the inputs";
  }
}

TEST(PeerRules, CudnnIsWiderForTheGradientsOfKeysAndValues) {
  const std::vector<double> got = {1.08}, expected = {1};
  PeerInput in{"attention_backward", FormatId::bf16, FormatId::bf16, 0, got, expected};
  in.name = "dk";
  EXPECT_TRUE(rule("cuDNN-frontend attention").accepts(in));
  in.name = "dq";
  EXPECT_FALSE(rule("cuDNN-frontend attention").accepts(in));
}

TEST(PeerRules, TheirEdgesAreWhereTheirFormulasPutThem) {
  EXPECT_TRUE(accepts("torch assert_close", {1.0159}, {1}));
  EXPECT_FALSE(accepts("torch assert_close", {1.0162}, {1}));
  EXPECT_FALSE(accepts("torch assert_close", {1.0001}, {1}, FormatId::bf16, FormatId::f32));
  EXPECT_TRUE(accepts("KernelBench", {1.019}, {1}));
  EXPECT_FALSE(accepts("KernelBench", {1.021}, {1}));
  EXPECT_TRUE(accepts("CUTLASS unit tests", {1.22}, {1}));
  EXPECT_FALSE(accepts("CUTLASS unit tests", {1.23}, {1}));
  EXPECT_FALSE(accepts("CUTLASS unit tests", {1e-6}, {0}));
  EXPECT_TRUE(accepts("CUTLASS profiler", {1e-4}, {0}));
  EXPECT_TRUE(accepts("rocBLAS gfx11 bf16", {6.3}, {0}));
  EXPECT_FALSE(accepts("rocBLAS gfx11 bf16", {6.5}, {0}));
  EXPECT_TRUE(accepts("vLLM fp8", {1.64}, {1}, FormatId::e4m3));
  EXPECT_FALSE(accepts("vLLM fp8", {1.66}, {1}, FormatId::e4m3));
  EXPECT_FALSE(accepts("Marlin", {1.0011}, {1}));
  EXPECT_TRUE(accepts("XNNPACK", {1.029}, {1}));
  EXPECT_FALSE(accepts("XNNPACK", {1.031}, {1}));
  EXPECT_TRUE(accepts("XNNPACK", {9e-5}, {0}));
  EXPECT_TRUE(accepts("Composable Kernel attention", {1.019}, {1}));
  EXPECT_FALSE(accepts("Composable Kernel attention", {1.021}, {1}));
}

// A scale of 1.045 on everything passes it at 1e-3, and a lost element of two hundred at any scale
// of fp8.
TEST(PeerRules, DeepGemmsDoesNotSeeAScale) {
  EXPECT_TRUE(accepts("DeepGEMM", {1.044, 2.088}, {1, 2}, FormatId::e4m3));
  EXPECT_FALSE(accepts("DeepGEMM", {1.047, 2.094}, {1, 2}, FormatId::e4m3));
  EXPECT_FALSE(accepts("DeepGEMM", {1.044, 2.088}, {1, 2}, FormatId::bf16));
}

TEST(PeerRules, ARuleForOneFormatSaysNothingOfOthers) {
  const PeerInput bf16{"gemm", FormatId::bf16, FormatId::bf16, 8, {}, {}};
  const PeerInput attention{"attention", FormatId::bf16, FormatId::bf16, 0, {}, {}};
  EXPECT_FALSE(rule("vLLM fp8").applies(bf16));
  EXPECT_TRUE(rule("rocBLAS gfx11 bf16").applies(bf16));
  EXPECT_FALSE(rule("cuDNN-frontend attention").applies(bf16));
  EXPECT_TRUE(rule("cuDNN-frontend attention").applies(attention));
  const PeerInput fp8{"attention", FormatId::e4m3, FormatId::bf16, 0, {}, {}};
  EXPECT_TRUE(rule("TransformerEngine fp8 attention").applies(fp8));
  EXPECT_FALSE(rule("TransformerEngine fp8 attention").applies(attention));
  EXPECT_TRUE(rule("Composable Kernel").applies(bf16));
  EXPECT_FALSE(rule("Composable Kernel").applies(attention));
  for (const PeerRule& one : peer_rules()) {  // equal, as everywhere
    EXPECT_FALSE(one.applies({"gemm", FormatId::s8, FormatId::s32, 8, {}, {}})) << one.name;
    EXPECT_FALSE(one.applies({"gemm", FormatId::e4m3, FormatId::e4m3, 8, {}, {}})) << one.name;
  }
}

}  // namespace
}  // namespace plumbline
