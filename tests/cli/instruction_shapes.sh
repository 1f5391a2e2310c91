#!/usr/bin/env bash
# GEMMs by mma.m16n8k8, with accumulators in f32 and in f16, compiled by nvcc: the shape is read from the PTX, so that a correct one
# passes on every chip, and a contract that says another shape, unit or accumulator than the PTX has is refused. Usage: instruction_shapes.sh PROGRAM
set -u
program=$1
source=$(realpath "$0")
. "$(dirname "$source")/expect.sh"
nvcc=$(command -v nvcc || command -v /usr/local/cuda/bin/nvcc) || { echo "no nvcc here"; exit 77; }

cat >mine.cu <<'CU'
#include <cuda_bf16.h>
#include <cstdint>

// One warp for each 16 x 8 tile of D = A B^T, straight from global memory.
__device__ std::uint32_t pair(const __nv_bfloat16* vectors, int vector, int count, int k, int p) {
  std::uint32_t word = 0;
  for (int half = 0; half < 2; ++half)
    if (vector < count && p + half < k)
      word |= static_cast<std::uint32_t>(__bfloat16_as_ushort(vectors[vector * k + p + half])) << (16 * half);
  return word;
}

extern "C" __global__ void mine(const __nv_bfloat16* a, const __nv_bfloat16* b, float* d, int m, int n, int k) {
  const int group = threadIdx.x / 4, lane = threadIdx.x % 4, row = blockIdx.y * 16, column = blockIdx.x * 8;
  float sums[4] = {};
  for (int p = 0; p < k; p += 8) {
    const std::uint32_t a0 = pair(a, row + group, m, k, p + 2 * lane), a1 = pair(a, row + group + 8, m, k, p + 2 * lane);
    const std::uint32_t b0 = pair(b, column + group, n, k, p + 2 * lane);
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]) : "r"(a0), "r"(a1), "r"(b0));
  }
  for (int i = 0; i < 4; ++i) {
    const int r = row + group + 8 * (i / 2), c = column + 2 * lane + i % 2;
    if (r < m && c < n) d[r * n + c] = sums[i];
  }
}
CU

sed -e 's/__nv_bfloat16/__half/g; s/cuda_bf16/cuda_fp16/; s/__bfloat16_as_ushort/__half_as_ushort/' \
  -e 's/float sums\[4\] = {};/std::uint32_t sums[2] = {};/' \
  -e 's/f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3}/f16.f16.f16.f16 {%0,%1}, {%2,%3}, {%4}, {%0,%1}/' \
  -e 's/: "+f"(sums.*: "r"/: "+r"(sums[0]), "+r"(sums[1]) : "r"/' \
  -e 's/= sums\[i\]/= __half2float(__ushort_as_half(sums[i \/ 2] >> 16 * (i % 2)))/' mine.cu >half.cu
# Every sum is kept in f32 and rounded to f16 once, at the end.
sed -e 's/__nv_bfloat16/__half/g; s/cuda_bf16/cuda_fp16/; s/__bfloat16_as_ushort/__half_as_ushort/; s/bf16/f16/g' \
  -e 's/= sums\[i\]/= __half2float(__float2half(sums[i]))/' mine.cu >rounded.cu

# manifest NAME EXTRA [SOURCE FORMAT]: NAME.toml, with lines for its contract.
manifest() {
  cat >"$1.toml" <<TOML
computes   = "gemm"
summary    = "a product by mma.m16n8k8"
source     = "${3-mine}.cu"
targets    = [80, 89, 90]
entry      = "mine"
parameters = ["ptr a", "ptr b", "ptr d", "s32 m", "s32 n", "s32 k"]
[launch]
grid  = ['ceil_div(n, 8)', 'ceil_div(m, 16)']
block = [32]
[problem]
layout = ["nt"]
out    = ["f32"]
[formats]
a    = "${4-bf16}"
b    = "${4-bf16}"
c    = "bf16"
bias = "f32"
d    = "f32"
[contract]
schedule = "sequential"
epilogue = []
$2
TOML
}

manifest shape 'unit = "mma.sync"'
expect 0 "1 passed" verify shape --kernel shape.toml --profile quick --on emulator --no-corpus
for sm in 80 89 90; do
  expect 0 "1 passed" verify shape --kernel shape.toml --profile quick --on emulator --no-corpus --sm $sm --only 'k>8'
done
manifest said $'unit = "mma.sync"\ninstruction_k = 8'
expect 0 "1 passed" verify said --kernel said.toml --profile quick --on emulator --no-corpus --sm 90
manifest other $'unit = "mma.sync"\ninstruction_k = 16'
expect 3 "instruction_k = 16, but" verify other --kernel other.toml --profile quick --on emulator --no-corpus --sm 90
manifest scalar 'unit = "fma.f32"'
expect 3 'unit = "fma.f32", but' verify scalar --kernel scalar.toml --profile quick --on emulator --no-corpus --sm 90

# Accumulators in f16. The chip rounds each of them to nearest, which a sum that is rounded once at the end does not do.
manifest half $'unit = "mma.sync"\naccumulator = "f16"' half f16
for sm in 80 90; do
  expect 0 "1 passed" verify half --kernel half.toml --profile quick --on emulator --no-corpus --strict --sm $sm
done
manifest wide 'unit = "mma.sync"' half f16
expect 3 'says accumulator = "f32", but' verify wide --kernel wide.toml --profile quick --on emulator --no-corpus --sm 80
manifest narrow $'unit = "mma.sync"\naccumulator = "f16"' mine bf16
expect 2 'no mma.sync for bf16 with an f16 accumulator' verify narrow --kernel narrow.toml --profile quick --on emulator --no-corpus --sm 80
manifest rounded $'unit = "mma.sync"\naccumulator = "f16"' rounded f16
expect 3 'says accumulator = "f16", but' verify rounded --kernel rounded.toml --profile quick --on emulator --no-corpus --sm 80
sed 's/schedule = "sequential"/schedule = "any"/' half.toml >open.toml
expect 2 'has to say how k is added up' verify open --kernel open.toml --profile quick --on emulator --no-corpus --sm 80
expect 0 'accumulator = "f16"' init half.cu --out -

# An output's own contract is held against the PTX, too: here one of three.
shipped=$(dirname "$(dirname "$program")")/kernels/shipped/linear_bf16_backward
for k in 8 16; do
  { cat "$shipped/linear_bf16_backward.toml"; printf '[contract.dx]\nunit = "mma.sync"\nschedule = "sequential"\ninstruction_k = %s\nepilogue = []\n' $k; } >dx$k.toml
  cp "$shipped/linear_bf16_backward.cu" .
  cp "$shipped/linear_bf16_backward.sm_90.ptx" dx$k.sm_90.ptx
done
expect 3 'output dx of dx8 says instruction_k = 8, but' verify dx8 --kernel dx8.toml --no-compile --profile quick --on emulator --no-corpus --sm 90 --only 'm=1'
expect 0 "1 passed" verify dx16 --kernel dx16.toml --no-compile --profile quick --on emulator --no-corpus --sm 90 --only 'm=1'

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
