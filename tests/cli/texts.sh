#!/usr/bin/env bash
# Operation texts: gradients printed, drafted, and kernels of them judged; the shipped bf16 GEMM under a text of three lines, with sums on tensor cores; texts
# as JSON. Usage: texts.sh PROGRAM SOURCE_DIR
set -u
program=$1 source=$2
. "$(dirname "$(realpath "$0")")/expect.sh"

cat >rmsnorm_backward.op <<'END'
# RMSNorm.
operation rmsnorm(x[m, n], eps = 1e-6) -> y[m, n], rstd[m]?
  rstd[i] = rsqrt((sum[j] x[i, j]^2) / n + eps)
  y[i, j] = x[i, j] * rstd[i]

# Backward.
operation rmsnorm_backward = gradient of rmsnorm wrt x saving rstd
END
expect 0 "# Backward. operation rmsnorm_backward(dy[m, n], drstd[m] = 0, x[m, n], rstd[m]) -> dx[m, n]" list text rmsnorm_backward.op
expect 0 "dx[i, j] = dy[i, j] * rstd[i] - drstd_all[i] * rstd[i] * rstd[i]^2 * x[i, j] / n" list text rmsnorm_backward.op
# What is printed is a text that says the same.
"$program" list text rmsnorm_backward.op >again.op
"$program" list text again.op | cmp -s - again.op || { echo "FAILED: the printed text is another one"; failed=$((failed + 1)); }
sed 's/saving rstd/saving mean/' rmsnorm_backward.op >wrong.op
expect 2 "wrong.op:7:63: rmsnorm computes no 'mean'" list text wrong.op
expect 2 "no operation text is named" list text
expect 2 "missing.op" list text missing.op
printf 'operation shift(offset, x[n]) -> y[n]\n  y[i] = x[i] + offset\n' >reserved.op
expect 2 "offset" list text reserved.op

kernel() {  # of the sum's factor
  cat <<END
extern "C" __global__ void rmsnorm_backward(const float* dy, const float* x, const float* rstd, float* dx, int m, int n) {
  const int i = blockIdx.x, lane = threadIdx.x;
  float sum = 0;
  for (int j = lane; j < n; j += 32) sum += dy[i * n + j] * x[i * n + j];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  const float r = rstd[i], all = sum * r * (r * r) / $1;
  for (int j = lane; j < n; j += 32) dx[i * n + j] = dy[i * n + j] * r - all * x[i * n + j];
}
END
}
kernel n >rmsnorm_backward.cu
expect 0 "as rmsnorm_backward.op, since a text of that name lies beside it" init rmsnorm_backward.cu
sed -i "s/^grid = .*/grid = ['m']/; s/^block = .*/block = [32]/; s/\"bf16\"/\"f32\"/; /^drstd/d" rmsnorm_backward.toml
expect 0 "1 passed, 0 failed" verify --kernel rmsnorm_backward.toml --profile quick --on emulator --no-corpus
kernel "(n + 1)" >rmsnorm_backward.cu
expect 1 "fits: line 3: with n + 1 for n" verify --kernel rmsnorm_backward.toml --profile quick --on emulator --no-corpus -x
expect 1 "of the gradient rmsnorm_backward in" verify --kernel rmsnorm_backward.toml --profile quick --on emulator --no-corpus -x

cp "$source/kernels/shipped/gemm_bf16/gemm_bf16.cu" product.cu
cat >product.op <<'TEXT'
operation product(a[m, k], b[k, n], c[m, n] = 0, bias[n] = 0, alpha = 1.0, beta = 0.0) -> d[m, n]
  acc[i, j] = sum[l] (a[i, l] * b[l, j])
  d[i, j] = max(alpha * acc[i, j] + where(beta == 0, 0, beta * c[i, j]) + bias[j], 0)
TEXT
cat >product.toml <<TEXT
computes   = "product.op"
summary    = "a bf16 GEMM with bias and ReLU"
source     = "product.cu"
flags      = ["-I$source/kernels"]
targets    = [80, 90]
entry      = "gemm_bf16_nn_{out}"
parameters = [
  "ptr a", "ptr b", "ptr c", "ptr bias", "ptr d", "s32 m", "s32 n", "s32 k", "s32 1", "s64 ld_a", "s64 ld_b", "s64 ld_c",
  "s64 ld_d", "s64 0", "s64 0", "s64 0", "s64 0", "f32 alpha", "f32 beta", "s32 2", "s32 1",
]

[problem]
out  = ["bf16", "f32"]
free = ["alpha", "beta", "pad_a", "pad_b", "pad_c", "pad_d", "offset"]

[launch]
grid   = ['ceil_div(m, 128) * ceil_div(n, 128)']
block  = [256]
shared = '3 * (128 * 32 + 128 * 32) * 2'

[formats]
a    = "bf16"
b    = "bf16"
c    = "{out}"
bias = "f32"
d    = "{out}"

[tile]
m = 128
n = 128
k = 32

[contract]
unit = "mma.sync"
TEXT
quick="--profile quick --on emulator --no-corpus"
expect 0 "1 passed, 0 failed" verify --kernel product.toml $quick
# A text leaves open whether a product is rounded before it is added, so one that is fused, or not, may survive.
expect 0 "% product" mutants product --kernel product.toml --auto 12 --profile quick --min-score 85
sed -i 's/max(alpha/min(alpha/' product.op
expect 1 "fits: line 3: with max for min" verify --kernel product.toml $quick --sm 80 -x
sed -i '/^unit/d' product.toml
expect 3 'says unit = "fma.f32", but product.sm_80.ptx' verify --kernel product.toml $quick --sm 80
expect 3 '(write unit = "mma.sync")' verify --kernel product.toml $quick --sm 80
sed -i 's/^\[contract\]/&\nunit = "wgmma"/' product.toml
expect 2 "no sum of product.op is one of products that wgmma multiplies on sm_80" verify --kernel product.toml $quick

