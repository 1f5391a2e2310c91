// SPDX-License-Identifier: MIT
// The fault kinds about quantized GEMMs: scales, zero points, promotion, parts of a split, and FP8
// formats taken for one another. Rows of the table in gemm/faults.cpp.
#pragma once

#include <vector>

#include "oracles/reference/gemm/faults.h"

namespace plumbline {

std::vector<GemmFault> scale_missing(const PreparedGemm& gemm);
std::vector<GemmFault> scale_of_neighbor(const PreparedGemm& gemm);
std::vector<GemmFault> scale_read_once(const PreparedGemm& gemm);
std::vector<GemmFault> scales_to_powers_of_two(const PreparedGemm& gemm);
std::vector<GemmFault> scales_otherwise_laid_out(const PreparedGemm& gemm);
std::vector<GemmFault> integers_in_f32(const PreparedGemm& gemm);
std::vector<GemmFault> scales_in_turn(const PreparedGemm& gemm);
std::vector<GemmFault> scales_exchanged(const PreparedGemm& gemm);
std::vector<GemmFault> zero_points_wrong(const PreparedGemm& gemm);
std::vector<GemmFault> sum_clamped(const PreparedGemm& gemm);
std::vector<GemmFault> nan_scale_infinite(const PreparedGemm& gemm);
std::vector<GemmFault> promoted_sum_narrow(const PreparedGemm& gemm);
std::vector<GemmFault> promotion_missing(const PreparedGemm& gemm);
std::vector<GemmFault> other_fp8_format(const PreparedGemm& gemm);
std::vector<GemmFault> split_part_wrong(const PreparedGemm& gemm);

}  // namespace plumbline
