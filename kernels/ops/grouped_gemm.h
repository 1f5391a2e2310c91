// SPDX-License-Identifier: MIT
// The operation `grouped_gemm` (mixture of experts): the rows of A belong to groups, in order, and
// every group has a matrix B of its own. How many rows a group has is data on the device.
#pragma once

#include "kernels/manifest/operation.h"

namespace plumbline {

const Operation& grouped_gemm_operation();

}  // namespace plumbline
