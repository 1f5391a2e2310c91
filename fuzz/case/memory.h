// SPDX-License-Identifier: MIT
// About how much memory a case takes: what runs it refuses what does not fit, what plans cases
// leaves such problems out.
#pragma once

#include <span>

#include "kernels/manifest/operation.h"

namespace plumbline {

// In bytes, for all tensors together.
double memory_of(std::span<const TensorSpec> specs);

}  // namespace plumbline
