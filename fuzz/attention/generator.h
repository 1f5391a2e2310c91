// SPDX-License-Identifier: MIT
// The generators of operations "attention" and "attention_backward".
#pragma once

#include "fuzz/case/generator.h"

namespace plumbline {

const Generator& attention_generator();
const Generator& attention_backward_generator();

}  // namespace plumbline
