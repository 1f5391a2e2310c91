// SPDX-License-Identifier: MIT
// What norms of inference do otherwise: sums along rows are multiplied by 1 / n. Kernels that keep
// such a contract never fail; kernels with another term do.
#include <gtest/gtest.h>

#include "tests/oracles/reference/row_samples.h"

namespace plumbline {
namespace {

using namespace plumbline::testing;

constexpr RowKind kNorms[] = {RowKind::rmsnorm, RowKind::layernorm};

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

TEST(NormsOfInference, NeverFailWhereTheyKeepTheirContract) {
  for (const RowKind kind : kNorms) {
    for (const RowData data : kRowData) {
      for (const std::int64_t n : {1, 2, 7, 131, 700}) {
        RowContract contract;
        contract.mean = RowMean::reciprocal;
        contract.subnormals_flushed = n % 2 == 0;
        const RowCase made(kind, 9, n, data, 40, FormatId::f32, contract);
        EXPECT_EQ(failures(made, contract), 0) << static_cast<int>(data) << " n " << n;
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

}  // namespace
}  // namespace plumbline
