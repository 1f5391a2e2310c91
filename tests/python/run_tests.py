#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the tests of the Python package for ctest: run_tests.py PROGRAM [pytest's arguments]. 77: pytest is missing."""
import os
import pathlib
import sys

try:
    import pytest
except ImportError:
    print("skipped: pytest is not installed (scripts/requirements/test.txt)")
    sys.exit(77)

os.environ["PLUMBLINE_PROGRAM"] = sys.argv[1]
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
here = pathlib.Path(__file__).resolve().parent
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", *(sys.argv[2:] or [str(here)])]))
