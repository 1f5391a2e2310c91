// SPDX-License-Identifier: MIT
#include "kernels/ops/gemm_layout.h"

#include "kernels/manifest/bad_input.h"
#include "oracles/base/numbers.h"

#include <fmt/format.h>

#include <array>

namespace plumbline {
namespace {

// One matrix's part of the problem: its fields, its logical shape, whether it is stored transposed.
struct Matrix {
  std::string_view name, leading_field, stride_field;
  std::int64_t rows, columns;
  bool transposed;

  std::int64_t stored_rows() const { return transposed ? columns : rows; }

  std::int64_t stored_columns() const { return transposed ? rows : columns; }
};

Matrix matrix_of(const Problem& problem, GemmMatrix matrix) {
  const std::int64_t m = problem.integer("m"), n = problem.integer("n"), k = problem.integer("k");
  const std::string_view layout = problem.word("layout");
  switch (matrix) {
    case GemmMatrix::a:
      return {"a", "lda", "stride_a", m, k, layout[0] == 't'};
    case GemmMatrix::b:
      return {"b", "ldb", "stride_b", k, n, layout[1] == 't'};
    case GemmMatrix::c:
      return {"c", "ldc", "stride_c", m, n, false};
    case GemmMatrix::d:
      break;
  }
  return {"d", "ldd", "stride_d", m, n, false};
}

// Whether two batch elements of an output share storage. Batches may lie one after the other, or
// interleaved within rows ([m, batch, n] in memory).
bool batches_overlap(const Matrix& d, std::int64_t batch, std::int64_t leading,
                     std::int64_t stride) {
  if (batch <= 1 || d.rows == 0 || d.columns == 0) return false;
  std::int64_t extent = 0, interleaved = 0;
  const bool extent_fits = !__builtin_mul_overflow(d.rows - 1, leading, &extent) &&
                           !__builtin_add_overflow(extent, d.columns, &extent);
  if (extent_fits && stride >= extent) return false;
  const bool interleaved_fits = !__builtin_mul_overflow(batch - 1, stride, &interleaved) &&
                                !__builtin_add_overflow(interleaved, d.columns, &interleaved);
  return !(interleaved_fits && stride >= d.columns && leading >= interleaved);
}

}  // namespace

std::int64_t gemm_leading_dimension(const Problem& problem, GemmMatrix matrix) {
  const Matrix shape = matrix_of(problem, matrix);
  const std::int64_t given = problem.integer(shape.leading_field);
  return given != 0 ? given : shape.stored_columns();
}

Result<std::int64_t> gemm_batch_stride(const Problem& problem, GemmMatrix matrix) {
  const Matrix shape = matrix_of(problem, matrix);
  const std::int64_t given = problem.integer(shape.stride_field);
  if (given != -1) return given;
  const std::int64_t leading = gemm_leading_dimension(problem, matrix);
  std::int64_t tight = 0;
  if (__builtin_mul_overflow(shape.stored_rows(), leading, &tight)) {
    return bad_input(fmt::format("{} rows of {} with leading dimension {} do not fit 64 bits",
                                 shape.stored_rows(), shape.name, leading),
                     fmt::format("use a smaller {}", shape.leading_field));
  }
  return tight;
}

bool gemm_has_c(const Problem& problem) {
  return problem.real("beta") != 0 || problem.word("c") == "always";
}

Result<TensorLayout> gemm_matrix_layout(const Problem& problem, GemmMatrix matrix,
                                        FormatId format) {
  const Matrix shape = matrix_of(problem, matrix);
  const std::int64_t batch = problem.integer("batch");
  const std::int64_t leading = gemm_leading_dimension(problem, matrix);
  if (leading < shape.stored_columns()) {
    return bad_input(fmt::format("{}={} is shorter than a stored row of {}, which has {} elements",
                                 shape.leading_field, leading, shape.name, shape.stored_columns()),
                     fmt::format("use {}=0 for tight rows", shape.leading_field));
  }
  const Result<std::int64_t> stride = gemm_batch_stride(problem, matrix);
  if (!stride) return stride.error();
  if (matrix == GemmMatrix::d && batches_overlap(shape, batch, leading, *stride)) {
    return bad_input(
        fmt::format("stride_d={} makes the outputs of different batch elements overlap", *stride),
        "use stride_d=-1 for tight batches");
  }
  TensorLayout layout;
  layout.format = format;
  layout.shape = {batch, shape.rows, shape.columns};
  layout.strides = {*stride, shape.transposed ? 1 : leading, shape.transposed ? leading : 1};
  Status usable = layout.check();
  if (!usable) {
    Error error = usable.error();
    error.message = fmt::format("{}: {}", shape.name, error.message);
    return error;
  }
  return layout;
}

Result<TensorLayout> gemm_scale_layout(const Problem& problem, std::string_view scale,
                                       FormatId format) {
  const ScaleBlock block = gemm_scale_block(problem, scale);
  const bool of_a = scale == "scale_a";
  const std::int64_t vectors = problem.integer(of_a ? "m" : "n");
  if (block == kTensorScale) return dense_layout(format, {1});
  if (block == kVectorScale) return dense_layout(format, {vectors});
  const std::int64_t rows = ceil_div(vectors, block.vectors),
                     blocks = ceil_div(problem.integer("k"), block.depth);
  const std::string_view layout = problem.word("scale_layout");
  if (layout == "row_major" || (layout == "k_major" && of_a))
    return dense_layout(format, of_a ? std::vector{rows, blocks} : std::vector{blocks, rows});
  TensorLayout out;
  out.format = format;
  if (layout == "k_major") {
    out.shape = {blocks, rows};
    out.strides = {1, blocks};
    return out;
  }
  if (block.vectors != 1) {
    return bad_input(fmt::format("scale_layout=128x4 has no scales of blocks of {} {}",
                                 block.vectors, of_a ? "rows" : "columns"),
                     "use scale_layout=row_major or k_major");
  }
  constexpr std::int64_t kTile = 128 * 4;
  const std::int64_t down = ceil_div(rows, 128), across = ceil_div(blocks, 4);
  out.shape = {down, 4, 32, across, 4};
  out.strides = {across * kTile, 4, 16, kTile, 1};
  if (Status usable = out.check(); !usable) return usable.error();
  return out;
}

ScaleBlock gemm_scale_block(const Problem& problem, std::string_view scale) {
  const std::string_view word = problem.word(scale);
  if (word == "row" || word == "column") return kVectorScale;
  if (word == "1x128") return {1, 128};
  if (word == "128x128") return {128, 128};
  if (word == "1x32" || word == "32x1") return {1, 32};
  if (word == "1x16" || word == "16x1") return {1, 16};
  return kTensorScale;
}

}  // namespace plumbline
