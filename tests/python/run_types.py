#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the types of the Python package as pyproject.toml says, strictly: run_types.py. 77: mypy is missing."""
import pathlib
import sys
import tempfile

try:
    from mypy import api
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

root = pathlib.Path(__file__).resolve().parents[2]
with tempfile.TemporaryDirectory() as cache:
    words, errors, status = api.run(["--config-file", str(root / "pyproject.toml"), "--cache-dir", cache, str(root / "python/plumbline")])
print(words or errors)
sys.exit(status)
