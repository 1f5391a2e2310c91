// SPDX-License-Identifier: MIT
#include "harness/emulator/decode/block_axes.h"

#include <algorithm>

namespace plumbline::emulator {

BlockAxes::BlockAxes(const std::array<std::int64_t, 3>& grid) : boxes_(1) {
  std::int64_t stride = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    Number& number = numbers_.emplace_back();
    number.steps[axis] = 1;
    number.extent = grid[axis];
    number.axis = axis;
    boxes_[0].last[axis] = grid[axis] - 1;
    stride_[axis] = stride;
    stride *= grid[axis];
  }
}

bool BlockAxes::divide(std::size_t number, std::int64_t divisor) {
  if (axes_ == kBlockAxes) return false;
  const std::size_t low = numbers_[number].axis, high = axes_++;
  Number lower, higher;
  lower.steps[low] = 1;
  lower.extent = divisor;
  lower.axis = low;
  higher.steps[high] = 1;
  higher.extent = (numbers_[number].extent + divisor - 1) / divisor;
  higher.axis = high;
  numbers_[number].divisor = divisor;
  numbers_[number].low = numbers_.size();
  numbers_[number].high = numbers_.size() + 1;
  numbers_.push_back(lower);
  numbers_.push_back(higher);
  stride_[high] = divisor * stride_[low];
  for (Number& other : numbers_) {
    if (&other != &numbers_[numbers_[number].low])
      other.steps[high] = std::max(other.steps[high], divisor * other.steps[low]);
  }
  std::vector<BlockBox> boxes;
  for (const BlockBox& box : boxes_) {
    // Whole rows of `divisor` blocks are one box; what is left of the first and last row two more.
    for (std::int64_t at = box.first[low]; at <= box.last[low];) {
      const std::int64_t row = at / divisor, left = box.last[low] + 1 - at;
      const bool whole = at % divisor == 0 && left >= divisor;
      const std::int64_t rows = whole ? left / divisor : 1;
      const std::int64_t taken = whole ? rows * divisor : std::min(divisor - at % divisor, left);
      BlockBox& part = boxes.emplace_back(box);
      part.first[low] = at % divisor;
      part.last[low] = whole ? divisor - 1 : at % divisor + taken - 1;
      part.first[high] = row;
      part.last[high] = row + rows - 1;
      at += taken;
    }
  }
  boxes_ = std::move(boxes);
  return true;
}

std::int64_t BlockAxes::linear(const BlockSteps& position) const {
  std::int64_t number = 0;
  for (std::size_t axis = 0; axis < kBlockAxes; ++axis) number += stride_[axis] * position[axis];
  return number;
}

}  // namespace plumbline::emulator
