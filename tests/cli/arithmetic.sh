#!/usr/bin/env bash
# What a coarse accumulator costs, and who says so: FP8 on Ada keeps 13 fraction bits. Without promotion a long sum of one sign is
# tens of percent off and still what the hardware's contract allows; under a contract of 24 bits the same kernel fails; promoted
# every 128 it is close. Probes find each of these by themselves. Usage: arithmetic.sh PROGRAM KERNEL_FOLDER
set -u
program=$1 kernels=$2
. "$(dirname "$(realpath "$0")")/expect.sh"

long="m=4 n=4 k=16384 out=f32 value=positive seed=0x1"
expect 0 "13 fraction bits, 14-bit results cut toward zero, 16 products per step" explain gemm_fp8 --on emulator --sm 89
expect 0 "stored by cta 0,0,0, warp 0, lane" explain "gemm_bf16 m=4 n=4 k=8 value=normal seed=0x1" --on emulator --sm 90
expect 0 "a conforming kernel has" explain "cross_entropy_bf16 m=12 v=72 value=normal seed=0x1" --on emulator --sm 90
right=$("$program" explain "cross_entropy_bf16 m=12 v=72 value=normal seed=0x1" "gemm_bf16 m=4 n=4 k=8 value=normal seed=0x1" --on emulator --sm 90)
[[ "$right" == *"simple faults"* || "$right" == *"fits: "* ]] && { echo "FAILED: faults are named for right outputs: $right"; failed=$((failed + 1)); }
expect 0 "a fresh accumulator every 128 of k" explain gemm_fp8_blockwise --on emulator --sm 89
expect 0 "% from exact on values of one sign: the arithmetic" replay "gemm_fp8 $long" --on emulator --sm 89 -v
expect 0 "% from exact on values of one sign: the arithmetic" explain "gemm_fp8 $long" --on emulator --sm 89
expect 0 "1 passed, 0 failed" replay "gemm_fp8_blockwise $long" --on emulator --sm 89

# Outputs of 16 bits show the same, though a kernel has no others.
copy narrow gemm_bf16 's/^out .*/out = ["bf16"]/'
expect 0 "25 fraction bits, 24-bit results cut toward zero, 16 products per step" explain narrow --on emulator --sm 90 --kernel narrow/narrow.toml
copy coarse gemm_fp8 '/^out /s/"f32", //; s/^schedule .*/schedule = "promote"\ninterval = 128/'
expect 5 "its contract says" explain coarse --on emulator --sm 89 --kernel coarse/coarse.toml

# The same PTX under a contract that promotes, which it does not.
copy fine gemm_fp8 's/^schedule .*/schedule = "promote"\ninterval = 128/'
expect 1 "outside what the contract allows" replay "fine $long" --on emulator --sm 89 --kernel fine/fine.toml
expect 1 "its contract says 13 fraction bits, 14-bit results cut toward zero, 16 products per step, a fresh accumulator every 128 of k" \
  verify fine --kernel fine/fine.toml --on emulator --sm 89 --no-corpus --only 'value=positive k>=512'
expect 5 "its contract says" explain fine --on emulator --sm 89 --kernel fine/fine.toml

# And under that of another unit: refused before anything runs.
copy scalar gemm_fp8 's/^unit .*/unit = "fma.f32"/'
expect 3 'says unit = "fma.f32", but' replay "scalar $long" --on emulator --sm 89 --kernel scalar/scalar.toml

# The sums of other operations: groups of rows, and the gradients dX and dW.
expect 0 "13 fraction bits, 14-bit results cut toward zero, 16 products per step" explain gemm_grouped_fp8 --on emulator --sm 89
expect 0 "24 fraction bits, 24-bit results cut toward zero, 8 products per step" explain linear_bf16_backward --on emulator --sm 80
printf '[contract.dw]\nunit = "fma.f32"\nschedule = "sequential"\nepilogue = []\n' >dw.toml
copy gradient linear_bf16_backward '$r dw.toml'
expect 5 "dw: 24 fraction bits, 24-bit results cut toward zero, 8 products per step; its contract says 23" \
  explain gradient --on emulator --sm 80 --kernel gradient/gradient.toml

# Kernels of three schedules under contracts that name none: their outputs are admissible.
quick="--profile quick --on emulator --sm 90 --no-corpus --out out --only k<200"
copy open gemm_bf16 's/^schedule .*/schedule = "any"/'
expect 0 "1 passed, 0 failed" verify open --kernel open/open.toml $quick
expect 0 "16 products per step; its contract leaves the order open" explain open --kernel open/open.toml --on emulator --sm 90
copy split gemm_bf16_splitk '/^parts/d; /^interval/d; /^join/d; s/^schedule .*/schedule = "any"/'
expect 0 "1 passed, 0 failed" verify split --kernel split/split.toml $quick
copy promoted gemm_fp8_splitk '/^parts/d; /^interval/d; /^join/d; s/^schedule .*/schedule = "any"/'
expect 0 "1 passed, 0 failed" verify promoted --kernel promoted/promoted.toml $quick
copy runs gemm_bf16_splitk '/^parts/d; /^interval/d; /^join/d; /^schedule/d'
expect 0 "1 passed, 0 failed" verify runs --kernel runs/runs.toml $quick
copy eight gemm_fp8_splitk '/^parts/d; /^interval/d; /^join/d; /^schedule/d'
expect 0 "1 passed, 0 failed" verify eight --kernel eight/eight.toml $quick

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
