// SPDX-License-Identifier: MIT
// The generator of operation "gemm".
#pragma once

#include "fuzz/case/generator.h"

namespace plumbline {

const Generator& gemm_generator();

}  // namespace plumbline
