// SPDX-License-Identifier: MIT
// The scales of a GEMM problem, decoded: which entry of a scale tensor an element of A or B meets,
// and whether a contract can apply the problem's scales at all.
#pragma once

#include <optional>

#include "oracles/base/result.h"
#include "oracles/bounds/contract/contract.h"
#include "oracles/exact/block_scales.h"
#include "oracles/reference/gemm/gemm.h"

namespace plumbline {

enum class GemmSide : std::uint8_t { a, b };

// The row-major index of the entry of a scale tensor that row (of A) or column (of B) `vector` has
// at element p of k. A tensor in tiles of 128 x 4 (gemm.h) has a row of entries for each vector.
std::int64_t scale_entry(const GemmProblem& problem, GemmSide side, const TensorLayout& scale,
                         std::int64_t vector, std::int64_t p);

// The scale of row (of A) or column (of B) `vector` at element p of k; 1 where the problem has
// none, nothing outside the problem, or outside its tiles of scales.
std::optional<float> scale_at(const GemmProblem& problem, GemmSide side, std::int64_t vector,
                              std::int64_t p);

// What a contract makes of the product of two scales.
ScaleProducts scale_products(const Contract& contract);

// The scales of every interval of k. A side whose scale does not change along k has factor 1 here.
BlockScales block_scales(const GemmProblem& problem, std::int64_t interval);

// The same problem with a B of its own, without scales and zero point: every element is
// fl_to(fl((b - zero_b) * scale_b)), the inner rounding to f32. The specification of
// Contract::dequantize_b.
GemmProblem with_dequantized_b(const GemmProblem& problem, FormatId to);

// Whether a kernel with this contract can compute the problem: scales along k need a scaled
// promotion whose interval divides their depth or an instruction that takes scales of their format
// and depth, zero points need unit int32; those of a B that is
// dequantized need neither. A smooth activation needs a step that says how it is computed.
Status check_gemm(const GemmProblem& problem, const Contract& contract);

}  // namespace plumbline
