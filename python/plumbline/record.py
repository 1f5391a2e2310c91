# SPDX-License-Identifier: MIT
"""The cases of a record.json in the order of the plan.

Passing cases are columns in the file, a table for each kernel; docs/reports.md describes them.
``scripts/record_cases.py`` prints what ``cases_of`` gives.
"""

from __future__ import annotations

from typing import Any

_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"


def counts_of(text: str) -> tuple[int, list[int]]:
    """The first cell of a packed histogram that is not zero, and the counts from there on."""
    numbers: list[int] = []
    number = shift = 0
    for digit in map(_LETTERS.index, text):
        number |= digit % 32 << shift
        shift += 5
        if digit < 32:
            numbers.append(number)
            number = shift = 0
    return numbers[0] if numbers else 0, numbers[1:]


def without_runs(table: Any) -> Any:
    """A table of columns with ``"each": [8, 8, 9]`` in place of ``"runs": [8, 2, 9, 1]``."""
    if isinstance(table, list):
        return [without_runs(part) for part in table]
    if not isinstance(table, dict):
        return table
    if not any(key in table for key in ("all", "each", "runs")):
        return {key: without_runs(part) for key, part in table.items()}
    column = {key: part for key, part in table.items() if key != "runs"}
    if "words" in column:
        column["words"] = without_runs(column["words"])
    if "runs" in table:
        pairs = zip(table["runs"][::2], table["runs"][1::2])
        column["each"] = [value for value, times in pairs for _ in range(times)]
    return column


def value_of(column: dict[str, Any], index: int) -> Any:
    """The value of a column at a place.

    A column is ``{"all": v}``, ``{"each": [...]}``, or ``{"values": [...], "each": places}`` with
    ``"words"`` in place of ``"values"`` where the values are texts made of words.
    """
    if "all" in column:
        return column["all"]
    value = column["each"][index]
    if "words" in column:
        words = ((name, value_of(part, value)) for name, part in column["words"])
        return " ".join(
            name if word is True else f"{name}={word}" for name, word in words if word is not None
        )
    return column["values"][value] if "values" in column else value


def object_of(table: dict[str, Any], index: int) -> dict[str, Any]:
    """The object that a table of columns, without runs, holds at a place."""
    result: dict[str, Any] = {}
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


def cases_of(record: dict[str, Any]) -> list[dict[str, Any]]:
    """All cases of a parsed record.json, in the order of the plan."""
    passed = []
    for table in record["passed"]:
        cases = without_runs(table["cases"])
        passed += [object_of(cases, index) for index in range(table["count"])]
    return sorted(record["cases"] + passed, key=lambda case: int(case["position"]))
