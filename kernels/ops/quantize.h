// SPDX-License-Identifier: MIT
// The operation `quantize`: codes, scales and maxima of a matrix (oracles/reference/quantize.h).
#pragma once

#include "kernels/operation.h"

namespace plumbline {

const Operation& quantize_operation();

}  // namespace plumbline
