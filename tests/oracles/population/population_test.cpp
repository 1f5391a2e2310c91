// SPDX-License-Identifier: MIT
// Tests of many errors: silent on errors of every distribution that a conforming kernel may have,
// and certain of small effects in some of the columns.
#include "oracles/population/population.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "oracles/base/random.h"

namespace plumbline {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kRows = 256, kColumns = 512;

// Errors of rows with random signs; their sizes are size(row, column, uniform).
template <typename Size>
ErrorMatrix errors_of(std::uint64_t seed, const Size& size, std::int64_t columns = kColumns) {
  ErrorMatrix matrix{kRows, columns, {}};
  Random random(seed);
  for (std::int64_t i = 0; i < kRows; ++i) {
    const double sign = random.below(2) == 0 ? 1 : -1;
    for (std::int64_t j = 0; j < columns; ++j) matrix.errors.push_back(sign * size(i, j, random));
  }
  return matrix;
}

double centered(Random& random) { return random.unit() - 0.5; }

TEST(Population, IsSilentOnConformingErrors) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    // Even, heavy-tailed, one-sided within a row, mostly zero; sizes differ from row to row.
    const ErrorMatrix even = errors_of(seed, [](auto, auto, Random& r) { return centered(r); });
    const ErrorMatrix heavy = errors_of(seed, [](std::int64_t i, auto, Random& r) {
      return static_cast<double>(1 + i % 7) / (centered(r) + 0x1p-40);
    });
    const ErrorMatrix one_sided = errors_of(seed, [](auto, auto, Random& r) { return r.unit(); });
    const ErrorMatrix sparse =
        errors_of(seed, [](auto, auto, Random& r) { return r.below(50) == 0 ? 1.0 : 0.0; });
    for (const ErrorMatrix* matrix : {&even, &heavy, &one_sided, &sparse}) {
      EXPECT_GT(sign_symmetry(*matrix).chance, 1e-3) << seed;
      EXPECT_GT(rank_position(*matrix).chance, 1e-3) << seed;
    }
  }
}

TEST(Population, SignSymmetryFindsASmallBiasInSomeColumns) {
  // A twentieth of what the errors are, in one of eight columns; added after the sign.
  ErrorMatrix matrix = errors_of(3, [](auto, auto, Random& r) { return centered(r); });
  const double detectable = sign_symmetry(matrix).detectable;
  EXPECT_LT(detectable, 0.05);
  for (std::int64_t i = 0; i < kRows; ++i) {
    for (std::int64_t j = 3; j < kColumns; j += 8)
      matrix.errors[static_cast<std::size_t>(i * kColumns + j)] += 1.3 * detectable;
  }
  const PopulationResult found = sign_symmetry(matrix);
  EXPECT_LT(found.chance, kUnbelievable);
  EXPECT_THAT(found.columns, HasSubstr("j mod 8 = 3"));
  EXPECT_GT(rank_position(matrix).chance, kUnbelievable);
}

TEST(Population, RankPositionFindsColumnsThatAreLessAccurate) {
  const ErrorMatrix matrix = errors_of(4, [](auto, std::int64_t j, Random& r) {
    return centered(r) * (j / 8 % 8 == 5 ? 1.2 : 1.0);
  });
  const PopulationResult found = rank_position(matrix);
  EXPECT_LT(found.chance, kUnbelievable);
  EXPECT_THAT(found.columns, HasSubstr("j / 8 mod 8 = 5"));
  // What an effect itself adds to the variance counts.
  const double detectable =
      rank_position(errors_of(4, [](auto, auto, Random& r) { return centered(r); })).detectable;
  EXPECT_LT(detectable, 0.1);
  EXPECT_GT(detectable, 0.05);
}

// Matrices of which each has too few columns to show it, and rows of other sizes.
TEST(Population, RankPositionTakesMatricesTogether) {
  const auto matrices = [](double lane) {
    std::vector<ErrorMatrix> all;
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      all.push_back(errors_of(
          seed,
          [&](auto, std::int64_t j, Random& r) {
            return centered(r) * static_cast<double>(1 + 5 * seed) * (j % 8 == 5 ? lane : 1);
          },
          64));
    }
    return all;
  };
  EXPECT_GT(rank_position(matrices(1)).chance, 1e-3);
  const PopulationResult found = rank_position(matrices(1.3));
  EXPECT_LT(found.chance, kUnbelievable);
  EXPECT_THAT(found.columns, HasSubstr("j mod 8 = 5"));
  const ErrorMatrix alone = matrices(1000).front();
  EXPECT_GT(rank_position(alone).chance, kUnbelievable);
  EXPECT_EQ(rank_position(alone).detectable, INFINITY);
}

TEST(Population, NothingToTestIsNoFinding) {
  EXPECT_EQ(sign_symmetry({}).chance, 1);
  EXPECT_EQ(rank_position(ErrorMatrix{}).chance, 1);
  const ErrorMatrix exact{kRows, kColumns,
                          std::vector<double>(static_cast<std::size_t>(kRows * kColumns))};
  EXPECT_EQ(sign_symmetry(exact).chance, 1);
  EXPECT_EQ(rank_position(exact).chance, 1);
}

}  // namespace
}  // namespace plumbline
