// SPDX-License-Identifier: MIT
#include "oracles/reference/output_tally.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace plumbline {
namespace {

TEST(OutputTally, CountsEveryErrorInItsBinade) {
  OutputTally tally;
  for (const double error : {0.0, 0.5, -0.75, 1e-9, 1e30, -std::numeric_limits<double>::infinity()})
    tally.add_error(error);
  tally.add_error(std::nan(""));  // has no size
  const std::vector<std::int64_t> cells = tally.verdict(7).magnitudes;
  ASSERT_EQ(cells.size(), static_cast<std::size_t>(OutputTally::kBinades));
  EXPECT_EQ(cells[0], 1);
  EXPECT_EQ(cells[1], 1);
  EXPECT_EQ(cells[OutputTally::kFirstBinade], 2);  // from 1/2 to 1
  EXPECT_EQ(cells[OutputTally::kBinades - 1], 2);
}

TEST(OutputTally, AddsBinades) {
  OutputTally a, b;
  a.add_error(2);
  b.add_error(3);
  a.add(b);
  EXPECT_EQ(a.verdict(2).magnitudes[OutputTally::kFirstBinade + 2], 2);
}

}  // namespace
}  // namespace plumbline
