#!/usr/bin/env bash
# GEMMs of 8-bit operands whose scales do not wait for the end: weights that become bf16 before they are multiplied, and int32 sums that
# are scaled every 128 of k, compiled by nvcc. Usage: quantized_operands.sh PROGRAM
set -u
program=$1
source=$(realpath "$0")
. "$(dirname "$source")/expect.sh"
nvcc=$(command -v nvcc || command -v /usr/local/cuda/bin/nvcc) || { echo "no nvcc here"; exit 77; }

cat >mine.cu <<'CU'
#include <cuda_bf16.h>

// One thread for each element; weights are scaled by column, or by block of 128 x 128.
extern "C" __global__ void weights(const __nv_bfloat16* a, const signed char* b, const float* scale_b, float* d, int m, int n, int k,
                                   int zero_b, int by_block) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= m * n) return;
  const int i = at / n, j = at % n;
  float sum = 0;
  for (int p = 0; p < k; ++p) {
    const float scale = by_block ? scale_b[p / 128 * ((n + 127) / 128) + j / 128] : scale_b[j];
    const float weight = static_cast<float>(b[p * n + j] - zero_b);
#ifdef SCALED_AFTERWARDS
    sum = fmaf(__bfloat162float(a[i * k + p]) * scale, weight, sum);
#else
    sum = fmaf(__bfloat162float(a[i * k + p]), __bfloat162float(__float2bfloat16_rn(weight * scale)), sum);
#endif
  }
  d[at] = sum;
}

// int32 sums of 128, scaled and added in f32.
extern "C" __global__ void blocks(const signed char* a, const signed char* b, const float* scale_a, const float* scale_b, float* d, int m,
                                  int n, int k) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= m * n) return;
  const int i = at / n, j = at % n, depth = (k + 127) / 128;
  float sum = 0;
  for (int block = 0; block < depth; ++block) {
    int part = 0;
    for (int p = block * 128; p < min(k, block * 128 + 128); ++p) part += a[i * k + p] * b[p * n + j];
#ifdef SCALE_OF_FIRST_BLOCK
    sum = fmaf(static_cast<float>(part), scale_a[i * depth] * scale_b[j / 128], sum);
#else
    sum = fmaf(static_cast<float>(part), scale_a[i * depth + block] * scale_b[block * ((n + 127) / 128) + j / 128], sum);
#endif
  }
  d[at] = sum;
}
CU
"$nvcc" -ptx -O3 -arch=compute_80 -o mine.ptx mine.cu || exit 1
"$nvcc" -ptx -O3 -arch=compute_80 -DSCALED_AFTERWARDS -DSCALE_OF_FIRST_BLOCK -o wrong.ptx mine.cu || exit 1

# weights FILE PTX CONTRACT, blocks FILE PTX CONTRACT
weights() {
  cat >"$1.toml" <<TOML
computes   = "gemm"
summary    = "s8 weights under bf16 activations"
ptx        = "$2.ptx"
targets    = [80]
entry      = "weights"
parameters = ["ptr a", "ptr b", "ptr scale_b", "ptr d", "s32 m", "s32 n", "s32 k", "s32 zero_b", 's32 scale_b == "128x128"']
[problem]
out     = ["f32"]
a       = ["bf16"]
b       = ["s8"]
scale_b = ["column", "128x128"]
free    = ["zero_b"]
[launch]
grid  = ['ceil_div(m * n, 32)']
block = [32]
[formats]
a = "bf16"
b = "s8"
c = "f32"
d = "f32"
[[domain]]
require = 'm * n * k <= 2147483647'
reason  = "32-bit"
[contract]
schedule = "sequential"
$3
TOML
}
blocks() {
  cat >"$1.toml" <<TOML
computes   = "gemm"
summary    = "s8 with scales along k"
ptx        = "$2.ptx"
targets    = [80]
entry      = "blocks"
parameters = ["ptr a", "ptr b", "ptr scale_a", "ptr scale_b", "ptr d", "s32 m", "s32 n", "s32 k"]
[problem]
out     = ["f32"]
a       = ["s8"]
b       = ["s8"]
scale_a = ["1x128"]
scale_b = ["128x128"]
[launch]
grid  = ['ceil_div(m * n, 32)']
block = [32]
[formats]
a = "s8"
b = "s8"
c = "f32"
d = "f32"
[[domain]]
require = 'm * n * k <= 2147483647'
reason  = "32-bit"
[contract]
unit     = "int32"
epilogue = []
$3
TOML
}
verify() { expect "$1" "$2" verify --kernel "$3.toml" --on emulator --sm 80 --profile quick; }

fma='unit = "fma.f32"
epilogue = []'
weights right mine "$fma
dequantize_b = \"bf16\""
verify 0 "0 failed" right
weights afterwards wrong "$fma
dequantize_b = \"bf16\""
verify 1 "failed" afterwards
weights silent mine "$fma"
verify 2 'no unit multiplies bf16 x s8 (say what B becomes first: dequantize_b = "bf16" or "f16")' silent
weights unknown mine "$fma
dequantize_b = \"bf61\""
verify 2 '"bf61" is not known here (did you mean "bf16"?' unknown
weights twice mine 'unit = "fma.f32"
epilogue = ["scale_b"]
dequantize_b = "bf16"'
verify 2 "B's scales are applied twice" twice
weights integers mine 'unit = "int32"
epilogue = []'
verify 2 'unit int32 cannot take bf16 x s8' integers

sed 's/^b *= "s8"/b = "bf16"/; s/^b *= \["s8"\]/b = ["bf16"]/' right.toml >wide.toml
verify 2 'dequantize_b needs a b of 8 bits or fewer, and bf16 has more (leave dequantize_b out, or store it in 8 bits)' wide

grouped=gemm_grouped_bf16
sed 's/^\[contract\]/&\ndequantize_b = "bf16"/' "$(dirname "$source")/../../kernels/shipped/$grouped/$grouped.toml" >grouped.toml
verify 2 '"dequantize_b" has no meaning for grouped_gemm' grouped

promoted='schedule = "promote"
interval = 128
promotion = "scaled fma"'
blocks blocks mine "$promoted"
verify 0 "0 failed" blocks
blocks first wrong "$promoted"
verify 1 "failed" first
blocks long mine 'schedule = "promote"
interval = 16384
promotion = "scaled fma"'
verify 2 'int32 sums of 16384 products may wrap before they are scaled (promote after at most 8192)' long
blocks sequential mine 'schedule = "sequential"'
verify 2 'scales along k need promotion "scaled fma"' sequential

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
