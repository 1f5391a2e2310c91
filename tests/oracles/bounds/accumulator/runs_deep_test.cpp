// SPDX-License-Identifier: MIT
// Ten million conforming outputs of Schedule::runs, none of which its bound may reject.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <iterator>

#include "tests/oracles/bounds/accumulator/family_draws.h"

namespace plumbline {
namespace {

TEST(RunsDeep, NoneOfTenMillionConformingOutputsIsRejected) {
  constexpr std::int64_t kOutputs = 10'000'000;
  constexpr int kSchedules = 25;
  const int draws = static_cast<int>(
      kOutputs / static_cast<std::int64_t>(std::size(testing::kFamilyUnits)) / kSchedules + 1);
  Random random(22);
  for (const testing::FamilyUnit& unit : testing::kFamilyUnits) {
    const double worst = testing::worst_of_runs(unit, draws, kSchedules, random);
    ASSERT_FALSE(HasFailure()) << unit.name;
    EXPECT_LE(worst, 1);
    fmt::print("{}: {} outputs, largest error over its bound {:.3f}\n", unit.name,
               std::int64_t{draws} * kSchedules, worst);
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace plumbline
