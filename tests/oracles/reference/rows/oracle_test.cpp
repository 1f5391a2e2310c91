// SPDX-License-Identifier: MIT
// The verdict on row operations: no conforming kernel fails, however it uses the room that the
// contract leaves; what is exact is demanded bit for bit; faults fail, and the simple ones are
// named.
#include "oracles/reference/rows/oracle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "oracles/reference/rows/ranges.h"
#include "tests/oracles/reference/rows/samples.h"

namespace plumbline {
namespace {

using namespace plumbline::testing;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Counts {
  std::int64_t judged = 0, failed = 0, disagreements = 0;
  double worst_share = 0;
};

void judge(const RowCase& made, Counts& counts, const std::string& name) {
  for (int output = 0; output < made.oracle->outputs(); ++output) {
    const OutputVerdict verdict =
        made.oracle->judge(output, made.got[static_cast<std::size_t>(output)], {});
    counts.judged += verdict.compared;
    counts.failed += verdict.failed;
    counts.disagreements += verdict.disagreements;
    counts.worst_share = std::max(counts.worst_share, verdict.worst_share);
    EXPECT_EQ(verdict.failed, 0) << name << " " << made.oracle->output_name(output) << " at "
                                 << verdict.worst.index << ": got " << std::hex << verdict.worst.got
                                 << ", admissible " << verdict.worst.low << " to "
                                 << verdict.worst.high;
    EXPECT_EQ(verdict.disagreements, 0) << name << " " << made.oracle->output_name(output);
  }
}

std::string name_of(RowKind kind, RowData data, std::int64_t n) {
  return "kind " + std::to_string(static_cast<int>(kind)) + " data " +
         std::to_string(static_cast<int>(data)) + " n=" + std::to_string(n);
}

TEST(RowOracle, ConformingKernelsPass) {
  Counts counts;
  for (const RowKind kind : kRowKinds) {
    for (const RowData data : kRowData) {
      for (const std::int64_t n : {1, 2, 7, 64, 131, 1100}) {
        RowContract contract;
        contract.quotient = static_cast<RowQuotient>(n % 3);
        if (n % 2 == 0) contract.exponential = RowExponential::kept;
        contract.root = n % 3 == 1 ? RowRoot::exact : RowRoot::approximate;
        contract.lanes = n == 1100 ? 32 : 128;
        contract.stripes = 4;
        const RowCase made(kind, n > 1000 ? 2 : 7, n, data, static_cast<std::uint64_t>(n) + 1,
                           FormatId::f32, contract);
        judge(made, counts, name_of(kind, data, n));
      }
    }
  }
  EXPECT_GT(counts.judged, 100000);
  EXPECT_GT(counts.worst_share, 0.1) << "the bound is attained to within a factor";
}

TEST(RowOracle, ConformingKernelsPassInBf16) {
  Counts counts;
  for (const RowKind kind : kRowKinds) {
    for (const RowData data : kRowData) {
      const RowCase made(kind, 5, 77, data, 3, FormatId::bf16);
      judge(made, counts, name_of(kind, data, 77));
    }
  }
  EXPECT_EQ(counts.failed, 0);
}

// With eps = 0 the sums of what is small decide.
TEST(RowOracle, NormsOfFastMathPass) {
  for (const RowKind kind : {RowKind::rmsnorm, RowKind::layernorm}) {
    for (const RowData data : kRowData) {
      for (const std::int64_t n : {1, 2, 33, 300}) {
        RowContract contract;
        contract.mean = RowMean::approximate;
        contract.subnormals_flushed = true;
        RowCase made(kind, 20, n, data, static_cast<std::uint64_t>(n), FormatId::f32, contract);
        for (const float eps : {0.0f, 1e-5f, 0x1p-127f}) {
          made.problem.eps = eps;
          made.run();
          made.oracle = std::make_unique<RowOracle>(made.problem);
          Counts counts;
          judge(made, counts, name_of(kind, data, n));
        }
      }
    }
  }
}

// Scales of 2^-63 make logits, and dX, of the smallest numbers.
TEST(RowOracle, SoftmaxOfFastMathPasses) {
  for (const RowKind kind : {RowKind::softmax, RowKind::softmax_backward}) {
    for (const RowData data : kRowData) {
      for (const std::int64_t n : {1, 2, 33, 300}) {
        RowContract contract;
        contract.quotient = static_cast<RowQuotient>(n % 3);
        if (n % 2 == 0) contract.exponential = RowExponential::kept;
        contract.subnormals_flushed = true;
        RowCase made(kind, 20, n, data, static_cast<std::uint64_t>(n), FormatId::f32, contract);
        for (const float scale : {0.75f, 1.0f, 0x1p-63f, 0x1p-126f, 0x1p-127f, 64.0f}) {
          made.problem.scale = scale;
          made.run();
          made.oracle = std::make_unique<RowOracle>(made.problem);
          Counts counts;
          judge(made, counts, name_of(kind, data, n));
        }
      }
    }
  }
}

// Forward, a probability of 2^-125 that the sum takes below 2^-126; backward, a Y of 2^-127.
TEST(RowOracle, SoftmaxFlushesSubnormalNumbersOnlyWhereTheContractSaysSo) {
  for (const bool flushed : {false, true}) {
    for (const RowKind kind : {RowKind::softmax, RowKind::softmax_backward}) {
      RowContract contract;
      contract.subnormals_flushed = flushed;
      RowCase made(kind, 2, 8, RowData::equal, 4, FormatId::f32, contract);
      made.problem.scale = 1;
      const bool forward = kind == RowKind::softmax;
      for (std::int64_t j = 0; j < 8; ++j)
        made.x.set_bits(j, j < 7 ? 0 : forward ? 0xc2ad : 0x0040);
      for (std::int64_t j = 0; j < 8 && !forward; ++j) made.dy.set_bits(j, 0x3f80);  // 1
      if (!forward) made.x.set_bits(0, 0x3f00);                                      // 1/2
      made.run();
      made.oracle = std::make_unique<RowOracle>(made.problem);
      EXPECT_EQ(made.stored(0, 7) == 0, flushed);
      EXPECT_EQ(made.oracle->judge(0, made.got[0], {}).failed, 0);
      made.got[0].set_bits(7, flushed ? 0x00100000 : 0);
      EXPECT_EQ(made.oracle->judge(0, made.got[0], {}).failed, 1) << flushed;
    }
  }
}

TEST(RowOracle, SubnormalNumbersAreFlushedOnlyWhereTheContractSaysSo) {
  for (const bool flushed : {false, true}) {
    RowContract contract;
    contract.subnormals_flushed = flushed;
    RowCase made(RowKind::rmsnorm, 2, 8, RowData::integers, 4, FormatId::bf16, contract);
    made.gamma.set_bits(3, 0x0040);  // 2^-127
    made.x.set_bits(3, 0x3f80);
    made.run();
    EXPECT_EQ(made.stored(0, 3) == 0, flushed);
    EXPECT_EQ(made.oracle->judge(0, made.got[0], {}).failed, 0);
    made.got[0].set_bits(3, flushed ? 0x0010 : 0);
    EXPECT_EQ(made.oracle->judge(0, made.got[0], {}).failed, 1) << flushed;
  }
}

TEST(RowOracle, WhatIsAddedToGammaCounts) {
  for (const RowData data : kRowData) {
    RowCase made(RowKind::rmsnorm, 9, 40, data, 5);
    made.problem.gamma_plus = 0.75f;
    made.run();
    made.oracle = std::make_unique<RowOracle>(made.problem);
    Counts counts;
    judge(made, counts, name_of(RowKind::rmsnorm, data, 40));
  }
}

TEST(RowOracle, MpfrAgreesWithDoubleEverywhere) {
  for (const RowKind kind : kRowKinds) {
    for (const RowData data : kRowData) {
      const RowCase made(kind, 3, 20, data, 5);
      for (int output = 0; output < made.oracle->outputs(); ++output) {
        const OutputVerdict verdict = made.oracle->judge(
            output, made.got[static_cast<std::size_t>(output)], {.mpfr_bits = 256});
        EXPECT_EQ(verdict.disagreements, 0) << name_of(kind, data, 20) << " output " << output;
        EXPECT_EQ(verdict.refereed, verdict.elements);
      }
    }
  }
}

// 2^-m exactly, though p, l and 1 / l are computed.
TEST(RowOracle, SoftmaxOfEqualScoresIsExact) {
  for (const std::int64_t n : {1, 2, 64, 1024}) {
    RowCase made(RowKind::softmax, 3, n, RowData::equal, 1);
    EXPECT_EQ(made.oracle->judge(0, made.got[0], {}).exact_required, 3 * n);
    EXPECT_EQ(made.stored(0, 1 % n), 1.0f / static_cast<float>(n));
    made.store(0, 2 % n, std::nextafterf(1.0f / static_cast<float>(n), 2));
    EXPECT_EQ(made.oracle->judge(0, made.got[0], {}).failed, 1) << n;
  }
}

TEST(RowOracle, LayerNormOfAConstantRowIsBetaExactly) {
  RowCase made(RowKind::layernorm, 4, 100, RowData::equal, 2);
  EXPECT_EQ(made.oracle->judge(0, made.got[0], {}).exact_required, 400);
  const auto beta = static_cast<float>(to_double(format(FormatId::bf16), made.beta.bits(17)));
  EXPECT_EQ(made.stored(0, 117), beta);
  made.store(0, 117, std::nextafterf(beta, 9));
  EXPECT_EQ(made.oracle->judge(0, made.got[0], {}).failed, 1);
}

TEST(RowOracle, SumsOfIntegersAreExact) {
  RowCase made(RowKind::layernorm_backward, 50, 6, RowData::integers, 4);
  const OutputVerdict verdict = made.oracle->judge(2, made.got[2], {});
  EXPECT_EQ(verdict.exact_required, 6) << "dbeta";
  made.store(2, 3, std::nextafterf(made.stored(2, 3), 1000));
  EXPECT_EQ(made.oracle->judge(2, made.got[2], {}).failed, 1);
}

TEST(RowOracle, RowsWithoutAFiniteLogitAreNan) {
  RowCase made(RowKind::softmax, 1, 8, RowData::normal, 4);
  constexpr std::uint64_t kMinusInfinity = 0xff80;
  for (std::int64_t j = 0; j < 8; ++j) made.x.set_bits(j, kMinusInfinity);
  made.run();
  EXPECT_TRUE(std::isnan(made.stored(0, 0)));
  EXPECT_EQ(made.oracle->judge(0, made.got[0], {}).failed, 0);
  made.store(0, 3, 0);
  const OutputVerdict verdict = made.oracle->judge(0, made.got[0], {});
  EXPECT_EQ(verdict.failed, 1);
  EXPECT_EQ(verdict.class_mismatches, 1);
}

TEST(RowOracle, LogitsOfMinusInfinityHaveNoProbability) {
  RowCase made(RowKind::softmax, 1, 8, RowData::normal, 4);
  made.x.set_bits(5, 0xff80);
  made.run();
  EXPECT_EQ(made.stored(0, 5), 0);
  EXPECT_EQ(made.oracle->judge(0, made.got[0], {}).failed, 0);
  made.store(0, 5, 0x1p-100f);
  EXPECT_EQ(made.oracle->judge(0, made.got[0], {}).failed, 1);
}

// In f32 the squares overflow, and the contract says so: rstd is 0.
TEST(RowOracle, OverflowIsPartOfTheContract) {
  RowCase made(RowKind::rmsnorm, 1, 8, RowData::normal, 4);
  for (std::int64_t j = 0; j < 8; ++j) made.x.set_bits(j, encode(format(FormatId::bf16), 0x1.8p65));
  made.run();
  EXPECT_EQ(made.stored(1, 0), 0);
  EXPECT_EQ(made.oracle->judge(1, made.got[1], {}).failed, 0);
  made.store(1, 0, 0x1p-66f);
  EXPECT_EQ(made.oracle->judge(1, made.got[1], {}).failed, 1);
}

TEST(RowOracle, NoRowsHaveSumsOfZero) {
  RowCase made(RowKind::layernorm_backward, 0, 5, RowData::normal, 4);
  for (const int output : {1, 2}) {
    const auto at = static_cast<std::size_t>(output);
    EXPECT_EQ(made.oracle->judge(output, made.got[at], {}).failed, 0);
    made.store(at, 2, 1e-30f);
    EXPECT_EQ(made.oracle->judge(output, made.got[at], {}).failed, 1);
  }
}

// 2^-17 of the value off: less than half an ulp of bf16, a hundred times the error of f32.
TEST(RowOracle, SmallErrorsFailInF32) {
  for (const RowKind kind : kRowKinds) {
    RowCase made(kind, 4, 200, RowData::positive, 6);
    std::int64_t changed = 0;
    for (std::int64_t index = 0; index < 800; index += 7, ++changed)
      made.store(0, index, made.stored(0, index) * (1 + 0x1p-17f));
    const std::int64_t failed = made.oracle->judge(0, made.got[0], {}).failed;
    EXPECT_GT(failed, changed * 4 / 5) << static_cast<int>(kind);
  }
}

TEST(RowOracle, ElementAgreesWithJudge) {
  for (const RowKind kind : kRowKinds) {
    const RowCase made(kind, 3, 9, RowData::normal, 7);
    for (int output = 0; output < made.oracle->outputs(); ++output) {
      const Tensor& got = made.got[static_cast<std::size_t>(output)];
      const OutputVerdict verdict = made.oracle->judge(output, got, {});
      const ElementVerdict again =
          made.oracle->element(output, verdict.worst.index, verdict.worst.got);
      EXPECT_EQ(again.share, verdict.worst.share);
      EXPECT_EQ(again.low, verdict.worst.low);
      EXPECT_EQ(again.high, verdict.worst.high);
    }
  }
}

// What a kernel with a fault in its inputs gives, judged with the right ones.
std::vector<std::string> faults_of(RowKind kind, void (*spoil)(RowCase&), void (*mend)(RowCase&),
                                   int output = 0) {
  RowCase made(kind, 6, 21, RowData::normal, 8);
  spoil(made);
  made.run();
  mend(made);
  const RowOracle oracle(made.problem);
  const Tensor& got = made.got[static_cast<std::size_t>(output)];
  EXPECT_GT(oracle.judge(output, got, {}).failed, 0);
  return oracle.explain(output, 2 % got.layout.count(), got).faults.names;
}

void set_eps(RowCase& made) { made.problem.eps = 0.25f; }

void no_eps(RowCase& made) { made.problem.eps = 0; }

TEST(RowExplain, NamesMissingNumbers) {
  EXPECT_THAT(faults_of(RowKind::layernorm, no_eps, set_eps), Contains(HasSubstr("eps")));
  EXPECT_THAT(faults_of(RowKind::rmsnorm, no_eps, set_eps, 1), Contains(HasSubstr("eps")));
  const auto no_plus = [](RowCase& made) { made.problem.gamma_plus = 0; };
  const auto plus = [](RowCase& made) { made.problem.gamma_plus = 1; };
  EXPECT_THAT(faults_of(RowKind::rmsnorm, no_plus, plus), Contains("nothing is added to gamma"));
  const auto no_scale = [](RowCase& made) { made.problem.scale = 1; };
  const auto scale = [](RowCase& made) { made.problem.scale = 0.25f; };
  EXPECT_THAT(faults_of(RowKind::softmax, no_scale, scale), Contains("the scale is missing"));
  EXPECT_THAT(faults_of(RowKind::softmax_backward, no_scale, scale),
              Contains("the scale is missing"));
}

TEST(RowExplain, NamesRowsAndParameters) {
  static Tensor kept;
  const auto no_gamma = [](RowCase& made) {
    kept = made.gamma;
    for (std::int64_t j = 0; j < 21; ++j) made.gamma.set_bits(j, 0x3f80);
  };
  const auto gamma = [](RowCase& made) { made.gamma = kept; };
  EXPECT_THAT(faults_of(RowKind::rmsnorm, no_gamma, gamma), Contains("gamma is missing"));
  EXPECT_THAT(faults_of(RowKind::layernorm_backward, no_gamma, gamma),
              Contains("gamma is missing"));
  const auto one_row = [](RowCase& made) {
    kept = made.dy;
    for (std::int64_t index = 21; index < 6 * 21; ++index) made.dy.set_bits(index, 0);
  };
  const auto all_rows = [](RowCase& made) { made.dy = kept; };
  EXPECT_THAT(faults_of(RowKind::rmsnorm_backward, one_row, all_rows, 1),
              Contains("only the first row counts"));
}

TEST(RowExplain, NamesMissingColumns) {
  for (const RowKind kind : {RowKind::rmsnorm, RowKind::layernorm, RowKind::softmax}) {
    RowCase made(kind, 2, 21, RowData::positive, 8);
    RowCase shorter(kind, 2, 20, RowData::positive, 8);
    for (std::int64_t j = 0; j < 20; ++j) {
      shorter.x.set_bits(j, made.x.bits(j));
      if (kind != RowKind::softmax) shorter.gamma.set_bits(j, made.gamma.bits(j));
      if (kind == RowKind::layernorm) shorter.beta.set_bits(j, made.beta.bits(j));
    }
    shorter.run();
    for (std::int64_t j = 0; j < 20; ++j) made.store(0, j, shorter.stored(0, j));
    for (std::size_t output = 1; output < made.got.size(); ++output)
      made.store(output, 0, shorter.stored(output, 0));
    EXPECT_THAT(made.oracle->explain(0, 3, made.got[0]).faults.names,
                Contains(HasSubstr("last column")));
  }
}

// Also where that is one column: another case tells which of the two it is.
TEST(RowExplain, NamesAMissingRestOfOneColumn) {
  RowCase made(RowKind::softmax, 1, 17, RowData::positive, 8);
  RowCase shorter(RowKind::softmax, 1, 16, RowData::positive, 8);
  for (std::int64_t j = 0; j < 16; ++j) shorter.x.set_bits(j, made.x.bits(j));
  shorter.run();
  for (std::int64_t j = 0; j < 16; ++j) made.store(0, j, shorter.stored(0, j));
  EXPECT_THAT(made.oracle->explain(0, 3, made.got[0]).faults.names,
              ::testing::IsSupersetOf({HasSubstr("the last column is missing"),
                                       HasSubstr("after the last multiple of 8 are missing")}));
}

TEST(RowExplain, NamesVariancesThatCancel) {
  RowCase made(RowKind::layernorm, 1, 64, RowData::offset, 9);
  const RowOf<float> row = made.problem.row(0);
  float sum = 0, squares = 0;
  for (const float x : row.x) {
    sum += x;
    squares += x * x;
  }
  const float mean = sum / 64, variance = squares / 64 - mean * mean,
              rstd = 1 / std::sqrt(variance + made.problem.eps);
  for (std::size_t j = 0; j < row.x.size(); ++j)
    made.store(0, static_cast<std::int64_t>(j),
               std::fmaf((row.x[j] - mean) * rstd, row.gamma[j], row.beta[j]));
  made.store(2, 0, rstd);
  for (const int output : {0, 2}) {
    const Tensor& got = made.got[static_cast<std::size_t>(output)];
    EXPECT_GT(made.oracle->judge(output, got, {}).failed, 0);
    EXPECT_THAT(made.oracle->explain(output, 0, got).faults.names,
                Contains(HasSubstr("mean of squares")));
  }
}

// Where they lose a few bits only, of an rstd that is right by any measure but its range.
TEST(RowExplain, NamesVariancesThatCancelALittle) {
  std::int64_t failed = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    RowCase made(RowKind::layernorm, 1, 3, RowData::positive, seed);
    float sum = 0, squares = 0;
    for (const float x : made.problem.row(0).x) {
      sum += x;
      squares = std::fmaf(x, x, squares);
    }
    const float mean = sum / 3, variance = squares / 3 - mean * mean;
    made.store(2, 0, 1 / std::sqrt(variance + made.problem.eps));
    if (made.oracle->judge(2, made.got[2], {}).failed == 0) continue;
    ++failed;
    EXPECT_THAT(made.oracle->explain(2, 0, made.got[2]).faults.names,
                Contains(HasSubstr("mean of squares")))
        << seed;
  }
  EXPECT_GT(failed, 5);
}

// Norms of rows of bf16, with the rstd of a faulty kernel and what it makes of x rstd.
template <typename Rstd, typename Normal>
void store_norms(RowCase& made, const Rstd& rstd, const Normal& normal) {
  for (std::int64_t i = 0; i < made.problem.m; ++i) {
    const RowOf<float> row = made.problem.row(i);
    double squares = 0;
    for (const float x : row.x) squares += static_cast<double>(x) * static_cast<double>(x);
    const double r = rstd(squares, static_cast<double>(row.n()));
    made.store(1, i, static_cast<float>(r));
    for (std::size_t j = 0; j < row.x.size(); ++j) {
      const double x = normal(static_cast<double>(row.x[j]) * r);
      made.store(0, i * row.n() + static_cast<std::int64_t>(j),
                 static_cast<float>(x * static_cast<double>(row.gamma[j])));
    }
  }
}

TEST(RowExplain, NamesWrongPlacesOfEps) {
  const double eps = 0.25;
  const auto named = [&](double (*rstd)(double squares, double n, double eps), int output) {
    RowCase made(RowKind::rmsnorm, 2, 21, RowData::normal, 8);
    set_eps(made);
    store_norms(
        made, [&](double squares, double n) { return rstd(squares, n, eps); },
        [](double x) { return x; });
    const RowOracle oracle(made.problem);
    const Tensor& got = made.got[static_cast<std::size_t>(output)];
    EXPECT_GT(oracle.judge(output, got, {}).failed, 0);
    return oracle.explain(output, 0, got).faults.names;
  };
  for (const int output : {0, 1}) {
    EXPECT_THAT(
        named([](double s, double n, double e) { return 1 / std::sqrt((s + e) / n); }, output),
        ElementsAre("eps is added before the division by n"));
    EXPECT_THAT(
        named([](double s, double n, double e) { return 1 / (std::sqrt(s / n) + e); }, output),
        ElementsAre("eps is added outside the root"));
    EXPECT_THAT(named([](double s, double, double e) { return 1 / std::sqrt(s + e); }, output),
                ElementsAre("the sum of squares is not divided by n"));
  }
}

TEST(RowExplain, NamesAProductThatIsRoundedTooEarly) {
  RowCase made(RowKind::rmsnorm, 2, 21, RowData::normal, 8, FormatId::bf16);
  const Format& f = format(FormatId::bf16);
  store_norms(
      made, [](double squares, double n) { return 1 / std::sqrt(squares / n + 1e-5); },
      [&](double x) { return to_double(f, encode(f, x)); });
  const OutputVerdict verdict = made.oracle->judge(0, made.got[0], {});
  ASSERT_GT(verdict.failed, 0);
  EXPECT_THAT(made.oracle->explain(0, verdict.worst.index, made.got[0]).faults.names,
              ElementsAre("x rstd is rounded to the output's format before gamma"));
}

// In f32 that shows where rstd is as small as it may be.
TEST(RowExplain, NamesAProductThatIsTruncated) {
  for (const FormatId normalized : {FormatId::bf16, FormatId::f32}) {
    RowCase made(RowKind::rmsnorm, 6, 21, RowData::normal, 8, normalized);
    made.problem.contract.normalized = normalized;
    const RowOracle oracle(made.problem);
    const Format& to = format(normalized);
    for (std::int64_t i = 0; i < 6; ++i) {
      const RowOf<float> row = made.problem.row(i);
      const float rstd = row_ranges(RowKind::rmsnorm, made.problem.contract, row).rstd.low;
      made.store(1, i, rstd);
      for (std::size_t j = 0; j < row.x.size(); ++j) {
        const double product = static_cast<double>(row.x[j]) * static_cast<double>(rstd);
        const double cut = to_double(to, encode(to, product, {.rounding = Rounding::toward_zero}));
        made.store(0, i * row.n() + static_cast<std::int64_t>(j),
                   static_cast<float>(cut) * row.gamma[j]);
      }
    }
    const OutputVerdict verdict = oracle.judge(0, made.got[0], {});
    ASSERT_GT(verdict.failed, 0);
    EXPECT_THAT(oracle.explain(0, verdict.worst.index, made.got[0]).faults.names,
                Contains("x rstd is truncated before gamma, not rounded to nearest"));
  }
}

TEST(RowExplain, NamesGradientsWithSumsForMeans) {
  RowCase made(RowKind::rmsnorm_backward, 1, 21, RowData::normal, 8);
  const RowOf<float> row = made.problem.row(0);
  double projected = 0;
  for (std::size_t j = 0; j < row.x.size(); ++j)
    projected += static_cast<double>(row.dy[j] * row.gamma[j] * row.x[j] * row.rstd);
  for (std::size_t j = 0; j < row.x.size(); ++j) {
    const double w = static_cast<double>(row.dy[j] * row.gamma[j]),
                 xhat = static_cast<double>(row.x[j] * row.rstd);
    made.store(0, static_cast<std::int64_t>(j),
               static_cast<float>(static_cast<double>(row.rstd) * (w - xhat * projected)));
  }
  EXPECT_GT(made.oracle->judge(0, made.got[0], {}).failed, 0);
  EXPECT_THAT(made.oracle->explain(0, 0, made.got[0]).faults.names,
              ElementsAre("the sums are not divided by n"));
}

// Half an ulp of a row of two columns, where nothing else is off.
TEST(RowExplain, NamesAMissingRoundingByTheCodesOfTheRow) {
  std::int64_t failed = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    RowCase made(RowKind::layernorm, 1, 2, RowData::positive, seed, FormatId::bf16);
    made.run();  // without the rounding that is promised now
    made.problem.contract.normalized = FormatId::bf16;
    const RowOracle oracle(made.problem);
    const OutputVerdict verdict = oracle.judge(0, made.got[0], {});
    if (verdict.failed == 0) continue;
    ++failed;
    const Explanation said = oracle.explain(0, verdict.worst.index, made.got[0]);
    ASSERT_FALSE(said.faults.names.empty()) << seed;  // two columns may look truncated as well
    EXPECT_EQ(said.faults.names[0], "x rstd is not rounded before gamma") << seed;
  }
  EXPECT_GT(failed, 5);
}

