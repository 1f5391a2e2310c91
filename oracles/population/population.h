// SPDX-License-Identifier: MIT
// Tests of all errors of an output at once. They find what no single error shows, however far
// inside its bound it lies: a lane whose results carry a small bias, or are less accurate than the
// others'. Both are theorems about a conforming kernel on inputs of a certain design; nothing is
// assumed about how its errors are distributed.
//
// Sign symmetry. Every row of A has a random sign of its own, and arithmetic is odd. Then the
// errors of row i are s_i times something that does not depend on s_i, and with X_i the sum of
// errors over any set of columns, T = |sum X_i| / sqrt(sum X_i^2) exceeds t with probability 2
// exp(-t^2 / 2) at most (Hoeffding, for Rademacher sums).
//
// Rank position. The columns of B are drawn alike, and the kernel treats columns alike. Then the
// columns of |error| are exchangeable. With X_j the mean over rows of the normalized rank of column
// j's error within its row, a set of n columns is a sample without replacement, and its mean is off
// by d with probability 2 exp(-n d^2 / (2 v + 2 R d / 3)) at most (Bernstein; v the variance of X,
// R its largest deviation). Where several matrices have columns drawn independently of each other,
// their samples are independent, and the same holds of all together with X_j less the mean of its
// own matrix: what bounds the exponential moments of a sum bounds their product.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plumbline {

struct ErrorMatrix {
  std::int64_t rows = 0, columns = 0;
  std::vector<double> errors;                 // row-major, finite
  std::string_view column_words = "columns";  // what its columns are

  double at(std::int64_t i, std::int64_t j) const {
    return errors[static_cast<std::size_t>(i * columns + j)];
  }
};

struct PopulationResult {
  // The smallest over all sets of columns, times their number (Bonferroni); at most 1.
  double chance = 1;
  std::string columns;    // of that set: "columns j with j mod 8 = 3"
  double detectable = 0;  // the smallest effect in one of eight columns that would have failed
};

// Below this a conforming kernel is not believable any more: one false alarm in 10^11 campaigns of
// 10^4 such tests.
inline constexpr double kUnbelievable = 1e-15;

// `detectable`: a bias, in the unit of the errors.
PopulationResult sign_symmetry(const ErrorMatrix& errors);

// Of matrices with as many columns. `detectable`: a shift of the mean rank, of 0.5 at most;
// infinite where there are too few columns for any.
PopulationResult rank_position(std::span<const ErrorMatrix> matrices);

inline PopulationResult rank_position(const ErrorMatrix& errors) {
  return rank_position(std::span(&errors, 1));
}

}  // namespace plumbline
