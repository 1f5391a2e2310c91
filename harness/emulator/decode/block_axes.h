// SPDX-License-Identifier: MIT
// The blocks of a grid along axes that a kernel has of its own: many number the tiles of a matrix
// in one row, and divide a block's number to find the tile's row and column. There the grid's x is
// two axes, x = column + columns * row.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace plumbline::emulator {

// By axis.
constexpr std::size_t kBlockAxes = 6;
using BlockSteps = std::array<std::int64_t, kBlockAxes>;

// Blocks from `first` to `last`, with both.
struct BlockBox {
  BlockSteps first{}, last{};

  std::int64_t extent(std::size_t axis) const { return last[axis] - first[axis] + 1; }

  std::int64_t size() const {
    std::int64_t blocks = 1;
    for (std::size_t axis = 0; axis < kBlockAxes; ++axis) blocks *= extent(axis);
    return blocks;
  }
};

class BlockAxes {
 public:
  explicit BlockAxes(const std::array<std::int64_t, 3>& grid);

  // A number that axes give: of a block along an axis of the grid, or a part of it.
  struct Number {
    BlockSteps steps{};
    std::int64_t extent = 1;
    // Of one that is divided: low + divisor * high. 0: it is an axis.
    std::int64_t divisor = 0;
    std::size_t low = 0, high = 0;  // in numbers()
    std::size_t axis = 0;           // of one that is not
  };

  // The first three are those of the grid's axes.
  const std::vector<Number>& numbers() const { return numbers_; }

  // A number that is an axis becomes two. False: there are too many.
  bool divide(std::size_t number, std::int64_t divisor);

  // All blocks, in as few boxes as there are.
  const std::vector<BlockBox>& boxes() const { return boxes_; }

  // The block's number in the grid.
  std::int64_t linear(const BlockSteps& position) const;

 private:
  std::vector<Number> numbers_;
  std::vector<BlockBox> boxes_;
  BlockSteps stride_{};
  std::size_t axes_ = 3;
};

}  // namespace plumbline::emulator
