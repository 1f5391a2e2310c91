// SPDX-License-Identifier: MIT
// How a model's f32 data become Q, K and V of attention, with a scale per sequence and head where
// the problem has such.
#pragma once

#include "kernels/operation.h"

namespace plumbline {

void quantize_attention(const Problem& problem, const CaseTensors& sources, CaseTensors& tensors);

}  // namespace plumbline
