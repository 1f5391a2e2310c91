// SPDX-License-Identifier: MIT
// The verdict on GEMMs: kernels that keep their contract never fail, kernels with a fault do, and
// every number of a verdict means what oracle.h says.
#include "oracles/reference/gemm/oracle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <iterator>

#include "tests/oracles/reference/gemm/fixture.h"

namespace plumbline {
namespace {

using testing::Data;
using testing::Gemm;
using testing::GemmSetup;
using testing::hopper_bf16;
using testing::Kernel;
using testing::kernel;
using testing::NamedContract;

OutputVerdict judged(const Gemm& gemm, const NamedContract& promised,
                     const JudgeOptions& options = {}) {
  return GemmOracle(gemm.problem, promised.contract, promised.sm).judge(0, gemm.d, options);
}

std::vector<GemmSetup> epilogue_setups() {
  std::vector<GemmSetup> setups;
  for (const FormatId output : {FormatId::bf16, FormatId::f32, FormatId::f16, FormatId::e4m3}) {
    for (int variant = 0; variant < 5; ++variant) {
      GemmSetup setup;
      setup.output = output;
      setup.alpha = variant == 0 ? 1.0f : variant == 1 ? -0.37f : 1.7f;
      setup.beta = variant >= 2 ? (variant == 2 ? 1.0f : -0.6f) : 0.0f;
      setup.bias = variant == 0 || variant == 3 ? BiasKind::none
                   : variant == 4               ? BiasKind::per_row
                                                : BiasKind::per_column;
      setup.relu = variant >= 3;
      setup.seed = static_cast<std::uint64_t>(variant + 1);
      setups.push_back(setup);
    }
  }
  return setups;
}

TEST(GemmOracle, NeverFailsAKernelThatKeepsItsContract) {
  std::int64_t outputs = 0;
  for (const NamedContract& promised : testing::bound_contracts()) {
    int turn = 0;
    for (GemmSetup setup : epilogue_setups()) {
      setup.a = promised.a;
      setup.b = promised.b;
      for (const std::int64_t k : {0, 3, 40, 130}) {
        setup.k = k;
        setup.data =
            testing::kAllData[static_cast<std::size_t>(turn++) % std::size(testing::kAllData)];
        if (k == 130 && turn % 4 != 0) continue;
        Gemm gemm(setup);
        kernel(promised).run(gemm);
        const OutputVerdict verdict = judged(gemm, promised);
        ASSERT_EQ(verdict.failed, 0)
            << promised.name << " k " << k << " data " << static_cast<int>(setup.data) << " at "
            << verdict.worst.index << " share " << verdict.worst.share;
        EXPECT_EQ(verdict.disagreements, 0);
        EXPECT_EQ(verdict.unresolved, 0);
        EXPECT_EQ(verdict.compared, verdict.elements);
        EXPECT_FALSE(verdict.sampled);
        outputs += verdict.elements;
      }
    }
  }
  EXPECT_GE(outputs, 90000);
}

// The smallest accumulator fault there is in a 16-bit output: is it seen in about as many elements
// as the theory says?
double detection_rate(const Kernel& faulty, const GemmSetup& setup) {
  Gemm gemm(setup);
  faulty.run(gemm);
  const OutputVerdict verdict = judged(gemm, faulty.promised);
  EXPECT_EQ(verdict.disagreements, 0);
  return static_cast<double>(verdict.failed) / static_cast<double>(verdict.elements);
}

float to_bf16(float x) { return testing::stored(FormatId::bf16, static_cast<double>(x)); }

TEST(GemmOracle, CatchesFaultsAsOftenAsTheTheorySays) {
  GemmSetup setup;  // theory 3.8: alpha, bias, bf16 output
  setup.m = setup.n = 40;
  setup.k = 256;
  setup.alpha = 0.7f;
  setup.bias = BiasKind::per_column;
  const Kernel good = kernel(hopper_bf16());
  EXPECT_EQ(detection_rate(good, setup), 0);

  Kernel truncating = good;
  truncating.output.rounding = Rounding::toward_zero;
  EXPECT_NEAR(detection_rate(truncating, setup), 0.50, 0.05);

  Kernel rounds_early = good;  // to bf16 before the bias
  rounds_early.problem = [](GemmProblem& problem) { problem.alpha = 1; };
  rounds_early.accumulator = [&](float x) { return to_bf16(setup.alpha * x); };
  EXPECT_NEAR(detection_rate(rounds_early, setup), 0.26, 0.08);

  Kernel coarse_alpha = good;
  coarse_alpha.problem = [](GemmProblem& problem) { problem.alpha = to_bf16(problem.alpha); };
  EXPECT_GT(detection_rate(coarse_alpha, setup), 0.2);

  Kernel one_short = good;
  one_short.products = [](std::vector<float>& row, std::vector<float>&) { row.back() = 0; };
  EXPECT_GT(detection_rate(one_short, setup), 0.85);

  GemmSetup plain = setup;  // theory 3.10: no epilogue
  plain.alpha = 1;
  plain.bias = BiasKind::none;
  Kernel bf16_accumulator = good;
  bf16_accumulator.products = [](std::vector<float>& row, std::vector<float>& column) {
    // A chain of nodes whose result is rounded to bf16, presented as one exact product.
    float sum = 0;
    for (std::size_t p = 0; p < row.size(); p += 16) {
      double node = static_cast<double>(sum);
      for (std::size_t q = p; q < std::min(row.size(), p + 16); ++q)
        node += static_cast<double>(row[q]) * column[q];
      sum = to_bf16(static_cast<float>(node));
    }
    row = {sum};
    column = {1};
  };
  EXPECT_NEAR(detection_rate(bf16_accumulator, plain), 0.63, 0.08);
  plain.output = FormatId::f32;
  EXPECT_GT(detection_rate(bf16_accumulator, plain), 0.98);
  EXPECT_GT(detection_rate(one_short, plain), 0.98);
}

TEST(GemmOracle, FailsAKernelOfAnotherContract) {
  GemmSetup setup;
  setup.output = FormatId::f32;
  setup.k = 64;
  setup.m = setup.n = 20;
  Gemm gemm(setup);
  NamedContract promised = hopper_bf16();
  promised.sm = 80;
  kernel(promised).run(gemm);
  EXPECT_EQ(judged(gemm, promised).failed, 0);
  EXPECT_GT(judged(gemm, hopper_bf16()).failed, 4);
}

TEST(GemmOracle, DemandsBitEqualityWhereArithmeticIsExact) {
  GemmSetup setup;
  setup.data = Data::integers;
  setup.output = FormatId::f32;
  Gemm gemm(setup);
  kernel(hopper_bf16()).run(gemm);
  OutputVerdict verdict = judged(gemm, hopper_bf16());
  EXPECT_EQ(verdict.failed, 0);
  EXPECT_EQ(verdict.exact_required, verdict.elements);
  EXPECT_EQ(verdict.bounded, verdict.elements);
  EXPECT_EQ(verdict.worst_ulp, 0);
  gemm.d.set_bits(17, gemm.d.bits(17) ^ 1);
  verdict = judged(gemm, hopper_bf16());
  EXPECT_EQ(verdict.failed, 1);
  EXPECT_EQ(verdict.failures.at(0).index, 17);
  EXPECT_EQ(verdict.worst.index, 17);
  EXPECT_EQ(verdict.worst.share, std::numeric_limits<double>::infinity());
  EXPECT_EQ(std::fabs(verdict.worst.error_ulp), 1);
}

TEST(GemmOracle, CountsWhatItFinds) {
  GemmSetup setup;
  setup.relu = true;
  Gemm gemm(setup);
  kernel(hopper_bf16()).run(gemm);
  OutputVerdict verdict = judged(gemm, hopper_bf16());
  EXPECT_EQ(verdict.elements, 90);
  EXPECT_EQ(verdict.compared, 90);
  EXPECT_EQ(verdict.bounded, 90);  // small outputs are looked at closely
  EXPECT_EQ(verdict.refereed, 8);
  EXPECT_GT(verdict.nonzero, 30);
  EXPECT_LT(verdict.nonzero, 60);
  EXPECT_GT(verdict.worst_ulp, 0.3);
  EXPECT_LE(verdict.worst_ulp, 0.5);
  EXPECT_GT(verdict.worst_share, 0);
  EXPECT_LE(verdict.worst_share, 1);
  EXPECT_GT(verdict.median_bound_ulp, 0);
  EXPECT_LT(verdict.median_bound_ulp, 0.5);
  ASSERT_EQ(verdict.histogram.size(), 64u);
  std::int64_t all = 0, outer = 0;
  for (std::size_t cell = 0; cell < 64; ++cell) {
    all += verdict.histogram[cell];
    if (cell < 28 || cell > 36) outer += verdict.histogram[cell];
  }
  EXPECT_EQ(all, 90);
  EXPECT_EQ(outer, 0);  // all within half an ulp

  gemm.d.set_bits(3, 0x7fc0);                   // NaN
  gemm.d.set_bits(5, gemm.d.bits(5) ^ 0x0040);  // far off
  verdict = judged(gemm, hopper_bf16());
  EXPECT_EQ(verdict.failed, 2);
  EXPECT_EQ(verdict.class_mismatches, 1);
  ASSERT_EQ(verdict.failures.size(), 2u);
  EXPECT_EQ(verdict.failures[0].index, 3);
  EXPECT_TRUE(verdict.failures[0].class_mismatch);
  EXPECT_EQ(verdict.failures[1].index, 5);
  EXPECT_EQ(verdict.worst.index, 3);
  EXPECT_GT(verdict.worst_share, 1);
}

TEST(GemmOracle, KeepsTheFirstSixteenFailures) {
  GemmSetup setup;
  setup.n = 700;  // several blocks
  setup.k = 4;
  Gemm gemm(setup);
  const OutputVerdict verdict = judged(gemm, hopper_bf16());  // d is all zeros
  EXPECT_GT(verdict.failed, 6000);
  EXPECT_EQ(verdict.nonzero, 0);
  ASSERT_EQ(verdict.failures.size(), 16u);
  for (std::size_t f = 1; f < 16; ++f)
    EXPECT_LT(verdict.failures[f - 1].index, verdict.failures[f].index);
  EXPECT_LT(verdict.failures[15].index, 20);
  // Gross failures were not looked at closely, but those kept are told with all numbers.
  for (const ElementVerdict& failure : verdict.failures) {
    EXPECT_GT(failure.share, 1);
    EXPECT_GT(std::fabs(failure.error_ulp), 0.5);
    EXPECT_NE(failure.expected, failure.got);
  }
  EXPECT_GT(verdict.worst_share, 1);
}

TEST(GemmOracle, SettlesWhatAnEnclosureLeavesOpenExactly) {
  GemmSetup setup;
  setup.output = FormatId::f32;
  setup.m = setup.n = 30;
  Gemm gemm(setup);
  kernel(hopper_bf16()).run(gemm);
  GemmOracle oracle(gemm.problem, hopper_bf16().contract, 90);
  SumEnclosures wide = gemm_sums(oracle.gemm().operands, 1);
  const OutputVerdict want = oracle.judge(0, gemm.d, {});
  for (std::size_t s = 0; s < wide.hi.size(); ++s) {
    wide.lo[s] += std::fabs(wide.hi[s]) * 0x1p-26;
    wide.bound[s] = std::fabs(wide.hi[s]) * 0x1p-25;
  }
  oracle.use_sums(wide);
  const OutputVerdict got = oracle.judge(0, gemm.d, {});
  EXPECT_EQ(want.undecided, 0);
  EXPECT_EQ(got.failed, 0);
  EXPECT_EQ(got.unresolved, 0);
  EXPECT_EQ(got.disagreements, 0);
}

// 1 + 2^-24 summed by f32 fma is a tie: the accumulator may be exactly E = 2^-24 off, and is.
struct AttainedBound {
  GemmSetup setup;
  std::unique_ptr<Gemm> gemm;
  NamedContract promised{"fma", testing::fma_contract(), 80, FormatId::bf16, FormatId::bf16};