// In f32 the mean overflows, and NaN is due where mathematics has numbers.
TEST(RowExplain, NoOutputOfTheWrongClassIsCloseToRight) {
  RowCase made(RowKind::layernorm, 1, 4, RowData::normal, 8);
  for (std::int64_t j = 0; j < 4; ++j)
    made.x.set_bits(j, encode(format(FormatId::bf16), std::ldexp(static_cast<double>(j + 4), 125)));
  for (const int output : {0, 1}) {
    const std::vector<double> exact = made.oracle->reference_values(output, Reference::contract, 1);
    const auto at = static_cast<std::size_t>(output);
    for (std::size_t j = 0; j < exact.size(); ++j)
      made.store(at, static_cast<std::int64_t>(j), static_cast<float>(exact[j]));
    ASSERT_GT(made.oracle->judge(output, made.got[at], {}).class_mismatches, 0);
    EXPECT_EQ(made.oracle->explain(output, 0, made.got[at]).faults, NamedFaults::none(kNoFaultFits))
        << output;
  }
}

TEST(RowExplain, NamesFaultsOfSumsThatAreInfiniteElsewhere) {
  constexpr std::uint64_t kInfinity = 0x7f80;
  RowCase made(RowKind::layernorm_backward, 3, 5, RowData::normal, 8);
  made.dy.set_bits(0, kInfinity);
  made.run();
  for (std::int64_t j = 1; j < 5; ++j) {
    float sum = 0;
    for (std::int64_t i = 0; i < 2; ++i) sum += made.problem.row(i, j, 1).dy.front();
    made.store(2, j, sum);
  }
  EXPECT_GT(made.oracle->judge(2, made.got[2], {}).failed, 0);
  EXPECT_THAT(made.oracle->explain(2, 1, made.got[2]).faults.names,
              Contains("the last row is missing"));
  made.run();
  made.store(2, 0, 5);
  EXPECT_EQ(made.oracle->explain(2, 1, made.got[2]).faults, NamedFaults::none(kNoFaultFits));
}

