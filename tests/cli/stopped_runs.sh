# SPDX-License-Identifier: MIT
# For the shell tests that stop a run at some point of it, however long a busy machine takes to get there.

# slow_kernel KERNEL_FOLDER NAME: makes NAME/NAME.toml, a copy of gemm_bf16 whose every warp counts to two million before it ends:
# about half a second for each thread block on the emulator.
slow_kernel() {
  mkdir "$2"
  sed -e 's/^source.*/ptx = "'"$2"'.ptx"/' -e 's/^targets.*/targets = [80]/' "$1"/shipped/gemm_bf16/gemm_bf16.toml >"$2/$2.toml"
  awk '/^\tret;/ {
    print "\t{\n\t.reg .b32 %left;\n\t.reg .pred %more;\n\tmov.u32 %left, 2000000;\n$wait:"
    print "\tsub.u32 %left, %left, 1;\n\tsetp.ne.u32 %more, %left, 0;\n\t@%more bra $wait;\n\t}"
  } { print }' "$1"/shipped/gemm_bf16/gemm_bf16.sm_80.ptx >"$2/$2.ptx"
}

# wait_until PID COMMAND...: returns as soon as the command succeeds or the process has ended; fails after ten minutes.
wait_until() {
  local pid=$1
  shift
  for _ in $(seq 12000); do
    "$@" && return
    kill -0 "$pid" 2>/dev/null || return 0
    sleep 0.05
  done
  echo "FAILED: not within ten minutes: $*"
  return 1
}

# has_lines FOLDER COUNT [PATTERN]: the record.jsonl of a run below the folder has more than so many lines (with the pattern).
has_lines() { [ "$(cat "$1"/[0-9a-f]*/record.jsonl 2>/dev/null | grep -c -- "${3:-}")" -gt "$2" ]; }
