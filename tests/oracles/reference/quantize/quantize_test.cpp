// SPDX-License-Identifier: MIT
// The steps of quantization: f32 arithmetic of the host against their definition over MPFR numbers,
// and both against numbers worked out by hand.
#include "oracles/reference/quantize/quantize.h"

#include <gtest/gtest.h>

#include "tests/oracles/reference/quantize/samples.h"

namespace plumbline {
namespace {

using namespace plumbline::testing;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::uint64_t f32_bits(float value) {
  return encode(format(FormatId::f32), static_cast<double>(value));
}

// Every step of every element of a matrix, both ways.
void compare_with_definition(const Matrix& matrix) {
  const QuantizeProblem& problem = matrix.problem;
  const std::vector<float> maxima = quantize_maxima(problem);
  ASSERT_EQ(std::ssize(maxima), problem.groups());
  std::vector<float> scales;
  for (const float amax : maxima) {
    scales.push_back(quantize_scale(amax, problem.limit()));
    ASSERT_EQ(f32_bits(scales.back()), defined_scale(amax, problem.limit()))
        << matrix.text() << ", amax " << amax;
  }
  for (std::int64_t i = 0; i < problem.m; ++i) {
    for (std::int64_t j = 0; j < problem.n; ++j) {
      const auto group = static_cast<std::size_t>(problem.group_of(i, j));
      const float x = problem.element(i, j), scale = scales[group], amax = maxima[group];
      const float argument = quantize_argument(problem.rule, x, scale, amax, problem.limit());
      ASSERT_EQ(quantize_code(format(problem.code), argument),
                defined_code(problem, x, scale, amax))
          << matrix.text() << ", x " << x << ", scale " << scale;
    }
  }
}

TEST(Quantize, HostArithmeticIsTheDefinition) {
  for (const Sample sample : kSamples) {
    for (const FormatId code : kCodeFormats) {
      for (const QuantizeRule rule : kQuantizeRules) {
        for (const ScaleGroup group : kScaleGroups) {
          compare_with_definition(Matrix(2, 129, sample, code, group, rule));
          compare_with_definition(Matrix(2, 40, sample, code, group, rule, FormatId::bf16));
        }
      }
    }
  }
}

// The kernel finds its groups by their edges, the definition by dividing the index.
TEST(Quantize, GroupsEndWhereTheirBlocksEnd) {
  for (const std::int64_t n : {1, 127, 128, 129, 255, 256, 257}) {
    for (const ScaleGroup group : kScaleGroups) {
      const Matrix matrix(3, n, Sample::normal, FormatId::e4m3, group);
      const Quantizer::Outputs out = Quantizer().run(matrix);
      const std::vector<float> maxima = quantize_maxima(matrix.problem);
      ASSERT_EQ(std::ssize(maxima), out.amax.layout.count()) << matrix.text();
      for (std::size_t g = 0; g < maxima.size(); ++g) {
        EXPECT_EQ(f32_bits(maxima[g]), out.amax.bits(static_cast<std::int64_t>(g)))
            << matrix.text() << " " << g;
      }
    }
  }
}

TEST(Quantize, AnEmptyMatrixHasTheGroupsItsShapeSays) {
  EXPECT_EQ(quantize_maxima({.m = 0, .n = 5}).size(), 1u)
      << "a tensor has a scale even when it has no elements";
  EXPECT_EQ(quantize_maxima({.m = 0, .n = 5, .group = ScaleGroup::row}).size(), 0u);
  EXPECT_EQ(quantize_maxima({.m = 3, .n = 0, .group = ScaleGroup::row}).size(), 3u);
  EXPECT_EQ(quantize_maxima({.m = 3, .n = 0, .group = ScaleGroup::block_of_128}).size(), 0u);
}

TEST(Quantize, AnyNanOfAGroupIsItsAmaxWhereverItStands) {
  for (const std::int64_t at : {0, 1, 127}) {
    Matrix matrix(1, 256, Sample::normal, FormatId::e4m3, ScaleGroup::block_of_128);
    matrix.x.set_bits(at, 0xffc00000u);
    matrix.x.set_bits(64, f32_bits(kInf));
    const std::vector<float> maxima = quantize_maxima(matrix.problem);
    EXPECT_TRUE(std::isnan(maxima[0])) << at;
    EXPECT_TRUE(std::isfinite(maxima[1])) << at;
  }
}

TEST(Quantize, ScalesByHand) {
  EXPECT_EQ(quantize_scale(448, 448), 1.0f);
  EXPECT_EQ(quantize_scale(0, 448), 1.0f) << "zeros have a scale of one";
  EXPECT_EQ(quantize_scale(3, 448), 0x1.b6db6ep-8f) << "3/448, to nearest";
  EXPECT_EQ(quantize_scale(0x1p-126f * 127, 127), 0x1p-126f);
  EXPECT_EQ(quantize_scale(0x1p-126f * 126, 127), 0x1p-126f) << "never below 2^-126";
  EXPECT_EQ(quantize_scale(0x1p-149f, 448), 0x1p-126f);
  EXPECT_EQ(quantize_scale(kInf, 448), kInf);
  EXPECT_TRUE(std::isnan(quantize_scale(kNan, 448)));
  EXPECT_EQ(defined_scale(0, 448), f32_bits(1.0f));
  EXPECT_EQ(defined_scale(0x1p-149f, 448), f32_bits(0x1p-126f));
  EXPECT_EQ(defined_scale(3, 448), f32_bits(0x1.b6db6ep-8f));
}

TEST(Quantize, CodesByHand) {
  const Format &e4m3 = format(FormatId::e4m3), &e5m2 = format(FormatId::e5m2),
               &s8 = format(FormatId::s8);
  EXPECT_EQ(quantize_code(e4m3, 448), 0x7eu);
  EXPECT_EQ(quantize_code(e4m3, -kInf), 0xfeu) << "saturates";
  EXPECT_EQ(quantize_code(e4m3, kNan), 0x7fu);
  EXPECT_EQ(quantize_code(e5m2, kInf), 0x7bu);
  EXPECT_EQ(quantize_code(s8, kNan), 0u);
  EXPECT_EQ(quantize_code(s8, 2.5f), 2u) << "ties to even";
  EXPECT_EQ(quantize_code(s8, 3.5f), 4u);
  EXPECT_EQ(quantize_code(s8, -1e9f), 0x80u)
      << "cvt saturates to -128, though no scaled value reaches it";
}

TEST(Quantize, RulesDifferInTheirLastBit) {
  int inverse_differs = 0, limit_differs = 0;
  const Matrix matrix(1, 2000, Sample::normal, FormatId::s8, ScaleGroup::tensor);
  const float amax = quantize_maxima(matrix.problem)[0], scale = quantize_scale(amax, 127);
  for (std::int64_t j = 0; j < 2000; ++j) {
    const float x = matrix.at(0, j);
    const float divided = quantize_argument(QuantizeRule::divide, x, scale, amax, 127);
    inverse_differs +=
        divided != quantize_argument(QuantizeRule::multiply_inverse, x, scale, amax, 127);
    limit_differs +=
        divided != quantize_argument(QuantizeRule::multiply_limit, x, scale, amax, 127);
  }
  EXPECT_GT(inverse_differs, 100);
  EXPECT_GT(limit_differs, 100);
}

}  // namespace
}  // namespace plumbline
