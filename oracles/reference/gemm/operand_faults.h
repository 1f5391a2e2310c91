// SPDX-License-Identifier: MIT
// Hypotheses about where operands are read: strides that are not those of the tensor, the other
// orientation, parts of a split that start elsewhere; and about what becomes of their values. Rows
// of the table in gemm/faults.cpp.
#pragma once

#include <vector>

#include "oracles/reference/gemm/faults.h"

namespace plumbline {

std::vector<GemmFault> operand_read_elsewhere(const PreparedGemm& gemm);
std::vector<GemmFault> half_of_k_twice(const PreparedGemm& gemm);
std::vector<GemmFault> subnormal_operands(const PreparedGemm& gemm);
std::vector<GemmFault> dequantized_otherwise(const PreparedGemm& gemm);
std::vector<GemmFault> zeros_skipped(const PreparedGemm& gemm);

}  // namespace plumbline
