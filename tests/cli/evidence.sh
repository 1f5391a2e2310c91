#!/usr/bin/env bash
# A pass that proves little is called mistrusted, with the reason, and fails unless that is allowed.
# Usage: evidence.sh PROGRAM KERNEL_FOLDER
set -u
program=$1 kernels=$2
. "$(dirname "$(realpath "$0")")/expect.sh"

verify="--profile quick --on emulator --sm 90 --no-corpus --out out"

# An oracle of too few bits cannot decide, and says so instead of passing.
expect 5 "the oracle could not decide" verify gemm_mxfp8 --profile quick --on emulator --no-corpus --out out \
  --oracle mpfr:64 --only 'value=wide m<40 n<40'
expect 5 "the oracle could not decide" replay --on emulator --out out --oracle mpfr:64 \
  'gemm_mxfp8 m=16 n=16 k=256 out=f32 value=wide seed=0x45e73ce0'
# Where that many hold the sums exactly, they decide.
expect 0 "1 passed" replay --on emulator --out out --oracle mpfr:64 \
  'gemm_bf16 m=16 n=16 k=33 value=integers seed=0x1'

# A kernel that takes hardly any problem has hardly anything to show for it.
copy tiny gemm_bf16 '$ a [[domain]]\nrequire = "m <= 1 \&\& n <= 1 \&\& batch <= 1"\nreason = "too small to be of use"'
expect 5 "compares only" verify tiny --kernel tiny/tiny.toml $verify
expect 0 "compares only" verify tiny --kernel tiny/tiny.toml $verify --allow-mistrusted
# No variable of a pipeline or a terminal changes what the exit code is.
copy wrong gemm_bf16 's/^schedule .*/schedule = "split_k"\nparts = 4\njoin = "bf16"/'
for variable in CI=true GITHUB_ACTIONS=true GITLAB_CI=true TF_BUILD=True JENKINS_URL=x NO_COLOR=1 FORCE_COLOR=1 TERM=dumb LANG=C; do
  export "$variable"
  expect 5 "compares only" verify tiny --kernel tiny/tiny.toml $verify
  expect 0 "compares only" verify tiny --kernel tiny/tiny.toml $verify --allow-mistrusted
  expect 1 "outside what the contract allows" verify wrong --kernel wrong/wrong.toml $verify --only 'value=positive k>=200 m<=40 n<=40'
  unset "${variable%%=*}"
done

# A contract under which nearly anything is right: a bf16 sum of single products, long ones only.
copy loose gemm_bf16 's/^schedule .*/schedule = "split_k"\nparts = "k"\njoin = "bf16"/; s/^out .*/out = ["bf16"]/; s/^free .*/free = ["batch"]/
$ a [[domain]]\nrequire = "k >= 500 \&\& bias == \\"none\\""\nreason = "long sums"'
expect 5 "the contract allows nearly anything" verify loose --kernel loose/loose.toml $verify

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
