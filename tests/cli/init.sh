#!/usr/bin/env bash
# A first manifest from PTX or a source: what the PTX says is filled in, nothing is replaced, and the draft loads.
# Usage: init.sh PROGRAM KERNEL_FOLDER SOURCE_FOLDER
set -u
program=$1 kernels=$2 source=$3
. "$(dirname "$(realpath "$0")")/expect.sh"

cp "$source/tests/triton/softmax_sm_80.ptx" mine.ptx
expect 0 'mine.toml: a draft for "softmax" as softmax, since its name has "softmax"' init mine.ptx
expect 2 "exists already" init mine.ptx
expect 0 "computes = \"softmax\"" init mine.ptx --out -
expect 0 "as rmsnorm, since --operation says so" init mine.ptx --operation rmsnorm --out other.toml
expect 2 'no operation "softmx"' init mine.ptx --operation softmx --out -
expect 2 'no entry point "main"' init mine.ptx --entry main --out -
expect 2 'nope.cu: cannot be read: No such file' init nope.cu
# Corrected where it says TODO, it verifies: rows of a block, offsets of 32 bits, the words of this kernel's contract.
sed -e 's/"s32 m", */"s32 n", /; s/"s32 n", *\(# 4\)/"s32 ld_x", \1/; s/"s32 ld_x", *\(# 5\)/"s32 ld_y", \1/' \
  -e "s/^grid = .*/grid = ['m']/; s/^shared = .*/shared = 16/; s/^out *= .*/out = [\"f32\"]/; s/^x = .*/x = \"bf16\"/" \
  -e 's/^exponential = .*/exponential = "ex2.approx"/; s/^normalize = .*/normalize = "div.full"/; s/^lanes = .*/lanes = 128/' \
  -e '/^# \[\[domain\]\]/,$ { s/^# \(\[\[domain\]\]\)/\1/; s/^# require = .*/require = "n <= 1024 \&\& m * max(ld_x, ld_y) <= 2147483647"/; s/^# reason .*/reason = "a row is a program"/ }' \
  mine.toml >right.toml
cp mine.ptx right.ptx && sed -i 's/mine.ptx/right.ptx/' right.toml

expect 0 "1 passed, 0 failed" verify --kernel right.toml --profile quick --on emulator --no-corpus --only 'm<=70'

# A text beside the source says what it computes; with the grid corrected the draft verifies.
mkdir text && cat >text/doubled.op <<'END'
operation doubled(x[m, n]) -> y[m, n]
  y[i, j] = 2 x[i, j]
END
cat >text/doubled.cu <<'END'
extern "C" __global__ void doubled(const float* x, float* y, int m, int n) {
  for (int j = threadIdx.x; j < n; j += blockDim.x) y[blockIdx.x * n + j] = 2 * x[blockIdx.x * n + j];
}
END
expect 0 "as doubled.op, since a text of that name lies beside it" init text/doubled.cu
sed -i "s/^grid = .*/grid = ['m']/; s/\"bf16\"/\"f32\"/" text/doubled.toml
expect 0 "1 passed, 0 failed" verify --kernel text/doubled.toml --profile quick --on emulator --no-corpus
expect 0 'computes = "doubled.op"' init text/doubled.cu --operation text/doubled.op --out -
expect 2 'missing.op' init text/doubled.cu --operation missing.op --out -
# The oldest chip that has its instructions; what nvcc wrote for a draft that is only printed goes.
cat >fp8.cu <<'END'
extern "C" __global__ void gemm(const unsigned* a, const unsigned* b, float* d) {
  float c[4] = {};
  asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  for (int i = 0; i < 4; ++i) d[4 * threadIdx.x + i] = c[i];
}
END
expect 0 'targets = [89]' init fp8.cu --out -
ls fp8.sm_* >/dev/null 2>&1 && { echo "FAILED: init left PTX behind"; failed=$((failed + 1)); }
expect 0 'targets = [90]' init fp8.cu --sm 90 --out -

# The unit is that of the PTX, once, of operations with terms of their own and of texts.
draft_says() {  # FILE ENTRY UNIT
  expect 0 "unit = \"$3\"" init "$1" --entry "$2" --out -
  [ "$("$program" init "$1" --entry "$2" --out - | grep -c '^unit ')" = 1 ] || { echo "FAILED: $1 has a unit twice"; failed=$((failed + 1)); }
}
draft_says "$kernels/shipped/attention_bf16_forward/attention_bf16_forward.sm_80.ptx" attention_bf16_forward_64 mma.sync
cp "$kernels/shipped/gemm_w4a16_bf16/gemm_w4a16_bf16.sm_80.ptx" text/gemm_w4a16.ptx
cp "$source/kernels/shipped/gemm_w4a16_bf16/gemm_w4a16.op" text/
draft_says text/gemm_w4a16.ptx gemm_w4a16_bf16_bf16 mma.sync

# Several entry points, a name that says nothing, and what is no kernel.
cat "$kernels/shipped/quantize_s8/quantize_s8.sm_80.ptx" >many.ptx
expect 2 "entry points" init many.ptx
expect 0 "as quantize" init many.ptx --entry quantize_s8_row
sed 's/softmax/kernel7/g' mine.ptx >unknown.ptx
expect 2 "--operation and one of" init unknown.ptx
expect 2 "or put unknown.op beside it" init unknown.ptx
echo hello >hello.ptx
expect 2 "hello.ptx" init hello.ptx
expect 2 "neither PTX (.ptx) nor a CUDA source" init right.toml
expect 2 "init takes one file" init

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
