#!/usr/bin/env bash
# What docs/ci tells people to copy, as far as it runs without their servers: every command that the files call, in a repository
# laid out as they expect, with a kernel of the user's own. Usage: ci.sh PROGRAM SOURCE KERNEL_FOLDER
set -u
program=$1 source=$2 kernels=$3
. "$(dirname "$(realpath "$0")")/expect.sh"

# The user's repository. Its plumbline is the one under test, with plans cut to a few cases.
mkdir -p third_party/plumbline/scripts kernels
cat >third_party/plumbline/scripts/plumbline <<SHIM
#!/bin/sh
echo "\$@" >>"$work/calls"
case \$* in
  *--only*) set -- "\$@" --on emulator --sm 80 --no-corpus ;;
  verify*) set -- "\$@" --on emulator --sm 80 --no-corpus --only 'class=normal k<=64 m<=40 n<=40' ;;
esac
exec "$program" "\$@"
SHIM
chmod +x third_party/plumbline/scripts/plumbline
sed 's/^source.*/ptx = "mine.ptx"/; s/^targets.*/targets = [80]/' "$kernels"/shipped/gemm_bf16/gemm_bf16.toml >kernels/mine.toml
cp "$kernels"/shipped/gemm_bf16/gemm_bf16.sm_80.ptx kernels/mine.ptx

# check NAME COMMAND...: it succeeds.
check() {
  local name=$1 output
  shift
  if output=$("$@" 2>&1); then passed=$((passed + 1)); else
    failed=$((failed + 1))
    printf 'FAILED: %s\n%s\n' "$name" "$output"
  fi
}

# step FILE NAME: the script of the step or job that has this name or id, as it stands in a YAML file.
step() {
  awk -v name="$2" '
    $0 ~ "(name|id): " name "$" || $0 ~ "^" name ":$" { found = 1; next }
    !found { next }
    !reading && /^ *(run|script): *[|]?$/ { match($0, /^ */); indent = RLENGTH; reading = 1; next }
    reading { match($0, /^ */); if (length($0) && RLENGTH <= indent) exit; sub(/^ *- /, ""); print }
  ' "$source/$1" >commands.sh
  [ -s commands.sh ] || { echo "FAILED: $1 has no step $2"; failed=$((failed + 1)); }
}
# What a step of the action or of a workflow gets, in its environment.
printf '#!/bin/sh\n' >third_party/plumbline/scripts/reuse_build && chmod +x third_party/plumbline/scripts/reuse_build
export ROOT=third_party/plumbline REF=v1 GITHUB_STEP_SUMMARY=$work/summary GITHUB_OUTPUT=$work/output
export KERNELS=kernels/mine.toml PROFILE=quick FOLDER=plumbline-out ARGUMENTS="--strict --only 'class=normal m<=9'"

# The summary of a run that left none is no failure of its own.
for file in action.yml docs/ci/github-shards.yml; do
  step $file summary
  check "$file, no summary" bash -eo pipefail commands.sh
done
[ ! -e summary ] && [ ! -e output ] || { echo "FAILED: a summary of no run"; failed=$((failed + 1)); }

for name in plumbline reuse verify summary; do
  step action.yml $name
  check "action.yml, $name" bash -eo pipefail commands.sh
done
grep -qx 'commit=v1' output || { echo "FAILED: the key of what GitHub fetched by name"; failed=$((failed + 1)); }
grep -qxF "verify --kernel kernels/mine.toml --strict --only class=normal m<=9 --profile quick --out plumbline-out" calls ||
  { echo "FAILED: the action calls"; cat calls; failed=$((failed + 1)); }
grep -qx 'sarif=plumbline-out/latest/report.sarif' output || { echo "FAILED: no SARIF to upload"; failed=$((failed + 1)); }
grep -q '^|.*mine' summary || { echo "FAILED: no table of kernels in the step summary"; failed=$((failed + 1)); }
for file in record.json junit.xml summary.md report.sarif gl-code-quality.json; do
  [ -s plumbline-out/latest/$file ] || { echo "FAILED: no $file"; failed=$((failed + 1)); }
done

rm -rf plumbline-out
step docs/ci/gitlab.yml plumbline
check gitlab.yml bash -e commands.sh
for file in $(sed -n 's/^ *\(junit\|codequality\): //p' "$source/docs/ci/gitlab.yml"); do
  [ -s "$file" ] || { echo "FAILED: gitlab.yml leaves no $file"; failed=$((failed + 1)); }
done

# The shards, and what merges them.
for i in 1 2; do
  step docs/ci/gitlab-shards.yml 'plumbline shard'
  check "gitlab-shards.yml, $i" env CI_NODE_INDEX=$i CI_NODE_TOTAL=2 bash -e commands.sh
done
step docs/ci/gitlab-shards.yml 'plumbline merge'
sed -i 's/\*of4/*of2/' commands.sh
check 'gitlab-shards.yml, merge' bash -e commands.sh
[ -s merged/gl-code-quality.json ] || { echo "FAILED: nothing was merged"; failed=$((failed + 1)); }
rm -rf shards merged
for i in 1 2 3 4; do
  ARGUMENTS="--strict --shard $i/4" FOLDER=shards
  step action.yml verify
  check "github-shards.yml, $i" bash -eo pipefail commands.sh
done
grep -q 'arguments: --strict --shard ${{ matrix.shard }}/4' "$source/docs/ci/github-shards.yml" ||
  { echo "FAILED: github-shards.yml has other arguments"; failed=$((failed + 1)); }
for name in merge summary; do
  step docs/ci/github-shards.yml $name
  check "github-shards.yml, $name" bash -eo pipefail commands.sh
