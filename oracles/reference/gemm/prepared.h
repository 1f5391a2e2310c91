// SPDX-License-Identifier: MIT
// PreparedGemm: one GEMM under one contract with everything decoded once that judging an element
// needs: operands, sizes of their vectors, where they are not finite, the epilogue and what each
// element brings to it. It decides nothing; gemm/oracle.h does.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "oracles/bounds/accumulator/a_priori.h"
#include "oracles/bounds/accumulator/running_bound.h"
#include "oracles/bounds/admissible.h"
#include "oracles/bounds/contract/contract.h"
#include "oracles/bounds/contract/epilogue.h"
#include "oracles/bounds/special_values.h"
#include "oracles/exact/gemm_operands.h"
#include "oracles/reference/gemm/gemm.h"
#include "oracles/reference/gemm/scales.h"

namespace plumbline {

// An output element.
struct GemmPlace {
  std::int64_t batch = 0, i = 0, j = 0;
};

// Reads a tensor [batch, rows, columns] by place; dimensions of size 1 are not stepped along.
class GemmTensorReader {
 public:
  explicit GemmTensorReader(const Tensor& tensor);

  std::uint64_t bits(const GemmPlace& place) const {
    return tensor_->bits_at(offset_ + place.batch * strides_[0] + place.i * strides_[1] +
                            place.j * strides_[2]);
  }

 private:
  const Tensor* tensor_;
  std::int64_t offset_, strides_[3];
};

class PreparedGemm {
 public:
  PreparedGemm(const GemmProblem& gemm, const Contract& promised, int target, int threads);
  PreparedGemm(const PreparedGemm&) = delete;
  PreparedGemm& operator=(const PreparedGemm&) = delete;

  const GemmProblem problem;
  const Contract contract;
  const int sm;
  const GemmOperands operands;
  const EpilogueScalars scalars;
  const Epilogue epilogue;
  const std::optional<BoundModel> model;  // none for Unit::int32
  // Where they change along k, and of a unit that takes them.
  const std::optional<BlockScales> scales;
  const AccumulatorGrid grid;
  const std::optional<APriori> a_priori;

  // Operand elements that are not finite read as 0 here; special() says where they are.
  GemmPlace place(std::int64_t index) const {
    return {index / (problem.m * problem.n), index / problem.n % problem.m, index % problem.n};
  }

  std::int64_t index(const GemmPlace& at) const {
    return (at.batch * problem.m + at.i) * problem.n + at.j;
  }

  const float* row(const GemmPlace& at) const { return operands.row(at.batch, at.i); }

  const float* column(const GemmPlace& at) const { return operands.column(at.batch, at.j); }

  // At least the sum of the (scaled) products' magnitudes, and a power of two that divides all
  // products.
  double magnitude(const GemmPlace& at) const {
    const double products = magnitude_bound(row_size(at), column_size(at));
    return scales ? scaled_magnitude(at, products) : products;
  }

  double lattice(const GemmPlace& at) const {
    if (in_instruction()) return scaled_row(at).size.lowest * scaled_column(at).size.lowest;
    return row_size(at).lowest * column_size(at).lowest;
  }

  // No accumulator comes near f32's range, given magnitude(at).
  bool cannot_overflow(const GemmPlace& at, double magnitude) const;

  // The a-priori bound, given magnitude(at).
  double error_any(const GemmPlace& at, double magnitude) const;

  // The products of two scales per interval of k; empty where scales do not change along k.
  std::vector<double> factors(const GemmPlace& at) const {
    return scales ? scales->factors(at.i, at.j) : std::vector<double>();
  }

  // The format of the scales that the instruction takes.
  const Format& scale_format() const;
  // A row of A and a column of B with them.
  BoundOperand row_operand(const GemmPlace& at) const;
  BoundOperand column_operand(const GemmPlace& at) const;

  // Some product is NaN or Inf, or would be, or some factor is.
  bool special(const GemmPlace& at) const {
    return operands.a_special[static_cast<std::size_t>(row_vector(at))] != 0 ||
           operands.b_special[static_cast<std::size_t>(column_vector(at))] != 0 ||
           (scales && has_special_factor(at));
  }

  // The classes of a special element's accumulator; finite products that may overflow first
  // included.
  ClassSet special_classes(const GemmPlace& at) const;

  EpilogueOperands epilogue_operands(const GemmPlace& at) const;

  // Entry p of the bias vector.
  float bias_at(std::int64_t p) const { return bias_[static_cast<std::size_t>(p)]; }

  ElementRule rule(const GemmPlace& at) const {
    return ElementRule(epilogue, grid, epilogue_operands(at));
  }

  RunningBound bound(const GemmPlace& at) const;  // by the specification
  Dyadic exact_sum(const GemmPlace& at) const;    // elements that are not finite count as 0

 private:
  const VectorSize& row_size(const GemmPlace& at) const {
    return row_sizes_[static_cast<std::size_t>(row_vector(at))];
  }

  const VectorSize& column_size(const GemmPlace& at) const {
    return column_sizes_[static_cast<std::size_t>(column_vector(at))];
  }

  std::int64_t row_vector(const GemmPlace& at) const {
    return (operands.batch_a == 1 ? 0 : at.batch) * problem.m + at.i;
  }

  std::int64_t column_vector(const GemmPlace& at) const {
    return (operands.batch_b == 1 ? 0 : at.batch) * problem.n + at.j;
  }

  // What scales along k do to a row or column.
  struct ScaledSize {
    VectorSize size;
    double largest_scale = 0;     // of the finite ones
    bool may_be_special = false;  // a factor with it may be Inf or NaN
  };

  // Scales belong to the instruction, not to the promotion.
  bool in_instruction() const { return scales && !model->scaled; }

  const ScaledSize& scaled_row(const GemmPlace& at) const {
    return scaled_rows_[static_cast<std::size_t>(row_vector(at))];
  }

  const ScaledSize& scaled_column(const GemmPlace& at) const {
    return scaled_columns_[static_cast<std::size_t>(column_vector(at))];
  }

  OperandScales operand_scales(GemmSide side, std::int64_t vector) const;
  int minimum_exponent(GemmSide side) const;

  std::vector<ScaledSize> scaled_sizes(GemmSide side, int threads) const;
  double scaled_magnitude(const GemmPlace& at, double products) const;
  double largest_factor(const GemmPlace& at) const;
  bool has_special_factor(const GemmPlace& at) const;
  ClassSet scaled_classes(const GemmPlace& at) const;
  ClassSet products_class(const GemmPlace& at, std::span<const SpecialElement> of_row,
                          std::span<const SpecialElement> of_column) const;

  std::vector<VectorSize> row_sizes_, column_sizes_;
  std::vector<ScaledSize> scaled_rows_, scaled_columns_;
  SpecialElements row_specials_, column_specials_;
  std::optional<GemmTensorReader> c_;
  std::vector<float> bias_, scale_a_, scale_b_;
};

}  // namespace plumbline
