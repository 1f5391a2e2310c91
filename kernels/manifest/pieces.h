// SPDX-License-Identifier: MIT
// Rows so far apart that no machine has memory for what is between them. A few of them lead to
// offsets beyond 2^31 elements, where 32-bit arithmetic ends. The host keeps such a tensor as
// pieces, one behind the other. On a device each piece has its own place, and no memory is between
// them.
#pragma once

#include <cstdint>

#include "oracles/formats/tensor.h"

namespace plumbline {

// In elements. A tensor in one piece has `apart` 0.
struct Pieces {
  std::int64_t apart = 0;  // from where one begins to where the next one does
  std::int64_t kept = 0;   // of each, with some padding behind the last row
};

// Cuts a layout whose storage would be far larger than its elements, and leaves the strides of what
// is kept: alignment to 256 elements is as before. Other layouts stay, and are one piece.
Pieces cut(TensorLayout& layout);

}  // namespace plumbline