expect 0 '{"name":"bias","role":"input","usual":"","formats":["bf16"' list text product.op --format json
expect 2 "only texts have it" list kernels --format json

# Accumulators that begin with C, as fragments of wmma that were loaded from it.
cat >onto.op <<'TEXT'
operation onto(a[m, k], b[k, n], c[m, n]) -> d[m, n]
  d[i, j] = c[i, j] + sum[l] (a[i, l] * b[l, j])
TEXT
cat >onto.cu <<'CODE'
#include <cuda_bf16.h>
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void onto(const __nv_bfloat16* a, const __nv_bfloat16* b, const float* c, float* d, int n, int k) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> x;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> y;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  const long long corner = (long long)(16 * blockIdx.y) * n + 16 * blockIdx.x;
  wmma::load_matrix_sync(sum, c + corner, n, wmma::mem_row_major);
  for (int l = 0; l < k; l += 16) {
    wmma::load_matrix_sync(x, a + (long long)(16 * blockIdx.y) * k + l, k);
    wmma::load_matrix_sync(y, b + (long long)l * n + 16 * blockIdx.x, n);
    wmma::mma_sync(sum, x, y, sum);
  }
  wmma::store_matrix_sync(d + corner, sum, n, wmma::mem_row_major);
}
CODE
cat >onto.toml <<'TEXT'
computes = "onto.op"
summary = "a product that is added to C in the accumulators"
source = "onto.cu"
targets = [80, 90]
entry = "onto"
parameters = ["ptr a", "ptr b", "ptr c", "ptr d", "s32 n", "s32 k"]
[launch]
grid = ["n / 16", "m / 16"]
block = [32]
[formats]
a = "bf16"
b = "bf16"
c = "f32"
d = "f32"
[[domain]]
require = "m % 16 == 0 && n % 16 == 0 && k % 16 == 0 && n > 0 && m > 0"
reason = "whole fragments"
[contract]
unit = "mma.sync"
sum_start = "addend"
TEXT
expect 0 "1 passed, 0 failed" verify --kernel onto.toml $quick
sed -i '/^sum_start/d' onto.toml
expect 1 'fits: sums begin with what is added to them; if that is meant, the contract says sum_start = "addend"' verify --kernel onto.toml $quick -x

# A row number of 16 bits, which no small case shows.
printf 'operation twice(x[m, n]) -> y[m, n]\n  y[i, j] = 2 * x[i, j]\n' >twice.op
cat >twice.cu <<'CODE'
extern "C" __global__ void twice(const float* x, float* y, int n) {
  const unsigned short row = blockIdx.x;
  for (int j = threadIdx.x; j < n; j += 32) y[(long long)row * n + j] = 2 * x[(long long)row * n + j];
}
CODE
sed 's/onto/twice/; s/"ptr a.*"s32 k"/"ptr x", "ptr y", "s32 n"/; s|^grid.*|grid = ["m"]|; s/^a = "bf16"/x = "f32"/; s/^d = /y = /; /^[bc] = /d; /^\[\[domain/,$d' onto.toml >twice.toml
expect 1 "y[65536,0]" verify --kernel twice.toml $quick --no-shrink
sed -i 's/unsigned short/unsigned/' twice.cu
expect 0 "1 passed, 0 failed" verify --kernel twice.toml $quick

# Indices of 64 bits, as PyTorch has them, read and stored.
cat >nearest.op <<'TEXT'
operation nearest(table[v, n], row[t]: s64 in -1 .. v) -> y[t, n], best[t]: s64
  y[i, j] = where(row[i] < 0, 0, table[row[i], j])
  best[i] = top[j, 0] where(row[i] < 0, 0, table[row[i], j])
TEXT
cat >nearest.cu <<'CODE'
extern "C" __global__ void nearest(const float* table, const ROW* row, float* y, long long* best, int n) {
  const long long r = row[STEP * blockIdx.x];
  int largest = 0;
  for (int j = 0; j < n; ++j) {
    const float value = r < 0 ? 0.0f : table[r * n + j], before = r < 0 ? 0.0f : table[r * n + largest];
    if (threadIdx.x == 0) y[blockIdx.x * n + j] = value;
    if (value > before || before != before) largest = j;
  }
  if (threadIdx.x == 0) best[blockIdx.x] = largest;
}
CODE
cat >nearest.toml <<'TEXT'
computes = "nearest.op"
summary = "rows of a table and where they are largest"
source = "nearest.cu"
flags = ["-DROW=long long", "-DSTEP=1"]
targets = [80]
entry = "nearest"
parameters = ["ptr table", "ptr row", "ptr y", "ptr best", "s32 n"]
[launch]
grid = ["t"]
block = [32]
[formats]
table = "f32"
y = "f32"
[contract]
subnormals = "kept"
TEXT
expect 0 "1 passed, 0 failed" verify --kernel nearest.toml $quick
sed -i 's/"-DROW=long long", "-DSTEP=1"/"-DROW=int", "-DSTEP=1"/' nearest.toml
expect 1 "FAIL nearest" verify --kernel nearest.toml $quick -x
# The lower half alone is right for indices that fit it.
sed -i 's/"-DROW=int", "-DSTEP=1"/"-DROW=int", "-DSTEP=2"/' nearest.toml
expect 0 "1 passed, 0 failed" verify --kernel nearest.toml $quick

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
