// SPDX-License-Identifier: MIT
// The vector path of the running bound gives the specification's bits, on every lane, for every
// contract.
#include <gtest/gtest.h>

#include <array>
#include <iterator>
#include <vector>

#include "oracles/bounds/accumulator/running_bound.h"
#include "tests/oracles/bounds/accumulator/bound_contracts.h"
#include "tests/oracles/bounds/accumulator/dot_samples.h"

namespace plumbline {
namespace {

using testing::Data;
using testing::NamedContract;

void expect_same(const RunningBound& got, const RunningBound& want, const std::string& name) {
  EXPECT_EQ(got.sum, want.sum) << name;
  EXPECT_EQ(got.sum_error, want.sum_error) << name;
  EXPECT_EQ(got.error, want.error) << name;
  EXPECT_EQ(got.lattice, want.lattice) << name;
  EXPECT_TRUE(got.classes == want.classes) << name;
}

struct PanelSample {
  std::vector<testing::DotSample> dots;
  PreparedPanel rows, columns;
};

PanelSample panel_sample(const NamedContract& named, const BoundModel& model, std::int64_t k,
                         Random& random) {
  PanelSample panel;
  std::array<BoundOperand, kPanelLanes> rows{}, columns{};
  for (int lane = 0; lane < kPanelLanes; ++lane) {
    panel.dots.push_back(
        testing::dot_sample(testing::kAllData[random.below(std::size(testing::kAllData))], named.a,
                            named.b, k, random));
  }
  for (std::size_t lane = 0; lane < kPanelLanes; ++lane) {
    rows[lane] = panel.dots[lane].row.data();
    columns[lane] = panel.dots[lane].column.data();
  }
  panel.rows.assign(rows, k, model.a_minimum_exponent);
  panel.columns.assign(columns, k, model.b_minimum_exponent);
  return panel;
}

TEST(RunningBoundLanes, GiveTheSpecificationsBits) {
  SCOPED_TRACE(running_bounds_target());
  for (const NamedContract& named : testing::bound_contracts()) {
    const BoundModel model = *bound_model(named.contract, named.sm, named.a, named.b);
    Random random(7);
    for (const std::int64_t k : {0, 1, 7, 16, 31, 64, 65, 200, 333}) {
      for (int repeat = 0; repeat < 4; ++repeat) {
        const PanelSample panel = panel_sample(named, model, k, random);
        const RunningBounds own_rows = running_bounds(model, panel.rows, panel.columns);
        PreparedVector shared;
        shared.assign(panel.dots[0].row.data(), k, model.a_minimum_exponent);
        const RunningBounds shared_row = running_bounds(model, shared, panel.columns);
        for (std::size_t lane = 0; lane < kPanelLanes; ++lane) {
          const testing::DotSample& dot = panel.dots[lane];
          expect_same(own_rows[lane], running_bound(model, dot.row.data(), dot.column.data(), k),
                      named.name);
          expect_same(shared_row[lane],
                      running_bound(model, panel.dots[0].row.data(), dot.column.data(), k),
                      named.name);
        }
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(RunningBoundLanes, LeaveLanesThatMayOverflowToTheSpecification) {
  const NamedContract hopper = testing::bound_contracts()[4];
  const BoundModel model = *bound_model(hopper.contract, hopper.sm, hopper.a, hopper.b);
  const std::vector<float> large(20, 0x1p63f), small(20, 1.0f);
  PreparedVector row;
  row.assign(large.data(), 20, model.a_minimum_exponent);
  PreparedPanel columns;
  columns.assign(
      {large.data(), small.data(), large.data(), small.data(), nullptr, nullptr, nullptr, nullptr},
      20, model.b_minimum_exponent);
  const RunningBounds bounds = running_bounds(model, row, columns);
  EXPECT_TRUE(bounds[0].classes.is_only(ResultClass::plus_infinity));
  EXPECT_TRUE(bounds[1].classes.is_only(ResultClass::finite));
  EXPECT_TRUE(bounds[4].classes.is_only(ResultClass::finite));
  EXPECT_EQ(bounds[4].error, 0);
}

TEST(PreparedOperand, GivesExponentAndLowestBitOfEveryKindOfElement) {
  const auto expect = [](float element, int minimum, float exponent, float lowest) {
    const PreparedElement prepared = prepare(element, minimum);
    EXPECT_EQ(prepared.value, element);
    EXPECT_EQ(prepared.exponent, exponent) << element;
    EXPECT_EQ(prepared.lowest, lowest) << element;
  };
  expect(1.0f, -126, 1, 1);
  expect(-1.5f, -126, 1, 0.5f);
  expect(448.0f, -6, 256, 64);
  expect(0x1p-9f, -6, 0x1p-6f, 0x1p-9f);  // an e4m3 subnormal keeps the smallest exponent
  expect(0x1.8p-8f, -6, 0x1p-6f, 0x1p-9f);
  expect(0x1p-133f, -126, 0x1p-126f, 0x1p-133f);  // a bf16 subnormal
  expect(0x1.000002p127f, -126, 0x1p127f, 0x1p104f);
  for (const float nothing : {0.0f, -0.0f, std::numeric_limits<float>::infinity(), std::nanf("")}) {
    const PreparedElement prepared = prepare(nothing, -126);
    EXPECT_EQ(prepared.value, 0);
    EXPECT_EQ(prepared.exponent, 0);
    EXPECT_EQ(prepared.lowest, std::numeric_limits<float>::infinity());
  }
}

}  // namespace
}  // namespace plumbline
