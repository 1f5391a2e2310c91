#!/usr/bin/env bash
# Faults planted in the source of a kernel: the measured error moves to the stage they are in. Usage: propagate_mutants.sh PROGRAM
set -u
program=$1
. "$(dirname "$(realpath "$0")")/expect.sh"

# named ID KERNEL WORDS FILTER
named() {
  local manifest=planted/mutants/$1/$2_$1.toml
  [ -e "$manifest" ] || "$program" mutants "$2" --only "$1" --profile quick --out planted >mutants.log 2>&1
  expect 1 "$3" propagate "$2_$1" --on emulator --kernel "$manifest" --only "$4"
}

# The sum that takes over every 128 of k keeps 14 bits; seen in f32 outputs, and through their rounding to bf16.
words='The fault is in the stage "promote": the sum over promotions keeps 14 fraction bits of its 23'
named G06 gemm_fp8_blockwise "$words" 'm=64 k=1024 out=f32 class=normal'
named G06 gemm_fp8_blockwise "$words" 'm=64 k=1024 out=bf16 class=normal'
named F14 attention_fp8_forward 'The fault is in the stage "P rounding": P is rounded without its lift' \
  'queries=64 keys=256 out=f32 class=normal'
named C01 gemm_bf16 'The fault is in the stage "output": rounded toward zero' 'm=64 k=1024 out=bf16 class=normal'

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
