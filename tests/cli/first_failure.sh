#!/usr/bin/env bash
# What a failing kernel shows while it runs, and runs that end with a failure. Usage: first_failure.sh PROGRAM KERNEL_FOLDER
set -u
program=$1 kernels=$2
. "$(dirname "$(realpath "$0")")/expect.sh"

check() { # check WHAT COMMAND...
  if "${@:2}"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $1"; fi
}

# Its tensor cores take bf16 for f16.
mkdir broken
sed -e 's/^source.*/ptx = "broken.ptx"/' -e 's/^targets.*/targets = [80]/' "$kernels"/shipped/gemm_bf16/gemm_bf16.toml >broken/broken.toml
sed 's/f32\.bf16\.bf16\.f32/f32.f16.f16.f32/' "$kernels"/shipped/gemm_bf16/gemm_bf16.sm_80.ptx >broken/broken.ptx
run=(verify --kernel broken/broken.toml --profile quick --on emulator --only 'm<=40 n<=40 k<=64')

# The first failure is there, small and explained, before other cases have run.
expect 1 "0 passed, 1 failed" "${run[@]}" --out all --corpus corpus
"$program" "${run[@]}" --out log --corpus corpus2 -v -j 1 >log.txt
card=$(grep -n '^FAIL  broken' log.txt | head -1 | cut -d: -f1)
last=$(grep -n '^  [A-Za-z]* *broken .*\[emulator' log.txt | tail -1 | cut -d: -f1)
check "a case runs after the first card: lines $card, $last" test "$card" -lt "$last"
check "the card comes once" test "$(grep -c '^FAIL  broken   bound' log.txt)" -le 1
check "its case is saved" test -n "$(ls corpus/broken/*.case)"

# The same record for any number of threads.
untimed() { sed '/^ "circumstances": {/,$d' "$1"; }
for jobs in 1 3; do "$program" "${run[@]}" --no-corpus --out jobs$jobs -j $jobs >/dev/null; done
check "one thread and three give one record" diff <(untimed jobs1/latest/record.json) <(untimed jobs3/latest/record.json)

# Saved cases that a mended manifest no longer fits do not run, with a line; in a corpus that was named they are an error.
mkdir over && printf 'operation twice(x[n]) -> y[n]\n  y[i] = 2 * x[i]\n' >over/twice.op
cat >over/twice.cu <<'END'
extern "C" __global__ void twice(const float* x, float* y, int n) { if (threadIdx.x < n) y[threadIdx.x] = 2 * x[threadIdx.x]; }
END
cat >over/twice.toml <<'END'
computes = "twice.op"
summary = "twice"
source = "twice.cu"
targets = [80]
entry = "twice"
parameters = ["ptr x", "ptr y", "s32 n"]
[launch]
grid = [1]
block = [256]
[formats]
x = "bf16"
y = "f32"
[[domain]]
require = "n > 0 && n <= 256"
reason = "one block"
END
twice=(verify --kernel over/twice.toml --profile quick --on emulator --out mended)
expect 1 "0 passed, 1 failed" "${twice[@]}" -x
sed -i 's/bf16/f32/' over/twice.toml
expect 0 "1 saved case in mended/corpus/twice fits this manifest no longer and did not run; the first:" "${twice[@]}"
expect 2 "tensor x is bf16, this problem needs f32" "${twice[@]}" --corpus mended/corpus

# Runs that end early say so, and can be reported.
expect 1 "the run stopped at its first failure, after" "${run[@]}" --no-corpus --out first -x
expect 1 "the run stopped at its first failure, after" "${run[@]}" --no-corpus --out first2 --fail-fast -j 1
check "with -x a card is there" test "$(python3 -c 'import json; r = json.load(open("first/latest/record.json")); print(len(r["counterexamples"]), len(r["cases"]) < r["planned"], r["stopped_after"])')" = "1 True 1"
expect 1 "the run stopped at its first failure" report first/latest --out again
check "its page says so" grep -q "The run stopped at its first failure" again/report.html
expect 1 "the run stopped after 3 failures, after" "${run[@]}" --no-corpus --out third --max-fail 3
check "three cases failed" test "$(python3 -c 'import json; print(sum(c["verdict"] == "fail" for c in json.load(open("third/latest/record.json"))["cases"]))')" = 3
expect 1 "not reached: softmax_bf16" verify broken softmax_bf16 "${run[@]:1}" --no-corpus --out reached -x
expect 2 "--max-fail" "${run[@]}" --max-fail 0

# What would run, and nothing runs.
expect 0 "nothing ran" "${run[@]}" --list-cases --out listed
check "no folder" test ! -e listed
"$program" "${run[@]}" --list-cases --format line --no-corpus >lines
"$program" "${run[@]}" --list-cases --format json --no-corpus >objects
check "as many as there are" test "$(grep -c '^case: broken .*\[emulator sm_80\]: ' lines)" = "$(python3 -c 'import json; print(json.load(open("jobs1/latest/record.json"))["planned"])')"
check "a line each, as objects too" test "$(wc -l <lines)" = "$(wc -l <objects)"
check "objects are JSON" python3 -c 'import json; assert all(json.loads(line)["estimated_seconds"] > 0 for line in open("objects"))'
expect 4 "0 cases" "${run[@]::7}" --list-cases --only 'k>60 k<60'

# A small case keeps a finding with a line: blocks 2 and 3 race for a row, so that the last row is never written. Equal values would
# hide the race.
mkdir rows && cat >rows/rows.op <<'END'
operation rows(x[m, n]) -> y[m, n]
  y[i, j] = x[i, j]
END
cat >rows/rows.cu <<'END'
extern "C" __global__ void rows(const float* x, float* y, int m, int n) {
  const int row = blockIdx.x < 3 ? blockIdx.x : blockIdx.x - 1;
  for (int j = threadIdx.x; j < n; j += blockDim.x) y[row * n + j] = x[blockIdx.x * n + j];
}
END
cat >rows/rows.toml <<'END'
computes = "rows.op"
summary = "copies rows, and takes one for another"
source = "rows.cu"
targets = [80]
entry = "rows"
parameters = ["ptr x", "ptr y", "s32 m", "s32 n"]
[launch]
grid = ["m"]
block = [32]
[formats]
x = "f32"
y = "f32"
END
expect 1 "race: writes byte" verify --kernel rows/rows.toml --profile quick --on emulator --no-corpus --only 'class=normal' -x

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
