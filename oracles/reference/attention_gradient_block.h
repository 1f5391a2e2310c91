// SPDX-License-Identifier: MIT
// GradientBlock: a stretch of lines of one output (attention_gradient_operands.h): their weights,
// their sums in FP64 with rigorous errors, and, for lines that ask for it, what a kernel's
// accumulators may hold. Never more than a few megabytes, whatever the lengths.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "oracles/bounds/admissible.h"
#include "oracles/bounds/uncertain_sum.h"
#include "oracles/reference/attention_gradient_weights.h"

namespace plumbline {

class GradientBlock {
 public:
  // Lines [first, first + lines). Those of dQ lie in one head.
  GradientBlock(const GradientOperands& operands, const GradientWeights64& weights,
                GradientOutput output, std::int64_t first, std::int64_t lines);

  // How many lines a block of an output may have.
  static std::int64_t most_lines(const GradientOperands& operands, GradientOutput output);

  // Before its factor. The enclosure holds the stage-faithful reference.
  SumEnclosure sum(std::int64_t line, std::int64_t x) const;

  // E and the classes an accumulator may end in.
  RunningBound bound(std::int64_t line, std::int64_t x);

  // At least the error of bound(), for little: from the sizes of the line and the column.
  double error_any(std::int64_t line, std::int64_t x);

 private:
  // A sum of FP64 errors of weights.
  struct WeightError {
    std::int64_t line, term;
    double error;
  };

  struct Line {
    bool known = false;
    bool wild = false;  // some weight may be infinite or NaN
    std::vector<UncertainFactor> factors;
    VectorSize size;                                   // of the largest factors
    double off_norm = 0;                               // two-norm of what they may be off
    std::vector<std::optional<RunningBounds>> panels;  // of columns, as far as asked for
  };

  GradientPair pair(std::int64_t line, std::int64_t term) const;
  PairProducts products(const GradientPair& at, std::size_t index) const;
  void fill_products();
  void fill_weights();
  void fill_sums();
  Line& line_of(std::int64_t line);
  double weight_error(std::int64_t line, std::int64_t x) const;

  const GradientOperands& operands_;
  const GradientWeights64& weights_;
  GradientOutput output_;
  std::int64_t first_, lines_, terms_, width_;
  std::vector<double> scores_, dps_;   // [lines, terms]
  std::vector<double> values_;         // weights of the reference
  std::vector<WeightError> errors_;    // of those that are not certain; by line
  std::vector<double> norm_, lowest_;  // of each line's weights
  std::vector<double> sums_;           // [lines, width]
  std::vector<Line> known_;
};

}  // namespace plumbline
