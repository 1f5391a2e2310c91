// SPDX-License-Identifier: MIT
#include "oracles/population/gemm_model.h"

#include <algorithm>
#include <utility>

#include "oracles/base/assert.h"
#include "oracles/exact/parallel.h"

namespace plumbline {
namespace {

RealOperands operands_of(const std::vector<std::int64_t>& vectors, const float* all, std::int64_t k,
                         FormatId id) {
  RealOperands operands;
  operands.reserve(vectors.size() * static_cast<std::size_t>(k));
  for (const std::int64_t vector : vectors) {
    for (std::int64_t p = 0; p < k; ++p)
      operands.append(static_cast<double>(all[vector * k + p]), format(id));
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
      rows_(operands_of(rectangle_.rows, gemm.operands.row(rectangle_.batch, 0), gemm.problem.k,
                        gemm.problem.a->layout.format)),
      columns_(operands_of(rectangle_.columns, gemm.operands.column(rectangle_.batch, 0),
                           gemm.problem.k, gemm.problem.b->layout.format)) {
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
      const std::vector<float> scales = gemm_.factors(at);
      const std::vector<double> factors(scales.begin(), scales.end());
      const double sum = sum_(rows.sub(row * k, k), others.sub(j * k, k), factors, {});
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
  const std::int64_t k = gemm_.problem.k, depth = gemm_.scales ? gemm_.scales->depth : k;
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
        const double factor =
            gemm_.scales ? static_cast<double>(gemm_.scales->factor(at.i, at.j, p / depth)) : 1;
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
