#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The cases of a record.json in the order of the plan, a line of JSON each: scripts/record_cases.py RECORD

Or from Python: cases_of(json.load(file)). Passing cases are columns in the file (docs/reports.md).
"""
import json
import sys


LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"


def counts_of(text):
    """The first cell of a packed histogram that is not zero, and the counts from there on."""
    numbers, number, shift = [], 0, 0
    for digit in map(LETTERS.index, text):
        number |= digit % 32 << shift
        shift += 5
        if digit < 32:
            numbers.append(number)
            number = shift = 0
    return numbers[0] if numbers else 0, numbers[1:]


def value_of(column, index):
    """A value of a column: {"all": v}, {"each": [...]}, {"values" or "words": [...], "each": places}."""
    if "all" in column:
        return column["all"]
    value = column["each"][index]
    if "words" in column:
        words = ((name, value_of(part, value)) for name, part in column["words"])
        return " ".join(name if word is True else f"{name}={word}" for name, word in words if word is not None)
    return column["values"][value] if "values" in column else value


def object_of(table, index):
    """The object of a table of columns that has this index."""
    result = {}
    for key, part in table.items():
        if isinstance(part, list):
            items = (object_of(item, index) for item in part)
            result[key] = [item for item in items if item]
        elif "all" in part or "each" in part:
            value = value_of(part, index)
            if value is not None:
                result[key] = value
        else:
            result[key] = object_of(part, index)
    return result


def cases_of(record):
    passed = [object_of(table["cases"], i) for table in record["passed"] for i in range(table["count"])]
    return sorted(record["cases"] + passed, key=lambda case: case["position"])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        for case in cases_of(json.load(file)):
            print(json.dumps(case))
