#!/usr/bin/env bash
# What scripts/gpu/run brings back from a GPU machine, with stand-ins for the programs: the evidence,
# and what was measured, also where a program fails.
# Usage: gpu_evidence.sh SOURCE
set -u
source=$1
passed=0 failed=0
check() {
  if "${@:2}"; then passed=$((passed + 1)); else
    failed=$((failed + 1))
    echo "FAILED: $1"
  fi
}
has() { tar -xzOf "$1/evidence.tar.gz" "$2" | grep -qF -- "$3"; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/package/bin" "$work/package/triton" "$work/sent"
echo 0123abc-dirty >"$work/package/commit"
mkdir "$work/package/third_party"
touch "$work/package/triton/add.toml" "$work/package/third_party/gemm.toml"
cat >"$work/package/bin/plumbline" <<'P'
#!/usr/bin/env bash
while [ $# -gt 0 ]; do [ "$1" = --out ] && out=$2; shift; done
if [ -n "${out:-}" ]; then mkdir -p "$out/1a2b3c"; echo '{"a": 1}' >"$out/1a2b3c/record.json"; ln -sfn 1a2b3c "$out/latest"; fi
echo "verify: 1 passed"
echo "report: $out/report.html"
[[ "${out:-}" != */verify ]]
P
cat >"$work/package/bin/functions" <<'P'
#!/usr/bin/env bash
echo table >"$1/ex2.i8"
echo "ex2 measured"
P
printf '#!/usr/bin/env bash\necho "$1 at $2"\n[ "$2" != -1 ]\n' >"$work/package/bin/tensor_copies"
printf '#!/usr/bin/env bash\nexit 3\n' >"$work/package/bin/instructions"
chmod +x "$work"/package/bin/*
echo 'print("conforms")' | tee "$work/package/libraries.py" >"$work/package/counters.py"
tar -czf "$work/sent/package.tar.gz" -C "$work/package" .
cp "$source/scripts/gpu/run" "$work/sent/run"

(cd "$work" && bash sent/run "$work/out" >/dev/null)
check "what comes back" [ "$(cd "$work/out" && echo *)" = "evidence.tar.gz gpu tables.tar.xz" ]
check "and no links" [ -z "$(find "$work/out" -type l)" ]
check "a step's last line that says something" has "$work/out" ./summary.md "| verify: 1 passed |"
check "the state of the source" has "$work/out" ./summary.md "commit 0123abc-dirty"
check "what failed is counted" has "$work/out" ./summary.md "gpu evidence: 2 steps failed"
check "a kernel of others" has "$work/out" ./summary.md "| third_party_gemm |"
check "its record" [ -n "$(tar -xzOf "$work/out/evidence.tar.gz" ./third_party_gemm.record.json.gz | gunzip)" ]
check "a step that fails" has "$work/out" ./summary.md "| instructions | \`bin/instructions inputs outputs\` | 3 |"
check "a copy that the chip refuses" has "$work/out" ./tensor_copies.txt "or at -1: exit 1"
check "the record of a step that failed" [ "$(tar -xzOf "$work/out/evidence.tar.gz" ./verify.record.json.gz | gunzip)" = '{"a": 1}' ]

(cd "$work" && bash sent/run "$work/one" functions >/dev/null)
check "the steps that are named" [ "$(tar -tzf "$work/one/evidence.tar.gz" | sort | tr '\n' ' ')" = "./ ./functions.txt ./nvidia-smi.txt ./summary.md " ]

(cd "$work" && GPU_SECONDS=0 bash sent/run "$work/late" >/dev/null)
check "without time nothing begins, and that is told" has "$work/late" ./doctor.txt "no time was left"

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
