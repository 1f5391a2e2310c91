#!/usr/bin/env bash
# check_gate.py with the Python that has its packages. Usage: check_gate.sh PROGRAM K [K ...]
set -u
python=${PLUMBLINE_TEST_PYTHON:-python3}
"$python" -c 'import ml_dtypes, numpy' 2>/dev/null || { echo "skipped: $python has no ml_dtypes"; exit 77; }
exec "$python" "$(dirname "$(realpath "$0")")/check_gate.py" "$@"
