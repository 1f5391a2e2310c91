// SPDX-License-Identifier: MIT
// What an H100's approximate instructions gave, where they are furthest from the exact result and
// elsewhere (tests/data/approximate_functions): the emulator may give the same.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tests/folders.h"
#include "tests/harness/emulator/emulator_run.h"

namespace plumbline::emulator {
namespace {

using u64 = std::uint64_t;

struct Row {
  u64 input = 0, result = 0;
};

std::map<std::string, std::vector<Row>> rows_of_a_chip() {
  std::map<std::string, std::vector<Row>> rows;
  std::ifstream in(PLUMBLINE_SOURCE_DIR "/tests/data/approximate_functions/H100.txt");
  std::string form;
  for (Row row; in >> form >> std::hex >> row.input >> row.result;) rows[form].push_back(row);
  return rows;
}

TEST(Approximate, AChipsResultsLieBetweenTheSmallestAndTheLargest) {
  using enum ApproximationErrors::Direction;
  const auto all = rows_of_a_chip();
  EXPECT_EQ(all.size(), 10u);
  for (const auto& [form, rows] : all) {
    EXPECT_GT(rows.size(), 100u) << form;
    const bool half = form.ends_with("16");
    std::vector<Operands> operands;
    for (const Row& row : rows) operands.push_back({row.input, 0, 0, 0});
    const auto results = [&](ApproximationErrors::Direction direction) {
      return apply(form + " d, a;", half ? "h=h" : "w=w", operands, 90, {.direction = direction});
    };
    const std::vector<u64> low = results(smallest), high = results(largest);
    const u64 sign = half ? 0x8000 : 0x80000000;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto& [input, result] = rows[i];
      const auto magnitude = [&](u64 code) { return code & (sign - 1); };
      EXPECT_EQ(low[i] & sign, result & sign) << form << std::hex << " " << input;
      EXPECT_LE(magnitude(low[i]), magnitude(result)) << form << std::hex << " " << input;
      EXPECT_GE(magnitude(high[i]), magnitude(result)) << form << std::hex << " " << input;
    }
  }
}

}  // namespace
}  // namespace plumbline::emulator