// The mean and rstd stored beside a row say what the row was made of.
TEST(RowExplain, NamesNoFaultThatAStoredStatisticRefutes) {
  for (const RowKind kind : {RowKind::rmsnorm, RowKind::layernorm}) {
    RowCase made(kind, 2, 21, RowData::normal, 8);
    set_eps(made);
    made.run();
    const Tensor right = made.got.back();
    no_eps(made);
    made.run();
    set_eps(made);
    const RowOracle oracle(made.problem);
    const auto named = [&](const Tensor& got) { return oracle.explain(0, 1, got).faults.names; };
    EXPECT_THAT(named(made.got[0]), ElementsAre("eps is missing"));
    made.got.back() = right;  // rstd
    EXPECT_THAT(named(made.got[0]), ::testing::IsEmpty());
    const Tensor of_another_run = made.got[0];
    EXPECT_THAT(named(of_another_run), ElementsAre("eps is missing"));
    made.store(made.got.size() - 1, 0, 123);  // wrong by itself
    EXPECT_THAT(named(made.got[0]), ElementsAre("eps is missing"));
  }
}

// LayerNorm or RMSNorm of one row with the mean and rstd of a faulty kernel.
void store_norm(RowCase& made, double mean, double rstd) {
  const RowOf<float> row = made.problem.row(0);
  for (std::size_t j = 0; j < row.x.size(); ++j) {
    double y = (static_cast<double>(row.x[j]) - mean) * rstd * static_cast<double>(row.gamma[j]);
    if (!row.beta.empty()) y += static_cast<double>(row.beta[j]);
    made.store(0, static_cast<std::int64_t>(j), static_cast<float>(y));
  }
  if (made.got.size() > 2) made.store(1, 0, static_cast<float>(mean));
  made.store(made.got.size() - 1, 0, static_cast<float>(rstd));
}

