// SPDX-License-Identifier: MIT
// One attention case: its heads, where their rows lie in the outputs, and what is known of a row's
// outputs beside their numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "oracles/bounds/contract/attention.h"
#include "oracles/reference/attention/attention.h"
#include "oracles/reference/attention/element.h"
#include "oracles/reference/attention/row_bound.h"
#include "oracles/reference/attention/survey.h"

namespace plumbline {

inline constexpr int kAttentionO = 0, kAttentionLse = 1;  // outputs

// Row of all rows of O and LSE, in row-major order of [batch, heads, length].
struct AttentionPlace {
  std::size_t head = 0;    // of PreparedAttention::places
  std::int64_t query = 0;  // of that head
  std::int64_t column = 0;
};

struct PreparedAttention {
  AttentionProblem problem;
  AttentionContract contract;
  int sm = 0;
  std::vector<HeadPlace> places;

  PreparedAttention(const AttentionProblem& attention, const AttentionContract& promised,
                    int target)
      : problem(attention), contract(promised), sm(target), places(head_places(attention)) {}

  std::int64_t rows() const {
    return problem.batch() * problem.heads() * problem.q->layout.shape[2];
  }

  std::int64_t row(const HeadPlace& place, std::int64_t query) const {
    return (place.batch * problem.heads() + place.head) * problem.q->layout.shape[2] +
           place.first_query + query;
  }

  std::int64_t width(int output) const { return output == kAttentionO ? problem.dv() : 1; }

  const Format& output_format(int output) const {
    return format(output == kAttentionO ? problem.output : FormatId::f32);
  }

  AttentionPlace place(int output, std::int64_t index) const;
  // Decoded and prepared when first asked for. All heads stay unless that takes too much memory;
  // then only the last one does. Any thread may ask.
  std::shared_ptr<const AttentionOperands> operands(std::size_t head) const;

  AttentionRowBounds bounds(const AttentionOperands& operands) const {
    return {operands, problem.q->layout.format, problem.k->layout.format, problem.v->layout.format,
            sm};
  }

 private:
  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<const AttentionOperands>> prepared_;  // by head
};

// The classes that outputs of a row may have, apart from their numbers: from the row's kind, and
// for O from the values of V that are not finite.
ClassSet row_classes(AttentionRowKind kind, double lse);
ClassSet output_classes(const AttentionOperands& operands, const DetailedRow& row,
                        std::int64_t column);

// The knowledge of output `column` of a surveyed row, without bound.
AttentionKnowledge knowledge(int output, const AttentionOperands& operands, const DetailedRow& row,
                             std::int64_t column);
// The same, with the bound of its row.
AttentionKnowledge bounded_knowledge(int output, const AttentionOperands& operands,
                                     const DetailedRow& row, const RowBound& bound,
                                     std::int64_t column);

}  // namespace plumbline
