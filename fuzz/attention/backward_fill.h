// SPDX-License-Identifier: MIT
// Fills the input tensors of an attention backward case: those of the forward pass, what it would
// have stored, and the gradient of its output.
#pragma once

#include "fuzz/case/case.h"

namespace plumbline {

void attention_backward_fill(const Case& test_case, CaseTensors& tensors);

// Sets O and LSE to what a forward pass over Q, K and V as they are now stores.
void attention_store_forward(const Problem& problem, CaseTensors& tensors);

}  // namespace plumbline
