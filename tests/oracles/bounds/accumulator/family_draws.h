// SPDX-License-Identifier: MIT
// Conforming sums of Schedule::runs held against its bound and that of Schedule::any: sums of a few
// hundred products, each added up in several drawn schedules of the family.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "oracles/bounds/accumulator/running_bound.h"
#include "oracles/exact/dyadic.h"
#include "oracles/exact/gemm_sums.h"
#include "tests/oracles/bounds/accumulator/family_sums.h"

namespace plumbline::testing {

inline BoundModel family_model(const FamilyUnit& unit, Schedule schedule) {
  Contract contract = unit.contract;
  contract.schedule = schedule;
  contract.parts = schedule == Schedule::runs ? 8 : 0;
  return *bound_model(contract, unit.sm, unit.format, unit.format);
}

inline Dyadic exact_sum(const Operands& v) {
  return exact_dot(v.a.data(), v.b.data(), std::ssize(v.a));
}

inline double error_of(float got, const Dyadic& exact) {
  return std::fabs((Dyadic(static_cast<double>(got)) - exact).nearest_double());
}

// The largest error over its bound. An error above either bound fails the test.
inline double worst_of_runs(const FamilyUnit& unit, int draws, int schedules, Random& random) {
  const BoundModel model = family_model(unit, Schedule::runs),
                   any = family_model(unit, Schedule::any);
  double worst = 0;
  for (int draw = 0; draw < draws; ++draw) {
    const auto k = static_cast<std::int64_t>(1 + random.below(700));
    const Operands v = operands(unit, k, draw % 3, random);
    const RunningBound bound = running_bound(model, v.a.data(), v.b.data(), k);
    const double of_any = running_bound(any, v.a.data(), v.b.data(), k).error;
    EXPECT_TRUE(bound.classes.is_only(ResultClass::finite));
    const Dyadic exact = exact_sum(v);
    for (int schedule = 0; schedule < schedules; ++schedule) {
      const FamilySchedule drawn = family_schedule(unit, k, 8, random);
      const double error = error_of(family_sum(unit, v, drawn, random), exact);
      EXPECT_LE(error, bound.error) << unit.name << " k=" << k << " " << drawn.words();
      EXPECT_LE(error, of_any) << unit.name << " k=" << k << " " << drawn.words();
      if (bound.error > 0) worst = std::max(worst, error / bound.error);
    }
    if (::testing::Test::HasFailure()) break;
  }
  return worst;
}

}  // namespace plumbline::testing
