// SPDX-License-Identifier: MIT
// Scales of Q, K and V, one for every sequence and head: a power of two by which the head's values
// fit their format, times a factor of its own from 1 to 1.25. Elements are stored in units of the
// power, so that scores and values are what a value class wants, give or take that factor.
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
  // Fills `scales`, [sequences, heads], of matrix `name` with elements of that format; null: the
  // problem has none, and all are 1. `shared`: all sequences have the first one's elements.
  AttentionScales(const AttentionContext& context, std::string_view name, const Format& element,
                  Tensor* scales, bool shared, const LargestOfHead& largest);

  // What a value is divided by before it is stored.
  double unit(const AttentionSpot& at) const {
    return units_.empty() ? 1 : units_[static_cast<std::size_t>(at.sequence * heads_ + at.head)];
  }

 private:
  std::int64_t heads_ = 0;
  std::vector<double> units_;  // powers of two
};

}  // namespace plumbline
