// SPDX-License-Identifier: MIT
// How a model's f32 data become the operands of a GEMM: a scale for what shares one (the largest
// magnitude over the largest code, rounded up to a power of two where scales are such), then every
// element over its scale to the nearest code, saturating.
#pragma once

#include <functional>

#include "kernels/manifest/operation.h"
#include "oracles/reference/gemm/scales.h"

namespace plumbline {

// Into `stored` and, where there are some, `scales`; `entry_of` says which scale an element has.
void quantize_tensor(const Tensor& source, Tensor& stored, Tensor* scales,
                     const std::function<std::int64_t(std::int64_t)>& entry_of,
                     std::int64_t zero = 0);

void quantize_operand(const Problem& problem, GemmSide side, const CaseTensors& sources,
                      CaseTensors& tensors);

}  // namespace plumbline
