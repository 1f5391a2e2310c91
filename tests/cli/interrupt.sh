#!/usr/bin/env bash
# Ctrl-C keeps what finished: exit 130, and record.json holds the cases that ran. --resume goes on. A closed pipe stops nothing. Usage: interrupt.sh PROGRAM KERNEL_FOLDER
set -eu
tests=$(dirname "$(realpath "$0")")
. "$tests/stopped_runs.sh"
export PYTHONPATH=$tests/../../scripts PYTHONDONTWRITEBYTECODE=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
unset CI
"$1" verify gemm_bf16 gemm_s8 --profile default --on emulator --no-corpus --out out >log 2>&1 &
pid=$!
wait_until "$pid" has_lines out 1  # the first line is the run's
kill -INT "$pid"
status=0
wait "$pid" || status=$?
[ "$status" = 130 ] || { echo "exit $status, not 130"; cat log; exit 1; }
python3 - out/latest/record.json <<'PY'
import json, sys
from record_cases import cases_of
record = json.load(open(sys.argv[1]))
cases = cases_of(record)
assert record["verb"] == "verify" and record["interrupted"] is True
assert 0 < len(cases) < record["planned"], (len(cases), record["planned"])
PY
[ ! -e out/latest/record.jsonl ] || { echo "record.jsonl is still there"; exit 1; }
grep -q "^plumbline: stopping soon; what has finished is kept" log
grep -q "interrupted after" log
# No report of it is all green.
grep -q 'errors="1"' out/latest/junit.xml
grep -q "mistrusted: the run did not end: [0-9]* of [0-9]* planned cases are here" out/latest/summary.md
grep -q "Mistrusted: the run did not end" out/latest/report.html
grep -q "not reached: gemm_s8$" log

# --resume takes over what passed, also of a killed run, and its record is that of a run that nothing
# stopped. A case that failed before runs again.
grep -q "the same command with --resume" log
run=(verify gemm_bf16 --profile quick --on emulator --sm 80 --no-corpus)
"$1" "${run[@]}" --out whole >whole.log
# kill_at LINES ARGUMENTS...: once the log has as many.
kill_at() {
  local lines=$1
  shift
  "$@" >killed.log 2>&1 &
  pid=$!
  wait_until "$pid" has_lines killed "$lines"
  kill -KILL "$pid"
  wait "$pid" 2>/dev/null || true
}
kill_at 3 "$1" "${run[@]}" --out killed
python3 - killed/latest/record.jsonl <<'PY'
import json, sys
lines = open(sys.argv[1]).read().splitlines()
failed = json.loads(lines[1])
failed["verdict"] = "fail"
lines[1] = json.dumps(failed)
open(sys.argv[1], "w").write("\n".join(lines))  # the last one is cut short
PY
# Twice killed: what the first part reached of the code is not lost.
kill_at $(($(wc -l <killed/latest/record.jsonl) + 10)) "$1" "${run[@]}" --out killed --resume
"$1" "${run[@]}" --out killed --resume >killed.log
grep -q "^[0-9]* cases\? passed before the run was interrupted" killed.log || { cat killed.log; exit 1; }
python3 - whole/latest/record.json killed/latest/record.json <<'PY'
import json, sys
whole, resumed = (json.load(open(path)) for path in sys.argv[1:])
del whole["circumstances"], resumed["circumstances"]
assert whole == resumed, [name for name in whole if whole[name] != resumed.get(name)]
assert whole["kernels"][0]["code"]
PY
"$1" "${run[@]}" --out anew --resume >anew.log 2>&1
grep -q "no run of these kernels and options was interrupted here: it begins anew" anew.log

# A case whose launch takes minutes does not hold it.
slow_kernel "$2" slow
"$1" replay "slow m=4 n=4 k=4 value=normal seed=0x1" "slow m=2048 n=2048 k=4 value=normal seed=0x1" \
  --kernel slow/slow.toml --on emulator -j 1 --out slow/out >slow/log 2>&1 &
pid=$!
wait_until "$pid" has_lines slow/out 1
sleep 0.5
kill -INT "$pid"
start=$SECONDS
status=0
wait "$pid" || status=$?
[ "$status" = 130 ] || { echo "exit $status, not 130"; cat slow/log; exit 1; }
[ $((SECONDS - start)) -lt 15 ] || { echo "it took $((SECONDS - start)) s to stop"; exit 1; }
python3 - slow/out/[0-9a-f]*/record.json <<'PY'
import json, sys
from record_cases import cases_of
record = json.load(open(sys.argv[1]))
assert record["interrupted"] is True and record["planned"] == 2
assert [c["verdict"] for c in cases_of(record)] == ["pass"], record
PY

