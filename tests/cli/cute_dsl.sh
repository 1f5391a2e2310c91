#!/usr/bin/env bash
# GEMMs that CuTe DSL compiled for sm_100a (tests/cute_dsl/gemm.py) pass, and faults in their PTX are found.
# Usage: cute_dsl.sh PROGRAM SOURCE
set -u
program=$1 source=$2
. "$(dirname "$(realpath "$0")")/expect.sh"
quick="--profile quick --on emulator --no-corpus"

for kind in bf16 e4m3 bf16_pair; do
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
fault one_lane bf16 's/"u8 0"/"u8 0", "u32 1 @ 16"/' "which nothing wrote [gemm, cta 0,0,0, warp 0, lane 0]"
fault last_lanes e4m3 's/"u8 0"/"u8 0", "u32 4294967295 @ 28"/' "which nothing wrote [gemm, cta 0,0,0, warp 3, lane 0]"
fault negated bf16 's/"u8 0"/"u8 0", "u8 1"/' "got -1"
fault not_freed e4m3 '/tcgen05.dealloc/d' "ends with 64 columns of tensor memory allocated"
fault no_wait bf16 's/mbarrier.try_wait[^;]*;/setp.eq.u32 P1, 0, 0;/' "that a product of warp 1 lane 0 is still to write"
fault tile_too_small bf16 's/box     = \[64, 64\]/box     = [64, 32]/' "0 of 1 arrivals and 4096 bytes"
fault other_swizzle e4m3 '0,/swizzle = "128B"/s//swizzle = "none"/' "outputs of d is outside"

# Of a pair of CTAs.
fault no_cluster bf16_pair '/^cluster/d' "says .cta_group::2, and CTA rank 0 of a cluster of 1 has no other one"
fault no_meeting bf16_pair '/barrier.cluster.(arrive|wait)/d' "with nothing that says that this CTA has begun"
fault own_mbarrier bf16_pair 's/and.b32 	%r16, %r15, -16777224/and.b32 	%r16, %r15, -8/' "CTA rank 0 warp 0"
fault to_one bf16_pair 's/cvt.u16.u32 	%rs1, %r83/mov.u16 %rs1, 1/' "waits for mbarrier"
fault to_no_cta bf16_pair 's/cvt.u16.u32 	%rs1, %r83/mov.u16 %rs1, 4/' "a commit to the CTAs 0x4 of a cluster of 2"
fault half_of_b bf16_pair 's/box     = \[64, 32\]/box     = [64, 16]/' "bytes"
fault not_freed_by_both bf16_pair '/tcgen05.dealloc/d' "ends with 64 columns of tensor memory allocated"

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
