// SPDX-License-Identifier: MIT
// Running bounds of many elements of one block of outputs, eight at a time. Where most elements of
// the block are wanted, columns are prepared once for all rows; where few are, each group of eight
// brings its own rows and columns.
#pragma once

#include <cstdint>
#include <vector>

#include "oracles/reference/gemm/prepared.h"

namespace plumbline {

// A rectangle of outputs of one batch.
struct GemmBlock {
  std::int64_t batch, first_row, end_row, first_column, end_column;
};

class GemmBlockBounds {
 public:
  explicit GemmBlockBounds(const PreparedGemm& gemm)
      : GemmBlockBounds(gemm, gemm.model.value_or(BoundModel{})) {}

  // By another model than the case's: one of the schedules that its contract leaves open.
  GemmBlockBounds(const PreparedGemm& gemm, const BoundModel& model) : gemm_(gemm), model_(model) {}

  // Of the outputs at these indices, all within the block and in increasing order.
  std::vector<RunningBound> of(const GemmBlock& block,
                               const std::vector<std::int64_t>& indices) const;

 private:
  std::vector<RunningBound> dense(const GemmBlock& block,
                                  const std::vector<std::int64_t>& indices) const;
  std::vector<RunningBound> scattered(const std::vector<std::int64_t>& indices) const;
  template <typename Place>
  void set_factors(const Place& place, std::size_t count, std::vector<double>& factors) const;

  const PreparedGemm& gemm_;
  const BoundModel model_;
};

}  // namespace plumbline
