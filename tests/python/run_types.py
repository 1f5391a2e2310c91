#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the types of the Python package as pyproject.toml says, strictly by mypy, and by pyright: run_types.py. 77: one is missing."""
import importlib.util
import pathlib
import subprocess
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
if importlib.util.find_spec("basedpyright") is None:
    print("skipped: basedpyright is missing")
    sys.exit(status or 77)
status |= subprocess.run([sys.executable, "-m", "basedpyright", "-p", str(root), "--pythonpath", sys.executable]).returncode
sys.exit(status)
