// SPDX-License-Identifier: MIT
// Simple faults of the first half of a SwiGLU MLP: each is tried on the failing elements around
// one, and named when it gives all of them.
#pragma once

#include "oracles/reference/swiglu/hidden.h"

namespace plumbline {

// `index`: an element that fails.
NamedFaults hidden_faults(const SwigluHidden& hidden, std::int64_t index, const Tensor& got);

}  // namespace plumbline
