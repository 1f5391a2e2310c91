// SPDX-License-Identifier: MIT
// Packed sequences whose rows were cropped: their literal starts are made to fit the rows left.
#pragma once

#include <span>

#include "fuzz/shrink/crop.h"

namespace plumbline {

void settle_attention_starts(const Case& before, std::span<const Removal> removals, Case& after);

}  // namespace plumbline
