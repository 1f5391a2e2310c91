// SPDX-License-Identifier: MIT
// What norms of inference do otherwise: x rstd is rounded before it meets gamma, and sums along
// rows are multiplied by 1 / n. Kernels that keep such a contract never fail; kernels with another
// term do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "oracles/reference/rows/definition.h"
#include "oracles/stages/staged_rows.h"
#include "tests/oracles/reference/rows/samples.h"

namespace plumbline {
namespace {

using namespace plumbline::testing;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr RowKind kNorms[] = {RowKind::rmsnorm, RowKind::layernorm};
constexpr FormatId kRounded[] = {FormatId::bf16, FormatId::f16};

std::int64_t failures(const RowCase& made, const RowContract& promised) {
  RowProblem problem = made.problem;
  problem.contract = promised;
  const RowOracle oracle(problem);
  std::int64_t failed = 0;
  for (int output = 0; output < oracle.outputs(); ++output) {
    const OutputVerdict verdict =
        oracle.judge(output, made.got[static_cast<std::size_t>(output)], {});
    EXPECT_EQ(verdict.disagreements, 0) << oracle.output_name(output);
    failed += verdict.failed;
  }
  return failed;
}

RowContract varied(std::int64_t n, FormatId normalized, RowMean mean) {
  RowContract contract;
  contract.normalized = normalized;
  contract.mean = mean;
  contract.root = n % 3 == 1 ? RowRoot::exact : RowRoot::approximate;
  contract.lanes = n > 200 ? 32 : 128;
  contract.subnormals_flushed = n % 2 == 0;
  return contract;
}

TEST(NormsOfInference, NeverFailWhereTheyKeepTheirContract) {
  for (const RowKind kind : kNorms) {
    for (const RowData data : kRowData) {
      for (const FormatId normalized : {FormatId::f32, FormatId::bf16, FormatId::f16}) {
        for (const RowMean mean :
             {RowMean::quotient, RowMean::reciprocal, RowMean::reciprocal_either}) {
          for (const std::int64_t n : {1, 2, 7, 131, 700}) {
            const RowContract contract = varied(n, normalized, mean);
            RowCase made(kind, n > 500 ? 3 : 9, n, data, static_cast<std::uint64_t>(n) + 40,
                         n % 3 == 2 ? normalized : FormatId::f32, contract);
            for (const float plus : {0.0f, 0.75f}) {
              made.problem.gamma_plus = kind == RowKind::rmsnorm ? plus : 0;
              made.run();
              EXPECT_EQ(failures(made, contract), 0)
                  << static_cast<int>(kind) << " data " << static_cast<int>(data) << " n " << n;
            }
          }
        }
      }
    }
  }
}

TEST(NormsOfInference, AreToldFromThoseThatRoundOnce) {
  for (const RowKind kind : kNorms) {
    for (const FormatId rounded : kRounded) {
      for (const FormatId out : {FormatId::f32, rounded}) {
        RowContract once, twice;
        twice.normalized = rounded;
        const RowCase rounds_once(kind, 5, 128, RowData::normal, 3, out, once),
            rounds_twice(kind, 5, 128, RowData::normal, 3, out, twice);
        EXPECT_GT(failures(rounds_once, twice), 20);
        EXPECT_GT(failures(rounds_twice, once), 20);
        RowContract other = twice;
        other.normalized = rounded == FormatId::bf16 ? FormatId::f16 : FormatId::bf16;
        EXPECT_GT(failures(rounds_twice, other), 20);
      }
    }
  }
}

// Sums of integers are exact, so the mean is known to its last bit.
TEST(NormsOfInference, AreToldFromThoseThatDivide) {
  for (const RowKind kind : kNorms) {
    RowContract quotient, reciprocal;
    quotient.root = reciprocal.root = RowRoot::exact;
    reciprocal.mean = RowMean::reciprocal;
    const RowCase divides(kind, 100, 13, RowData::integers, 3, FormatId::f32, quotient),
        multiplies(kind, 100, 13, RowData::integers, 3, FormatId::f32, reciprocal);
    EXPECT_EQ(failures(divides, quotient), 0);
    EXPECT_EQ(failures(multiplies, reciprocal), 0);
    EXPECT_GT(failures(divides, reciprocal), 0);
    EXPECT_GT(failures(multiplies, quotient), 0);
  }
  // 1 / n is exact for powers of two.
  RowContract quotient, reciprocal;
  reciprocal.mean = RowMean::reciprocal;
  const RowCase made(RowKind::layernorm, 20, 64, RowData::normal, 3, FormatId::f32, quotient);
  EXPECT_EQ(failures(made, reciprocal), 0);
}

// nvcc makes one fma of sum * (1 / n) + eps, unless it is told not to. Sums of squares of integers
// are exact, so rstd is known to its last bit.
TEST(NormsOfInference, AreToldFromThoseThatFuseEps) {
  RowContract apart, either;
  apart.mean = RowMean::reciprocal;
  either.mean = RowMean::reciprocal_either;
  apart.root = either.root = RowRoot::exact;
  RowCase fuses(RowKind::rmsnorm, 100, 13, RowData::integers, 3, FormatId::f32, either);
  const RowCase rounds_twice(RowKind::rmsnorm, 100, 13, RowData::integers, 3, FormatId::f32, apart);
  EXPECT_EQ(failures(fuses, either), 0);
  EXPECT_EQ(failures(rounds_twice, either), 0);
  EXPECT_GT(failures(fuses, apart), 0);
  fuses.problem.contract = apart;
  const RowOracle oracle(fuses.problem);
  for (const int output : {0, 1}) {  // Y and rstd
    const Tensor& got = fuses.got[static_cast<std::size_t>(output)];
    const OutputVerdict verdict = oracle.judge(output, got, {});
    ASSERT_GT(verdict.failed, 0);
    EXPECT_THAT(oracle.explain(output, verdict.worst.index, got).faults.names,
                ElementsAre(HasSubstr("one fma")));
  }
}

TEST(NormsOfInference, HaveTheRoundingInTheirReference) {
  RowContract contract;
  contract.normalized = FormatId::bf16;
  const RowCase made(RowKind::rmsnorm, 3, 64, RowData::normal, 9, FormatId::f32, contract);
  const std::vector<double> promised = made.oracle->reference_values(0, Reference::contract, 1),
                            real = made.oracle->reference_values(0, Reference::mathematics, 1);
  double farthest = 0;
  for (std::size_t i = 0; i < real.size(); ++i) {
    const double off = std::fabs(promised[i] - real[i]) / std::fabs(real[i]);
    EXPECT_LE(off, 0x1p-8);
    farthest = std::max(farthest, off);
    EXPECT_NEAR(made.stored(0, static_cast<std::int64_t>(i)), promised[i],
                std::fabs(promised[i]) * 0x1p-24);
  }
  EXPECT_GT(farthest, 0x1p-10);
}

TEST(NormsOfInference, AreExplained) {
  RowContract twice;
  twice.normalized = FormatId::bf16;
  RowCase made(RowKind::rmsnorm, 3, 64, RowData::normal, 9, FormatId::bf16, {});
  made.problem.contract = twice;
  const RowOracle oracle(made.problem);
  const OutputVerdict verdict = oracle.judge(0, made.got[0], {});
  ASSERT_GT(verdict.failed, 0);
  const Explanation told = oracle.explain(0, verdict.worst.index, made.got[0]);
  EXPECT_THAT(told.faults.names, ElementsAre("x rstd is not rounded before gamma"));
  EXPECT_THAT(told.lines, Contains(HasSubstr("what meets gamma is rounded to bf16 first")));
  EXPECT_THAT(made.oracle->explain(0, 0, made.got[0]).lines,
              Not(Contains(HasSubstr("what meets gamma"))));
}

// Propagation: the rounding is a stage of its own, and alone it gives its own reference.
TEST(NormsOfInference, HaveAStageForTheRounding) {
  RowContract contract;
  contract.normalized = FormatId::bf16;
  const RowCase made(RowKind::layernorm, 3, 40, RowData::normal, 9, FormatId::bf16, contract);
  const auto staged = staged_rows(made.problem, made.problem);
  const StageSet rounding = staged->stages_of(StageKind::mandated);
  ASSERT_NE(rounding, 0u);
  const std::vector<double> promised = made.oracle->reference_values(0, Reference::contract, 1),
                            real = made.oracle->reference_values(0, Reference::mathematics, 1);
  const std::vector<double> rounded = staged->evaluate(rounding, -1)[0],
                            exact = staged->evaluate(0, -1)[0];
  for (std::size_t i = 0; i < real.size(); ++i) {
    EXPECT_NEAR(rounded[i], promised[i], 1e-12);
    EXPECT_NEAR(exact[i], real[i], 1e-12);
  }
}

TEST(RoundedCertified, KnowsBothSidesOfATie) {
  const Format& bf16 = format(FormatId::bf16);
  const double tie = 1 + 0x1p-8;
  const auto rounded = [&](double value, double error) {
    return row_definition::rounded_to(bf16, Certified(value, error));
  };
  EXPECT_EQ(rounded(tie, 0).value, 1) << "to even";
  EXPECT_EQ(rounded(tie, 0).error, 0);
  EXPECT_EQ(rounded(tie + 0x1p-20, 0x1p-30).value, 1 + 0x1p-7);
  EXPECT_EQ(rounded(tie + 0x1p-20, 0x1p-30).error, 0);
  const Certified either = rounded(tie + 0x1p-40, 0x1p-30);
  EXPECT_LE(either.value - either.error, 1);
  EXPECT_GE(either.value + either.error, 1 + 0x1p-7);
}

}  // namespace
}  // namespace plumbline
