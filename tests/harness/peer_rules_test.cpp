// SPDX-License-Identifier: MIT
// Every rule of another project on a few numbers: what it accepts, what it rejects, and what it is
// for.
#include "harness/peer_rules.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

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

TEST(PeerRules, AnExactResultPassesAllOfThem) {
  const std::vector<double> values = {0, 1, -2, 1e-6, 3e4};
  for (const PeerRule& one : peer_rules())
    EXPECT_TRUE(accepts(one.name, values, values)) << one.name;
  for (const PeerRule& one : peer_rules()) EXPECT_TRUE(accepts(one.name, {}, {})) << one.name;
  for (const PeerRule& one : peer_rules())
    EXPECT_TRUE(accepts(one.name, {0, 0}, {0, 0})) << one.name;
}

TEST(PeerRules, NoneAcceptsZeroForNumbersOfAllSizes) {
  const std::vector<double> expected = {100, -200, 300, -400};
  for (const PeerRule& one : peer_rules()) {
    EXPECT_FALSE(accepts(one.name, {0, 0, 0, 0}, expected)) << one.name;
  }
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
}

}  // namespace
}  // namespace plumbline
