// SPDX-License-Identifier: MIT
// GradientBlock: lines of one output (attention_backward/operands.h) that are looked at closely:
// what a kernel's accumulators may hold. Never more than a few megabytes, for all lengths.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "oracles/bounds/accumulator/a_priori.h"
#include "oracles/bounds/uncertain_sum.h"
#include "oracles/reference/attention_backward/survey.h"

namespace plumbline {

class GradientBlock {
 public:
  // Rising; those of dQ lie in one head.
  GradientBlock(const GradientOperands& operands, const GradientWeights64& weights,
                GradientOutput output, std::vector<std::int64_t> lines);

  // How many lines a block of an output may have.
  static std::int64_t most_lines(const GradientOperands& operands, GradientOutput output);

  // E and the classes an accumulator may end in. Lines are counted in the block.
  RunningBound bound(std::int64_t line, std::int64_t x);

  // At least the error of bound(), for little: from the sizes of the line and the column.
  double error_any(std::int64_t line, std::int64_t x);

 private:
  // A pair that vectors left open.
  struct OpenTerm {
    std::int64_t term;
    std::size_t tile;
    GradientTile::OpenPair pair;
  };

  struct Line {
    bool known = false;
    bool may_overflow = false;  // some weight may be infinite or NaN
    std::vector<UncertainFactor> factors;
    VectorSize size;                                   // of the largest factors
    double off_norm = 0;                               // two-norm of what they may be off
    std::vector<std::optional<RunningBounds>> panels;  // of columns, as far as asked for
    std::vector<OpenTerm> open;                        // by term
    bool uncertain = false;                            // FP64 does not know some weight
  };

  Line& line_of(std::int64_t line);
  // What weights a kernel may have where vectors could not tell.
  std::vector<KernelWeight> open_weights(const Line& line) const;
  RunningBounds product_bounds(const BoundModel& model, const GradientRows& queries,
                               const GradientRows& keys, std::span<const GradientPair> pairs) const;
  double weight_error(const Line& line, std::int64_t x) const;

  // Pairs of the block's lines: the queries are the lines (dQ), or the keys are, with a tile for
  // each head.
  bool by_query() const { return output_ == GradientOutput::dq; }

  double error_of(const GradientTile::OpenPair& pair) const {
    return output_ == GradientOutput::dv ? pair.p_error : pair.g_error;
  }

  const GradientOperands& operands_;
  const GradientWeights64& weights_;
  GradientOutput output_;
  std::int64_t terms_, width_;
  APriori limits_;
  std::vector<std::int64_t> lines_, queries_, keys_;
  std::vector<GradientTile> tiles_;
  std::vector<Line> known_;
};

}  // namespace plumbline
