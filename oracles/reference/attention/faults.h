// SPDX-License-Identifier: MIT
// Simple faults of attention kernels: each is a small change to one row's computation, tried on the
// whole row and named when it gives the outputs the kernel stored.
#pragma once

#include "oracles/formats/tensor.h"
#include "oracles/reference/attention/prepared.h"
#include "oracles/reference/named_faults.h"

namespace plumbline {

// The faults that would give all outputs of the row that holds element `index`, the most telling
// first.
NamedFaults attention_faults(const PreparedAttention& attention, int output, std::int64_t index,
                             const Tensor& got);

}  // namespace plumbline
