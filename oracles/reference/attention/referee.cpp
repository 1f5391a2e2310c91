// SPDX-License-Identifier: MIT
#include "oracles/reference/attention/referee.h"

#include <cmath>

namespace plumbline {
namespace {

// The head with what a regular row does not see taken away: V's special values, which are judged by
// class, and infinite scores under a cap, which no real arithmetic knows.
bool definable(const AttentionOperands& operands, const SurveyedRow& row) {
  if (row.kind != AttentionRowKind::regular) return false;
  for (std::int64_t j = row.keys.first; j < row.keys.end; ++j) {
    if (operands.any_special_pair() && operands.special_pair(row.query, j)) return false;
  }
  return true;
}

AttentionHead with_finite_values(AttentionHead head) {
  for (float& v : head.v) {
    if (!std::isfinite(v)) v = 0;
  }
  return head;
}

}  // namespace

std::int64_t disagreements(const PreparedAttention& attention, int output,
                           const RefereedRow& asked) {
  using Number = RealOf<128>;
  const auto held = attention.operands(asked.head);
  const AttentionOperands& operands = *held;
  const DetailedRow row = survey_row(operands, asked.query);
  if (row.row.kind == AttentionRowKind::nan || row.row.kind == AttentionRowKind::may_overflow)
    return 0;
  if (row.row.kind == AttentionRowKind::regular && !definable(operands, row.row)) return 0;
  const auto defined = defined_row<Number>(with_finite_values(operands.head()), asked.query,
                                           &operands.contract(), asked.columns);
  const auto all = static_cast<std::int64_t>(asked.columns.size());
  if (defined.visible != (row.row.kind == AttentionRowKind::regular)) return all;
  if (!defined.visible) return 0;
  std::int64_t differ = 0;
  for (const std::int64_t x : asked.columns) {
    const Number exact =
        output == kAttentionO ? defined.o[static_cast<std::size_t>(x)] : defined.lse;
    const AttentionKnowledge known = knowledge(output, operands, row, x);
    differ += abs(Number(exact - known.exact)) > known.error;
  }
  return differ;
}

DefinedRow<Real> exact_row(const AttentionOperands& operands, std::int64_t query) {
  return defined_row<Real>(with_finite_values(operands.head()), query, &operands.contract());
}

void use_definition(const AttentionOperands& operands, int bits, DetailedRow& row) {
  if (!definable(operands, row.row)) return;
  const AttentionHead head = with_finite_values(operands.head());
  at_precision(bits, [&]<typename Number>() {
    const auto defined = defined_row<Number>(head, row.row.query, &operands.contract());
    for (std::size_t x = 0; x < row.o.size(); ++x) row.o[x] = static_cast<double>(defined.o[x]);
    row.row.lse = static_cast<double>(defined.lse);
  });
}

}  // namespace plumbline
