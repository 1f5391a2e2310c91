// SPDX-License-Identifier: MIT
// The operation `linear_backward`: the gradients of y = x w^T + bias with respect to x, w and bias,
// given dy.
#pragma once

#include "kernels/manifest/operation.h"

namespace plumbline {

const Operation& linear_backward_operation();

}  // namespace plumbline
