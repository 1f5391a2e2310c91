// SPDX-License-Identifier: MIT
// How far a kernel that keeps its contract may be from the stage-faithful reference, for every
// output of one row: docs/bounds/attention.md. It follows the contract's steps: scores by the
// running bound, logits, maxima, probabilities and their roundings, the row's sum, and P . V tile
// by tile. The errors are those before the last rounding of each output, which the judge applies to
// both ends of the interval.
#pragma once

#include <optional>
#include <vector>

#include "oracles/bounds/attention_values.h"
#include "oracles/reference/attention/survey.h"

namespace plumbline {

class RowTrace;

struct RowBound {
  std::vector<double> o_error;    // [dv]; infinite: anything, Inf and NaN too
  std::vector<double> magnitude;  // [dv]: sum of |terms| / l
  double lse_error = 0;
};

// One head, prepared once for all of its rows.
class AttentionRowBounds {
 public:
  AttentionRowBounds(const AttentionOperands& operands, FormatId q, FormatId k, FormatId v, int sm);

  // Without `outputs` for the LSE alone, which costs half.
  RowBound operator()(const DetailedRow& row, bool outputs = true) const;

 private:
  void bound_scores(const DetailedRow& row, RowTrace& trace) const;
  double flushed_error(const DetailedRow& row, std::int64_t j, double error,
                       double reference) const;
  RowBound bound_outputs(const DetailedRow& row, const RowTrace& trace, bool outputs) const;
  void widen(RowBound& out, const DetailedRow& row, const DetailedRow& other,
             const RowBound& own) const;

  const AttentionOperands& operands_;
  std::optional<BoundModel> scores_;  // none: they are exact
  BoundModel values_;
  bound::NodePlan plan_;
  int q_minimum_exponent_;
  std::vector<PreparedPanel> keys_, columns_;
};

}  // namespace plumbline
