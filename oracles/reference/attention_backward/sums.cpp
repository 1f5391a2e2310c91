// SPDX-License-Identifier: MIT
#include "oracles/reference/attention_backward/sums.h"

#include "oracles/reference/attention_backward/definition.h"

namespace plumbline {

std::vector<Dyadic> defined_sums(const GradientOperands& operands, GradientOutput output,
                                 std::int64_t line, const std::vector<std::int64_t>& columns,
                                 int bits) {
  std::vector<Real> sums(columns.size(), Real(0));
  const GradientRows& rows = operands.rows(output);
  at_precision(bits, [&]<typename Number>() {
    // `term` is that of the line, `h`, `i`, `j` say where it lies.
    const auto add = [&](std::int64_t h, const GradientRow<Number>& row, std::int64_t i,
                         std::int64_t j, std::int64_t term) {
      const GradientWeights<Number> weights = gradient_weights(
          operands.group.heads[static_cast<std::size_t>(h)], row, i, j, &operands.contract);
      const Number weight = output == GradientOutput::dv
                                ? Number(ldexp(weights.p, operands.contract.p_shift))
                                : weights.ds;
      if (weight == 0) return;
      for (std::size_t c = 0; c < columns.size(); ++c)
        sums[c] += Real(weight) * Real(rows.row(term)[columns[c]]);
    };
    if (output == GradientOutput::dq) {
      const std::int64_t h = line / operands.queries, i = line % operands.queries;
      const auto row = stored_row<Number>(operands.group.heads[static_cast<std::size_t>(h)], i);
      for (std::int64_t j = 0; j < operands.keys; ++j) add(h, row, i, j, j);
      return 0;
    }
    for (std::int64_t h = 0; h < operands.heads(); ++h) {
      for (std::int64_t i = 0; i < operands.queries; ++i) {
        const KeyRange visible = operands.head(h).visible(i);
        if (line < visible.first || line >= visible.end) continue;
        const auto row = stored_row<Number>(operands.group.heads[static_cast<std::size_t>(h)], i);
        add(h, row, i, line, h * operands.padded + i);
      }
    }
    return 0;
  });
  std::vector<Dyadic> out;
  for (const Real& sum : sums) out.push_back(isfinite(sum) ? dyadic_value(sum) : Dyadic());
  return out;
}

}  // namespace plumbline