  AttainedBound() {
    setup.m = setup.n = 1;
    setup.k = 2;
    setup.output = FormatId::f32;
    gemm = std::make_unique<Gemm>(setup);
    gemm->a.set_bits(0, 0x3f80);  // 1
    gemm->b.set_bits(0, 0x3f80);
    gemm->a.set_bits(1, 0x3980);  // 2^-12
    gemm->b.set_bits(1, 0x3980);
    gemm->d.set_bits(0, 0x3f800000);
  }

  // -2^-80 + 1 + 2^-24 with two roundings of 2^-24 at most: 1 - 2^-24 is inside by 2^-80.
  void end_of_range() {
    setup.k = 3;
    gemm = std::make_unique<Gemm>(setup);
    const std::array<std::uint64_t, 3> a = {0x9780, 0x3f80, 0x3980}, b = {0x1780, 0x3f80, 0x3980};
    for (int k = 0; k < 3; ++k) gemm->a.set_bits(k, a[k]), gemm->b.set_bits(k, b[k]);
    gemm->d.set_bits(0, 0x3f7fffff);
  }
};

TEST(GemmOracle, CountsUndecidedElementsAndHandsThemToTheReferee) {
  AttainedBound attained;
  GemmOracle oracle(attained.gemm->problem, attained.promised.contract, 80);
  SumEnclosures wide;
  wide.hi = {1};
  wide.lo = {0x1p-24};
  wide.bound = {0x1p-50};
  oracle.use_sums(wide);
  JudgeOptions options;
  options.referee_samples = 0;
  const OutputVerdict verdict = oracle.judge(0, attained.gemm->d, options);
  // The running bound's own sum is exact here, and would do; it is not used to narrow a wrong
  // enclosure.
  EXPECT_EQ(verdict.undecided, 1);
  EXPECT_EQ(verdict.refereed, 1);
  EXPECT_EQ(verdict.unresolved, 0);
  EXPECT_EQ(verdict.failed, 0);
  EXPECT_EQ(verdict.disagreements, 0);
  EXPECT_NEAR(verdict.worst_share, 1, 1e-9);
}

TEST(GemmOracle, CountsElementsThatTooFewBitsLeaveUnresolvedAsPassing) {
  AttainedBound attained;
  attained.end_of_range();
  const GemmOracle oracle(attained.gemm->problem, attained.promised.contract, 80);
  JudgeOptions options;
  options.mpfr_bits = 64;
  OutputVerdict verdict = oracle.judge(0, attained.gemm->d, options);
  EXPECT_EQ(verdict.unresolved, 1);
  EXPECT_EQ(verdict.failed, 0);
  options.mpfr_bits = 1200;
  verdict = oracle.judge(0, attained.gemm->d, options);
  EXPECT_EQ(verdict.unresolved, 0);
  EXPECT_EQ(verdict.failed, 0);
  EXPECT_EQ(verdict.refereed, 1);
}

TEST(GemmOracle, DecidesSumsThatFewBitsHoldExactly) {
  AttainedBound attained;
  const GemmOracle oracle(attained.gemm->problem, attained.promised.contract, 80);
  JudgeOptions options;
  options.mpfr_bits = 64;
  const OutputVerdict verdict = oracle.judge(0, attained.gemm->d, options);
  EXPECT_EQ(verdict.unresolved, 0);
  EXPECT_EQ(verdict.failed, 0);
  EXPECT_NEAR(verdict.worst_share, 1, 1e-9);
}

TEST(GemmOracle, GivesTheSameVerdictByTheMpfrDefinition) {
  GemmSetup setup;
  setup.output = FormatId::f32;
  setup.alpha = 0.3f;
  Gemm gemm(setup);
  kernel(hopper_bf16()).run(gemm);
  gemm.d.set_bits(40, gemm.d.bits(40) + 9);
  const GemmOracle oracle(gemm.problem, hopper_bf16().contract, 90);
  const OutputVerdict fast = oracle.judge(0, gemm.d, {});
  JudgeOptions options;
  options.mpfr_bits = 300;
  const OutputVerdict slow = oracle.judge(0, gemm.d, options);
  EXPECT_EQ(slow.refereed, slow.elements);
  EXPECT_EQ(slow.failed, fast.failed);
  EXPECT_GE(slow.failed, 1);
  EXPECT_EQ(slow.worst.share, fast.worst.share);
  EXPECT_EQ(slow.histogram, fast.histogram);
}

// What a kernel costs is told where terms hardly cancel: neither products nor what is added to
// them.
TEST(GemmOracle, MeasuresDistancesWhereNeitherProductsNorBiasCancel) {
  const auto relative = [](double bias) {
    GemmSetup setup;
    setup.m = setup.n = setup.k = 1;
    setup.output = FormatId::f32;
    setup.bias = BiasKind::per_row;
    Gemm gemm(setup);
    gemm.a.set_bits(0, 0x3f80);  // 1
    gemm.b.set_bits(0, 0x3f80);
    gemm.bias.set_bits(0, encode(format(gemm.bias.layout.format), bias));
    gemm.d.set_bits(0, encode(format(FormatId::f32), (1 + bias) * 1.25));
    const GemmOracle oracle(gemm.problem, testing::fma_contract(), 80);
    return oracle.judge(0, gemm.d, {}).failures.at(0).relative;
  };
  EXPECT_NEAR(relative(0.5), 0.25, 1e-6);
  EXPECT_NEAR(relative(-3), 0.25, 1e-6);
  EXPECT_TRUE(std::isnan(relative(-0.75)));
}

TEST(GemmOracle, NoticesWrongSums) {
  GemmSetup setup;
  Gemm gemm(setup);
  kernel(hopper_bf16()).run(gemm);
  GemmOracle oracle(gemm.problem, hopper_bf16().contract, 90);
  SumEnclosures wrong = gemm_sums(oracle.gemm().operands, 1);
  for (double& hi : wrong.hi) hi += 0x1p-20;
  oracle.use_sums(wrong);
  EXPECT_GT(oracle.judge(0, gemm.d, {}).disagreements,
            90);  // the second sum of each, and the referee
}

// Where no bound is computed and no referee looks, only the whole product can tell.
TEST(GemmOracle, NoticesOneWrongSumInAWholeProduct) {
  GemmSetup setup;
  setup.m = 150;
  setup.n = 140;
  setup.k = 20;
  setup.batch = 2;
  Gemm gemm(setup);
  kernel(hopper_bf16()).run(gemm);
  GemmOracle oracle(gemm.problem, hopper_bf16().contract, 90);
  JudgeOptions options;
  options.referee_samples = 0;
  OutputVerdict verdict = oracle.judge(0, gemm.d, options);
  EXPECT_EQ(verdict.confirmed, verdict.elements);
  EXPECT_EQ(verdict.disagreements, 0);

  SumEnclosures wrong = gemm_sums(oracle.gemm().operands, 1);
  const std::size_t at = 160 * 140 + 77;
  wrong.hi[at] += 0x1p-20;
  oracle.use_sums(wrong);
  verdict = oracle.judge(0, gemm.d, options);
  EXPECT_EQ(verdict.failed, 0);
  EXPECT_EQ(verdict.disagreements, 1);

  wrong.bound[at] = 0x1p-20;  // says itself that it may be off
  oracle.use_sums(wrong);
  verdict = oracle.judge(0, gemm.d, options);
  EXPECT_EQ(verdict.confirmed, verdict.elements - 140);
  EXPECT_EQ(verdict.disagreements, 0);
}

TEST(GemmOracle, LooksAtAStratifiedSampleWhenTold) {
  GemmSetup setup;
  setup.m = 150;
  setup.n = 140;
  setup.k = 20;
  setup.output = FormatId::f32;
  Gemm gemm(setup);
  kernel(hopper_bf16()).run(gemm);
  JudgeOptions options;
  options.max_bounded = 2000;
  OutputVerdict verdict = judged(gemm, hopper_bf16(), options);
  EXPECT_TRUE(verdict.sampled);
  EXPECT_EQ(verdict.failed, 0);
  EXPECT_LE(verdict.bounded - verdict.exact_required,
            2000);  // exactness known in advance costs no bound
  EXPECT_GE(verdict.bounded, 1500);
  EXPECT_LT(verdict.compared, verdict.elements);
  // A gross fault outside the sample is still found.
  for (std::int64_t j = 0; j < setup.n; ++j) gemm.d.set_bits(77 * setup.n + j, 0x41000000);
  verdict = judged(gemm, hopper_bf16(), options);
  EXPECT_EQ(verdict.failed, setup.n);
}

void expect_equal(const ElementVerdict& x, const ElementVerdict& y) {
  EXPECT_EQ(x.index, y.index);
  EXPECT_EQ(x.got, y.got);
  EXPECT_EQ(x.share, y.share);
  EXPECT_EQ(x.error_ulp, y.error_ulp);
  EXPECT_EQ(x.bound_ulp, y.bound_ulp);
}

TEST(GemmOracle, GivesTheSameVerdictOnAnyNumberOfThreads) {
  GemmSetup setup;
  setup.m = 70;
  setup.n = 530;
  setup.k = 33;
  setup.batch = 2;
  setup.output = FormatId::f32;
  Gemm gemm(setup);
  kernel(hopper_bf16()).run(gemm);
  for (std::int64_t p = 0; p < 100; ++p) gemm.d.set_bits(p * 711, gemm.d.bits(p * 711) + 3);
  for (const std::int64_t most : {std::int64_t{-1}, std::int64_t{3000}}) {
    JudgeOptions options;
    options.max_bounded = most;
    const OutputVerdict one = judged(gemm, hopper_bf16(), options);
    options.threads = 5;
    const OutputVerdict five = judged(gemm, hopper_bf16(), options);
    EXPECT_EQ(one.failed, five.failed);
    EXPECT_EQ(one.compared, five.compared);
    EXPECT_EQ(one.bounded, five.bounded);
    EXPECT_EQ(one.undecided, five.undecided);
    EXPECT_EQ(one.worst_ulp, five.worst_ulp);
    EXPECT_EQ(one.worst_share, five.worst_share);
    EXPECT_EQ(one.median_bound_ulp, five.median_bound_ulp);
    EXPECT_EQ(one.histogram, five.histogram);
    ASSERT_EQ(one.failures.size(), five.failures.size());
    for (std::size_t f = 0; f < one.failures.size(); ++f)
      expect_equal(one.failures[f], five.failures[f]);
    expect_equal(one.worst, five.worst);
  }
}

TEST(GemmOracle, AgreesWithItselfOnSingleElements) {
  GemmSetup setup;
  setup.alpha = 0.3f;
  setup.bias = BiasKind::per_row;
  Gemm gemm(setup);
  kernel(hopper_bf16()).run(gemm);
  gemm.d.set_bits(12, gemm.d.bits(12) + 1);
  const GemmOracle oracle(gemm.problem, hopper_bf16().contract, 90);
  const OutputVerdict verdict = oracle.judge(0, gemm.d, {});
  std::int64_t failed = 0;
  for (std::int64_t index = 0; index < 90; ++index) {
    const ElementVerdict element = oracle.element(0, index, gemm.d.bits(index));
    failed += element.pass ? 0 : 1;
    EXPECT_TRUE(oracle.element(0, index, element.expected).pass);
    EXPECT_TRUE(oracle.element(0, index, element.low).pass);
    EXPECT_TRUE(oracle.element(0, index, element.high).pass);
    if (index == verdict.worst.index) expect_equal(element, verdict.worst);
  }
  EXPECT_EQ(failed, verdict.failed);
  EXPECT_EQ(failed, 1);
}

TEST(GemmOracle, ReadsStridesOffsetsAndSharedOperands) {
  GemmSetup setup;
  setup.batch = 3;
  setup.alpha = 2;
  setup.beta = 1;
  Gemm gemm(setup);
  gemm.b = testing::tensor_of(FormatId::bf16, {1, setup.k, setup.n});
  testing::fill(gemm.b, Data::normal, Random(8));
  gemm.b.layout.shape = {3, setup.k, setup.n};  // one B for all batches
  gemm.b.layout.strides = {0, setup.n, 1};
  TensorLayout padded;
  padded.format = FormatId::bf16;
  padded.shape = {3, setup.m, setup.n};
  padded.strides = {1000, 1, 12};  // column major with padding
  padded.offset = 7;
  gemm.d = Tensor(padded);
  gemm.c = Tensor(padded);
  testing::fill(gemm.c, Data::normal, Random(9));
  kernel(hopper_bf16()).run(gemm);
  const OutputVerdict verdict = judged(gemm, hopper_bf16());
  EXPECT_EQ(verdict.failed, 0);
  EXPECT_EQ(verdict.disagreements, 0);
  EXPECT_EQ(verdict.elements, 270);
}

TEST(GemmOracle, AcceptsEmptyProblems) {
  GemmSetup setup;
  setup.m = 0;
  Gemm no_rows(setup);
  EXPECT_EQ(judged(no_rows, hopper_bf16()).elements, 0);
  setup.m = 9;
  setup.k = 0;  // D = beta * C
  setup.beta = 0.5f;
  Gemm no_products(setup);
  kernel(hopper_bf16()).run(no_products);
  const OutputVerdict verdict = judged(no_products, hopper_bf16());
  EXPECT_EQ(verdict.failed, 0);
  EXPECT_EQ(verdict.exact_required, verdict.elements);
}

TEST(GemmOracle, TakesIntegersModulo32Bits) {
  GemmSetup setup;
  setup.a = setup.b = FormatId::s8;
  setup.output = FormatId::s32;
  NamedContract promised{"int8", {}, 90, FormatId::s8, FormatId::s8};
  promised.contract.unit = Unit::int32;
  Gemm gemm(setup);
  const auto sum_of = [&](std::int64_t index) {
    const std::vector<float> row = gemm.row(0, index / 10), column = gemm.column(0, index % 10);
    std::uint32_t sum = 0;
    for (std::size_t p = 0; p < row.size(); ++p)
      sum += static_cast<std::uint32_t>(static_cast<std::int32_t>(row[p] * column[p]));
    return sum;
  };
  for (std::int64_t index = 0; index < 90; ++index) gemm.d.set_bits(index, sum_of(index));
  EXPECT_EQ(judged(gemm, promised).failed, 0);
  EXPECT_EQ(judged(gemm, promised).exact_required, 90);
  gemm.d.set_bits(4, sum_of(4) + 1);
  EXPECT_EQ(judged(gemm, promised).failed, 1);
  JudgeOptions by_definition;
  by_definition.mpfr_bits = 64;
  const OutputVerdict verdict =
      GemmOracle(gemm.problem, promised.contract, 90).judge(0, gemm.d, by_definition);
  EXPECT_EQ(verdict.failed, 1);
  EXPECT_EQ(verdict.unresolved, 0);
}

}  // namespace
}  // namespace plumbline
