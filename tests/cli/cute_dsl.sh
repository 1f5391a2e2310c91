#!/usr/bin/env bash
# GEMMs that CuTe DSL compiled for sm_100a (tests/cute_dsl/gemm.py) pass, and faults in their PTX are found.
# Usage: cute_dsl.sh PROGRAM SOURCE
set -u
program=$1 source=$2
. "$(dirname "$(realpath "$0")")/expect.sh"
quick="--profile quick --on emulator --no-corpus"

for kind in bf16 e4m3; do
  # shellcheck disable=SC2086
  expect 0 "1 passed, 0 failed" verify --kernel "$source/tests/cute_dsl/gemm_${kind}_sm_100.toml" $quick --only 'k<=300'
done
expect 0 "25 fraction bits" explain gemm_e4m3_sm_100 --kernel "$source/tests/cute_dsl/gemm_e4m3_sm_100.toml" --on emulator

# fault NAME KIND SED_SCRIPT TEXT: the PTX or the manifest changed, and what is said of it.
fault() {
  mkdir "$1"
  sed -E -e "$3" "$source/tests/cute_dsl/gemm_$2_sm_100.ptx" >"$1/gemm_$2_sm_100.ptx"
  sed -E -e "$3" "$source/tests/cute_dsl/gemm_$2_sm_100.toml" >"$1/$1.toml"
  if cmp -s "$1/gemm_$2_sm_100.ptx" "$source/tests/cute_dsl/gemm_$2_sm_100.ptx" && cmp -s "$1/$1.toml" "$source/tests/cute_dsl/gemm_$2_sm_100.toml"; then
    echo "FAILED: $1 changes nothing" && failed=$((failed + 1))
  fi
  # shellcheck disable=SC2086
  expect 1 "$4" verify --kernel "$1/$1.toml" $quick --only 'k<=300' -x
}
# Lanes of D that are disabled: in the first, lane 0 of 128; in the second, those of the last warp.
fault one_lane bf16 's/"u8 0"/"u8 0", "u32 1 @ 16"/' "one_lane"
fault last_lanes e4m3 's/"u8 0"/"u8 0", "u32 4294967295 @ 28"/' "last_lanes"
fault negated bf16 's/"u8 0"/"u8 0", "u8 1"/' "got -1"
fault not_freed e4m3 '/tcgen05.dealloc/d' "tensor memory"
fault no_wait bf16 's/mbarrier.try_wait[^;]*;/setp.eq.u32 P1, 0, 0;/' "no_wait"
fault tile_too_small bf16 's/box     = \[64, 64\]/box     = [64, 32]/' "tile_too_small"
fault other_swizzle e4m3 '0,/swizzle = "128B"/s//swizzle = "none"/' "other_swizzle"

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
