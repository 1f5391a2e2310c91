// SPDX-License-Identifier: MIT
// SageAttention's kernels before attention, as its host code instantiates them.
#include "csrc/fused/fused.cu"
