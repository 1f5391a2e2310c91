// SPDX-License-Identifier: MIT
// Covering arrays of strength 2: few rows in which every two levels of two factors meet. Most
// faults need at most two things to come together (a tail in k and a transposed operand), and pairs
// cost hundreds of cases, not millions.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace plumbline {

// True when level `a` of factor `first` may stand beside level `b` of factor `second` (first <
// second).
using PairAllowed = std::function<bool(int first, int a, int second, int b)>;

struct Factor {
  int levels = 1;
  bool prefer_first =
      false;  // level 0 is neutral: taken wherever no other level covers anything new
};

// Rows of one level per factor, by a greedy search; the same arguments give the same rows
// everywhere. Every allowed pair that any row could hold is in some row.
std::vector<std::vector<int>> pairwise_rows(std::span<const Factor> factors,
                                            const PairAllowed& allowed, std::uint64_t seed);

}  // namespace plumbline
