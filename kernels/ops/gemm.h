// SPDX-License-Identifier: MIT
// Operation "gemm": D = act(alpha * A * B + beta * C + bias) over a batch. Its fields and derived
// names are tables in gemm.cpp; how its tensors lie in memory is gemm_layout.h.
#pragma once

#include "kernels/manifest/operation.h"

namespace plumbline {

const Operation& gemm_operation();

}  // namespace plumbline
