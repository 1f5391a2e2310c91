# SPDX-License-Identifier: MIT
"""Compiles a Triton submission for ``plumbline judge``, which runs this in its sandbox.

    python -m plumbline.submission submission.py tasks.json

The submission has one kernel under ``@plumbline.triton.computes``. What it computes, its formats
and its contract are those of the task, which is a list with one entry for each choice of formats.
Beside the PTX of every entry, chip and configuration, launches.json says the entry point, the
parameters and the launch of each: nothing else of a submission is believed.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import pathlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from .chips import chip_named
from .described import grid_of, workspace_of
from .errors import Error, InputError
from .triton import Verification, compiled_for, configurations
from .verification import described_of


def _described(path: pathlib.Path) -> Verification:
    spec = importlib.util.spec_from_file_location("submission", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["submission"] = module  # Triton looks sources up by it
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(f"{path.name} does not run: {type(error).__name__}: {error}") from error
    found = {id(value): value for value in vars(module).values()}
    kernels = [one for value in found.values() if (one := described_of(value)) is not None]
    if len(kernels) != 1:
        raise InputError(
            f"{path.name} has {len(kernels) or 'no'} kernel{'s' if kernels else ''} under "
            "@plumbline.triton.computes(...); it has to have one"
        )
    return kernels[0]


def _launches(
    path: pathlib.Path, described: Verification, number: int, task: Mapping[str, Any]
) -> list[dict[str, Any]]:
    wanted = dataclasses.replace(
        described,
        operation=task["computes"],
        formats=task.get("formats", {}),
        problem={
            name: value[0] if isinstance(value, list) and len(value) == 1 else value
            for name, value in task.get("problem", {}).items()
        },
        contract={},
        require=(),
        aligned=(),
        in_place=task.get("in_place", {}),
        wide_offsets=True,
    )
    wanted.resolve()
    found = []
    for place, (kernel, own) in enumerate(configurations(wanted.kernel, wanted.constants)):
        for chip in map(chip_named, task["targets"]):
            name = f"submission_{number}_{place}_{chip}"
            one = compiled_for(wanted, kernel, own, chip, name)
            if one.compiled.tensor_maps:
                raise InputError(
                    "a submission's descriptors are made in the kernel (tl.make_tensor_descriptor), "
                    "not by the host"
                )
            path.with_name(one.compiled.file).write_text(one.compiled.ptx, encoding="utf-8")
            found.append(
                {
                    "task": number,
                    "ptx": one.compiled.file,
                    "target": str(one.compiled.target),
                    "entry": one.compiled.entry,
                    "parameters": list(one.compiled.parameters),
                    "grid": (grid := grid_of(wanted, one.arguments, one.constants)),
                    "block": list(one.compiled.block),
                    "shared": one.compiled.shared,
                    **workspace_of(one.compiled, grid),
                }
            )
    return found


def launches(path: pathlib.Path, tasks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Compiles, and says of every task, configuration and chip how it is launched."""
    described = _described(path)
    return [
        launch
        for number, task in enumerate(tasks)
        for launch in _launches(path, described, number, task)
    ]


def main() -> int:
    path, tasks = map(pathlib.Path, sys.argv[1:3])
    try:
        found = launches(path, json.loads(tasks.read_text(encoding="utf-8")))
    except Error as error:
        print(f"plumbline: {error}", file=sys.stderr)
        return 3
    path.with_name("launches.json").write_text(json.dumps(found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