done
grep -q 'mine' summary && [ -s merged/record.json ] || { echo "FAILED: the shards were not merged"; failed=$((failed + 1)); }
rm -rf shards merged

# The commands of the README's last part.
sed -n '/^```$/,/^```$/p' "$source/docs/ci/README.md" | grep -E '^(plumbline|cp) ' | sed 's,^plumbline,third_party/plumbline/scripts/plumbline,' >commands.sh
check README.md bash -e commands.sh

# The hook, in a repository with a kernel that changed and one that did not.
git init -q . && git config user.email a@b && git config user.name a
git add kernels && git commit -qm 'a kernel'
: >calls
check 'pre-push, nothing changed' env PLUMBLINE_UPSTREAM=HEAD sh "$source/docs/ci/pre-push"
[ -s calls ] && { echo "FAILED: the hook ran without a change"; failed=$((failed + 1)); }
echo '# changed' >>kernels/mine.toml
check 'pre-push' env PLUMBLINE_UPSTREAM=HEAD sh "$source/docs/ci/pre-push"
grep -q 'verify mine' calls || { echo "FAILED: the hook did not verify the kernel"; failed=$((failed + 1)); }

git commit -qam 'changed'
# The first push of a branch: no upstream yet, and what the remote has is no change.
git init -q --bare remote.git
git remote add origin remote.git
git push -q origin HEAD:main
git checkout -qb topic
: >calls
check 'pre-push, new branch without a change' sh "$source/docs/ci/pre-push"
[ -s calls ] && { echo "FAILED: the hook ran for a branch without a change"; failed=$((failed + 1)); }
echo '// changed' >>kernels/mine.ptx && git commit -qam 'ptx'
check 'pre-push, new branch' sh "$source/docs/ci/pre-push"
grep -q 'verify mine' calls || { echo "FAILED: the hook missed a changed PTX"; failed=$((failed + 1)); }
git push -q -u origin topic
: >calls
echo '#pragma once' >kernels/shared.cuh && git add kernels && git commit -qm 'header'
check 'pre-push, header' sh "$source/docs/ci/pre-push"
grep -q 'verify mine' calls || { echo "FAILED: the hook missed a changed header"; failed=$((failed + 1)); }

# The array: built once, two tasks, and what is submitted behind them.
mkdir -p bin third_party/plumbline/build/release/bin
cp third_party/plumbline/scripts/plumbline third_party/plumbline/build/release/bin/plumbline
printf '#!/bin/sh\necho "$@" >>%s/submitted\necho "17;cluster"\n' "$work" >bin/sbatch && chmod +x bin/sbatch
: >calls
check 'slurm.sh' env PATH="$work/bin:$PATH" SHARDS=2 bash "$source/docs/ci/slurm.sh"
for wanted in '--array=1-2' '--dependency=afterany:17 '; do
  grep -q -e "$wanted" submitted || { echo "FAILED: slurm.sh submits no $wanted"; failed=$((failed + 1)); }
done
for i in 1 2; do
  check "slurm.sh shard $i" env SLURM_ARRAY_TASK_ID=$i SLURM_ARRAY_TASK_COUNT=2 bash "$source/docs/ci/slurm.sh" shard
done
check 'slurm.sh merge' bash "$source/docs/ci/slurm.sh" merge
[ -s merged/record.json ] || { echo "FAILED: the shards were not merged"; failed=$((failed + 1)); }

# A restored cache: kept for the same sources with any times, gone for others, but for the compiler.
mkdir -p cached/scripts cached/build/release cached/build/cuda
cp "$source/scripts/reuse_build" cached/scripts
echo 'int x;' >cached/a.cpp
for step in unknown same changed; do
  [ $step = changed ] && echo 'int y;' >>cached/a.cpp
  check "reuse_build, $step" cached/scripts/reuse_build
  kept=no
  [ -f cached/build/release/a.o ] && [ cached/build/release/a.o -nt cached/a.cpp ] && kept=yes
  [ "$step $kept" = "unknown no" ] || [ "$step $kept" = "same yes" ] || [ "$step $kept" = "changed no" ] ||
    { echo "FAILED: $step sources: kept: $kept"; failed=$((failed + 1)); }
  [ -d cached/build/cuda ] || { echo "FAILED: the compiler is gone"; failed=$((failed + 1)); }
  mkdir -p cached/build/release && touch cached/build/release/a.o && sleep 0.01 && touch cached/a.cpp
done

# The program by a link.
mkdir -p tree/scripts tree/build/release/bin
cp "$source/scripts/plumbline" tree/scripts
printf '#!/bin/sh\n' >tree/scripts/build
printf '#!/bin/sh\necho "$@"\n' >tree/build/release/bin/plumbline
chmod +x tree/scripts/build tree/build/release/bin/plumbline
ln -s ../tree/scripts/plumbline bin/plumbline
[ "$(bin/plumbline doctor)" = doctor ] || { echo "FAILED: a link to scripts/plumbline"; failed=$((failed + 1)); }

# A first build makes the PTX of what is named, also by a pattern.
cp -r "$source/kernels/shipped" tree && mkdir -p tree/kernels && mv tree/shipped tree/kernels
printf '#!/bin/sh\necho "$@" >>"%s/built"\n' "$work" >tree/scripts/build
bin/plumbline verify 'quantize_m*' softmax_bf16 >/dev/null
bin/plumbline verify >/dev/null
printf 'release plumbline kernel_sources %s\n' 'kernel_quantize_mxfp4_bf16 kernel_softmax_bf16' kernels | cmp - built ||
  { echo "FAILED: what a first build makes"; cat built; failed=$((failed + 1)); }

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
