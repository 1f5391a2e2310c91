// SPDX-License-Identifier: MIT
// What the failing elements of a matrix have in common, and which of them are kept.
#include "oracles/reference/gemm/survey.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "oracles/reference/gemm/oracle.h"
#include "tests/oracles/reference/gemm/fixture.h"

namespace plumbline {
namespace {

using testing::Gemm;
using testing::GemmSetup;
using ::testing::HasSubstr;
using testing::hopper_bf16;
using testing::kernel;
using ::testing::Not;

// A correct product of 64 x 64 with NaN where `wrong` says.
GemmSurvey survey(const std::function<bool(std::int64_t i, std::int64_t j)>& wrong) {
  GemmSetup setup;
  setup.m = setup.n = 64;
  Gemm gemm(setup);
  kernel(hopper_bf16()).run(gemm);
  for (std::int64_t p = 0; p < 64 * 64; ++p) {
    if (wrong(p / 64, p % 64)) gemm.d.set_bits(p, 0x7fff);
  }
  const GemmOracle oracle(gemm.problem, hopper_bf16().contract, 90);
  return survey_gemm(oracle.gemm(), {0, 0, 0}, gemm.d);
}

TEST(GemmSurvey, NamesAPatternWithinARange) {
  EXPECT_THAT(survey([](auto, auto j) { return j % 8 == 0 && j >= 8 && j <= 40; }).where,
              HasSubstr("fail: columns 0 mod 8 from 8 to 40"));
  EXPECT_THAT(survey([](auto, auto j) { return j % 8 == 3; }).where,
              HasSubstr("fail: columns 3 mod 8"));
  EXPECT_THAT(survey([](auto i, auto) { return i >= 8 && i <= 40; }).where,
              HasSubstr("fail: rows 8 to 40"));
}

TEST(GemmSurvey, NamesTilesOfRowsAndColumns) {
  EXPECT_THAT(survey([](auto i, auto) { return i >= 48; }).where,
              HasSubstr("fail: rows 48 to 63 (the last tile of 16)"));
  EXPECT_THAT(survey([](auto, auto j) { return j >= 32; }).where,
              HasSubstr("fail: columns 32 to 63 (the last tile of 32)"));
  EXPECT_THAT(survey([](auto i, auto) { return i >= 40 && i % 2 == 0; }).where,
              Not(HasSubstr("the last tile")));
  EXPECT_THAT(survey([](auto, auto j) { return j % 16 == 0; }).where,
              HasSubstr("fail: columns 0 mod 16 (the first of each tile of 16)"));
  EXPECT_THAT(survey([](auto i, auto) { return i % 8 == 7; }).where,
              HasSubstr("fail: rows 7 mod 8 (the last of each tile of 8)"));
  EXPECT_THAT(survey([](auto i, auto) { return i == 17; }).where, HasSubstr("fail: row 17"));
}

TEST(GemmSurvey, TwoRowsAreNoPattern) {
  EXPECT_THAT(survey([](auto i, auto) { return i == 9 || i == 25; }).where,
              HasSubstr("fail: rows 9 to 25"));
}

TEST(GemmSurvey, KeepsElementsOfManyRowsAndColumns) {
  const GemmSurvey everything = survey([](auto, auto) { return true; });
  EXPECT_EQ(everything.where, "4096 of 4096 elements looked at fail");
  EXPECT_TRUE(everything.passing.empty());
  ASSERT_EQ(everything.failing.size(), 32u);
  std::set<std::int64_t> rows, columns;
  for (const SurveyedElement& element : everything.failing) {
    rows.insert(element.at.i);
    columns.insert(element.at.j);
  }
  EXPECT_GT(rows.size(), 16u);
  EXPECT_GT(columns.size(), 16u);
  EXPECT_EQ(survey([](auto i, auto j) { return i == 0 && j < 5; }).failing.size(), 5u);
}

}  // namespace
}  // namespace plumbline
