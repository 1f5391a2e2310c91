// SPDX-License-Identifier: MIT
// Operation "attention_backward": the gradients of attention with respect to Q, K and V.
#pragma once

#include "kernels/manifest/operation.h"

namespace plumbline {

const Operation& attention_backward_operation();

}  // namespace plumbline
