// SPDX-License-Identifier: MIT
// Schedule::runs: its bound holds for every way in which kernels cut k into runs, on units of 24
// and of 14 bits, and it is small enough to tell a broken sum from a rounded one.
#include "oracles/bounds/accumulator/runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "oracles/base/random.h"
#include "oracles/bounds/accumulator/a_priori.h"
#include "tests/oracles/bounds/accumulator/bound_contracts.h"
#include "tests/oracles/bounds/accumulator/family_draws.h"

namespace plumbline {
namespace {

using testing::FamilyUnit;
using testing::kFamilyUnits;

TEST(Runs, HoldsForEveryScheduleOfTheFamily) {
  Random random(21);
  for (const FamilyUnit& unit : kFamilyUnits) {
    const double worst = testing::worst_of_runs(unit, 200, 8, random);
    ASSERT_FALSE(HasFailure()) << unit.name;
    EXPECT_GT(worst, 0.03) << unit.name;  // and it is no empty claim
  }
}

// Norms alone know less than the products.
TEST(Runs, IsNotAboveTheAPrioriBound) {
  Random random(23);
  for (const FamilyUnit& unit : kFamilyUnits) {
    const BoundModel model = testing::family_model(unit, Schedule::runs);
    for (int draw = 0; draw < 200; ++draw) {
      const auto k = static_cast<std::int64_t>(1 + random.below(700));
      const testing::Operands v = testing::operands(unit, k, draw % 3, random);
      const VectorSize x = vector_size(v.a.data(), k, model.a_minimum_exponent),
                       y = vector_size(v.b.data(), k, model.b_minimum_exponent);
      EXPECT_LE(running_bound(model, v.a.data(), v.b.data(), k).error,
                APriori(model, k).error(magnitude_bound(x, y)) * (1 + 0x1p-20));
    }
  }
}

TEST(Runs, IsZeroWhereEveryOrderIsExact) {
  Random random(3);
  testing::Operands v;
  for (int p = 0; p < 128; ++p) {
    v.a.push_back(static_cast<float>(random.below(9)) - 4);
    v.b.push_back(static_cast<float>(random.below(9)) - 4);
  }
  for (const FamilyUnit& unit : kFamilyUnits) {
    const RunningBound bound =
        running_bound(testing::family_model(unit, Schedule::runs), v.a.data(), v.b.data(), 128);
    EXPECT_EQ(bound.error, 0) << unit.name;
    EXPECT_EQ(bound.sum_error, 0);
  }
}

TEST(Runs, SumsThatMayOverflowMayBeAnything) {
  const std::vector<float> a(64, 0x1p62f);
  std::vector<float> b(64, 0x1p61f);
  std::fill_n(b.begin() + 32, 32, -0x1p61f);
  const RunningBound bound =
      running_bound(testing::family_model(kFamilyUnits[1], Schedule::runs), a.data(), b.data(), 64);
  for (const auto possible : {ResultClass::finite, ResultClass::plus_infinity,
                              ResultClass::minus_infinity, ResultClass::nan})
    EXPECT_TRUE(bound.classes.has(possible));
}

// Bounds over the worst of twelve errors, for normal data: the medians of twelve outputs. What they
// may be at most is the table of docs/bounds/schedules.md; a bound that grows sees less.
TEST(Runs, IsTight) {
  struct Aim {
    std::size_t unit;
    std::int64_t k;
    double runs, any;
  };

  // What `any` may be is half of what it was when positive and negative products counted together.
  const Aim aims[] = {
      {1, 2048, 16, 1035}, {1, 8192, 16, 1097}, {2, 2048, 80, 5867}, {2, 8192, 80, 20013}};
  for (const Aim& aim : aims) {
    const FamilyUnit& unit = kFamilyUnits[aim.unit];
    Random random(5);
    std::vector<double> runs, any;
    for (int output = 0; output < 12; ++output) {
      const testing::Operands v = testing::normal_operands(unit, aim.k, random);
      double worst = 0;
      for (int draw = 0; draw < 12; ++draw) {
        const auto drawn = testing::family_schedule(unit, aim.k, 8, random);
        worst = std::max(worst, testing::error_of(testing::family_sum(unit, v, drawn, random),
                                                  testing::exact_sum(v)));
      }
      for (const Schedule schedule : {Schedule::runs, Schedule::any})
        (schedule == Schedule::runs ? runs : any)
            .push_back(
                running_bound(testing::family_model(unit, schedule), v.a.data(), v.b.data(), aim.k)
                    .error /
                worst);
    }
    std::ranges::sort(runs);
    std::ranges::sort(any);
    EXPECT_LE(runs[6], aim.runs) << unit.name << " k=" << aim.k;
    EXPECT_LE(any[6], aim.any) << unit.name << " k=" << aim.k;
    std::printf("%s k=%lld: bound / worst error %.1f (runs), %.0f (any)\n", unit.name,
                static_cast<long long>(aim.k), runs[6], any[6]);
  }
}

}  // namespace
}  // namespace plumbline
