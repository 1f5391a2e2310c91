// SPDX-License-Identifier: MIT
// ggml's norms.
#include "src/ggml-cuda/norm.cu"
