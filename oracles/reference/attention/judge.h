// SPDX-License-Identifier: MIT
// AttentionJudge: one pass over all elements of an output. Every element is looked at with the
// survey; what is not the correct rounding of the reference, and a small sample of what is, gets
// the bound of its row; what that leaves open is settled by MPFR, and so is the referee's sample.
// Where more rows would need a bound than may be bounded, a sample of them gets one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "oracles/reference/attention/prepared.h"
#include "oracles/reference/attention/referee.h"
#include "oracles/reference/output_tally.h"

namespace plumbline {

class AttentionJudge {
 public:
  AttentionJudge(const PreparedAttention& attention, int output, const Tensor& got,
                 const JudgeOptions& options);

  OutputVerdict run();

 private:
  struct PendingRow {
    std::size_t head;
    std::int64_t query;
    std::vector<std::int64_t> columns;
  };

  void first_look(std::size_t head, const AttentionOperands& operands);
  void look_at_row(const AttentionOperands& operands, std::size_t head, const DetailedRow& row,
                   OutputTally& tally, std::vector<PendingRow>& pending) const;
  void look_closely(const AttentionOperands& operands, const AttentionRowBounds& bounds,
                    const PendingRow& pending, OutputTally& tally) const;
  void record(const AttentionKnowledge& known, const AttentionDecision& decision,
              std::int64_t index, std::uint64_t code, bool close, OutputTally& tally) const;
  bool in_fixed_sample(std::int64_t row) const;
  void choose();
  void referee(OutputVerdict& verdict) const;
  std::int64_t index(std::size_t head, std::int64_t query, std::int64_t column) const;

  const PreparedAttention& case_;
  int output_;
  const Format& format_;
  const Tensor& got_;
  const JudgeOptions options_;
  std::int64_t width_;
  OutputTally total_;
  std::vector<PendingRow> pending_;
  bool sampled_ = false;
};

// Elements one at a time, each with its bound. The row of the last one is kept: those beside it
// cost little.
class AttentionElements {
 public:
  explicit AttentionElements(const PreparedAttention& attention) : case_(attention) {}

  ElementVerdict judge(int output, std::int64_t index, std::uint64_t got);

 private:
  void look_at(std::size_t head, std::int64_t query);

  const PreparedAttention& case_;
  std::size_t head_ = 0;
  std::shared_ptr<const AttentionOperands> operands_;  // of the head; null: none yet
  std::optional<AttentionRowBounds> bounds_;
  std::int64_t query_ = -1;
  DetailedRow row_;
  std::optional<RowBound> bound_;            // of a regular row
  std::optional<DefinedRow<Real>> defined_;  // if something was undecided
};

}  // namespace plumbline
