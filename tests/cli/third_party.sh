#!/usr/bin/env bash
# Kernels that others wrote, unchanged: every manifest of tests/third_party keeps its contract on all planned cases.
# Their projects are fetched at pinned versions; without a network what cannot be had is skipped. What flash_attn_4/forward.py wrote to
# build/third_party/flash_attn_4 is verified as well, and where there is Triton what triton_tutorials/tutorials.py writes.
# Usage: third_party.sh PROGRAM SOURCE
set -u
program=$1 source=$2
. "$(dirname "$(realpath "$0")")/expect.sh"
patience=1800  # some take a minute to compile
projects=$source/build/third_party
python3 "$source/tests/third_party/packages.py" "$projects"
if ! python3 -c "import triton" 2>/dev/null; then
  echo "skipped: Triton's tutorials need Triton"
elif [ -d "$projects/triton" ]; then
  python3 "$source/tests/third_party/triton_tutorials/tutorials.py" "$projects/triton_tutorials" "$projects/triton/python/tutorials"
  # And the package: tutorials in ten lines each, and assert_conforms in the tests of three projects.
  python_tests=(triton_tutorials/in_python.py liger_kernel/rms_norm.py)
  ! python3 -c "import torch, transformers, einops" 2>/dev/null || python_tests+=(drop_in.py)
  for test in "${python_tests[@]}"; do
    arguments=("$work/tutorials" "$projects/triton/python/tutorials")
    [ "$test" != drop_in.py ] || arguments=("$projects")
    [ "$test" != liger_kernel/rms_norm.py ] || arguments=("$projects/liger_kernel")
    if PLUMBLINE_PROGRAM=$program PYTHONPATH=$source/python python3 "$source/tests/third_party/$test" "${arguments[@]}"; then
      passed=$((passed + 1))
    else
      failed=$((failed + 1))
      echo "FAILED: tests/third_party/$test"
    fi
  done
fi

skipped=0
for manifest in "$source"/tests/third_party/*/*.toml "$projects"/flash_attn_4/forward_*.toml "$projects"/triton_tutorials/*.toml; do
  [ -e "$manifest" ] || continue
  missing=
  for project in $(grep -o 'build/third_party/[a-z_0-9]*' "$manifest" | sort -u); do
    [ -d "$source/$project" ] || missing="$missing ${project##*/}"
  done
  if [ -n "$missing" ]; then
    echo "skipped: $(basename "$manifest" .toml) needs$missing"
    skipped=$((skipped + 1))
  else
    start=$SECONDS before=$failed
    # Mistrusted is allowed: half of a template may be for launches that are not made here, as CUTLASS's split-K.
    expect 0 ", 0 failed, 0 skipped" verify --kernel "$manifest" --profile quick --on emulator --no-corpus --out out --allow-mistrusted
    [ "$failed" != "$before" ] || echo "passed: $(basename "$manifest" .toml), $((SECONDS - start)) s"
  fi
done

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] || exit 1
[ "$passed" != 0 ] || exit 77
