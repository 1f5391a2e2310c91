#!/usr/bin/env bash
# What scripts/gpu_run brings back from a GPU machine, with a stand-in for the program: two small files, whatever fails.
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
touch "$work/package/triton/add.toml"
cat >"$work/package/bin/plumbline" <<'P'
#!/usr/bin/env bash
while [ $# -gt 0 ]; do [ "$1" = --out ] && out=$2; shift; done
if [ -n "${out:-}" ]; then mkdir -p "$out/1a2b3c"; echo '{"a": 1}' >"$out/1a2b3c/record.json"; ln -sfn 1a2b3c "$out/latest"; fi
echo "verify: 1 passed"
echo "report: $out/report.html"
[[ "${out:-}" != */verify ]]
P
chmod +x "$work/package/bin/plumbline"
tar -czf "$work/sent/package.tar.gz" -C "$work/package" .
cp "$source/scripts/gpu_run" "$work/sent/run"

(cd "$work" && bash sent/run "$work/out" >/dev/null)
check "two files come back" [ "$(find "$work/out" -type f | wc -l)" = 2 ]
check "and no links" [ -z "$(find "$work/out" -type l)" ]
check "a step's last line that says something" has "$work/out" ./summary.md "| verify: 1 passed |"
check "the state of the source" has "$work/out" ./summary.md "commit 0123abc-dirty"
check "what failed is counted" has "$work/out" ./summary.md "gpu evidence: 1 steps failed"
check "the record of a step that failed" [ "$(tar -xzOf "$work/out/evidence.tar.gz" ./verify.record.json.gz | gunzip)" = '{"a": 1}' ]

(cd "$work" && GPU_SECONDS=0 bash sent/run "$work/late" >/dev/null)
check "without time nothing begins, and that is told" has "$work/late" ./doctor.txt "no time was left"

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
