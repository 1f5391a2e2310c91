# Sourced by the tests that hold the program to an exit code and some words: a work folder, counters, expect and copy.
tests=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset CI
export PYTHONPATH=$tests/../../scripts PYTHONDONTWRITEBYTECODE=1 # cases_of() of record_cases.py
passed=0 failed=0

# expect CODE TEXT ARGUMENTS...: $program exits with CODE and says TEXT, with any line breaks, within $patience (300) seconds.
expect() {
  local code=$1 text=$2 output status
  shift 2
  output=$(timeout "${patience:-300}" "$program" "$@" 2>&1)
  status=$?
  if [ "$status" = "$code" ] && [[ "$(echo "$output" | tr -s ' \n' ' ')" == *"$text"* ]]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED: plumbline %s\n  wanted exit %s and "%s"\n  got    exit %s and:\n%s\n' "$*" "$code" "$text" "$status" "$output"
  fi
}

# copy NAME KERNEL SED_SCRIPT: in folder NAME, the PTX of a shipped kernel (of folder $kernels) under a changed manifest.
copy() {
  mkdir -p "$1"
  sed -e "s/^source .*/source = \"$1.cu\"/" -e "$3" "$kernels/shipped/$2/$2.toml" >"$1/$1.toml"
  cp "$kernels/shipped/$2/$2.cu" "$1/$1.cu"
  for ptx in "$kernels/shipped/$2/$2".sm_*.ptx; do cp "$ptx" "$1/$1${ptx##*/"$2"}"; done
}
