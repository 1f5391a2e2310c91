// SPDX-License-Identifier: MIT
// AttentionMask: which keys a query may look at. Causal masks and sliding windows leave one range
// of keys per row.
#pragma once

#include <algorithm>
#include <cstdint>

namespace plumbline {

enum class Causal : std::uint8_t {
  none,
  bottom_right,  // the last query sees the last key, for all lengths
  top_left,      // query i sees keys 0 ... i
};

struct KeyRange {
  std::int64_t first = 0, end = 0;  // [first, end); empty when end <= first

  bool empty() const { return end <= first; }
};

struct AttentionMask {
  Causal causal = Causal::none;
  // Keys a query sees to either side of its own position (that of the causal diagonal); -1: all of
  // them. Windows are aligned as the causal mask is, bottom right without one.
  std::int64_t window_left = -1, window_right = -1;

  KeyRange visible(std::int64_t query, std::int64_t queries, std::int64_t keys) const {
    const std::int64_t own = query + (causal == Causal::top_left ? 0 : keys - queries);
    KeyRange range{0, keys};
    if (causal != Causal::none) range.end = std::min(range.end, own + 1);
    if (window_left >= 0) range.first = std::max(range.first, own - window_left);
    if (window_right >= 0) range.end = std::min(range.end, own + window_right + 1);
    return range;
  }
};

}  // namespace plumbline
