// SPDX-License-Identifier: MIT
// One element of h in words: both sums and what their accumulators may hold, silu, what is
// admissible, and the simple faults that would give it.
#pragma once

#include "oracles/reference/swiglu/hidden.h"

namespace plumbline {

Explanation explain_hidden(const SwigluHidden& hidden, std::int64_t index, const Tensor& got);

}  // namespace plumbline
