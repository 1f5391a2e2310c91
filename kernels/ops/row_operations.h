// SPDX-License-Identifier: MIT
// The operations that work row by row (oracles/reference/rows/row.h): softmax, RMSNorm, LayerNorm
// and their gradients.
#pragma once

#include "kernels/manifest/operation.h"

namespace plumbline {

const Operation& softmax_operation();
const Operation& softmax_backward_operation();
const Operation& rmsnorm_operation();
const Operation& rmsnorm_backward_operation();
const Operation& layernorm_operation();
const Operation& layernorm_backward_operation();

}  // namespace plumbline
