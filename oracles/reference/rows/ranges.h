// SPDX-License-Identifier: MIT
// The row operations as a contract has them (oracles/bounds/contract/rows.h), step by step over
// ranges of f32: every value that a conforming kernel may hold before the rounding to its outputs.
#pragma once

#include <span>

#include "oracles/bounds/contract/f32_range.h"
#include "oracles/reference/rows/row.h"

namespace plumbline {

// One row, which has at least one element. A norm without gamma: mean and rstd alone.
RowResult<F32Range> row_ranges(RowKind kind, const RowContract& contract, const RowOf<float>& in);

// A sum along a row over its n elements, as the contract divides it; what that flushes is left to
// the caller.
F32Range mean_of(const RowContract& contract, const F32Range& sum, std::int64_t n);

// What meets gamma, as the contract rounds it.
F32Range normalized_of(const RowContract& contract, const F32Range& x);

// Sums over rows, column by column: dgamma and dbeta. Rows are added in any order.
class ColumnRanges {
 public:
  explicit ColumnRanges(std::int64_t n) : gamma_(static_cast<std::size_t>(n)), beta_(gamma_) {}

  void add(const RowOf<float>& in, std::span<const F32Range> xhat);

  F32Range gamma(std::int64_t j, std::int64_t additions) const {
    return gamma_[static_cast<std::size_t>(j)].range(additions);
  }

  F32Range beta(std::int64_t j, std::int64_t additions) const {
    return beta_[static_cast<std::size_t>(j)].range(additions);
  }

 private:
  std::vector<F32Sum> gamma_, beta_;
};

}  // namespace plumbline
