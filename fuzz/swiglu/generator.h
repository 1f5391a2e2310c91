// SPDX-License-Identifier: MIT
// The generator of operation "swiglu_mlp".
#pragma once

#include "fuzz/case/generator.h"

namespace plumbline {

const Generator& swiglu_generator();

}  // namespace plumbline
