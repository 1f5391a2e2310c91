#!/usr/bin/env bash
# A search: it remembers, goes on from there, forgets what it does not need, survives a cut file and an interrupt, and finds,
# shrinks and saves a fault. Usage: fuzz.sh PROGRAM KERNEL_FOLDER
set -u
program=$1 kernels=$2
. "$(dirname "$(realpath "$0")")/expect.sh"
. "$(dirname "$(realpath "$0")")/stopped_runs.sh"

search=(fuzz gemm_bf16 --on emulator --sm 80 --no-corpus --only 'k<=300 m<=200 n<=200')
memory=plumbline-out/search/gemm_bf16.txt
lines() { wc -l <"$memory"; }

expect 0 "1 passed" "${search[@]}" --for 3s --seed 7
first=$(lines)
[ "$first" -ge 10 ] || { echo "FAILED: only $first cases remembered"; failed=$((failed + 1)); }
# What is remembered runs first, and nothing of it is found again.
expect 0 "remembered" "${search[@]}" --for 1s --seed 8
[ "$(lines)" -ge "$first" ] || { echo "FAILED: $(lines) lines after $first"; failed=$((failed + 1)); }
[ "$(sort -u "$memory" | wc -l)" = "$(lines)" ] || { echo "FAILED: a case is remembered twice"; failed=$((failed + 1)); }
before=$(lines)
expect 0 "of $before cases, which cover what all of them covered" "${search[@]}" --minimize
[ "$(lines)" -le "$before" ] || { echo "FAILED: minimizing grew the file"; failed=$((failed + 1)); }

# What one chip showed is run there again, and is nothing that another one could leave out.
grep -q '  on emulator sm_80$' "$memory" || { echo "FAILED: no chip stands beside a case"; failed=$((failed + 1)); }
before=$(lines)
expect 0 "of $before cases, which cover what all of them covered" fuzz gemm_bf16 --on emulator --sm 90 --minimize --no-corpus
[ "$(lines)" = "$before" ] || { echo "FAILED: sm_90 left out what sm_80 showed"; failed=$((failed + 1)); }

# Killed while it wrote a line: that line is dropped, for good. A line that is wrong is not.
printf 'gemm_bf16 m=4 n=' >>"$memory"
expect 0 "1 passed" "${search[@]}" --for 1s
expect 0 "1 passed" "${search[@]}" --for 1s
sed -i '2i gemm_bf16 m=4 nn=4' "$memory"
expect 2 "gemm_bf16.txt:2" "${search[@]}" --for 1s

# Ctrl-C keeps what there is. (In the foreground: else timeout signals twice, and the second Ctrl-C ends a run at once.)
timeout --foreground -s INT 4 "$program" "${search[@]}" --for 60s --out stopped >stopped.log 2>&1
grep -q '^fuzz: 1 passed' stopped.log && [ -s stopped/search/gemm_bf16.txt ] && [ -s stopped/latest/record.json ] ||
  { echo "FAILED: interrupted"; cat stopped.log; failed=$((failed + 1)); }

# The time is looked at between cases, not between batches of 16.
slow_kernel "$kernels" slow
expect 0 "slow" fuzz --kernel slow/slow.toml --for 1s --seed 1 -j 1 --on emulator --no-corpus --only 'm<=128 n<=128' --out slow/out
cases=$(python3 "$tests/../../scripts/record_cases.py" slow/out/latest/record.json | wc -l)
[ "$cases" -ge 1 ] && [ "$cases" -lt 5 ] || { echo "FAILED: $cases cases of half a second in 1 s"; failed=$((failed + 1)); }

# Killed in the middle of a batch, it has kept what its cases showed, and a failure as it was found.
killed() {  # NAME CASES: a search of NAME, killed when record.jsonl has its first line and CASES more
  "$program" fuzz --kernel "$1/$1.toml" --for 60s --seed 1 -j 1 --on emulator --only 'm<=128 n<=128' --corpus "$1/corpus" --out "$1/killed" >"$1.log" 2>&1 &
  local pid=$!
  wait_until "$pid" has_lines "$1/killed" "$2"
  sleep 0.2
  kill -KILL "$pid"
  wait "$pid" 2>/dev/null
}
killed slow 1
[ -s slow/killed/search/slow.txt ] || { echo "FAILED: nothing is left of a killed search"; cat slow.log; failed=$((failed + 1)); }
slow_kernel "$kernels" wrong
sed -i 's/cvt.rn.bf16/cvt.rz.bf16/' wrong/wrong.ptx
killed wrong 3
grep -q '"verdict":"fail"' wrong/killed/[0-9a-f]*/record.jsonl || { echo "FAILED: no case failed before the kill"; failed=$((failed + 1)); }
[ -n "$(ls wrong/corpus/wrong/*.case 2>/dev/null)" ] || { echo "FAILED: a killed search lost its failure"; failed=$((failed + 1)); }

# A search found this: batches of C that overlap cannot have their rows reversed.
expect 0 "1 passed" replay "gemm_bf16 m=11 n=35 k=1 batch=2 beta=1 ldc=189 stride_c=189 value=normal seed=0x1" --on emulator --sm 80

# A kernel whose output is truncated.
mkdir mine
sed 's/^source.*/ptx = "mine.ptx"/; s/^targets.*/targets = [80]/' "$kernels"/shipped/gemm_bf16/gemm_bf16.toml >mine/mine.toml
sed 's/cvt.rn.bf16/cvt.rz.bf16/' "$kernels"/shipped/gemm_bf16/gemm_bf16.sm_80.ptx >mine/mine.ptx
expect 1 "plumbline replay" fuzz mine --kernel mine/mine.toml --for 5s --seed 1 --on emulator --corpus corpus --only 'k<=64 m<=64 n<=64'
grep -q 'plumbline replay .*\.case --kernel mine/mine.toml$' plumbline-out/latest/summary.md ||
  { echo "FAILED: the replay line lacks the manifest"; failed=$((failed + 1)); }
[ -n "$(ls corpus/mine/*.case 2>/dev/null)" ] || { echo "FAILED: no case was saved"; failed=$((failed + 1)); }

# Small cases take the place of what was found.
python3 - <<'PY' || { echo "FAILED: the corpus is not what the record says"; failed=$((failed + 1)); }
import glob, json
record = json.load(open("plumbline-out/latest/record.json"))
saved, found = set(glob.glob("corpus/mine/*.case")), {card["case_file"] for card in record["counterexamples"]}
assert saved == found, (saved, found)
PY

# A domain that no problem is in: the rule is named, and the search ends.
{ sed '/^\[contract\]/,$d' mine/mine.toml; printf '[[domain]]\nrequire = "m == 7 && m == 5"\nreason = "none"\n\n'
  sed -n '/^\[contract\]/,$p' mine/mine.toml; } >mine/none.toml
expect 4 'refused by the rule "m == 7 && m == 5"' fuzz --kernel mine/none.toml --for 5s --on emulator --no-corpus
expect 4 'refused by the rule "m == 7 && m == 5"' verify --kernel mine/none.toml --profile quick --on emulator --no-corpus

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
