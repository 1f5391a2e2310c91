// SPDX-License-Identifier: MIT
// A tile of a row's softmax, or a part of one, by vectors: probabilities, their roundings, and what
// is summed.
#pragma once

#include <cstdint>

#include "oracles/reference/attention/probability_rounding.h"

namespace plumbline {

struct SoftmaxTile {
  double sum = 0;          // of the probabilities
  double rounded_sum = 0;  // of the rounded ones
  bool sure = true;        // false: FP64 cannot tell how some of them round
};

inline constexpr std::int64_t kMostSoftmaxKeys = 512;  // per call

// logits[0, count) become weight * rounded probability, with p = 2^((logit - maximum) * c) known
// within a factor 1 +- tolerance. When the result is not sure they are left as they were.
SoftmaxTile softmax_tile(double* logits, std::int64_t count, double maximum, double c,
                         double weight, const ProbabilityRounding& rounding, double tolerance);

// The largest of `count` numbers.
double largest_of(const double* numbers, std::int64_t count);

}  // namespace plumbline
