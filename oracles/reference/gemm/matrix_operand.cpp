// SPDX-License-Identifier: MIT
#include "oracles/reference/gemm/matrix_operand.h"

#include "oracles/base/assert.h"

namespace plumbline {

Tensor as_operand(Tensor matrix, bool transposed) {
  PLUMB_ASSERT(matrix.layout.shape.size() == 2);
  const std::int64_t rows = matrix.layout.shape[0], columns = matrix.layout.shape[1];
  const std::int64_t down = matrix.layout.strides[0], right = matrix.layout.strides[1];
  matrix.layout.shape = transposed ? std::vector{std::int64_t{1}, columns, rows}
                                   : std::vector{std::int64_t{1}, rows, columns};
  matrix.layout.strides = transposed ? std::vector{std::int64_t{0}, right, down}
                                     : std::vector{std::int64_t{0}, down, right};
  return matrix;
}

}  // namespace plumbline
