# SPDX-License-Identifier: MIT
"""Operations that a text says (docs/operation_texts.md), next to those that are built in."""

from __future__ import annotations

import functools
import json
import os
import pathlib
import tempfile

from . import program
from .errors import InputError, error_of, nearest
from .operation_tables import OPERATIONS, Field, Operation, TensorRow, Term


class Text(str):
    """The name of an operation that a text says: "silu_and_mul.op"."""

    row: Operation
    source: str

    def __new__(cls, name: str, row: Operation, source: str) -> Text:
        text = super().__new__(cls, f"{name}.op")
        text.row = row
        text.source = source
        return text


def operation_of(operation: str | os.PathLike[str]) -> str:
    """The name of a built-in operation, or the text that a file or a string holds."""
    if isinstance(operation, Text):
        return operation
    name = os.fspath(operation)
    if name in OPERATIONS:
        return name
    if "\n" in name or name.startswith("operation "):
        return _read(name, None)
    if name.endswith(".op"):
        path = pathlib.Path(name)
        try:
            return _read(path.read_text(encoding="utf-8"), path.stem)
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"the text {name} cannot be read: {error}") from error
    raise InputError(
        f"there is no operation {name!r}{nearest(name, OPERATIONS)}; there are "
        f"{', '.join(OPERATIONS)}, and texts: a file \"mine.op\", or its lines"
    )


def row_of(operation: str) -> Operation:
    """Fields, contract terms and tensors of an operation."""
    return operation.row if isinstance(operation, Text) else OPERATIONS[operation]


def main_output(operation: str) -> str:
    """The output that is meant where one is given: not a tensor that is written over, nor a
    result on the way."""
    tensors = row_of(operation).tensors
    outputs = [name for name, tensor in tensors.items() if tensor.role == "output"]
    over = {f"{name}_out" for name, tensor in tensors.items() if tensor.role == "input"}
    own = [name for name in outputs if name not in over]
    for usual in ("y", "d", "o"):
        if usual in own:
            return usual
    return (own or outputs)[0]


def file_stem(operation: str) -> str:
    """What a manifest of the operation is called."""
    return operation.removesuffix(".op") if isinstance(operation, Text) else operation


# Of several operations the one that is called like the file; of a string the last.
@functools.lru_cache(maxsize=64)
def _read(source: str, stem: str | None) -> Text:
    with tempfile.TemporaryDirectory(prefix="plumbline-") as folder:
        file = pathlib.Path(folder) / f"{stem or 'text'}.op"
        file.write_text(source, encoding="utf-8")
        ended = program.run(["list", "text", file, "--format", "json"])
        if ended.exit_code != 0:
            raise error_of(ended.exit_code, ended.complaint.replace(f"{folder}/", ""))
    described = json.loads(ended.output)["operations"]
    names = [one["name"] for one in described]
    if not names:
        raise InputError("the text says no operation")
    name = stem if stem in names else names[-1] if stem is None or len(names) == 1 else None
    if name is None:
        raise InputError(f"of the operations {', '.join(names)} none is called {stem}")
    one = described[names.index(name)]
    return Text(
        name,
        Operation(
            fields={
                f["name"]: Field(f["kind"], tuple(f["words"]), f["default"], f["meaning"])
                for f in one["fields"]
            },
            terms={
                t["name"]: Term(tuple(t["words"]), t["default"], t["meaning"])
                for t in one["terms"]
            },
            tensors={
                t["name"]: TensorRow(
                    t["role"], t["usual"], tuple(t["formats"]), t["shape"], t["optional"]
                )
                for t in one["tensors"]
            },
        ),
        source if source.endswith("\n") else source + "\n",
    )
