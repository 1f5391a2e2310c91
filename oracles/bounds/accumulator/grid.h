// SPDX-License-Identifier: MIT
// AccumulatorGrid: the finite numbers an accumulator can hold, as f32 patterns: all of them for 24
// significant bits, those whose low bits are zero for 14 (FP8 on Ada and Hopper) or 8 (bf16). Each
// has an index in value order, so that bisection runs over integers; both zeros are index 0.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace plumbline {

class AccumulatorGrid {
 public:
  explicit AccumulatorGrid(int precision = 24)
      : dropped_bits_(24 - precision), top_(0x7f7fffff >> dropped_bits_) {}

  std::int64_t lowest() const { return -top_; }

  std::int64_t highest() const { return top_; }

  float value(std::int64_t index) const {
    const auto magnitude =
        static_cast<std::uint32_t>((index < 0 ? -index : index) << dropped_bits_);
    return std::bit_cast<float>(index < 0 ? magnitude | 0x80000000u : magnitude);
  }

  // Index of the largest grid number <= head + tail, as an exact sum with |tail| at most half an
  // ulp of head. Below all numbers lowest() - 1; above them highest().
  std::int64_t floor(double head, double tail) const {
    const float nearest = static_cast<float>(head);  // Inf beyond the range
    std::int64_t index = order(nearest);
    // When head is no f32, it is at least one ulp of a double away from any: tail cannot reach one.
    const double gap = head - static_cast<double>(nearest);
    if (gap < 0 || (gap == 0 && tail < 0)) --index;
    index >>= dropped_bits_;  // rounds down
    return index > top_ ? top_ : index < -top_ - 1 ? -top_ - 1 : index;
  }

  // Index of the smallest grid number >= head + tail; above all numbers highest() + 1.
  std::int64_t ceil(double head, double tail) const { return -floor(-head, -tail); }

 private:
  // Position of an f32 in value order.
  static std::int64_t order(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const auto magnitude = static_cast<std::int64_t>(bits & 0x7fffffffu);
    return (bits >> 31) != 0 ? -magnitude : magnitude;
  }

  int dropped_bits_;
  std::int64_t top_;
};

}  // namespace plumbline
