// SPDX-License-Identifier: MIT
#include "oracles/reference/gemm/block_bounds.h"

#include <algorithm>

namespace plumbline {

std::vector<RunningBound> GemmBlockBounds::of(const GemmBlock& block,
                                              const std::vector<std::int64_t>& indices) const {
  if (indices.empty()) return {};
  const std::int64_t area =
      (block.end_row - block.first_row) * (block.end_column - block.first_column);
  return static_cast<std::int64_t>(indices.size()) * 4 >= area ? dense(block, indices)
                                                               : scattered(indices);
}

// The factors of a scaled promotion, [interval][kPanelLanes]; lanes beyond count get 0.
template <typename Place>
void GemmBlockBounds::set_factors(const Place& place, std::size_t count,
                                  std::vector<double>& factors) const {
  if (!model_.scaled) return;
  const BlockScales& scales = *gemm_.scales;
  factors.assign(static_cast<std::size_t>(scales.blocks) * kPanelLanes, 0.0);
  for (std::size_t lane = 0; lane < count; ++lane) {
    const GemmPlace at = place(lane);
    for (std::int64_t block = 0; block < scales.blocks; ++block)
      factors[static_cast<std::size_t>(block) * kPanelLanes + lane] =
          scales.factor(at.i, at.j, block);
  }
}

std::vector<RunningBound> GemmBlockBounds::scattered(
    const std::vector<std::int64_t>& indices) const {
  std::vector<RunningBound> bounds(indices.size());
  PreparedPanel rows, columns;
  std::vector<double> factors;
  for (std::size_t begin = 0; begin < indices.size(); begin += kPanelLanes) {
    const std::size_t count = std::min<std::size_t>(kPanelLanes, indices.size() - begin);
    std::array<BoundOperand, kPanelLanes> row{}, column{};
    for (std::size_t lane = 0; lane < count; ++lane) {
      const GemmPlace at = gemm_.place(indices[begin + lane]);
      row[lane] = gemm_.row_operand(at);
      column[lane] = gemm_.column_operand(at);
    }
    rows.assign(row, gemm_.problem.k, model_.a_minimum_exponent);
    columns.assign(column, gemm_.problem.k, model_.b_minimum_exponent);
    set_factors([&](std::size_t lane) { return gemm_.place(indices[begin + lane]); }, count,
                factors);
    const RunningBounds found =
        running_bounds(model_, rows, columns, model_.scaled ? factors.data() : nullptr);
    std::copy_n(found.begin(), count, bounds.begin() + static_cast<std::ptrdiff_t>(begin));
  }
  return bounds;
}

std::vector<RunningBound> GemmBlockBounds::dense(const GemmBlock& block,
                                                 const std::vector<std::int64_t>& indices) const {
  const std::int64_t rows = block.end_row - block.first_row,
                     columns = block.end_column - block.first_column;
  constexpr std::int64_t kNone = -1;
  std::vector<std::int64_t> slots(static_cast<std::size_t>(rows * columns), kNone);
  for (std::size_t p = 0; p < indices.size(); ++p) {
    const GemmPlace at = gemm_.place(indices[p]);
    slots[static_cast<std::size_t>((at.i - block.first_row) * columns + at.j -
                                   block.first_column)] = static_cast<std::int64_t>(p);
  }
  std::vector<RunningBound> bounds(indices.size());
  // As many prepared rows at a time as fit in a few MiB.
  const std::int64_t at_once =
      std::clamp<std::int64_t>((std::int64_t{4} << 20) / (24 * gemm_.problem.k + 1), 1, rows);
  std::vector<PreparedVector> prepared(static_cast<std::size_t>(at_once));
  PreparedPanel panel;
  std::vector<double> factors;
  for (std::int64_t top = 0; top < rows; top += at_once) {
    const std::int64_t bottom = std::min(rows, top + at_once);
    for (std::int64_t r = top; r < bottom; ++r) {
      prepared[static_cast<std::size_t>(r - top)].assign(
          gemm_.row_operand({block.batch, block.first_row + r, 0}), gemm_.problem.k,
          model_.a_minimum_exponent);
    }
    for (std::int64_t left = 0; left < columns; left += kPanelLanes) {
      const std::int64_t count = std::min<std::int64_t>(kPanelLanes, columns - left);
      std::array<BoundOperand, kPanelLanes> column{};
      for (std::int64_t lane = 0; lane < count; ++lane) {
        column[static_cast<std::size_t>(lane)] =
            gemm_.column_operand({block.batch, 0, block.first_column + left + lane});
      }
      panel.assign(column, gemm_.problem.k, model_.b_minimum_exponent);
      for (std::int64_t r = top; r < bottom; ++r) {
        const auto first = slots.begin() + r * columns + left;
        if (std::all_of(first, first + count, [](std::int64_t slot) { return slot == kNone; }))
          continue;
        set_factors(
            [&](std::size_t lane) {
              return GemmPlace{block.batch, block.first_row + r,
                               block.first_column + left + static_cast<std::int64_t>(lane)};
            },
            static_cast<std::size_t>(count), factors);
        const RunningBounds found =
            running_bounds(model_, prepared[static_cast<std::size_t>(r - top)], panel,
                           model_.scaled ? factors.data() : nullptr);
        for (std::int64_t lane = 0; lane < count; ++lane) {
          if (first[lane] != kNone)
            bounds[static_cast<std::size_t>(first[lane])] = found[static_cast<std::size_t>(lane)];
        }
      }
    }
  }
  return bounds;
}

}  // namespace plumbline
