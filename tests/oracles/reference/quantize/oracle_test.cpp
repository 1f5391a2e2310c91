// SPDX-License-Identifier: MIT
// The verdict on codes, scales and maxima: correct outputs of every kind pass, each kind of wrong
// one fails in the right place, and the faults quantizing kernels have are named.
#include "oracles/reference/quantize/oracle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cfenv>

#include "oracles/reference/quantize/faults.h"
#include "tests/oracles/reference/quantize/samples.h"

namespace plumbline {
namespace {

using namespace plumbline::testing;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

enum Output { kCodes, kScales, kMaxima };

TEST(QuantizeOracle, CorrectOutputsPass) {
  for (const Sample sample : kSamples) {
    for (const FormatId code : kCodeFormats) {
      for (const QuantizeRule rule : kQuantizeRules) {
        for (const ScaleGroup group : kScaleGroups) {
          const Matrix matrix(2, 129, sample, code, group, rule);
          const Quantizer::Outputs out = Quantizer().run(matrix);
          const QuantizeOracle oracle(matrix.problem);
          for (const int output : {kCodes, kScales, kMaxima}) {
            const Tensor& got = out.tensor(output);
            for (const int mpfr_bits : {0, 256}) {
              const OutputVerdict verdict = oracle.judge(output, got, {.mpfr_bits = mpfr_bits});
              ASSERT_EQ(verdict.failed, 0) << matrix.text() << ", " << oracle.output_name(output);
              ASSERT_EQ(verdict.disagreements, 0) << matrix.text();
              EXPECT_EQ(verdict.elements, got.layout.count());
              EXPECT_EQ(verdict.compared, got.layout.count());
              EXPECT_EQ(verdict.exact_required, got.layout.count());
              EXPECT_EQ(verdict.refereed, 8);
              EXPECT_FALSE(verdict.sampled);
            }
          }
        }
      }
    }
  }
}

// A few roundings to f32 before the one to the code: correct outputs are half an ulp from exact,
// and hardly more.
TEST(QuantizeOracle, CorrectOutputsAreHalfAnUlpFromExact) {
  for (const Sample sample : kSamples) {
    for (const FormatId code : kCodeFormats) {
      for (const QuantizeRule rule : kQuantizeRules) {
        const Matrix matrix(2, 129, sample, code, ScaleGroup::row, rule);
        const Quantizer::Outputs out = Quantizer().run(matrix);
        const QuantizeOracle oracle(matrix.problem);
        for (const int output : {kCodes, kScales, kMaxima}) {
          EXPECT_LE(oracle.judge(output, out.tensor(output), {}).worst_ulp, 0.5 + 0x1p-12)
              << matrix.text() << ", sample " << static_cast<int>(sample) << ", "
              << oracle.output_name(output);
        }
      }
    }
  }
}

TEST(QuantizeOracle, NonzeroOutputsAreCounted) {
  const Matrix zeros(3, 130, Sample::zeros, FormatId::s8, ScaleGroup::row);
  const Quantizer::Outputs out = Quantizer().run(zeros);
  const QuantizeOracle oracle(zeros.problem);
  EXPECT_EQ(oracle.judge(kCodes, out.q, {}).nonzero, 0);
  EXPECT_EQ(oracle.judge(kScales, out.scale, {}).nonzero, 3);
  EXPECT_EQ(oracle.judge(kMaxima, out.amax, {}).nonzero, 0);
}

// A correct run of which one output element is changed.
struct OneWrong {
  Matrix matrix;
  Quantizer::Outputs out;
  QuantizeOracle oracle;

  OneWrong(Sample sample, FormatId code)
      : matrix(3, 257, sample, code, ScaleGroup::block_of_128),
        out(Quantizer().run(matrix)),
        oracle(matrix.problem) {}

