#!/usr/bin/env bash
# Two equal runs give the same record.json but for `circumstances`, with any number of threads; junit.xml is well-formed and the
# shards of a plan are the plan. Usage: stable_record.sh PROGRAM
set -eu
tests=$(dirname "$(realpath "$0")")
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
export PYTHONPATH=$tests/../../scripts PYTHONDONTWRITEBYTECODE=1
python3 - <<'PY'
import json
from record_cases import cases_of
def load(folder):
    record = json.load(open(folder + "/latest/record.json"))
    record.pop("circumstances")
    return record
a, b = load("a"), load("b")
assert a == b, "records differ"
assert cases_of(a), "nothing ran"
texts = lambda folder: sorted((c["case"], c["device"]) for c in cases_of(load(folder)))
assert sorted(texts("s1") + texts("s2")) == texts("a"), "shards are not the plan"
PY
echo "1 passed, 0 failed"
