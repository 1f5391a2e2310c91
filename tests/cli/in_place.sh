#!/usr/bin/env bash
# Kernels that write over an input: planned, judged and shrunk like any other. Usage: in_place.sh PROGRAM KERNEL_FOLDER
set -u
program=$1 kernels=$2
. "$(dirname "$(realpath "$0")")/expect.sh"
plan=(--no-compile --profile quick --on emulator --sm 80 --no-corpus --allow-mistrusted --only)

# The shipped RMSNorm, y over x: the second pass over a row writes what it has just read.
copy norm rmsnorm_bf16 's/"eps", "ldx"/"eps"/; s/"s64 ld_x"/"s64 ld_y"/; s/^out  = .*/out = ["bf16"]/; s/^\[tile\]/[in_place]\ny = "x"\n[tile]/'
expect 0 "1 passed, 0 failed" verify --kernel norm/norm.toml "${plan[@]}" 'm<=40 n<=300'

# Accumulation in C, and with a fault: beta C is added twice.
over_c='s/"ldc", //; s/"stride_c", //; s/ld_c/ld_d/; s/batch_stride_c/batch_stride_d/; s/^\[tile\]/[in_place]\nd = "c"\n[tile]/'
copy sum gemm_bf16 "$over_c"
expect 0 "1 passed, 0 failed" verify --kernel sum/sum.toml "${plan[@]}" 'm<=40 n<=40 k<=64 beta=1'
copy twice gemm_bf16 "$over_c; s/\"f32 beta\"/\"f32 2.0 * beta\"/"
expect 1 "case twice m=1 n=1" verify --kernel twice/twice.toml "${plan[@]}" 'm<=40 n<=40 k<=64 beta=1'

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
