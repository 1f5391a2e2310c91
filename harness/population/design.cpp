// SPDX-License-Identifier: MIT
#include "harness/population/design.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/relations/related_problem.h"
#include "oracles/formats/decode.h"
#include "oracles/population/product_matrices.h"

namespace plumbline {
namespace {

// Sums of fewer signs cannot be unlikely enough; fewer columns or outputs see little.
constexpr std::int64_t kFewestSigns = 256, kFewestColumns = 512, kFewestOutputs = 256 * 512;

// Errors in units of the typical error of their row: rows may have scales. Signs do not change it.
std::optional<ErrorMatrix> errors_of(const Tensor& got, const std::vector<double>& exact) {
  const std::int64_t columns = got.layout.shape.back();
  ErrorMatrix matrix{got.layout.count() / columns, columns, {}};
  const Format& f = format(got.layout.format);
  bool any = false;
  for (std::int64_t i = 0; i < matrix.rows; ++i) {
    double squares = 0;
    const std::size_t first = matrix.errors.size();
    for (std::int64_t j = 0; j < columns; ++j) {
      const std::int64_t at = i * columns + j;
      const double error = to_double(f, got.bits(at)) - exact[static_cast<std::size_t>(at)];
      if (!std::isfinite(error)) return std::nullopt;
      squares += error * error;
      matrix.errors.push_back(error);
    }
    if (squares == 0) continue;
    any = true;
    const double typical = std::sqrt(squares / static_cast<double>(columns));
    for (std::size_t at = first; at < matrix.errors.size(); ++at) matrix.errors[at] /= typical;
  }
  if (!any) return std::nullopt;
  return matrix;
}

// No two elements are the same one, but for those of a dimension that is broadcast.
bool elements_lie_apart(const TensorLayout& layout) {
  std::vector<std::pair<std::int64_t, std::int64_t>> dimensions;  // stride, size
  for (std::size_t d = 0; d < layout.shape.size(); ++d) {
    if (layout.shape[d] > 1 && layout.strides[d] != 0)
      dimensions.emplace_back(layout.strides[d], layout.shape[d]);
  }
  std::sort(dimensions.begin(), dimensions.end());
  std::int64_t reach = 0;
  for (const auto& [stride, size] : dimensions) {
    if (stride <= reach) return false;
    reach += (size - 1) * stride;
  }
  return true;
}

// Which sign an error has, and its column among those with this sign.
struct SignedPlace {
  std::int64_t sign, column;
};

// Errors with the same sign and column are added up.
template <typename Place>
ErrorMatrix by_signs(const ErrorMatrix& errors, std::int64_t signs, std::int64_t columns,
                     const Place& place) {
  ErrorMatrix sums{signs, columns, std::vector<double>(static_cast<std::size_t>(signs * columns))};
  for (std::int64_t i = 0; i < errors.rows; ++i) {
    for (std::int64_t j = 0; j < errors.columns; ++j) {
      const SignedPlace at = place(i, j);
      sums.errors[static_cast<std::size_t>(at.sign * columns + at.column)] += errors.at(i, j);
    }
  }
  return sums;
}

ErrorMatrix signs_of_rows(const ErrorMatrix& errors, const std::vector<ProductMatrix>& matrices) {
  if (!matrices.front().shares_a()) return errors;
  const std::int64_t m = matrices.front().gemm->problem.m;
  return by_signs(errors, m, errors.columns,
                  [&](std::int64_t i, std::int64_t j) { return SignedPlace{i % m, j}; });
}

// O is [batch, heads, queries, columns], V [batch or 1, heads of keys, keys, columns].
struct Heads {
  std::int64_t heads, queries, heads_of_keys, batches;

  Heads(const TensorLayout& o, const TensorLayout& v)
      : heads(o.shape[1]),
        queries(o.shape[2]),
        heads_of_keys(v.shape[1]),
        batches(v.strides[0] == 0 ? 1 : v.shape[0]) {}

  std::int64_t count() const { return batches * heads_of_keys; }

