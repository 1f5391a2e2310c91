#!/usr/bin/env bash
# Kernels that another compiler wrote: GEMMs, attention and softmax of tests/triton, from Triton for five chips, with wgmma and TMA on one, tcgen05 on another, and block scales on two. They keep
# their contracts, probes find their arithmetic, and faults in their PTX are found. Usage: triton.sh PROGRAM SOURCE KERNEL_FOLDER
set -u
program=$1 source=$2
export PLUMBLINE_KERNELS=$3
. "$(dirname "$(realpath "$0")")/expect.sh"

quick="--profile quick --on emulator --no-corpus --out out"
for name in matmul_bf16_sm_80 matmul_bf16_sm_90 matmul_bf16_sm_100 matmul_e4m3_sm_89 matmul_e4m3_sm_90 matmul_e4m3_sm_100; do
  expect 0 "1 passed, 0 failed" verify --kernel "$source/tests/triton/$name.toml" $quick --only 'k<=200'
done
for name in mxfp8_sm_100 mxfp4_sm_100 nvfp4_sm_100 mxfp8_sm_120 mxfp4_sm_120 nvfp4_sm_120; do
  expect 0 "1 passed, 0 failed" verify --kernel "$source/tests/triton/matmul_$name.toml" $quick --only 'k<=200'
done
# FP4 times FP8, which the emulator multiplies element by element.
expect 0 "1 passed, 0 failed" verify --kernel "$source/tests/triton/matmul_mxfp8_mxfp4_sm_100.toml" $quick --only 'k<=100'
for name in matmul_pipelined_sm_90 matmul_specialized_sm_90; do
  expect 0 "1 passed, 0 failed" verify --kernel "$source/tests/triton/$name.toml" $quick --only 'k<=400'
done
for name in attention_bf16_sm_80 attention_bf16_sm_90; do
  expect 0 "1 passed, 0 failed" verify --kernel "$source/tests/triton/$name.toml" $quick --only 'keys<=150'
done
expect 0 "1 passed, 0 failed" verify --kernel "$source/tests/triton/softmax_sm_80.toml" $quick --only 'm<=70'
for chip in 89 90; do
  products=$([ $chip = 89 ] && echo 16 || echo 32)
  expect 0 "13 fraction bits, 14-bit results cut toward zero, $products products per step" \
    explain matmul_e4m3_sm_$chip --kernel "$source/tests/triton/matmul_e4m3_sm_$chip.toml" --on emulator
done

# fault NAME KERNEL SED_SCRIPT: the kernel in folder NAME, its PTX changed.
fault() {
  mkdir -p "$1"
  sed "s/^ptx .*/ptx = \"$1.ptx\"/" "$source/tests/triton/$2.toml" >"$1/$1.toml"
  sed "$3" "$source/tests/triton/$2.ptx" >"$1/$1.ptx"
  cmp -s "$1/$1.ptx" "$source/tests/triton/$2.ptx" && { echo "FAILED: $1 changes nothing"; failed=$((failed + 1)); }
}
fault no_wait matmul_bf16_sm_90 '/wgmma.wait_group/d'
expect 1 "got NaN" verify --kernel no_wait/no_wait.toml $quick --only 'class=normal k<=64'
fault late_wait matmul_bf16_sm_90 's/wgmma.wait_group.sync.aligned 0/wgmma.wait_group.sync.aligned 1/'
expect 1 "0 passed, 1 failed" verify --kernel late_wait/late_wait.toml $quick --only 'class=normal k<=200'
# The barrier before wgmma. (The first one only keeps a warp from a tile that a product it has waited for has read: a wait for wgmma does that.)
fault no_barrier matmul_bf16_sm_90 '/fence.proxy.async/{n;s/bar.sync/\/\/ bar.sync/}'
expect 1 "read of unwritten memory" verify --kernel no_barrier/no_barrier.toml $quick --only 'class=normal k<=200'
fault one_too_many matmul_e4m3_sm_89 '0,/setp.lt.s32/s//setp.le.s32/'
expect 1 "matmul.py:" verify --kernel one_too_many/one_too_many.toml $quick --only 'k<=200'

