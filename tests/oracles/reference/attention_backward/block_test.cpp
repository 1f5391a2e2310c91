// SPDX-License-Identifier: MIT
// The fast path against the definition: sums in FP64 within their errors, weights of a kernel
// around those of the reference, and what NaN and Inf do.
#include "oracles/reference/attention_backward/block.h"
#include "oracles/exact/dyadic.h"

#include <gtest/gtest.h>

#include "oracles/reference/attention_backward/oracle.h"
#include "oracles/reference/attention_backward/sums.h"
#include "tests/oracles/reference/attention_backward/samples.h"

namespace plumbline::testing {
namespace {

constexpr GradientOutput kOutputs[] = {GradientOutput::dq, GradientOutput::dk, GradientOutput::dv};

TEST(FormatRounding, IsEncode) {
  Random random(3);
  for (const FormatId id : {FormatId::bf16, FormatId::f16, FormatId::e4m3, FormatId::e5m2}) {
    const FormatRounding round(id);
    for (int n = 0; n < 20000; ++n) {
      double x = std::ldexp(2 * random.unit() - 1, static_cast<int>(random.between(-140, 130)));
      if (n % 3 == 0) x = round(x) * (1 + 0x1p-9);  // next to a tie, or one
      if (n % 3 == 1) x = static_cast<double>(static_cast<float>(x));
      const double expected =
          to_double(format(id), encode(format(id), x, {.overflow = Overflow::saturate}));
      ASSERT_EQ(round(x), expected) << x;
    }
  }
}

class InFormats : public ::testing::TestWithParam<bool> {
 protected:
  static bool fp8() { return GetParam(); }

  static AttentionBackwardContract contract() {
    AttentionBackwardContract contract;
    if (!fp8()) return contract;
    contract.p = FormatId::e4m3;
    contract.p_shift = 8;
    contract.ds = FormatId::e5m2;
    return contract;
  }

