// SPDX-License-Identifier: MIT
// Millions of outputs of conforming kernels, of all kinds, sizes and data: none fails. Prints how
// tight the ranges are: median and worst share of what is allowed, per operation and output.
#include <gtest/gtest.h>

#include <cstdio>
#include <iterator>

#include "tests/oracles/reference/rows/samples.h"

namespace plumbline {
namespace {

using namespace plumbline::testing;

struct Tightness {
  std::vector<double> shares;
  std::int64_t judged = 0, failed = 0;

  void add(const RowCase& made, int output) {
    const Tensor& got = made.got[static_cast<std::size_t>(output)];
    const OutputVerdict verdict = made.oracle->judge(output, got, {});
    judged += verdict.compared;
    failed += verdict.failed;
    shares.push_back(verdict.worst_share);
  }
};

TEST(RowOracleDeep, NoConformingOutputFails) {
  static constexpr const char* kNames[] = {"softmax",   "softmax_backward",
                                           "rmsnorm",   "rmsnorm_backward",
                                           "layernorm", "layernorm_backward"};
  std::int64_t judged = 0;
  for (const RowKind kind : kRowKinds) {
    std::vector<Tightness> outputs(3);
    Random random(static_cast<std::uint64_t>(kind) + 1);
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
      RowContract contract;
      contract.lanes = std::int64_t{1} << random.below(9);
      contract.vector = std::int64_t{1} << random.below(4);
      contract.stripes = random.between(1, 40);
      contract.quotient = static_cast<RowQuotient>(random.below(3));
      contract.exponential = static_cast<RowExponential>(random.below(2));
      contract.root = static_cast<RowRoot>(random.below(2));
      const bool norm = kind == RowKind::rmsnorm || kind == RowKind::layernorm;
      if (norm) contract.mean = static_cast<RowMean>(random.below(4));
      const bool flushes = norm || kind == RowKind::softmax || kind == RowKind::softmax_backward;
      contract.subnormals_flushed = flushes && random.below(2) == 0;
      const std::int64_t n =
          random.below(4) == 0 ? random.between(1, 3000) : random.between(1, 200);
      const RowData data = kRowData[seed % std::size(kRowData)];
      const RowCase made(kind, random.between(1, 60000 / n > 60 ? 60 : 8), n, data, seed,
                         seed % 3 == 0 ? FormatId::bf16 : FormatId::f32, contract);
      for (int output = 0; output < made.oracle->outputs(); ++output)
        outputs[static_cast<std::size_t>(output)].add(made, output);
    }
    for (Tightness& one : outputs) {
      if (one.shares.empty()) continue;
      std::sort(one.shares.begin(), one.shares.end());
      std::printf(
          "%-18s output %td: %9lld outputs, worst share of a case: median %.3f, most %.3f\n",
          kNames[static_cast<int>(kind)], &one - outputs.data(), static_cast<long long>(one.judged),
          one.shares[one.shares.size() / 2], one.shares.back());
      judged += one.judged;
      EXPECT_EQ(one.failed, 0) << kNames[static_cast<int>(kind)];
    }
  }
  EXPECT_GT(judged, 5000000);
}

// All elements but seven are the same: the spread is so far below the mean, which lies half way
// between two numbers, that the square of the mean's rounding error is part of the variance.
TEST(RowOracleDeep, VariancesBelowTheRoundingOfTheMeanPass) {
  RowContract contract;
  contract.lanes = 1 << 16;
  contract.vector = 1;
  RowCase made(RowKind::layernorm, 1, 1000003, RowData::equal, 3, FormatId::f32, contract);
  made.problem.eps = 0;
  for (std::int64_t j = 0; j < made.problem.n; ++j) made.x.set_bits(j, 0x3fb5);
  for (std::int64_t j = 0; j < 7; ++j) made.x.set_bits(12345 * j, 0x3fb6);
  made.run();
  const RowOracle oracle(made.problem);
  for (int output = 0; output < 3; ++output) {
    const auto at = static_cast<std::size_t>(output);
    EXPECT_EQ(oracle.judge(output, made.got[at], {.referee_samples = 0}).failed, 0) << output;
  }
}

}  // namespace
}  // namespace plumbline
