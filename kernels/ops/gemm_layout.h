// SPDX-License-Identifier: MIT
// How a GEMM's matrices lie in memory: leading dimensions and batch strides in effect, where the
// problem leaves them at "tight", and the tensor layouts that follow. Everything is in elements and
// checked for overflow.
//
//   layout   A is stored      B is stored         the letter is the operand's: first A, then B
//     n      [m, k], ld_a     [k, n], ld_b        as the product reads
//     t      [k, m], ld_a     [n, k], ld_b        transposed
//   C and D are stored [m, n] with ld_c, ld_d; batch element i starts at i * batch_stride.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/manifest/problem.h"
#include "oracles/base/result.h"
#include "oracles/formats/tensor.h"
#include "oracles/reference/gemm/gemm.h"

namespace plumbline {

enum class GemmMatrix : std::uint8_t { a, b, c, d };

// The leading dimension in effect: the field's, or the stored row's length where the field is 0.
std::int64_t gemm_leading_dimension(const Problem& problem, GemmMatrix matrix);

// The batch stride in effect: the field's, or stored rows times leading dimension where the field
// is -1.
Result<std::int64_t> gemm_batch_stride(const Problem& problem, GemmMatrix matrix);

// Whether the kernel is given C: beta is not zero, or the problem asks for it to see that it is not
// read.
bool gemm_has_c(const Problem& problem);

// Logical [batch, rows, columns] with the strides above. Errors: a leading dimension shorter than
// the row, outputs that overlap, sizes beyond 63 bits.
Result<TensorLayout> gemm_matrix_layout(const Problem& problem, GemmMatrix matrix, FormatId format);

// How a scale tensor lies in memory ("scale_a", "scale_b", "scale_d"), which the problem has. In
// tiles of 128 x 4 its shape is [tiles of vectors, 4, 32, tiles of blocks, 4]: row-major indices
// are those of [vectors, blocks], padded to whole tiles. Errors: blocks of several vectors in
// tiles.
Result<TensorLayout> gemm_scale_layout(const Problem& problem, std::string_view scale,
                                       FormatId format);
// What one of its entries covers.
ScaleBlock gemm_scale_block(const Problem& problem, std::string_view scale);

}  // namespace plumbline
