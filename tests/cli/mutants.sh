#!/usr/bin/env bash
# Every fault in kernels/mutants, planted in a copy of its kernel: the quick profile (or the one its header names) fails it, shrinks it, explains it or reports what
# the device did, and the saved case replays. The corpus case kept for it fails the mutant and passes the kernel.
# Usage: mutants.sh PROGRAM SOURCE_DIR [IDS...]
set -u
program=$1 source=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset CI
passed=0 failed=0
check() {
  if "${@:2}"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $1"; fi
}
exits() { local want=$1; shift; "$@" >last 2>&1; [ $? = "$want" ]; }

[ $# != 0 ] || set -- $(cd "$source/kernels/mutants" && ls *.patch | sed 's/\.patch$//')
for id; do
  kernel=$(awk '$1 == "kernel" {print $2; exit}' "$source/kernels/mutants/$id.patch")
  profile=$(awk '$1 == "profile" {print $2; exit}' "$source/kernels/mutants/$id.patch")
  check "$id is caught" exits 0 "$program" mutants "$kernel" --only "$id" --profile "${profile:-quick}" --out planted
  manifest=planted/mutants/$id/${kernel}_$id.toml
  check "$id fails verify" exits 1 "$program" verify "${kernel}_$id" --kernel "$manifest" --profile "${profile:-quick}" --on emulator --corpus corpus
  cp last "$id.log"
  # What these do has no name; their outputs are shown.
  case " W31 W33 X17 X44 X49 " in
    *" $id "*) ;;
    *) check "$id is explained" grep -qE 'fits[^:]*: |out of bounds|unwritten|never written|race|missing wait|missing fence|bad operand|deadlock|misaligned|nothing in the inputs gives|all errors at once show|of the changed problem|line [0-9]+ of (.*\.op(:| gives)|the gradient)' "$id.log" ;;
  esac
  check "$id leaves a case" exits 0 ls corpus/"${kernel}_$id"
  for saved in corpus/"${kernel}_$id"/*.case; do
    check "$id replays $(basename "$saved")" exits 1 "$program" replay "$saved" --kernel "$manifest" --on emulator
  done
  kept=$source/fuzz/corpus/$kernel/kills_$id.case
  sed "s/^case $kernel /case ${kernel}_$id /" "$kept" >kept.case
  check "$id fails its kept case" exits 1 "$program" replay kept.case --kernel "$manifest" --on emulator
  check "$kernel passes the kept case of $id" exits 0 "$program" replay "$kept" --on emulator
  rm -rf planted
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
