#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The cases of a record.json in the order of the plan, a line of JSON each: scripts/record_cases.py RECORD

From Python: plumbline.record.cases_of(json.load(file)), which this script calls (docs/python.md).
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))
from plumbline.record import cases_of, counts_of, object_of, value_of  # noqa: E402, F401

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        for case in cases_of(json.load(file)):
            print(json.dumps(case))
