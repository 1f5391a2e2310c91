// SPDX-License-Identifier: MIT
// The generators of the row operations.
#pragma once

#include "fuzz/case/generator.h"

namespace plumbline {

const Generator& softmax_generator();
const Generator& softmax_backward_generator();
const Generator& rmsnorm_generator();
const Generator& rmsnorm_backward_generator();
const Generator& layernorm_generator();
const Generator& layernorm_backward_generator();

}  // namespace plumbline
