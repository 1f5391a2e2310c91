// SPDX-License-Identifier: MIT
// Scales of Q, K, V and dO, one for every sequence and head or one for the whole matrix: a power of
// two by which the values fit their format, times a factor of its own from 1 to 1.25. Elements are
// stored in units of the power, so that scores and values are what a value class wants, give or
// take that factor.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "fuzz/attention_values.h"
#include "oracles/formats/tensor.h"

namespace plumbline {

// The largest magnitude among the values of a head.
using LargestOfHead = std::function<double(std::int64_t sequence, std::int64_t head)>;

class AttentionScales {
 public:
  // Fills `scales`, [sequences, heads] or [1], of matrix `name` with elements of that format; null:
  // the problem has none, and all are 1. `shared`: all sequences have the first one's elements.
  AttentionScales(const AttentionContext& context, std::string_view name, const Format& element,
                  Tensor* scales, bool shared, const LargestOfHead& largest);

  // What a value is divided by before it is stored.
  double unit(const AttentionSpot& at) const {
    if (units_.empty()) return 1;
    return units_[whole_ ? 0 : static_cast<std::size_t>(at.sequence * heads_ + at.head)];
  }

 private:
  bool whole_ = false;  // one for the matrix
  std::int64_t heads_ = 0;
  std::vector<double> units_;  // powers of two
};

// Fills what dS is multiplied by before it is rounded: mostly such that it keeps its bits,
// sometimes so large or so small that it saturates or becomes 0.
void fill_ds_scale(const AttentionContext& context, Tensor* scale);

}  // namespace plumbline