  // The head of V that a row of O reads.
  std::int64_t of_row(std::int64_t row) const {
    const std::int64_t head = row / queries % heads, batch = row / queries / heads % batches;
    return batch * heads_of_keys + head * heads_of_keys / heads;
  }
};

ErrorMatrix signs_of_values(const ErrorMatrix& errors, const Heads& of) {
  const std::int64_t width = errors.columns;
  ErrorMatrix sums =
      by_signs(errors, of.count() * width, of.queries, [&](std::int64_t row, std::int64_t column) {
        return SignedPlace{of.of_row(row) * width + column, row % of.queries};
      });
  sums.column_words = "queries";
  return sums;
}

// The rows of each of `count` matrices.
template <typename Which>
std::vector<ErrorMatrix> taken_apart(const ErrorMatrix& errors, std::int64_t count,
                                     const Which& matrix_of_row) {
  std::vector<ErrorMatrix> matrices(static_cast<std::size_t>(count),
                                    ErrorMatrix{0, errors.columns, {}});
  for (std::int64_t i = 0; i < errors.rows; ++i) {
    ErrorMatrix& matrix = matrices[static_cast<std::size_t>(matrix_of_row(i))];
    const auto row = errors.errors.begin() + i * errors.columns;
    matrix.errors.insert(matrix.errors.end(), row, row + errors.columns);
    ++matrix.rows;
  }
  return matrices;
}

// Matrices of a batch that have nothing in common along the columns: neither B nor its scales.
bool have_own_columns(const PreparedGemm& gemm) {
  const GemmProblem& problem = gemm.problem;
  const bool common_scales = problem.scale_b != nullptr && problem.scale_b_block != kTensorScale;
  return gemm.operands.batch_b > 1 && !common_scales;
}

std::vector<ErrorMatrix> columns_of(const ErrorMatrix& errors,
                                    const std::vector<ProductMatrix>& matrices) {
  const PreparedGemm& gemm = *matrices.front().gemm;
  if (!have_own_columns(gemm)) return {errors};
  return taken_apart(errors, gemm.problem.batch,
                     [&](std::int64_t row) { return row / gemm.problem.m; });
}

bool lie_apart(const CaseTensors& tensors) {
  return std::all_of(tensors.specs.begin(), tensors.specs.end(), [](const TensorSpec& spec) {
    return spec.role != TensorRole::input || elements_lie_apart(spec.layout);
  });
}

// Scales that several columns share make those columns alike, and different from the others.
bool has_scales_of_columns(const Case& test_case) {
  return test_case.problem.has("scale_b") && test_case.problem.word("scale_b") == "128x128";
}

bool sums_weighted_values(const Case& test_case, const CaseOracle& oracle, int output) {
  return test_case.kernel->operation->sums_weighted_values(oracle.output_name(output));
}

}  // namespace

bool may_have_design(const Case& test_case, const CaseTensors& tensors, const CaseOracle& oracle,
                     int output) {
  const TensorLayout& layout = tensors.find(oracle.output_name(output))->layout;
  return layout.count() >= kFewestOutputs && lie_apart(tensors) &&
         (sums_weighted_values(test_case, oracle, output) ||
          !product_matrices(oracle, output).empty());
}

PopulationDesign population_design(const Case& test_case, const CaseTensors& tensors,
                                   const CaseOracle& oracle, int output,
                                   const std::vector<double>& exact) {
  PopulationDesign design;
  const Tensor& got = *tensors.find(oracle.output_name(output));
  const bool attention = sums_weighted_values(test_case, oracle, output);
  const std::vector<ProductMatrix> matrices = product_matrices(oracle, output);
  const Contract& contract = attention ? promises(test_case) : matrices.front().gemm->contract;
  const std::optional<ErrorMatrix> errors = errors_of(got, exact);
  if (!errors) return design;
  std::optional<Heads> heads;
  if (attention) heads.emplace(got.layout, tensors.find("v")->layout);
  if (odd(contract, got.layout.format)) {
    design.with_signs = heads ? signs_of_values(*errors, *heads) : signs_of_rows(*errors, matrices);
    if (design.with_signs->rows < kFewestSigns) design.with_signs.reset();
  }
  if (alike_everywhere(contract) && !has_scales_of_columns(test_case)) {
    design.drawn_alike = heads ? taken_apart(*errors, heads->count(),
                                             [&](std::int64_t row) { return heads->of_row(row); })
                               : columns_of(*errors, matrices);
    if (std::ssize(design.drawn_alike) * errors->columns < kFewestColumns)
      design.drawn_alike.clear();
  }
  return design;
}

}  // namespace plumbline
