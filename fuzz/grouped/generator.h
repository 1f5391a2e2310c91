// SPDX-License-Identifier: MIT
// The generator of operation "grouped_gemm".
#pragma once

#include "fuzz/case/generator.h"

namespace plumbline {

const Generator& grouped_generator();

}  // namespace plumbline
