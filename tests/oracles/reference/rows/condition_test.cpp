// SPDX-License-Identifier: MIT
// Condition numbers against what small changes of the inputs do.
#include "oracles/reference/rows/condition.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "oracles/base/random.h"
#include "oracles/reference/rows/definition.h"

namespace plumbline {
namespace {

constexpr double kChange = 0x1p-24;

RowOf<double> random_row(RowKind kind, std::uint64_t seed) {
  Random random(seed);
  const auto drawn = [&] { return 4 * random.unit() - 2; };
  RowOf<double> row;
  for (int j = 0; j < 24; ++j) {
    row.x.push_back(kind == RowKind::softmax_backward ? random.unit() / 24 : 1 + drawn());
    row.dy.push_back(drawn());
    row.gamma.push_back(drawn());
    row.beta.push_back(drawn());
  }
  row.scale = 0.7;
  row.eps = 1e-5;
  row.mean = kind == RowKind::layernorm_backward ? 1 : 0;
  row.rstd = 0.8;
  row.gamma_plus = kind == RowKind::rmsnorm ? 1 : 0;
  return row;
}

RowOf<double> moved(RowOf<double> row, RowKind kind, std::uint64_t seed) {
  Random random(seed);
  const auto move = [&](double& value) {
    value *= 1 + (random.below(2) == 0 ? kChange : -kChange);
  };
  for (auto* values : {&row.x, &row.dy, &row.gamma, &row.beta})
    for (double& value : *values) move(value);
  if (kind == RowKind::rmsnorm_backward || kind == RowKind::layernorm_backward) {
    move(row.mean);
    move(row.rstd);
  }
  return row;
}

class RowCondition : public testing::TestWithParam<RowKind> {};

TEST_P(RowCondition, BoundsWhatSmallChangesDo) {
  const RowOf<double> row = random_row(GetParam(), 1);
  const std::vector<double> exact = defined_row(GetParam(), row).out,
                            condition = row_condition(GetParam(), row);
  ASSERT_EQ(condition.size(), exact.size());
  double largest = 0;
  for (std::uint64_t seed = 2; seed < 300; ++seed) {
    const std::vector<double> now = defined_row(GetParam(), moved(row, GetParam(), seed)).out;
    for (std::size_t j = 0; j < exact.size(); ++j) {
      largest = std::max(
          largest, std::fabs(now[j] - exact[j]) / (kChange * condition[j] * std::fabs(exact[j])));
    }
  }
  EXPECT_LE(largest, 1.001);
  EXPECT_GT(largest, 0.25);  // and they are not far from what happens
}

INSTANTIATE_TEST_SUITE_P(All, RowCondition,
                         testing::Values(RowKind::softmax, RowKind::softmax_backward,
                                         RowKind::rmsnorm, RowKind::rmsnorm_backward,
                                         RowKind::layernorm, RowKind::layernorm_backward));

TEST(RowCondition, AMaskedLogitHasNoneAndALargeMeanMuch) {
  RowOf<double> masked;
  masked.x = {1, -std::numeric_limits<double>::infinity(), 0};
  const std::vector<double> condition = row_condition(RowKind::softmax, masked);
  EXPECT_TRUE(std::isinf(condition[1]));
  EXPECT_LT(condition[0], 1);
  // LayerNorm takes the mean away: a change of 1 in a thousand is as large as what is left.
  RowOf<double> shifted;
  shifted.x = {1000, 1001, 999};
  shifted.gamma = {1, 1, 1};
  shifted.beta = {0, 0, 0};
  EXPECT_GT(row_condition(RowKind::layernorm, shifted)[1], 500);
  EXPECT_LT(row_condition(RowKind::rmsnorm, shifted)[1], 5);
}

}  // namespace
}  // namespace plumbline
