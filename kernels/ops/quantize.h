// SPDX-License-Identifier: MIT
// The operation `quantize`: codes, scales and maxima of a matrix
// (oracles/reference/quantize/quantize.h).
#pragma once

#include "kernels/manifest/operation.h"

namespace plumbline {

const Operation& quantize_operation();

}  // namespace plumbline
