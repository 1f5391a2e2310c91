#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the examples of docs/python.md, in a folder of their own: run_doctest.py PROGRAM. 77: NumPy or ml_dtypes is missing."""
import doctest
import os
import pathlib
import sys
import tempfile

try:
    import ml_dtypes  # noqa: F401
    import numpy  # noqa: F401
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

root = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root / "python"))
os.environ["PLUMBLINE_PROGRAM"] = sys.argv[1]
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    failed, tried = doctest.testfile(str(root / "docs/python.md"), module_relative=False, optionflags=doctest.ELLIPSIS, encoding="utf-8")
    os.chdir(root)
print(f"{tried - failed} passed, {failed} failed")
sys.exit(failed > 0 or tried < 10)
