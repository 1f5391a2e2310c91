// SPDX-License-Identifier: MIT
// The hand-written cases of attention backward: those of the forward pass, which has the same masks
// and tensors, and what only gradients can show.
#pragma once

#include <vector>

#include "fuzz/case/generator.h"

namespace plumbline {

std::vector<DesignedCase> attention_backward_designed(const Manifest& manifest);

}  // namespace plumbline