  static GradientSetup setup() {
    GradientSetup setup;
    setup.fp8 = fp8();
    if (fp8()) setup.scales = {0.75f, 1.3f, 0.6f, 1.7f, 90.0f};
    return setup;
  }
};

using GradientBlockIn = InFormats;

TEST_P(GradientBlockIn, SumsAreWithinTheirErrorsAndWeightsWithinTheirRanges) {
  std::int64_t uncertain = 0, pairs = 0;
  for (const GradientValues values : kGradientValues) {
    GradientSetup setup = InFormats::setup();
    setup.values = values;
    setup.d = setup.dv = 16;
    setup.queries = 9;
    setup.mask.causal = Causal::bottom_right;
    if (values == GradientValues::peaked) setup.softcap = 4;
    const GradientCase example(setup);
    const GradientOperands operands(example.problem, contract(), 90,
                                    gradient_groups(example.problem).front());
    const GradientWeights64 weights(operands);
    const GradientSurvey survey(operands, weights, 1);
    for (const GradientOutput output : kOutputs) {
      const std::int64_t width = operands.rows(output).width;
      for (std::int64_t line = 0; line < operands.lines(output); line += 3) {
        GradientBlock block(operands, weights, output, {line});
        std::vector<std::int64_t> columns;
        for (std::int64_t x = 0; x < width; x += 5) columns.push_back(x);
        const std::vector<Dyadic> exact = defined_sums(operands, output, line, columns, 256);
        for (std::size_t c = 0; c < columns.size(); ++c) {
          const SumEnclosure sum = survey.sum(output, line, columns[c]);
          const Dyadic off = (exact[c] - Dyadic(sum.hi) - Dyadic(sum.lo)).abs();
          EXPECT_FALSE(Dyadic(sum.bound) < off) << static_cast<int>(values);
          const RunningBound bound = block.bound(0, columns[c]);
          EXPECT_LE(std::fabs(bound.sum - sum.hi), bound.sum_error + sum.bound);
          EXPECT_LE(bound.error, block.error_any(0, columns[c]));
        }
      }
    }
    // The reference's own weight is one that a kernel may have, or next to it.
    for (std::int64_t i = 0; i < operands.queries; ++i) {
      for (std::int64_t j = 0; j < operands.keys; ++j) {
        const GradientPair at{0, i, j};
        if (!weights.visible(at)) continue;
        PairProducts products;
        for (std::int64_t x = 0; x < 16; ++x) {
          products.score +=
              static_cast<double>(operands.q.row(i)[x]) * static_cast<double>(operands.k.row(j)[x]);
        }
        products.score_error = weights.score_error(at);
        const KernelWeight kernel = weights.kernel(GradientOutput::dv, at, products);
        const double reference = weights.reference(GradientOutput::dv, at, products).value;
        ASSERT_FALSE(kernel.may_overflow);
        const double step = fp8() ? std::max(std::ldexp(reference, -3), 0x1p-9)
                                  : std::ldexp(std::max(reference, 0x1p-126), -7);
        EXPECT_GE(reference, static_cast<double>(kernel.low) - 2 * step);
        EXPECT_LE(reference, static_cast<double>(kernel.high) + 2 * step);
        uncertain += kernel.low != kernel.high;
        ++pairs;
      }
    }
  }
  EXPECT_LT(static_cast<double>(uncertain), 0.1 * static_cast<double>(pairs));
}

INSTANTIATE_TEST_SUITE_P(Bf16AndFp8, GradientBlockIn, ::testing::Bool());

using GradientSpecialsIn = InFormats;

// One element of one input becomes NaN or an infinity.
TEST_P(GradientSpecialsIn, AKernelThatComputesWithThemPasses) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (int which = 0; which < 6; ++which) {
    for (const float poison : {std::nanf(""), infinity, -infinity}) {
      GradientSetup setup = InFormats::setup();
      setup.queries = 12;
      setup.keys = 16;
      setup.d = setup.dv = 8;
      setup.mask.causal = Causal::bottom_right;
      GradientCase example(setup);
      Tensor* const inputs[] = {&example.q, &example.k,   &example.v,
                                &example.o, &example.d_o, &example.lse};
      Tensor& input = *inputs[which];
      // Row 8 of head 0: queries 0 to 3 do not see key 8, and keys 13 to 15 are not seen by
      // query 8.
      const std::int64_t row = 8, x = 3;
      input.set_bits(which == 5 ? row : row * setup.d + x,
                     encode(format(input.layout.format), static_cast<double>(poison)));
      const Gradients gradients = model_gradients(example, {.contract = contract()});
      const AttentionBackwardOracle oracle(example.problem, contract(), 90);
      const Tensor* const outputs[] = {&gradients.dq, &gradients.dk, &gradients.dv};
      for (int output = 0; output < 3; ++output) {
        const OutputVerdict verdict = oracle.judge(output, *outputs[output], {});
        EXPECT_EQ(verdict.failed, 0) << "input " << which << " " << poison << " output " << output;
        EXPECT_EQ(verdict.disagreements, 0);
        // What must be NaN may not be a number, and the other way round.
        if (!std::isnan(poison)) continue;
        Tensor other = *outputs[output];
        const Format& stored = format(other.layout.format);
        for (std::int64_t p = 0; p < other.layout.count(); ++p) {
          const bool nan = std::isnan(to_double(stored, other.bits(p)));
          other.set_bits(p, nan ? 0 : stored.canonical_nan);
        }
        const OutputVerdict reversed = oracle.judge(output, other, {});
        EXPECT_GT(reversed.class_mismatches, other.layout.count() / 4);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Bf16AndFp8, GradientSpecialsIn, ::testing::Bool());

TEST(GradientSpecials, ARowWithAnInfiniteLseGivesNothing) {
  GradientSetup setup;
  setup.queries = 3;
  setup.heads = setup.kv_heads = 1;
  GradientCase example(setup);
  for (const std::uint64_t infinity : {0x7f800000u, 0xff800000u}) {
    for (int i = 0; i < 3; ++i) example.lse.set_bits(i, infinity);
    const AttentionBackwardOracle oracle(example.problem, {}, 90);
    for (int output = 0; output < 3; ++output) {
      const OutputVerdict verdict = oracle.judge(output, example.output(output), {});
      EXPECT_EQ(verdict.failed, 0);
      EXPECT_EQ(verdict.exact_required, verdict.bounded);
      EXPECT_FALSE(oracle.element(output, 7, 0x3c00).pass);
    }
  }
}

}  // namespace
}  // namespace plumbline::testing
