// SPDX-License-Identifier: MIT
// GEMMs whose f32 operations may take numbers below 2^-126 for 0: kernels that do, and kernels that
// do not, are never accused; under a contract that keeps such numbers those that do are, and the
// reason is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "oracles/reference/gemm/definition.h"
#include "oracles/reference/gemm/oracle.h"
#include "tests/oracles/reference/gemm/fixture.h"

namespace plumbline {
namespace {

using ::testing::Contains;
using testing::Gemm;
using testing::GemmSetup;
using ::testing::HasSubstr;
using testing::Kernel;
using testing::NamedContract;

constexpr float kLeastNormal = 0x1p-126f;

// Multiplies every element, in its own format.
void scale_by(Tensor& tensor, int exponent) {
  const Format& stored = format(tensor.layout.format);
  for (std::int64_t p = 0; p < tensor.layout.count(); ++p)
    tensor.set_bits(p, encode(stored, std::ldexp(to_double(stored, tensor.bits(p)), exponent)));
}

struct Sample {
  NamedContract named;
  GemmSetup setup;
  int product, addend;  // exponents: about the size of the products, of C and of the bias
};

// Steps, formats and sizes drawn so that some number on the way is often, but not always, small.
Sample draw_sample(std::uint64_t seed) {
  using enum FormatId;
  Random random(seed);
  Sample out{testing::hopper_bf16(), {}, 0, 0};
  if (random.below(4) == 0) out.named = {"fma", testing::fma_contract(), 80, bf16, bf16};
  Contract& contract = out.named.contract;
  contract.subnormals_flushed = true;
  if (random.below(3) == 0) contract = testing::promoted(contract, 16);
  using enum EpilogueStep;
  if (random.below(2) == 0) {
    contract.epilogue = {scale_ab, alpha, beta_c, bias, relu, scale_d};
  } else {
    contract.epilogue = {scale_a, scale_b, alpha, beta_c, bias, relu, scale_d};
  }
  GemmSetup& setup = out.setup;
  setup.seed = seed;
  setup.m = 5;
  setup.n = 6;
  setup.k = random.between(1, 40);
  setup.data = random.below(3) == 0 ? testing::Data::cancelling : testing::Data::normal;
  setup.output = random.below(2) == 0 ? f32 : bf16;
  if (random.below(3) == 0)
    setup.alpha = std::ldexp(0.7f, static_cast<int>(random.between(-130, 4)));
  if (random.below(3) == 0)
    setup.beta = std::ldexp(-1.3f, static_cast<int>(random.between(-130, 4)));
  if (random.below(3) == 0) setup.bias = BiasKind::per_column;
  setup.relu = random.below(4) == 0;
  setup.scale_d = random.below(4) == 0;
  if (random.below(3) == 0) {
    setup.scale_a = kTensorScale;
    setup.scale_b = kTensorScale;
    setup.scale_size = std::ldexp(1.0, static_cast<int>(random.between(-70, 60)));
  }
  out.product = static_cast<int>(random.between(-135, -60));
  out.addend = static_cast<int>(random.between(-132, -110));
  return out;
}

void make_small(Gemm& gemm, const Sample& sample) {
  scale_by(gemm.a, sample.product / 2);
  scale_by(gemm.b, sample.product - sample.product / 2);
  scale_by(gemm.c, sample.addend);
  scale_by(gemm.bias, sample.addend);
}

bool same_numbers(const Tensor& a, const Tensor& b) {
  for (std::int64_t p = 0; p < a.layout.count(); ++p) {
    const Format& stored = format(a.layout.format);
    if (to_double(stored, a.bits(p)) != to_double(stored, b.bits(p))) return false;
  }
  return true;
}

TEST(GemmFlushed, NeitherKernelIsAccused) {
  int moved = 0, caught = 0;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    const Sample sample = draw_sample(seed);
    Kernel flushing = testing::kernel(sample.named), keeping = flushing;
    flushing.flushes = true;
    keeping.promised.contract.subnormals_flushed = false;
    Gemm gemm(sample.setup), other(sample.setup);
    make_small(gemm, sample);
    make_small(other, sample);
    flushing.run(gemm);
    keeping.run(other);
    const GemmOracle oracle(gemm.problem, sample.named.contract, sample.named.sm);
    for (const Gemm* one : {&gemm, &other}) {
      const OutputVerdict verdict = oracle.judge(0, one->d, {});
      ASSERT_EQ(verdict.failed, 0) << "seed " << seed << (one == &gemm ? " flushes" : " keeps");
      ASSERT_EQ(verdict.disagreements, 0) << "seed " << seed;
    }
    if (same_numbers(gemm.d, other.d)) continue;
    ++moved;
    const GemmOracle strict(gemm.problem, keeping.promised.contract, sample.named.sm);
    caught += strict.judge(0, gemm.d, {}).failed > 0;
  }
  EXPECT_GT(moved, 120);
  EXPECT_GT(caught, moved * 9 / 10);
}

TEST(GemmFlushed, AWrongSmallNumberIsStillWrong) {
  // The contract leaves open whether a number is 0, not what it is.
  GemmSetup setup;
  setup.output = FormatId::f32;
  setup.k = 1;
  Gemm gemm(setup);
  scale_by(gemm.a, -64);
  scale_by(gemm.b, -64);
  NamedContract named = testing::hopper_bf16();
  named.contract.subnormals_flushed = true;
  Kernel kernel = testing::kernel(named);
  kernel.accumulator = [](float x) { return 2 * x; };
  kernel.run(gemm);
  const GemmOracle oracle(gemm.problem, named.contract, named.sm);
  EXPECT_EQ(oracle.judge(0, gemm.d, {}).failed, gemm.d.layout.count());
}

// The rounded product of scales along k belongs to the function, and so does what is flushed of it.
TEST(GemmFlushed, SmallScalesAlongKAreZero) {
  NamedContract named{"hopper e4m3", testing::scaled(testing::tensor_core_contract(), 32), 90,
                      FormatId::e4m3, FormatId::e4m3};
  GemmSetup setup;
  setup.a = setup.b = FormatId::e4m3;
  setup.output = FormatId::f32;
  setup.k = 128;
  setup.scale_a = ScaleBlock{1, 32};
  setup.scale_b = ScaleBlock{4, 64};
  int moved = 0;
  for (const auto& [size_a, size_b] : {std::pair{-128, 20}, {-60, -66}, {0, -127}, {-126, 126}}) {
    Gemm gemm(setup), other(setup);
    for (Gemm* one : {&gemm, &other}) {
      scale_by(one->scale_a, size_a);
      scale_by(one->scale_b, size_b);
    }
    Kernel keeping = testing::kernel(named), flushing = keeping;
    flushing.promised.contract.subnormals_flushed = flushing.flushes = true;
    gemm.problem.scale_products = ScaleProducts::f32_flushed;
    flushing.run(gemm);
    keeping.run(other);
    const GemmOracle oracle(gemm.problem, flushing.promised.contract, named.sm);
    const OutputVerdict verdict = oracle.judge(0, gemm.d, {});
    EXPECT_EQ(verdict.failed, 0) << size_a;
    EXPECT_EQ(verdict.disagreements, 0) << size_a;
    if (same_numbers(gemm.d, other.d)) continue;
    ++moved;
    EXPECT_GT(oracle.judge(0, other.d, {}).failed, 0) << size_a;
  }
  EXPECT_GE(moved, 2);
}

TEST(GemmFlushed, IsToldWhereItIsNotPromised) {
  GemmSetup setup;
  setup.output = FormatId::f32;
  setup.alpha = 0.5f;
  Gemm gemm(setup);
  scale_by(gemm.a, -64);
  scale_by(gemm.b, -63);
  Kernel kernel = testing::kernel(testing::hopper_bf16());
  kernel.flushes = true;
  kernel.run(gemm);
  const GemmOracle oracle(gemm.problem, kernel.promised.contract, kernel.promised.sm);
  const OutputVerdict verdict = oracle.judge(0, gemm.d, {});
  ASSERT_GT(verdict.failed, 0);
  const NamedFaults faults = oracle.explain(0, verdict.worst.index, gemm.d).faults;
  ASSERT_FALSE(faults.empty());
  EXPECT_THAT(faults.names.front(),
              HasSubstr("f32 numbers below 2^-126 counted as 0: subnormals = \"flushed\""));
  EXPECT_LT(std::fabs(verdict.worst.exact), static_cast<double>(kLeastNormal));
}

}  // namespace
}  // namespace plumbline
