#!/usr/bin/env bash
# The wheel where kernel authors install it: in empty virtual environments, on a bare Debian 12 and with the newest Python that Debian
# has (roots made by mmdebstrap: no compiler, no nvcc, and a user without rights), and with every Python 3.10 and later of this machine.
# Exits with 77 (skipped) without mmdebstrap, root or a network. Usage: wheel.sh BUILD SOURCE [WHEEL]
set -u
build=$1 source=$2 wheel=${3:-}
. "$(dirname "$(realpath "$0")")/../cli/expect.sh"
command -v mmdebstrap chroot >/dev/null && [ "$(id -u)" = 0 ] || { echo "skipped: needs mmdebstrap and root"; exit 77; }
certificates=/etc/ssl/certs/ca-certificates.crt

if [ -z "$wheel" ]; then
  PLUMBLINE_PTX=$build/kernels python3 -m pip wheel "$source" -w wheels >wheel.log 2>&1 || { tail -n 20 wheel.log; exit 1; }
  wheel=$(echo wheels/plumbline-*.whl)
fi
size=$(($(stat -c %s "$wheel") / 1000000))
echo "the wheel has $size MB"
if [ "$size" -lt 60 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: 60 MB at most"; fi
if python3 -m venv audit && audit/bin/pip install -q auditwheel >audit.log 2>&1; then
  said=$(audit/bin/auditwheel show "$wheel" 2>&1)
  if grep -q '"manylinux_2_[0-9]*_x86_64"' <<<"$said"; then passed=$((passed + 1)); grep -o '"manylinux_2_[0-9]*_x86_64"' <<<"$said" | head -n 1
  else failed=$((failed + 1)); echo "FAILED: auditwheel"; echo "$said"; fi
fi

# What a kernel author does, with the Python of an environment that has the wheel and NumPy.
cat >trial.py <<'TRIAL'
import sys, ml_dtypes, numpy, plumbline
rng = numpy.random.default_rng(1)
a, b = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((64, 256), (256, 48)))
out = (a.astype(numpy.float32) @ b.astype(numpy.float32)).astype(ml_dtypes.bfloat16)
assert plumbline.assert_conforms(out, "gemm", a=a, b=b, chip="h200").passed
out[3, 5] += 1
try:
    plumbline.assert_conforms(out, "gemm", a=a, b=b, chip="h200")
except plumbline.Broken as broken:
    assert "d[3, 5]: got" in str(broken)
else:
    sys.exit("a wrong output passed")
report = plumbline.verify("softmax_bf16", chips=["sm_80"], only="m<=8", on="emulator")
assert report.check().kernels["softmax_bf16"].case_count > 3
print("conforms on Python", sys.version.split()[0])
TRIAL
cat >test_trial.py <<'TRIAL'
import pytest
@pytest.mark.plumbline("softmax_bf16", chips=["sm_80"], only="m=1 class=normal", on="emulator")
def test_softmax(case):
    case.check()
TRIAL
mkdir trial
cp "$wheel" trial.py test_trial.py trial
mkdir -p trial/tests/third_party
cp -r "$source"/tests/third_party/{triton_tutorials,jit_functions.py} trial/tests/third_party
tutorials=$source/build/third_party/triton/python/tutorials # packages.py brings them
[ ! -d "$tutorials" ] || cp -r "$tutorials" trial/tutorials

# try NAME PYTHON PREFIX...: in an environment of its own, below /trial or the folder of that name; PREFIX is how a command is run there.
try() {
  local name=$1 python=$2 folder=$3 said
  shift 3
  said=$("$@" sh -c "cd $folder && $python -m venv environment && environment/bin/pip install -q ml_dtypes numpy pytest plumbline-*.whl &&
    environment/bin/plumbline doctor && environment/bin/python trial.py && environment/bin/python -m pytest -q test_trial.py" 2>&1)
  if [ $? = 0 ] && grep -q "conforms on Python" <<<"$said" && grep -q " passed" <<<"$said"; then
    passed=$((passed + 1)); echo "passed: $name ($(grep -o 'Python [0-9.]*$' <<<"$said"))"
  else
    failed=$((failed + 1)); echo "FAILED: $name"; tail -n 20 <<<"$said" | sed 's/^/  /'
  fi
}

for suite in bookworm sid; do
  if ! mmdebstrap --aptopt='Acquire::Check-Valid-Until "false"' --variant=apt --include=python3,python3-venv "$suite" "$work/$suite" \
    http://deb.debian.org/debian >"$suite.log" 2>&1; then
    echo "skipped: Debian $suite cannot be had"; tail -n 2 "$suite.log"; continue
  fi
  cp -r trial "$suite/trial"
  mkdir -p "$suite/etc/ssl/certs" "$suite/dev/shm"
  cp "$certificates" "$suite/etc/ssl/certs"
  cp /etc/resolv.conf "$suite/etc"
  chown -R 1000:1000 "$suite/trial"
  chmod 1777 "$suite/dev/shm"
  # The loader finds the wheel's libraries by /proc; its mount ends with each command.
  inside=(unshare --mount sh -c "mount -t proc proc $suite/proc && exec chroot --userspec=1000:1000 $suite \"\$@\"" sh env -i HOME=/trial "PIP_CERT=$certificates" PIP_DISABLE_PIP_VERSION_CHECK=1 "PATH=/usr/bin:/bin")
  if "${inside[@]}" sh -c 'command -v cc gcc g++ nvcc ptxas'; then failed=$((failed + 1)); echo "FAILED: the root has a compiler"; fi
  try "a bare Debian $suite" python3 /trial "${inside[@]}"
  # Unmodified tutorials of Triton, a minute each at most.
  [ "$suite" = bookworm ] && [ -d trial/tutorials ] || continue
  if said=$("${inside[@]}" sh -c 'cd /trial && environment/bin/pip install -q triton==3.9.0 &&
    environment/bin/python tests/third_party/triton_tutorials/in_python.py out tutorials' 2>&1); then
    passed=$((passed + 1)); grep " passed, " <<<"$said"
  else
    failed=$((failed + 1)); echo "FAILED: Triton's tutorials"; tail -n 20 <<<"$said" | sed 's/^/  /'
  fi
done
for python in python3.10 python3.11 python3.12 python3.13 python3.14; do
  for found in "$(command -v $python)" ~/.pyenv/versions/"${python#python}".*/bin/$python; do
    [ -x "$found" ] && "$found" -c '' 2>/dev/null || continue
    cp -r trial "$work/$python"
    try "$found" "$found" "$work/$python" env -u PYTHONPATH -u PLUMBLINE_PROGRAM
    break
  done
done

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
