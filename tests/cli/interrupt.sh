#!/usr/bin/env bash
# Ctrl-C keeps what finished: exit 130, and record.json holds the cases that ran. Usage: interrupt.sh PROGRAM
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
unset CI
"$1" verify gemm_bf16 gemm_s8 --profile default --on emulator --no-corpus --out out >log 2>&1 &
pid=$!
for _ in $(seq 100); do
  sleep 0.1
  [ "$(cat out/*/record.jsonl 2>/dev/null | wc -l)" -gt 1 ] && break  # the first line is the run's
done
kill -INT "$pid"
status=0
wait "$pid" || status=$?
[ "$status" = 130 ] || { echo "exit $status, not 130"; cat log; exit 1; }
python3 - out/latest/record.json out/latest/record.jsonl <<'PY'
import json, sys
record = json.load(open(sys.argv[1]))
run, *lines = [json.loads(line) for line in open(sys.argv[2])]
assert run["verb"] == "verify" and run["planned"] == record["planned"], run
assert record["interrupted"] is True
assert 0 < len(record["cases"]) < record["planned"], (len(record["cases"]), record["planned"])
assert len(lines) == len(record["cases"]), (len(lines), len(record["cases"]))
PY
grep -q "^plumbline: stopping when the cases begun are done" log
grep -q "interrupted after" log
grep -q "not reached: gemm_s8$" log
echo "1 passed, 0 failed"
