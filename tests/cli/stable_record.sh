#!/usr/bin/env bash
# Two equal runs give the same record.json but for `timing`, whatever the number of threads; junit.xml is well-formed and the
# shards of a plan are the plan. Usage: stable_record.sh PROGRAM
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
unset CI
run() { "$1" verify gemm_bf16 --profile quick --on emulator --no-corpus --allow-mistrusted --only 'class=cancelling' --out "$2" "${@:3}" >/dev/null; }
run "$1" a --jobs 1
run "$1" b --jobs 2
run "$1" s1 --shard 1/2
run "$1" s2 --shard 2/2
xmllint --noout a/latest/junit.xml
python3 - <<'PY'
import json
def load(folder):
    record = json.load(open(folder + "/latest/record.json"))
    record.pop("timing")
    return record
a, b = load("a"), load("b")
assert a == b, "records differ"
assert a["cases"], "nothing ran"
texts = lambda folder: sorted((c["case"], c["device"]) for c in load(folder)["cases"])
assert sorted(texts("s1") + texts("s2")) == texts("a"), "shards are not the plan"
PY
echo "1 passed, 0 failed"
