#!/usr/bin/env bash
# Kernels as inference has them, compiled from tests/cli/inference: each keeps its contract, and under the words that kernels of training
# have instead it fails. Usage: inference.sh PROGRAM SOURCE KERNEL_FOLDER
set -u
program=$1 source=$2
export PLUMBLINE_KERNELS=$3
. "$(dirname "$(realpath "$0")")/expect.sh"
cp "$source"/tests/cli/inference/*.cu "$source"/tests/cli/inference/*.toml .

quick="--profile quick --on emulator --no-corpus --out out"

# other NAME KERNEL SED_SCRIPT: the kernel under a manifest of its own, NAME.toml.
other() {
  sed "$3" "$2.toml" >"$1.toml"
  cmp -s "$1.toml" "$2.toml" && { echo "FAILED: $1 changes nothing"; failed=$((failed + 1)); }
}

small="keys<=70 queries<=20 d<=64"

# Probabilities that stay in f32.
expect 0 "1 passed, 0 failed" verify --kernel decode.toml $quick --strict --only "$small"
other short decode 's/^p .*/p = "bf16"/'
expect 1 "0 passed, 1 failed" verify --kernel short.toml $quick --only "$small class=normal"
other tensor decode 's/^unit .*/unit = "mma.sync"/'
expect 2 "mma.sync" verify --kernel tensor.toml $quick

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