  Tensor changed(int output, std::int64_t index, std::uint64_t bits) const {
    Tensor tensor = out.tensor(output);
    tensor.set_bits(index, bits);
    return tensor;
  }
};

TEST(QuantizeOracle, OneWrongElementFailsInItsPlace) {
  const OneWrong one(Sample::normal, FormatId::e4m3);
  for (const int output : {kCodes, kScales, kMaxima}) {
    const std::int64_t index = output == kCodes ? 400 : 4;
    const std::uint64_t right = one.out.tensor(output).bits(index);
    const OutputVerdict verdict =
        one.oracle.judge(output, one.changed(output, index, right ^ 1), {});
    EXPECT_EQ(verdict.failed, 1) << output;
    EXPECT_EQ(verdict.class_mismatches, 0) << output;
    ASSERT_EQ(verdict.failures.size(), 1u) << output;
    EXPECT_EQ(verdict.failures[0].index, index);
    EXPECT_EQ(verdict.failures[0].got, right ^ 1);
    EXPECT_EQ(verdict.failures[0].expected, right);
    EXPECT_EQ(verdict.worst.index, index);
    EXPECT_FALSE(one.oracle.element(output, index, right ^ 1).pass);
    EXPECT_TRUE(one.oracle.element(output, index, right).pass);
  }
}

TEST(QuantizeOracle, AllFailuresAreCountedAndTheFirstAreKept) {
  const OneWrong one(Sample::normal, FormatId::s8);
  Tensor got = one.out.q;
  for (std::int64_t index = 100; index < 140; ++index) got.set_bits(index, got.bits(index) ^ 0x40);
  const OutputVerdict verdict = one.oracle.judge(kCodes, got, {});
  EXPECT_EQ(verdict.failed, 40);
  ASSERT_EQ(verdict.failures.size(), 16u);
  EXPECT_EQ(verdict.failures[15].index, 115);
}

TEST(QuantizeOracle, AnotherClassIsAMismatch) {
  const OneWrong fine(Sample::normal, FormatId::e5m2), special(Sample::with_nan, FormatId::e5m2);
  const std::uint64_t infinity = 0x7c, nan = 0x7f, one = 0x3c;
  const auto mismatch = [](const OneWrong& run, std::int64_t index, std::uint64_t bits) {
    const OutputVerdict verdict = run.oracle.judge(kCodes, run.changed(kCodes, index, bits), {});
    return std::pair(verdict.failed, verdict.class_mismatches);
  };
  using Counts = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(mismatch(fine, 7, nan), Counts(1, 1)) << "NaN where a number is due";
  EXPECT_EQ(mismatch(fine, 7, infinity), Counts(1, 1));
  EXPECT_EQ(mismatch(special, 1, one), Counts(1, 1)) << "a number where NaN is due";
  EXPECT_EQ(mismatch(special, 1, infinity), Counts(1, 1)) << "infinity where NaN is due";
  EXPECT_EQ(mismatch(special, 1, 0xfe), Counts(0, 0)) << "NaN of another sign and payload";
  const Tensor scale = special.changed(kScales, 0, 0x7f800000);
  EXPECT_EQ(special.oracle.judge(kScales, scale, {}).class_mismatches, 1)
      << "infinity where NaN is due";
}

TEST(QuantizeOracle, ZerosOfEitherSignAreEqual) {
  const OneWrong zeros(Sample::zeros, FormatId::e4m3);
  for (const std::uint64_t zero : {0x00u, 0x80u}) {
    EXPECT_TRUE(zeros.oracle.element(kCodes, 3, zero).pass);
    EXPECT_EQ(zeros.oracle.judge(kCodes, zeros.changed(kCodes, 3, zero), {}).failed, 0);
  }
  EXPECT_FALSE(zeros.oracle.element(kCodes, 3, 0x01).pass);
}

// Host arithmetic that rounds upward is a fast path gone wrong; MPFR does not follow the host's
// mode.
TEST(QuantizeOracle, TheRefereeNoticesAWrongFastPath) {
  const Matrix matrix(40, 129, Sample::normal, FormatId::e4m3, ScaleGroup::block_of_128);
  const Quantizer::Outputs out = Quantizer().run(matrix);
  std::fesetround(FE_UPWARD);
  const QuantizeOracle oracle(matrix.problem);
  std::fesetround(FE_TONEAREST);
  const OutputVerdict verdict = oracle.judge(kScales, out.scale, {.referee_samples = 40});
  EXPECT_EQ(verdict.refereed, 40);
  EXPECT_GT(verdict.disagreements, 0);
  EXPECT_EQ(oracle.judge(kMaxima, out.amax, {.referee_samples = 40}).disagreements, 0)
      << "nothing is rounded there";
}

TEST(QuantizeOracle, ExplainsCodesAndScales) {
  const OneWrong one(Sample::ties, FormatId::s8);
  const Explanation scale = one.oracle.explain(kScales, 0, one.changed(kScales, 0, 0x40000000));
  EXPECT_THAT(scale.lines, ElementsAre("scale is 2; 1 is due"));
  const Explanation code = one.oracle.explain(kCodes, 1, one.changed(kCodes, 1, 0x55));
  ASSERT_EQ(code.lines.size(), 2u);
  EXPECT_THAT(code.lines[0], HasSubstr("its group has amax 127 and scale 1"));
  EXPECT_THAT(code.lines[1], HasSubstr("x / scale is "));
  EXPECT_THAT(code.lines[1], HasSubstr("the kernel stored 0x55 (85)"));
  EXPECT_EQ(code.faults, NamedFaults::none(kNoFaultFits));
}

// A fault, planted in the kernel, and data on which it can be told from all others.
struct Planted {
  const char* words;
  Sample sample;
  FormatId code;
  QuantizeRule rule;
  Quantizer kernel;
};

std::vector<Planted> planted() {
  std::vector<Planted> all;
  const auto plant = [&](const char* words, Sample sample, FormatId code,
                         QuantizeRule rule = QuantizeRule::divide) -> Quantizer& {
    return all.emplace_back(Planted{words, sample, code, rule, Quantizer()}).kernel;
  };
  plant("the conversion truncates instead of rounding to nearest", Sample::normal, FormatId::e4m3)
      .conversion.rounding = Rounding::toward_zero;
  plant("ties are rounded away from zero instead of to even", Sample::ties, FormatId::s8)
      .conversion.rounding = Rounding::nearest_away;
  plant("one half is added before truncation, also to negative numbers", Sample::normal,
        FormatId::s8)
      .before_conversion = [](float argument) {
    return static_cast<double>(static_cast<int>(argument + 0.5f));
  };
  plant("magnitudes above the largest code become a special value before they are rounded",
        Sample::normal, FormatId::e4m3, QuantizeRule::multiply_inverse)
      .before_conversion = [](float argument) {
    return std::fabs(argument) > 448 ? std::nan("") : static_cast<double>(argument);
  };
  plant("the top binade is clipped: magnitudes from 256 on become the largest code", Sample::normal,
        FormatId::e4m3)
      .before_conversion = [](float argument) {
    return std::fabs(argument) < 256 ? static_cast<double>(argument)
           : argument > 0            ? 448.0
                                     : -448.0;
  };
  plant("the value goes through f16, truncated, on its way to the code", Sample::normal,
        FormatId::e4m3)
      .before_conversion = [](float argument) {
    const Format& f16 = format(FormatId::f16);
    return to_double(
        f16, encode(f16, static_cast<double>(argument), {.rounding = Rounding::toward_zero}));
  };
  plant("the value is rounded to f16 on its way to the code", Sample::normal, FormatId::e4m3)
      .before_conversion = [](float argument) {
    const Format& f16 = format(FormatId::f16);
    return to_double(f16, encode(f16, static_cast<double>(argument)));
  };
  plant("NaN becomes the largest code", Sample::with_nan, FormatId::e4m3).before_conversion =
      [](float argument) { return std::isnan(argument) ? 448.0 : static_cast<double>(argument); };
  plant("the scale is left out", Sample::normal, FormatId::e4m3).argument =
      [](const Matrix&, float x, const GroupScale&) { return x; };
  plant("the value is multiplied by the scale instead of divided", Sample::normal, FormatId::e4m3)
      .argument = [](const Matrix&, float x, const GroupScale& group) { return group.scale * x; };
  plant("the scale is that of the following group", Sample::normal, FormatId::e4m3).group_shift = 1;
  plant("a group of zeros gives NaN: 0 / 0", Sample::zero_block, FormatId::e4m3).argument =
      [](const Matrix& matrix, float x, const GroupScale& group) {
        return x / (group.amax / largest_code(matrix.problem.code));
      };
  return all;
}

TEST(QuantizeFaults, EachPlantedFaultFailsAndIsNamed) {
  for (const Planted& fault : planted()) {
    const Matrix matrix(4, 384, fault.sample, fault.code, ScaleGroup::block_of_128, fault.rule);
    const Quantizer::Outputs out = fault.kernel.run(matrix);
    const QuantizeOracle oracle(matrix.problem);
    const OutputVerdict verdict = oracle.judge(kCodes, out.q, {});
    EXPECT_GT(verdict.failed, 0) << fault.words;
    EXPECT_THAT(oracle.explain(kCodes, verdict.worst.index, out.q).faults.names,
                ElementsAre(fault.words));
  }
}

// Where limit / amax overflows, all that is above the largest code is far above it: two faults fit.
TEST(QuantizeFaults, OverflowIsNamed) {
  const Matrix matrix(4, 384, Sample::subnormal, FormatId::e5m2, ScaleGroup::row,
                      QuantizeRule::multiply_limit);
  Quantizer kernel;
  kernel.conversion.overflow = Overflow::to_special;
  const Quantizer::Outputs out = kernel.run(matrix);
  const QuantizeOracle oracle(matrix.problem);
  EXPECT_GT(oracle.judge(kCodes, out.q, {}).class_mismatches, 1000);
  EXPECT_THAT(oracle.explain(kCodes, 0, out.q).faults.names,
              Contains("overflow becomes a special value instead of saturating"));
}

TEST(QuantizeFaults, ARandomWrongCodeFitsNone) {
  const OneWrong one(Sample::normal, FormatId::e4m3);
  const Tensor got = one.changed(kCodes, 300, one.out.q.bits(300) ^ 0x10);
  EXPECT_THAT(one.oracle.explain(kCodes, 300, got).faults.names, ElementsAre());
}

}  // namespace
}  // namespace plumbline
