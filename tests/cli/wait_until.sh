# SPDX-License-Identifier: MIT
# For the shell tests that end a run at some point of it, however long a busy machine takes to get there.

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
