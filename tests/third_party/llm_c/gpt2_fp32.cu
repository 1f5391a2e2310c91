// SPDX-License-Identifier: MIT
// llm.c's kernels of GPT-2 in f32, all of them.
#define TESTING  // without its main()
#include "train_gpt2_fp32.cu"
