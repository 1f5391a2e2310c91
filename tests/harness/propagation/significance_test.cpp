// SPDX-License-Identifier: MIT
// Significant bits and bias from draws: against published figures, and on kernels of which both can
// be worked out.
#include "harness/propagation/significance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "oracles/base/random.h"
#include "oracles/formats/decode.h"
#include "tests/harness/emulator/emulator_run.h"

namespace plumbline {
namespace {

using emulator::bytes_of;
using emulator::kernel_text;
using emulator::KernelOptions;
using emulator::KernelRun;
using emulator::run_kernel;
using ::testing::HasSubstr;

// chi^2 with 29 degrees of freedom is below 16.0471 one time in forty, and 99 % of a normal
// distribution lie within 2.57583 deviations (any table of either).
TEST(Significance, TheUncertaintyIsThatOfSohierAndOthers) {
  EXPECT_NEAR(bits_uncertainty(30, 0.99, 0.95), 0.5 * std::log2(29 / 16.0471) + std::log2(2.57583),
              1e-4);
  EXPECT_LT(bits_uncertainty(1000, 0.99, 0.95), bits_uncertainty(30, 0.99, 0.95));
}

TEST(Significance, TwentyNineDrawsThatAgreeStandForNineRunsInTen) {
  EXPECT_GE(shared_probability(29, 0.95), 0.9);
  EXPECT_LT(shared_probability(28, 0.95), 0.9);
}

constexpr int kDraws = 32;
constexpr std::size_t kElements = 1024;

// The draws of an elementwise kernel: %f1 is the input, %r0 becomes the result, an element of
// `result` format.
DrawTally tally_of(const std::string& code, const std::vector<float>& in, FormatId result) {
  const int bytes = format(result).storage_bytes();
  const std::string body = fmt::format(
      "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r1, %r2, 64, %r1;\n"
      "mad.wide.u32 %in, %r1, 4, %in; mad.wide.u32 %out, %r1, {}, %out;\n"
      "ld.global.f32 %f1, [%in];\n{}\nst.global.b{} [%out], %{}0;",
      bytes, code, 8 * bytes, bytes == 2 ? 'h' : 'r');
  DrawTally tally;
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    KernelOptions options;
    options.emulator.random_rounding = RandomRounding::on;
    options.grid = {static_cast<std::int64_t>(in.size() / 64), 1, 1};
    options.block = {64, 1, 1};
    options.rounding_seed = 100 + draw;
    const KernelRun run = run_kernel(kernel_text(body), bytes_of(in),
                                     in.size() * static_cast<std::size_t>(bytes), options);
    Tensor tensor(dense_layout(result, {static_cast<std::int64_t>(in.size())}));
    tensor.storage = run.out;
    tally.add(tensor);
  }
  return tally;
}

std::vector<float> uniform() {
  std::vector<float> in(kElements);
  Random random(5);
  for (float& value : in) value = static_cast<float>(random.unit() * 8 - 4);
  return in;
}

std::vector<double> doubles(const std::vector<float>& in) { return {in.begin(), in.end()}; }

TEST(Significance, AnExactKernelHasInfinitelyManyBits) {
  const std::vector<float> in = uniform();
  std::vector<double> exact = doubles(in);
  for (double& value : exact) value *= -4;
  const StochasticRecord record = significance(
      tally_of("mul.f32 %f0, %f1, 0fc0800000; mov.b32 %r0, %f0;", in, FormatId::f32), exact, {});
  EXPECT_EQ(record.steady, record.elements);
  EXPECT_TRUE(std::isinf(record.bits));
  EXPECT_EQ(record.bias, 0);
  EXPECT_THAT(significance_findings(record)[0], HasSubstr("same bits"));
}

// (1 + b) - 1 for b half a unit above 2^-12. The sum has a deviation of half a unit of 2^-23 beside
// 1, 24 bits; the difference is exact, and what is left of them beside 2^-12 is 12: the condition
// number (1 + b) / b takes the other 12.
TEST(Significance, ACancellingSumLosesTheBitsOfItsConditionNumber) {
  const double b = 0x1p-12 + 0x1p-24;
  const std::vector<float> in(kElements, static_cast<float>(b));
  const std::vector<double> exact(kElements, b);
  const std::string sum = "add.f32 %f0, %f1, 0f3f800000;";
  const StochasticRecord before = significance(
      tally_of(sum + "mov.b32 %r0, %f0;", in, FormatId::f32), std::vector(kElements, 1 + b), {});
  const StochasticRecord after = significance(
      tally_of(sum + "sub.f32 %f0, %f0, 0f3f800000; mov.b32 %r0, %f0;", in, FormatId::f32), exact,
      {});
  // A fair coin tossed 32 times is a deviation of half a unit to 1.6 % (one deviation of that), and
  // 1 / 31 of its square too much or too little is 0.02 bits.
  EXPECT_NEAR(before.bits, 24, 0.05);
  EXPECT_NEAR(after.bits, 12, 0.05);
  EXPECT_LT(after.bias, 0.1);
}

// A conversion toward zero is half a unit short on average; moved roundings deviate by sqrt(1/6)
// units over a uniform distribution of what is cut off: sqrt(3/2) deviations.
TEST(Significance, ATruncatingCastIsBiasedTowardZeroAndOneToNearestIsNot) {
  const std::vector<float> in = uniform();
  const StochasticRecord cut =
      significance(tally_of("cvt.rz.bf16.f32 %h0, %f1;", in, FormatId::bf16), doubles(in), {});
  EXPECT_NEAR(cut.bias, std::sqrt(1.5), 0.1);
  EXPECT_GT(cut.toward_zero, 0.95);
  EXPECT_TRUE(is_biased(cut.bias));
  EXPECT_THAT(significance_findings(cut).back(), HasSubstr("toward zero, as truncation makes it."));
  const StochasticRecord nearest =
      significance(tally_of("cvt.rn.bf16.f32 %h0, %f1;", in, FormatId::bf16), doubles(in), {});
  EXPECT_LT(nearest.bias, 0.15);
  EXPECT_EQ(significance_findings(nearest).size(), 1u);
}

TEST(Significance, TheExperimentWithOtherTensorCoresSaysWhoseBiasItIs) {
  StochasticRecord record;
  record.elements = 10;
  record.bits = 20;
  record.bias = 7;
  record.toward_zero = 0.9;
  record.unbiased_nodes_bias = 0.02;
  EXPECT_THAT(significance_findings(record).back(), HasSubstr("it is their truncation"));
  record.unbiased_nodes_bias = 6;
  EXPECT_THAT(significance_findings(record).back(), HasSubstr("it is not they alone"));
}

TEST(Significance, TheDeviationStandsBesideTheBound) {
  const std::vector<float> in = uniform();
  const DrawTally tally = tally_of("cvt.rn.bf16.f32 %h0, %f1;", in, FormatId::bf16);
  std::vector<ElementBound> bounds;
  for (std::size_t i = 0; i < kElements; ++i)
    bounds.push_back({i, std::ldexp(1.0, std::ilogb(in[i]) - 7)});  // a unit
  const StochasticRecord record = significance(tally, doubles(in), bounds);
  // Of sqrt(p (1 - p)) over uniform p the median is at p = 1/4 and 3/4.
  EXPECT_NEAR(record.of_bound, std::sqrt(3.0) / 4, 0.03);
}

TEST(Significance, ElementsThatAreNotFiniteAreLeftOut) {
  DrawTally tally;
  Tensor tensor(dense_layout(FormatId::f32, {3}));
  tensor.set_bits(0, 0x3f800000);
  tensor.set_bits(2, 0x40000000);
  for (const std::uint64_t code : {0x7f800000u, 0x3f800000u, 0x7fc00000u}) {
    tensor.set_bits(1, code);
    tally.add(tensor);
  }
  const StochasticRecord record = significance(tally, {1, 1, 2}, {});
  EXPECT_EQ(record.elements, 2);
  EXPECT_EQ(record.steady, 2);
}

}  // namespace
}  // namespace plumbline
