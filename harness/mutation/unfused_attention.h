// SPDX-License-Identifier: MIT
// Attention as a framework computes it where it has no fused kernel: one matrix after the other,
// each stored in the format of Q, K and V, and its gradients by automatic differentiation of that.
// It is the yardstick of projects that allow a kernel a multiple of this error; nothing of ours
// is decided by it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fuzz/case/case.h"

namespace plumbline {

// "o", or "dq", "dk" and "dv", in logical row-major order; rows after the last sequence are 0.
// Empty for other operations, and where Q, K and V are not of one 16-bit format without scales:
// frameworks have no such attention.
std::map<std::string, std::vector<double>> unfused_attention(const Case& test_case,
                                                             const CaseTensors& tensors);

}  // namespace plumbline
