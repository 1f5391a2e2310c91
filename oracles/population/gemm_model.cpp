// SPDX-License-Identifier: MIT
#include "oracles/population/gemm_model.h"

#include <algorithm>
#include <utility>

#include "oracles/base/assert.h"
#include "oracles/exact/parallel.h"

namespace plumbline {
namespace {

// Rows of A or columns of B, times the scales that the instruction takes.
RealOperands operands_of(const PreparedGemm& gemm, GemmSide side,
                         const std::vector<std::int64_t>& vectors, std::int64_t batch) {
  const bool of_a = side == GemmSide::a;
  const Format& element = format((of_a ? gemm.problem.a : gemm.problem.b)->layout.format);
  const std::int64_t k = gemm.problem.k;
  RealOperands operands;
  operands.reserve(vectors.size() * static_cast<std::size_t>(k));
  for (const std::int64_t vector : vectors) {
    const BoundOperand operand =
        of_a ? gemm.row_operand({batch, vector, 0}) : gemm.column_operand({batch, 0, vector});
    const OperandScales& scales = operand.scales;
    for (std::int64_t p = 0; p < k; ++p) {
      const auto value = static_cast<double>(operand.elements[p]);
      if (scales.values == nullptr) {
        operands.append(value, element);
        continue;
      }
      operands.append_scaled(value, element, static_cast<double>(scales.at(p)), gemm.scale_format(),
                             gemm.model->node);
    }
  }
  return operands;
}

}  // namespace

std::optional<std::string> no_model_because(const Contract& contract) {
  if (contract.unit == Unit::int32) return "integer sums have one right answer";
  if (contract.order_is_open()) return "the contract leaves the order of k open";
  if (contract.output.rounding == Rounding::stochastic) return "outputs are rounded at random";
  return std::nullopt;
}

GemmModel::GemmModel(const PreparedGemm& gemm, GemmRectangle rectangle)
    : gemm_(gemm),
      rectangle_(std::move(rectangle)),
      sum_(gemm.contract, gemm.sm, gemm.problem.a->layout.format, gemm.problem.b->layout.format),
      rows_(operands_of(gemm, GemmSide::a, rectangle_.rows, rectangle_.batch)),
      columns_(operands_of(gemm, GemmSide::b, rectangle_.columns, rectangle_.batch)) {
  PLUMB_ASSERT(!no_model_because(gemm.contract));
  for (std::size_t at = 0; at < rectangle_.count(); ++at)
    factors_.push_back(gemm.epilogue.real({1, 0}, gemm.epilogue_operands(place(at))).hi);
}

std::vector<std::uint64_t> GemmModel::outputs(int threads) const {
  std::vector<std::uint64_t> codes(rectangle_.count());
  const auto k = static_cast<std::size_t>(gemm_.problem.k), columns = rectangle_.columns.size();
  const RealSpan rows(rows_), others(columns_);
  for_each_piece(static_cast<std::int64_t>(rectangle_.rows.size()), threads, [&](std::int64_t i) {
    const auto row = static_cast<std::size_t>(i);
    for (std::size_t j = 0; j < columns; ++j) {
      const GemmPlace at = place(row * columns + j);
      const double sum = sum_(rows.sub(row * k, k), others.sub(j * k, k),
                              gemm_.model->scaled ? gemm_.factors(at) : std::vector<double>(), {});
      const float value =
          gemm_.epilogue.value(static_cast<float>(sum), gemm_.epilogue_operands(at));
      codes[row * columns + j] = gemm_.epilogue.low_code(value);
    }
  });
  return codes;
}

std::vector<double> GemmModel::contributions(std::int64_t begin, std::int64_t end,
                                             int threads) const {
  std::vector<double> contributions(rectangle_.count());
  const std::int64_t k = gemm_.problem.k, depth = gemm_.model->scaled ? gemm_.scales->depth : k;
  const auto columns = static_cast<std::int64_t>(rectangle_.columns.size());
  for_each_piece(static_cast<std::int64_t>(rectangle_.rows.size()), threads, [&](std::int64_t i) {
    const double* row = rows_.values.data() + i * k;
    for (std::int64_t j = 0; j < columns; ++j) {
      const double* column = columns_.values.data() + j * k;
      const auto index = static_cast<std::size_t>(i * columns + j);
      const GemmPlace at = place(index);
      double sum = 0;
      for (std::int64_t p = begin; p < end;) {
        const std::int64_t stop = std::min(end, (p / depth + 1) * depth);
        const double factor = gemm_.model->scaled ? gemm_.scales->factor(at.i, at.j, p / depth) : 1;
        double products = 0;
        for (; p < stop; ++p) products += row[p] * column[p];
        sum += products * factor;
      }
      contributions[index] = sum * factors_[index];
    }
  });
  return contributions;
}

}  // namespace plumbline
