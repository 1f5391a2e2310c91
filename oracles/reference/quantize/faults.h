// SPDX-License-Identifier: MIT
// Simple faults of quantising kernels: each is tried on the whole tensor, and named when it gives
// every code the kernel stored.
#pragma once

#include <vector>

#include "oracles/reference/named_faults.h"
#include "oracles/reference/quantize/quantize.h"

namespace plumbline {

NamedFaults quantize_faults(const QuantizeProblem& problem, const std::vector<float>& maxima,
                            const std::vector<float>& scales, const Tensor& got);

}  // namespace plumbline