# A kernel whose cases all ran before has the verdict that they give.
"$1" verify gemm_bf16 slow --kernel slow/slow.toml --profile quick --only class=normal --on emulator --sm 80 --no-corpus -j 1 \
  --out both >both.log 2>&1 &
pid=$!
wait_until "$pid" has_lines both 0 '"kernel":"slow"'
kill -INT "$pid"
status=0
wait "$pid" || status=$?
[ "$status" = 130 ] || { echo "exit $status, not 130"; cat both.log; exit 1; }
"$1" report both/latest --out again >again.log 2>&1 || true
python3 - both/latest/record.json <<'PY'
import json, sys
kernels = {k["name"]: k for k in json.load(open(sys.argv[1]))["kernels"]}
assert kernels["gemm_bf16"]["verdict"] == "pass", kernels["gemm_bf16"]
assert kernels["slow"]["verdict"] == "mistrusted" and kernels["slow"]["not_run"] > 0, kernels["slow"]
PY
for summary in both/latest/summary.md again/summary.md; do
  grep -q "slow.*mistrusted: the run did not end" "$summary" && ! grep -q "^gemm_bf16: mistrusted" "$summary" ||
    { echo "FAILED: $summary"; cat "$summary"; exit 1; }
done
grep -q "all its cases ran, but the run ended before probes could show how it adds" both.log || { cat both.log; exit 1; }

# A failure that was found before has a card.
mkdir broken
sed -e 's/^source.*/ptx = "broken.ptx"/' -e 's/^targets.*/targets = [80]/' "$2"/shipped/gemm_bf16/gemm_bf16.toml >broken/broken.toml
sed 's/f32\.bf16\.bf16\.f32/f32.f16.f16.f32/' "$2"/shipped/gemm_bf16/gemm_bf16.sm_80.ptx >broken/broken.ptx
"$1" replay "broken m=4 n=4 k=4 value=normal seed=0x1" "slow m=2048 n=2048 k=4 value=normal seed=0x1" \
  --kernel broken/broken.toml --kernel slow/slow.toml --on emulator -j 1 --out broken/out >broken/log 2>&1 &
pid=$!
wait_until "$pid" has_lines broken/out 1
kill -INT "$pid"
status=0
wait "$pid" || status=$?
[ "$status" = 130 ] || { echo "exit $status, not 130"; cat broken/log; exit 1; }
grep -q "^FAIL  broken" broken/log || { echo "no card"; cat broken/log; exit 1; }
grep -q "the run was interrupted before this case was made small and explained" broken/log
grep -q -- "--kernel .*broken.toml" broken/log || { echo "the replay line lacks the kernel"; cat broken/log; exit 1; }

# An oracle at work stops as well: with so many bits it needs a minute.
"$1" replay "gemm_bf16 m=2048 n=2048 k=64 value=normal seed=0x1" --oracle mpfr:65536 --on emulator --sm 80 -j 1 --out oracle >oracle.log 2>&1 &
pid=$!
sleep 9
kill -INT "$pid" || { echo "the oracle was done before it could be interrupted"; cat oracle.log; exit 1; }
start=$SECONDS
status=0
wait "$pid" || status=$?
[ "$status" = 130 ] || { echo "exit $status, not 130"; cat oracle.log; exit 1; }
[ $((SECONDS - start)) -lt 15 ] || { echo "the oracle took $((SECONDS - start)) s to stop"; exit 1; }

# The reader of the output may leave (head): the run goes on, and its record is whole.
set +e
"$1" verify softmax_bf16 --profile quick --only class=normal --on emulator --no-corpus --format json --out piped 2>&1 | head -1 >/dev/null
status=${PIPESTATUS[0]}
set -e
[ "$status" = 0 ] || { echo "exit $status, not 0, after the reader left"; exit 1; }
python3 - piped/latest/record.json <<'PY'
import json, sys
from record_cases import cases_of
record = json.load(open(sys.argv[1]))
assert record["interrupted"] is False and len(cases_of(record)) == record["planned"] > 1
PY
echo "5 passed, 0 failed"
