#!/usr/bin/env bash
# plumbline perf as a user runs it: the shipped kernels move no more than their baseline says, what grew fails with its line, and
# bad input is told from findings.
# Usage: perf.sh PROGRAM SOURCE_FOLDER KERNEL_FOLDER
set -u
program=$1 source=$2 kernels=$3
. "$(dirname "$(realpath "$0")")/expect.sh"
baseline=$source/tests/data/perf_baseline.json

# The shipped kernels against the committed baseline; `scripts/perf_baseline` writes it again. Another nvcc makes other PTX.
few=(gemm_bf16 gemm_bf16_hopper gemm_fp8 attention_bf16_forward softmax_bf16 rmsnorm_bf16 quantize_fp8)
if "$program" perf "${few[@]}" --baseline "$baseline" --out now 2>&1 | grep -q "another compiler"; then
  echo "the baseline was compiled by another nvcc: not compared"
else
  expect 0 "perf: 0 grew, 0 shrank, 0 unclear, 7 the same" perf "${few[@]}" --baseline "$baseline" --strict --out now
fi

# The same facts for any number of workers.
problem=(gemm_bf16 --problem 'm=256 n=256 k=64' --sm 90)
expect 0 "4,194,304 products" perf gemm_bf16 --problem 'm=256 n=256 k=64' --sm 90 -j 1 --out one
expect 0 "16-bit peak of an H100 SXM" perf "${problem[@]}" -j 2 --out two
expect 0 "16-bit peak of an H200" perf "${problem[@]}" --chip h200 --out two
cmp one/latest-perf/perf.json two/latest-perf/perf.json || { echo "FAILED: one worker and two count differently"; failed=$((failed + 1)); }
cp one/latest-perf/perf.json own.json

# Several problems, and the files of a run.
expect 0 "perf: 1 kernel counted on 2 problems" perf gemm_bf16 --problem 'm=64 n=64 k=64' --problem 'm=128 n=64 k=64' --sm 90 --out several
expect 0 "6 of 64 ran; the others are alike by their addresses" perf gemm_bf16 --problem 'm=1024 n=1024 k=64' --sm 80 --out large
for words in "m=64 n=64 k=64" "m=128 n=64 k=64" Roofline "16-bit peak of H100 SXM"; do
  grep -qF "$words" several/latest-perf/report.html || { echo "FAILED: the page lacks $words"; failed=$((failed + 1)); }
done
grep -q "plumbline perf: 1 kernel counted on 2 problems" several/latest-perf/summary.md || { echo "FAILED: summary.md"; failed=$((failed + 1)); }
expect 0 "at least" perf softmax_bf16 --problem 'm=40 n=200' --sm 90 --out rows

# A counter that grew, with its line; without --strict it is only said.
python3 - own.json <<'PYTHON'
import json, sys
record = json.load(open(sys.argv[1]))
launch = record["entries"][0]["launches"][0]
line = next(one for one in launch["lines"] if one["instruction"].startswith("ldmatrix"))
for counts in (line["counts"], launch["totals"]):
    counts["shared_wavefronts"] -= 100
json.dump(record, open("less.json", "w"))
for counts in (line["counts"], launch["totals"]):
    counts["shared_wavefronts"] += 200
json.dump(record, open("more.json", "w"))
record["entries"][0]["problem"] = "m=16 n=16 k=16"
json.dump(record, open("small.json", "w"))
record["entries"][0]["kernel"] = "softmax_bf16"
json.dump(record, open("other.json", "w"))
record["entries"][0]["kernel"] = "gone_bf16"
json.dump(record, open("gone.json", "w"))
record["kind"] = "plumbline perf 7"
json.dump(record, open("later.json", "w"))
PYTHON
echo '{' >broken.json
expect 0 "1 grew, 0 shrank" perf "${problem[@]}" --baseline less.json --out one
expect 1 "wavefronts of shared memory" perf "${problem[@]}" --baseline less.json --strict --out one
sed -E 's/"global_sectors": ?[0-9]+/"global_sectors":-1/' less.json >negative.json
expect 2 "has no whole numbers" perf "${problem[@]}" --baseline negative.json --out one
python3 - one/latest-perf/report.sarif <<'PYTHON' || { echo "FAILED: report.sarif lacks the line that grew"; failed=$((failed + 1)); }
import json, sys
results = json.load(open(sys.argv[1]))["runs"][0]["results"]
grown = [one for one in results if one["ruleId"] == "grew" and one["level"] == "error"]
assert any("instructions.cuh" in json.dumps(one["locations"]) for one in grown), results
PYTHON
expect 1 "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 at instructions.cuh:" perf "${problem[@]}" --baseline less.json --strict --out one
expect 0 "0 grew, 1 shrank" perf "${problem[@]}" --baseline more.json --strict --out one
expect 5 "the baseline has another problem of this kernel" perf "${problem[@]}" --baseline small.json --strict --out one
expect 5 "the baseline has no such kernel" perf "${problem[@]}" --baseline other.json --strict --out one
expect 5 "gone_bf16 sm_90 m=16 n=16 k=16: it did not run" perf --baseline gone.json --strict --out one
# Without --problem it is the baseline's.
expect 0 "gemm_bf16 sm_90 m=256 n=256 k=64" perf --baseline own.json --strict --out one

# Faults in a shipped kernel: every barrier twice; every vector of four stores as two of two.
copy twice softmax_bf16 ''
sed -i 's/^\tbar\.sync .*;/&\n&/' twice/*.ptx
expect 0 "idle barrier: bar.sync at row_sums.cuh:" perf --kernel twice/twice.toml --no-compile --problem 'm=40 n=200' --sm 90 --out twice
copy once softmax_bf16 ''
expect 0 "barriers" perf --kernel once/once.toml --no-compile --problem 'm=40 n=200' --sm 90 --out once
grep -q "idle" <("$program" perf --kernel once/once.toml --no-compile --problem 'm=40 n=200' --sm 90 --out once) &&
  { echo "FAILED: advice for a kernel without the fault"; failed=$((failed + 1)); }

# Kernels of another compiler, with lines of Python.
expect 0 "narrow: ld.global.b16 at softmax.py:15 uses 2 bytes a lane" perf --kernel "$source/tests/triton/softmax_sm_80.toml" \
  --problem 'm=8 n=1024' --out triton

# What programs read.
expect 0 '"rule"' perf gemm_fp8 --problem 'm=64 n=64 k=64' --sm 90 --format json --out json
expect 0 "bank conflicts: gemm_fp8 sm_90 m=64 n=64 k=64:" perf gemm_fp8 --problem 'm=64 n=64 k=64' --sm 90 --format line --out line

# Bad input.
expect 2 'there is no chip "H900"' perf gemm_bf16 --chip H900
expect 2 "an A100 SXM is sm_80, and the kernel is counted as sm_90" perf "${problem[@]}" --chip 'A100 SXM' --out bad
expect 2 "--strict needs a baseline" perf gemm_bf16 --strict
expect 2 "the file is no JSON object" perf gemm_bf16 --baseline broken.json
expect 2 'the file is of another version: "plumbline perf 7"' perf gemm_bf16 --baseline later.json
expect 2 "no field" perf gemm_bf16 --problem 'm=8 n=8 q=8'
expect 2 "did you mean" perf gemm_bf61

# A kernel that does not end.
copy endless softmax_bf16 ''
sed -i 's/^\tbar\.sync .*;/\ttrap;/' endless/*.ptx
expect 3 "did not end" perf --kernel endless/endless.toml --no-compile --problem 'm=40 n=200' --sm 90 --out endless

echo "$passed passed, $failed failed"
exit "$((failed > 0))"
