#!/usr/bin/env bash
# A baseline from a run, the same run against it, and the run of a worse kernel: accepted, compared, and held to it.
# Usage: compare.sh PROGRAM KERNEL_FOLDER
set -u
program=$1 kernels=$2
. "$(dirname "$(realpath "$0")")/expect.sh"

small=(verify gemm_bf16 --profile quick --sm 80 --on emulator --no-corpus --only 'class=normal k<=300')
expect 0 "1 passed" "${small[@]}" --out good
expect 0 "added" accept good/latest
expect 0 "gemm_bf16, bit for bit" compare plumbline-baseline.json good/latest
expect 0 "0 better, 0 worse, 0 unclear" "${small[@]}" --out good --baseline plumbline-baseline.json --strict-baseline
grep -q '<testcase .*name="baseline"' good/latest/junit.xml && ! grep -q '<failure' good/latest/junit.xml || { echo "FAILED: junit.xml does not say what held"; failed=$((failed + 1)); }
# Another seed: other cases.
expect 0 "0 worse" "${small[@]}" --seed 2 --out other --baseline plumbline-baseline.json
expect 0 "as two seeds may" compare good/latest other/latest

# A run of a part takes the place of no row whose cases it left out.
cp plumbline-baseline.json kept.json
expect 0 "1 passed" verify gemm_bf16 --profile quick --sm 80 --on emulator --no-corpus --only 'class=normal k<=100' --out part
expect 2 "not accepted: the run left cases out (--sm 80 --only \"class=normal k<=100\"), and the baseline has more of gemm_bf16, emulator sm_80, class normal" accept part/latest
expect 0 "1 passed" verify gemm_bf16 --profile quick --sm 90 --on emulator --no-corpus --only 'class=normal k<=300' --out part
expect 2 "and the baseline has more of gemm_bf16, emulator sm_80" accept part/latest
cmp kept.json plumbline-baseline.json || failed=$((failed + 1))

# A kernel that always truncates what it stores breaks its promise; a baseline that promised less than the run shows "worse".
python3 - <<'PYTHON'
import json
baseline = json.load(open("plumbline-baseline.json"))
for row in baseline["rows"]:
    row["worst_share"] /= 2
    row["outputs"] = "0"
json.dump(baseline, open("stricter.json", "w"))

def write(name, shares):
    rows = [dict(baseline["rows"][0], worst_share=share, **{"class": value_class}) for value_class, share in shares.items()]
    json.dump(dict(baseline, rows=rows), open(name, "w"))
write("mixed_old.json", {"normal": 0.5, "wide": 0.5})
write("mixed_new.json", {"normal": 0.25, "wide": 0.75})
PYTHON
expect 0 "worse" "${small[@]}" --out good --baseline stricter.json
expect 1 "of the admissible error" "${small[@]}" --out good --baseline stricter.json --strict-baseline
grep -q 'type="worse-than-baseline" message="worse: ' good/latest/junit.xml || { echo "FAILED: junit.xml does not say what failed"; failed=$((failed + 1)); }
for file in summary.md report.html; do
  grep -q "Since plumbline 0.1.0, quick" good/latest/$file || { echo "FAILED: $file does not say what grew"; failed=$((failed + 1)); }
done
expect 1 "1 worse" compare stricter.json good/latest --strict-baseline
# What cannot be compared may have grown, and a kernel without a case has not passed.
expect 0 "2 passed" verify gemm_bf16 quantize_s8 --profile quick --on emulator --sm 90 --no-corpus --only 'class=ones' --out two
expect 0 "removed" compare two/latest good/latest
expect 5 "removed" compare two/latest good/latest --strict-baseline
expect 0 "no case was selected" verify gemm_bf16 softmax_bf16 --profile quick --on emulator --sm 90 --no-corpus --only 'class=ones k>0' --allow-mistrusted
expect 5 "no case was selected" verify gemm_bf16 softmax_bf16 --profile quick --on emulator --sm 90 --no-corpus --only 'class=ones k>0' --allow-mistrusted --strict
expect 0 "1 better" compare good/latest stricter.json --strict-baseline
# What grew in one class is not made up for by another.
expect 0 "1 unclear" compare mixed_old.json mixed_new.json
expect 1 "1 unclear" compare mixed_old.json mixed_new.json --strict-baseline
expect 0 '"change":"worse"' compare stricter.json good/latest --format json

mkdir mine
sed 's/^source.*/ptx = "mine.ptx"/; s/^targets.*/targets = [80]/' "$kernels"/shipped/gemm_bf16/gemm_bf16.toml >mine/mine.toml
sed 's/cvt.rn.bf16.f32/cvt.rz.bf16.f32/' "$kernels"/shipped/gemm_bf16/gemm_bf16.sm_80.ptx >mine/mine.ptx
broken=(verify mine --kernel mine/mine.toml --profile quick --on emulator --no-corpus --no-shrink --only 'class=normal k<=300')
expect 1 "1 failed" "${broken[@]}" --out bad
# How a kernel adds is probed, also where its outputs are wrong.
for run in good bad; do
  grep -q 'fraction bits' $run/latest/record.json || { echo "FAILED: probes of a $run kernel are missing"; failed=$((failed + 1)); }
done
expect 1 "not accepted: mine breaks its promise" accept bad/latest
sed 's/"gemm_bf16"/"mine"/' plumbline-baseline.json >mine.json
expect 1 "fail now" compare mine.json bad/latest

# What failed runs again, also without the seed that planned it.
expect 1 "1 failed" "${broken[@]}" --seed 7 --out seeded
expect 0 "together" propagate rmsnorm_bf16 --on emulator --out seeded
expect 1 "1 failed" "${broken[@]}" --failed --out seeded
python3 - seeded/latest/record.json <<'PYTHON' || { echo "FAILED: other cases than those that failed"; failed=$((failed + 1)); }
import json, sys
from record_cases import cases_of
cases = cases_of(json.load(open(sys.argv[1])))
sys.exit(not cases or any(case["verdict"] != "fail" for case in cases))
PYTHON
expect 4 "needs its --kernel FILE" "${small[@]}" --failed --out seeded

# Part of a plan is no baseline.
expect 0 "1 passed" "${small[@]}" --shard 1/2 --out part
expect 2 "not accepted: it is shard 1 of 2" accept part/latest

# What is wrong is said, and nothing is written.
expect 2 "compare needs an old and a new run" compare good/latest
expect 2 "nowhere.json: cannot be read" compare nowhere.json good/latest
expect 2 "nowhere.json: cannot be read" verify gemm_bf16 --baseline nowhere.json
expect 2 "needs a baseline" verify gemm_bf16 --strict-baseline
expect 2 'did you mean "gemm_bf16"' accept good/latest gemm_bf61
head -c 150 plumbline-baseline.json >cut.json
expect 2 "cut.json" compare cut.json good/latest
expect 0 "nothing written" accept good/latest --baseline new.json --dry-run
[ ! -e new.json ] || { echo "FAILED: --dry-run wrote"; failed=$((failed + 1)); }

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