// Of the first `columns` columns: the sum of (x - mean)^2.
double squares_of(const RowCase& made, std::int64_t columns, double mean) {
  double sum = 0;
  for (const float x : made.problem.row(0, 0, columns).x)
    sum += (static_cast<double>(x) - mean) * (static_cast<double>(x) - mean);
  return sum;
}

double sum_of(const RowCase& made, std::int64_t columns) {
  double sum = 0;
  for (const float x : made.problem.row(0, 0, columns).x) sum += static_cast<double>(x);
  return sum;
}

TEST(RowExplain, NamesADivisionByOneLess) {
  for (const std::int64_t n : {1, 2, 21}) {
    RowCase made(RowKind::layernorm, 1, n, RowData::normal, 8);
    const auto count = static_cast<double>(n);
    const double mean = sum_of(made, n) / count;
    store_norm(made, mean, 1 / std::sqrt(squares_of(made, n, mean) / (count - 1) + 1e-5));
    for (const int output : {0, 2}) {
      const Tensor& got = made.got[static_cast<std::size_t>(output)];
      EXPECT_GT(made.oracle->judge(output, got, {}).failed, 0);
      EXPECT_THAT(made.oracle->explain(output, 0, got).faults.names,
                  Contains("the sum of squares is divided by n - 1"))
          << n << " " << output;
    }
  }
}

