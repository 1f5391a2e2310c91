// SPDX-License-Identifier: MIT
// ggml's softmax and its gradient, for all widths that its host code chooses between.
#include "src/ggml-cuda/softmax.cu"
