// SPDX-License-Identifier: MIT
// One head's rows of an attention tensor as numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "oracles/formats/tensor.h"

namespace plumbline {

// Rows [first, first + count) of a [batch, heads, length, width] or [batch, heads, length] tensor,
// decoded exactly. The elements of a row lie side by side.
std::vector<float> head_rows(const Tensor& tensor, std::int64_t batch, std::int64_t head,
                             std::int64_t first, std::int64_t count);

}  // namespace plumbline