// Sums without the last column, divided by n all the same. Of one column nothing is left.
TEST(RowExplain, NamesTheLastColumnThatSumsLack) {
  for (const RowKind kind : {RowKind::rmsnorm, RowKind::layernorm}) {
    for (const std::int64_t n : {1, 2, 21, 24}) {
      RowCase made(kind, 1, n, RowData::positive, 8);
      const auto count = static_cast<double>(n);
      const double mean = kind == RowKind::layernorm ? sum_of(made, n - 1) / count : 0;
      store_norm(made, mean, 1 / std::sqrt(squares_of(made, n - 1, mean) / count + 1e-5));
      for (int output = 0; output < made.oracle->outputs(); ++output) {
        // LayerNorm's rstd of one column is 1 / sqrt(eps) anyway.
        if (n == 1 && made.oracle->output_name(output) == "rstd" && kind == RowKind::layernorm)
          continue;
        const Tensor& got = made.got[static_cast<std::size_t>(output)];
        EXPECT_GT(made.oracle->judge(output, got, {}).failed, 0);
        EXPECT_THAT(made.oracle->explain(output, 0, got).faults.names,
                    Contains("the last column is missing from the sums"))
            << n << " " << output;
      }
    }
  }
}

// A fault that is smaller than a rounding of the output fits every right row.
TEST(RowExplain, NamesNothingWhereTheRowIsRight) {
  for (const RowKind kind : kRowKinds) {
    RowCase made(kind, 3, 2, RowData::positive, 8, FormatId::bf16);
    for (int output = 0; output < made.oracle->outputs(); ++output) {
      const Explanation said =
          made.oracle->explain(output, 1, made.got[static_cast<std::size_t>(output)]);
      EXPECT_EQ(said.faults, NamedFaults::none(kCloseToRight))
          << static_cast<int>(kind) << " " << output;
    }
  }
}

TEST(RowExplain, SaysWhatIsExactAndAdmissible) {
  RowCase made(RowKind::softmax, 1, 4, RowData::equal, 9);
  made.store(0, 2, 0.5f);
  const Explanation said = made.oracle->explain(0, 2, made.got[0]);
  EXPECT_THAT(said.lines, Contains(HasSubstr("row 0 has 4 columns")));
  EXPECT_THAT(said.lines, Contains(HasSubstr("exact 0.25; before it is stored, f32 values 0.25 and "
                                             "no other are admissible; the kernel stored 0.5")));
  EXPECT_EQ(said.faults, NamedFaults::none(kNoFaultFits));
}

}  // namespace
}  // namespace plumbline
