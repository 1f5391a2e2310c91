// SPDX-License-Identifier: MIT
// GradientSurvey: every dQ, dK and dV of a group as the stage-faithful reference has them, in FP64
// with rigorous errors. One pass over tiles of queries and keys (attention_backward/tile.h): two
// matrix products in, one pass of exponentials and roundings, three products out. Nothing of size
// queries x keys is ever held.
//
// Tiles of the same queries run side by side; what they add to dQ is joined in the order of their
// keys, so that no sum depends on the number of threads.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "oracles/bounds/admissible.h"
#include "oracles/reference/attention_backward/tile.h"

namespace plumbline {

class GradientSurvey {
 public:
  GradientSurvey(const GradientOperands& operands, const GradientWeights64& weights, int threads);

  // Of a line of an output, before its factor. The enclosure holds the stage-faithful reference.
  SumEnclosure sum(GradientOutput output, std::int64_t line, std::int64_t x) const;

  // What the errors of the line's weights in FP64 can make of column x.
  double weight_error(GradientOutput output, std::int64_t line, std::int64_t x) const;

 private:
  // The two-norm and the lowest bit of a line's weights, and those that FP64 does not know.
  struct WeightError {
    std::int64_t term;
    double error;
  };

  struct Line {
    double squares = 0, lowest = std::numeric_limits<double>::infinity();
    std::vector<WeightError> errors;
  };

  struct Output {
    std::vector<double> sums;  // [lines, width]
    std::vector<Line> lines;
  };

  // What one tile works in, and what it leaves to be joined.
  struct Worker;

  void survey_queries(std::int64_t head, std::int64_t first, std::int64_t end,
                      std::vector<Worker>& workers, int threads);
  void add_tile(std::int64_t head, Worker& worker);

  Output& of(GradientOutput output) { return outputs_[static_cast<std::size_t>(output)]; }

  const Output& of(GradientOutput output) const {
    return outputs_[static_cast<std::size_t>(output)];
  }

  const GradientOperands& operands_;
  const GradientWeights64& weights_;
  Output outputs_[3];
};

}  // namespace plumbline
