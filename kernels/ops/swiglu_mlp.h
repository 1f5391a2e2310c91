// SPDX-License-Identifier: MIT
// Operation "swiglu_mlp": the MLP of a transformer block, a pair of GEMMs that meet in silu, and
// one more.
#pragma once

#include "kernels/manifest/operation.h"

namespace plumbline {

const Operation& swiglu_mlp_operation();

}  // namespace plumbline