# tcgen05: no thread waits for products, a store to tensor memory is not waited for, and its columns are not freed.
fault no_product_wait matmul_e4m3_sm_100 's/mbarrier.try_wait[^;]*;/mov.pred complete, 1;/'
expect 1 "a product of warp" verify --kernel no_product_wait/no_product_wait.toml $quick --only 'class=normal k<=64'
fault no_stored matmul_e4m3_sm_100 '/tcgen05.wait::st/d'
expect 1 "tcgen05.wait::st is missing" verify --kernel no_stored/no_stored.toml $quick --only 'class=normal k<=64'
fault not_freed matmul_e4m3_sm_100 '/tcgen05.dealloc/d'
expect 1 "128 columns of tensor memory allocated" verify --kernel not_freed/not_freed.toml $quick --only 'class=normal k<=64'

# Block scales: the second step of k by the scales of the first, those of B never stored, and other bytes of their words.
fault same_scales matmul_nvfp4_sm_100 's/\[ %r463 + 0 \], \[ %r464 + 0 \]/[ %r461 + 0 ], [ %r462 + 0 ]/'
expect 1 "0 passed, 1 failed" verify --kernel same_scales/same_scales.toml $quick --only 'class=normal k<=200'
fault no_scales matmul_mxfp4_sm_100 '0,/tcgen05.st.*x4.b32/{/tcgen05.st.*x4.b32/d}'
expect 1 "of tensor memory, which nothing wrote" verify --kernel no_scales/no_scales.toml $quick --only 'class=normal k<=64'
fault other_bytes matmul_mxfp8_sm_120 's/{ 0, 0 }, \(%r[0-9]*\), { 0, 0 }/{ 1, 0 }, \1, { 0, 0 }/'
expect 1 "0 passed, 1 failed" verify --kernel other_bytes/other_bytes.toml $quick --only 'class=normal k<=200'

fault least attention_bf16_sm_90 '0,/max.f32/s//min.f32/'
expect 1 "0 passed, 1 failed" verify --kernel least/least.toml $quick --only 'class=normal keys<=150'

# Copies of the TMA unit: a byte too few is expected, a result is stored before it is there, a buffer is never given back, or chunks lie elsewhere.
fault too_few matmul_pipelined_sm_90 's/\], 16384/], 16368/'
expect 1 "lacks 0 of 1 arrivals and -16 bytes" verify --kernel too_few/too_few.toml $quick --only 'class=normal k<=200'
fault no_fence matmul_pipelined_sm_90 '/fence.proxy.async/d'
expect 1 "missing fence" verify --kernel no_fence/no_fence.toml $quick --only 'class=normal k<=200'
fault no_return matmul_specialized_sm_90 '/mbarrier.arrive.shared::cta.b64 _, .*, 128/d'
expect 1 "deadlock" verify --kernel no_return/no_return.toml $quick --only 'class=normal k>200 k<=2048'
sed '0,/swizzle = "128B"/s//swizzle = "none"/' "$source/tests/triton/matmul_pipelined_sm_90.toml" >plain.toml
cp "$source/tests/triton/matmul_pipelined_sm_90.ptx" .
expect 1 "outside what the contract allows" verify --kernel plain.toml $quick --only 'class=normal k<=200'

# Maxima in base 2 round otherwise than the logits' own.
sed '/^logits/d; s/^ptx .*/ptx = "attention_bf16_sm_80.ptx"/' "$source/tests/triton/attention_bf16_sm_80.toml" >natural.toml
cp "$source/tests/triton/attention_bf16_sm_80.ptx" .
expect 1 "of lse" verify --kernel natural.toml $quick --only 'class=offset_keys'

# Probabilities that are kept below 2^-126 are not flushed.
sed '/^exponential/d; s/^ptx .*/ptx = "softmax_sm_80.ptx"/' "$source/tests/triton/softmax_sm_80.toml" >flushed.toml
cp "$source/tests/triton/softmax_sm_80.ptx" .
expect 1 "outside what the contract allows" verify --kernel flushed.toml $quick --only 'class=power_scaled'

# FP8 by wgmma keeps 13 fraction bits, by mma.sync on the same chip 25: the PTX says which it is.
sed 's/"wgmma"/"mma.sync"/; s/^ptx .*/ptx = "matmul_e4m3_sm_90.ptx"/' "$source/tests/triton/matmul_e4m3_sm_90.toml" >fine.toml
cp "$source/tests/triton/matmul_e4m3_sm_90.ptx" .
expect 3 'says unit = "mma.sync", but' verify --kernel fine.toml $quick --only 'k<=200'

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
