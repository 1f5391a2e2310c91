#!/usr/bin/env bash
# Reports of runs that were sharded, killed or tampered with. Usage: report.sh PROGRAM KERNELS
set -u
program=$1 kernels=$2
. "$(dirname "$(realpath "$0")")/expect.sh"
. "$tests/stopped_runs.sh"
run=(verify gemm_bf16 gemm_grouped_bf16 --profile quick --on emulator --sm 90 --no-corpus --only 'class=ones')

check() { # check WHAT COMMAND...
  if "${@:2}"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $1"; fi
}

# Four shards are the run, byte for byte but for `circumstances`.
expect 0 "2 passed" "${run[@]}" --out whole
whole=$(realpath whole/latest)
for i in 1 2 3 4; do "$program" "${run[@]}" --out shards --shard $i/4 >/dev/null; done
expect 0 "report: merged/report.html" report shards/*-*of4 --out merged
untimed() { sed '/^ "circumstances": {/,$d' "$1"; }
check "four shards are the whole run" diff <(untimed "$whole/record.json") <(untimed merged/record.json)
for file in report.html junit.xml summary.md report.sarif gl-code-quality.json record.json; do check "merged/$file" test -s merged/$file; done
check "junit.xml is well-formed" xmllint --noout merged/junit.xml
check "report.sarif is JSON" python3 -m json.tool merged/report.sarif /dev/null
expect 0 "2 passed" report "$whole" --out again
check "a record reported again stays as it is" cmp "$whole/record.json" again/record.json
check "record.jsonl goes once record.json has all of it" test ! -e "$whole/record.jsonl"
expect 0 "2 passed" report "$whole" --out again --tables
check "tables.json is JSON" python3 -m json.tool again/tables/tables.json /dev/null
check "a table of a kernel is CSV" python3 - again/tables/tables.json <<'END'
import csv, json, pathlib, sys
tables = json.load(open(sys.argv[1]))["tables"]
assert {table["group"] for table in tables} >= {"gemm_bf16", "gemm_grouped_bf16"}, tables
for table in tables:
    rows = list(csv.reader(open(pathlib.Path(sys.argv[1]).parent / table["file"], newline="")))
    assert rows[0] == table["columns"] and len(rows) == 1 + len(table["rows"]), table["file"]
END
check "it says where the run was made" grep -q '^    "instruction_set": "..' "$whole/record.json"

# Of a whole plan they tell which code it reached, too: what is mistrusted stays so.
copy partial quantize_s8 '$a [[domain]]\nrequire = "m * n <= 2 \&\& in == \\"bf16\\""\nreason = "a test"'
partial=(verify --kernel partial/partial.toml partial --profile quick --on emulator --no-corpus)
expect 5 "instructions ran" "${partial[@]}" --out partial_whole
for i in 1 2; do "$program" "${partial[@]}" --out partial_shards --shard $i/2 >/dev/null; done
expect 5 "instructions ran" report partial_shards/*-*of2 --out partial_merged
check "two shards of a whole plan are the run" diff <(untimed partial_whole/latest/record.json) <(untimed partial_merged/record.json)

# What is missing is said, and fails unless that is allowed.
expect 0 "shards 2/4, 4/4 are missing" report shards/*-1of4 shards/*-3of4 --out part --allow-mistrusted
"$program" "${run[@]}" >/dev/null
expect 5 "-part/report.html" report shards/*-1of4
check "the whole run's record is not replaced by a shard's" diff <(untimed "$whole/record.json") <(untimed plumbline-out/latest/record.json)
expect 5 "shards 2/4, 4/4 are missing" report shards/*-1of4 shards/*-3of4 --out part
expect 2 "shard 1/4 again" report shards/*-1of4 shards/*-1of4 --out part
expect 2 "a whole run" report shards/*-1of4 "$whole" --out part
"$program" "${run[@]}" --seed 7 --out other --shard 2/4 >/dev/null
expect 2 "seed is 0x7" report shards/*-1of4 other/*-2of4 --out part

# killed FOLDER PATTERN COUNT ARGUMENTS...: ends a run as soon as its record.jsonl has so many such lines. False where the run was faster.
killed() {
  local folder=$1 pattern=$2 count=$3 pid
  shift 3
  "$program" "$@" --jobs 1 --out "$folder" >/dev/null 2>&1 &
  pid=$!
  wait_until "$pid" has_lines "$folder" "$((count - 1))" "$pattern"
  kill -KILL $pid
  wait $pid 2>/dev/null
  [ ! -e "$folder"/*/record.json ] && return
  echo "$folder: the run was faster than its kill; nothing to rescue"
  return 1
}

# Killed at any moment: what had finished is reported.
if killed killed '' 4 "${run[@]}"; then
  expect 5 "the run did not end" report killed/[0-9a-f]* --out rescued
  check "the page says so" grep -q "The run did not end" rescued/report.html
fi
# What propagate had found, too.
if killed found '^{"stochastics"' 1 propagate gemm_bf16 attention_bf16_forward --on emulator --stochastic 64; then
  expect 5 "the run did not end" report found/[0-9a-f]* --out rescued_found
  check "with what it had found" grep -q "Significant bits under random rounding" rescued_found/report.html
fi
# Planted faults too.
if killed faults '"outcome"' 1 mutants softmax_bf16 --auto 40 --profile quick; then
  expect 5 "the run did not end" report faults/[0-9a-f]* --out rescued_faults
  check "with the faults that were tried" grep -q "faults that change any output are caught" rescued_faults/report.html
fi

# What cannot be trusted is refused, with its place.
expect 2 "nowhere: cannot be read" report nowhere
expect 2 "is a device" report /dev/zero
head -c 2000 "$whole/record.json" >cut.json
expect 2 "cut short" report cut.json
sed '/^ "format": /d' "$whole/record.json" >old.json
expect 2 "old.json: plumbline 0.1.0 wrote this record in format 1, and this program reads format 3 (run again" report old.json
echo '{"cases": []}' >foreign.json
expect 2 "foreign.json: not a whole record of plumbline: plumbline: missing" report foreign.json
sed 's/"verdict": "pass"/"verdict": "<script>"/' "$whole/record.json" >hostile.json
expect 2 'unknown word "<script>"' report hostile.json
sed '0,/"failed": 0/s//"failed": 1/' "$whole/record.json" >contradicted.json
expect 2 "its cases give 0" report contradicted.json
expect 2 "cannot write into the output folder" report "$whole" --out /proc/plumbline

# Annotations only where GitHub reads them.
expect 0 "report: again" report "$whole" --out again
check "no annotation for a pass" bash -c "! GITHUB_ACTIONS=true '$program' report '$whole' --out again | grep -q ::error"

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
