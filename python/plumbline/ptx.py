# SPDX-License-Identifier: MIT
"""Kernels whose PTX another program makes: NVRTC, cuda.core, CuTe DSL, nvcc (docs/python.md, "PTX")."""

from __future__ import annotations

import os
import pathlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from .described import Compiled, Described, Grid, formats_of, is_real, manifest_of
from .errors import InputError
from .report import Report
from .texts import row_of

_SCALARS = {"u32": "s32", "s32": "s32", "b32": "s32", "u64": "s64", "s64": "s64", "b64": "s64", "f32": "f32"}


def verify_ptx(
    ptx: str | bytes | os.PathLike[str],
    operation: str | os.PathLike[str],
    *,
    arguments: Sequence[str | int | float],
    grid: Grid,
    block: int | Sequence[int] | None = None,
    shared: int = 0,
    entry: str = "",
    formats: Mapping[str, str] | None = None,
    contract: Mapping[str, Any] | None = None,
    problem: Mapping[str, Any] | None = None,
    require: Sequence[str] = (),
    in_place: Mapping[str, str] | None = None,
    zeroed: Sequence[str] = (),
    wide_offsets: bool = False,
    name: str = "",
    folder: str | os.PathLike[str] = "plumbline-out/ptx",
    **options: Any,
) -> Report:
    """Verifies a kernel by its PTX: the text, as a program returns it, or a file.

    operation: what it computes: "gemm", "softmax", ... (docs/operations.md), or a text that says
        it: a file "mine.op", or its lines (docs/operation_texts.md).
    arguments: what each parameter of the entry is, in order: a tensor ("x"), an expression of the
        problem ("n", "ld_a"), or a number.
    grid, block: blocks and threads, as numbers or expressions ("cdiv(m, 64)"); a block that the
        PTX requires (.reqntid) may be left out. shared: bytes of dynamic shared memory.
    entry: which entry, where the text has several.
    formats: of tensors: ``{"x": "f32"}``; bf16 if left out, or what is usual.
    contract, problem: terms and fields for the manifest, beside those that the PTX shows.
    require: what problems have to fulfill: ``"n <= 1024"``.
    in_place: outputs that the kernel writes over an input: ``{"dx": "dy"}``.
    zeroed: outputs that are 0 before a launch, as what atomics add to is: ``["d"]``.
    wide_offsets: also problems in which rows times a leading dimension of 32 bits exceed 2^31 - 1,
        where a kernel that works offsets out in 32 bits fails.
    name, folder: of the manifest that is written.
    options: those of ``plumbline.verify``.
    """
    from .verification import verify

    text = _text_of(ptx)
    found, parameters = _entry_of(text, entry)
    if len(parameters) != len(arguments):
        raise InputError(
            f"{found} has {len(parameters)} parameters ({', '.join(parameters) or 'none'}), "
            f"and arguments= says what {len(arguments)} of them are"
        )
    meant = {f"parameter {place}": argument for place, argument in enumerate(arguments)}
    wanted = Described(
        operation=os.fspath(operation),
        grid=grid,
        arguments=meant,
        formats=formats or {},
        contract=contract or {},
        problem=problem or {},
        require=require,
        in_place=in_place or {},
        zeroed=zeroed,
        wide_offsets=wide_offsets,
    )
    wanted.resolve()
    target = _target_of(text)
    name = name or re.sub(r"\W+", "_", found)[:60]
    place = pathlib.Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{name}.ptx").write_text(text, encoding="utf-8")
    wanted.write_text(place)
    compiled = Compiled(
        file=f"{name}.ptx",
        summary=f"{found}, from Python",
        ptx=text,
        target=target,
        entry=found,
        parameters=[
            _parameter(wanted.operation, of_type, argument, index)
            for index, (of_type, argument) in enumerate(zip(parameters, arguments, strict=True))
        ],
        block=_block_of(text, block),
        shared=shared,
    )
    manifest = place / f"{name}.toml"
    manifest.write_text(
        manifest_of(wanted, compiled, meant, {}, formats_of(wanted, meant)), encoding="utf-8"
    )
    options.setdefault("on", "emulator")
    return verify(manifest, **options)


def _text_of(ptx: str | bytes | os.PathLike[str]) -> str:
    if isinstance(ptx, bytes):
        ptx = ptx.decode("utf-8", "replace")
    if not isinstance(ptx, str) or ("\n" not in ptx and ptx.endswith(".ptx")):
        try:
            ptx = pathlib.Path(ptx).read_text(encoding="utf-8")
        except OSError as error:
            raise InputError(f"{ptx}: {error.strerror}") from error
    text = ptx.rstrip("\0")  # NVRTC's ends with one
    if ".version" not in text:
        raise InputError(
            "this is no PTX: it has no .version. nvcc -ptx, NVRTC and Triton write it; of a .cu file "
            "`plumbline init` drafts a manifest, which plumbline.verify takes"
        )
    return text


# The name of an entry and the types of its parameters.
def _entry_of(text: str, wanted: str) -> tuple[str, list[str]]:
    entries = {
        match[1]: re.findall(r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)", match[2] or "")
        for match in re.finditer(r"\.entry\s+([\w$]+)\s*(?:\(([^)]*)\))?", text)
    }
    if not entries:
        raise InputError("the PTX has no .entry")
    if wanted:
        if wanted not in entries:
            raise InputError(f"there is no entry {wanted!r}; there is {', '.join(entries)}")
        return wanted, entries[wanted]
    if len(entries) > 1:
        raise InputError(f"entry= has to say which of these it is: {', '.join(entries)}")
    return next(iter(entries.items()))


def _parameter(operation: str, of_type: str, argument: str | int | float, place: int) -> str:
    if argument in row_of(operation).tensors:
        return f"ptr {argument}"
    if of_type not in _SCALARS:
        raise InputError(
            f"parameter {place} is a .{of_type}: a manifest describes structures (docs/manifest.md)"
        )
    if is_real(operation, argument) != (of_type == "f32"):
        raise InputError(f"parameter {place} is a .{of_type}, which {argument} is not")
    return f"{_SCALARS[of_type]} {argument}"


def _target_of(text: str) -> int | str:
    match = re.search(r"\.target\s+sm_(\d+)([af]?)", text)
    if match is None:
        raise InputError("the PTX has no .target")
    return match[1] + match[2] if match[2] else int(match[1])


def _block_of(text: str, block: int | Sequence[int] | None) -> list[int]:
    if block is not None:
        return [block] if isinstance(block, int) else list(block)
    match = re.search(r"\.reqntid\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?", text)
    if match is None:
        raise InputError("block= has to say how many threads a block has")
    return [int(size) for size in match.groups() if size is not None]
