# SPDX-License-Identifier: MIT
"""Writes python/plumbline/operation_tables.py from docs/operations.md.

The page is written by the program's own test, so the package knows the operations that the program
has: PLUMBLINE_APPROVE=1 python -m pytest tests/python/test_operations.py
"""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = ROOT / "python/plumbline/operation_tables.py"

HEADER = '''# SPDX-License-Identifier: MIT
"""Fields, contract terms and tensors of the operations. Written from docs/operations.md by
tests/python/test_operations.py (PLUMBLINE_APPROVE=1 writes it again); do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Field:
    """A field of a problem: an integer, a real number, or one of some words."""

    kind: str  # "integer", "f32" or "word"
    words: tuple[str, ...]
    default: str | None  # None: it must be given
    meaning: str


@dataclass(frozen=True)
class Term:
    """A term of a contract."""

    values: tuple[str, ...]  # empty: an integer
    default: str | None  # None: it must be given
    settles: str


@dataclass(frozen=True)
class TensorRow:
    """A tensor of an operation, and the formats that it can have."""

    role: str  # "input" or "output"
    usual: str  # empty: none is usual; "{out}": that of the field
    formats: tuple[str, ...]
    shape: str
    optional: bool = False  # a kernel may lack it

    def sizes(self) -> list[str]:
        """The dimensions of ``shape``, outermost first, each as an expression."""
        return self.shape[1 : self.shape.index("]")].split(", ")


@dataclass(frozen=True)
class Operation:
    """An operation, as docs/operations.md describes it."""

    fields: dict[str, Field]
    terms: dict[str, Term]
    tensors: dict[str, TensorRow]


# fmt: off
OPERATIONS: dict[str, Operation] = {
'''


def rows(block, first):
    """The rows below the table head that begins with `first`, as lists of cells."""
    lines, inside = [], False
    for line in block.splitlines():
        if line.startswith(f"| {first} "):
            inside = True
        elif inside and not line.startswith("|"):
            break
        elif inside and not line.startswith("|---"):
            lines.append([cell.strip() for cell in line.strip("| \n").split(" | ")])
    return lines


def words(cell):
    return tuple(re.findall(r"`([^`]*)`", cell))


def page():
    """Operation, then (fields, terms, tensors)."""
    text = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
    for block in text.split("\n## ")[1:]:
        fields = {}
        for name, values, default, meaning in rows(block, "field"):
            kind = "word" if words(values) else values
            fields[name.strip("`")] = (
                kind, words(values), None if default == "must be given" else default.strip("`"), meaning)
        terms = {}
        for name, values, default, settles in rows(block, "term of its contract"):
            terms[name.strip("`")] = (
                words(values), None if default == "must be given" else default.strip("`"), settles)
        tensors = {}
        # A tensor without a usual format has an empty cell.
        for cells in rows(block.replace("|  |", "| - |"), "tensor"):
            name, role, shape, usual, formats = cells
            tensors[name.strip("`")] = (role, "" if usual == "-" else usual.strip("`"), words(formats), shape)
        yield block.splitlines()[0], fields, terms, tensors


def module():
    out = [HEADER]
    for name, fields, terms, tensors in page():
        out.append(f"    {name!r}: Operation(\n")
        for label, kind, table in (("fields", "Field", fields), ("terms", "Term", terms), ("tensors", "TensorRow", tensors)):
            out.append(f"        {label}={{\n")
            for key, values in table.items():
                out.append(f"            {key!r}: {kind}({', '.join(map(repr, values))}),\n")
            out.append("        },\n")
        out.append("    ),\n")
    return "".join(out) + "}\n"
