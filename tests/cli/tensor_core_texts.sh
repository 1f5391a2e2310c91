#!/usr/bin/env bash
# A kernel on tensor cores whose operation is a text: the shipped bf16 GEMM under five lines. It passes, planted faults are caught, and a contract that names
# another unit is refused.
# Usage: tensor_core_texts.sh PROGRAM SOURCE_DIR
set -u
program=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
passed=0 failed=0
expect() {  # exit code, pattern, arguments
  local want=$1 pattern=$2
  shift 2
  "$program" "$@" >last 2>&1
  local code=$?
  if [ $code = "$want" ] && grep -qE -- "$pattern" last; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED: $* (exit $code, wanted $want and '$pattern')"
    head -n 20 last
  fi
}

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
quick=(--profile quick --on emulator --no-corpus)
expect 0 'pass +product' verify --kernel product.toml "${quick[@]}"
expect 0 '100.0 % +product' mutants product --kernel product.toml --auto 12 --profile quick
sed -i 's/max(alpha/min(alpha/' product.op
expect 1 'fits: line 3: with max for min' verify --kernel product.toml "${quick[@]}" --sm 80 -x
sed -i '/^unit/d' product.toml
expect 3 'write unit = "mma.sync"' verify --kernel product.toml "${quick[@]}" --sm 80
sed -i 's/^\[contract\]/&\nunit = "wgmma"/' product.toml
expect 2 'no sum of product.op is one of products that wgmma multiplies on sm_80' verify --kernel product.toml "${quick[@]}"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
