// SPDX-License-Identifier: MIT
// GradientTile: the pairs of some queries of one head with some keys: their products in FP64, and
// their weights in the reference, by vectors as far as those can tell. Its buffers are used again
// by every fill().
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "oracles/reference/attention_backward/lanes.h"

namespace plumbline {

class GradientTile {
 public:
  // A pair that vectors left open: its weights are right, but may be off by FP64's error, and a
  // kernel may have others.
  struct OpenPair {
    std::int64_t row, column;
    double p_error, g_error;
  };

  GradientTile(const GradientOperands& operands, const GradientWeights64& weights,
               WeightErrors errors, WantedWeights wanted);

  // Both lists rise.
  void fill(std::int64_t head, std::span<const std::int64_t> queries,
            std::span<const std::int64_t> keys);

  // Element [row, column] is at row * stride() + column. What is not visible has weight 0.
  std::int64_t stride() const { return stride_; }

  const std::vector<double>& p() const { return p_; }

  const std::vector<double>& g() const { return g_; }

  // Row by row.
  const std::vector<OpenPair>& open() const { return open_; }

  // Of an open pair.
  PairProducts products(const OpenPair& pair) const;
  GradientPair place(const OpenPair& pair) const;

  // The columns that a row's query sees.
  KeyRange visible_columns(std::int64_t row) const;

 private:
  void multiply(const GradientRows& mine, std::int64_t first_row, const GradientRows& others,
                std::vector<double>& out);
  void fill_row(std::int64_t row);
  void decide(OpenPair pair);

  const GradientOperands& operands_;
  const GradientWeights64& weights_;
  GradientLanes lanes_;
  WantedWeights wanted_;
  std::int64_t head_ = 0, stride_ = 0;
  std::span<const std::int64_t> queries_, keys_;
  std::vector<double> scores_, dps_, p_, g_;
  std::vector<double> key_norms_, value_norms_;
  double key_norm_ = 0, value_norm_ = 0;  // the largest
  std::vector<double> rows_, columns_;    // of operands, where they do not lie side by side
  std::vector<float> bias_;
  std::vector<OpenPair> open_;
  std::vector<std::int64_t> open_columns_;
};

}  // namespace plumbline
