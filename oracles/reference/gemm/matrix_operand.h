// SPDX-License-Identifier: MIT
// A matrix of a layer as an operand of a GEMM.
#pragma once

#include "oracles/formats/tensor.h"

namespace plumbline {

// A matrix [rows, columns] as [1, rows, columns], or transposed.
Tensor as_operand(Tensor matrix, bool transposed);

}  // namespace plumbline
