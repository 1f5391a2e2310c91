// SPDX-License-Identifier: MIT
// One output of attention in words: its row, its verdict, and the simple faults that would give it.
#pragma once

#include "oracles/reference/attention/prepared.h"

namespace plumbline {

Explanation explain_attention(const PreparedAttention& attention, int output, std::int64_t index,
                              const Tensor& got);

}  // namespace plumbline
