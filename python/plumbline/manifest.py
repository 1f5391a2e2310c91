# SPDX-License-Identifier: MIT
"""Manifests (docs/manifest.md): TOML, and the one of a kernel of which only the contract is known."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from typing import Any

from .chips import Chip
from .errors import InputError
from .operations import Problem, field_text
from .texts import row_of

Contract = Mapping[str, Any]

# Operations whose contract is that of sums of products; all of its keys are in docs/manifest.md.
_SUMS = ("gemm", "grouped_gemm", "linear_backward")


def toml_value(value: Any) -> str:
    """A value as TOML has it; tables are inline."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {toml_value(v)}" for k, v in value.items()) + " }"
    raise InputError(f"{value!r} has no place in a manifest: texts, numbers, lists and dicts have")


def toml_table(name: str, table: Mapping[str, Any]) -> str:
    """A table with a line for each key."""
    lines = [f"[{name}]", *(f"{_key(key)} = {toml_value(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def _key(text: str) -> str:
    return text if re.fullmatch(r"[A-Za-z0-9_-]+", text) else json.dumps(text)


def contract_only(problem: Problem, chip: Chip, contract: Contract) -> str:
    """The manifest that ``plumbline check`` takes for outputs that were computed elsewhere."""
    row = row_of(problem.operation)
    words: dict[str, Any] = {}
    free = []
    for name, field in row.fields.items():
        if name not in problem.fields or field.default is None:
            continue
        text = field_text(problem.fields[name])
        if text == field.default:
            continue
        if field.kind == "word":
            words[name] = [text]
        else:
            free.append(name)
    formats = {}
    for name, tensor in row.tensors.items():
        given = problem.tensor(name)
        if given is not None:
            formats[name] = given.format
        elif not tensor.usual and not tensor.optional:
            formats[name] = problem.outputs["d"].tensor.format if name == "c" else "bf16"
    head = {
        "computes": problem.operation,
        "summary": f"{problem.operation}, as it was called from Python",
        "ptx": "elsewhere.ptx",
        "targets": [chip.target],
        "entry": "elsewhere",
        "parameters": [],
    }
    return "\n".join(
        [
            "\n".join(f"{key} = {toml_value(value)}" for key, value in head.items()) + "\n",
            toml_table("launch", {"grid": [1], "block": [1]}),
            toml_table("problem", {**words, **({"free": free} if free else {})}),
            toml_table("formats", formats),
            toml_table("contract", contract),
        ]
    )


def contract_of(problem: Problem, chip: Chip, given: Contract | None) -> dict[str, Any]:
    """What was promised: what the caller says, and of sums of products what is usual."""
    if given is not None and not isinstance(given, Mapping):
        raise InputError(f"contract={given!r} is no dict of terms")
    contract: dict[str, Any] = dict(given or {})
    operation = problem.operation
    terms = row_of(operation).terms
    if operation in _SUMS:
        _usual_sums(problem, chip, contract)
    elif "unit" in terms and terms["unit"].default is None:
        contract.setdefault("unit", chip.unit_of(problem.inputs[next(iter(problem.inputs))].format))
    for name in contract:
        if name not in terms and (meant := difflib.get_close_matches(name, list(terms), 1)):
            raise InputError(f'contract: "{name}" is no term here. Did you mean "{meant[0]}"?')
    missing = [name for name, term in terms.items() if term.default is None and name not in contract]
    if missing:
        example = ", ".join(
            f'"{name}": "{terms[name].values[0]}"' if terms[name].values else f'"{name}": 128'
            for name in missing
        )
        lines = [
            f"{operation} needs contract=, the arithmetic that the kernel promises. "
            f"{'These terms have' if len(missing) > 1 else 'This term has'} no default:"
        ]
        for name in missing:
            choices = " or ".join(f'"{value}"' for value in terms[name].values)
            if not choices:
                choices = "an integer, the kernel's own"
                choices += "; 1 admits every order of additions" if name == "lanes" else ""
            lines.append(f"  {name}: {terms[name].settles} ({choices})")
        lines.append(f"For example contract={{{example}}}; docs/operations.md has all terms")
        raise InputError("\n".join(lines))
    return contract


def _usual_sums(problem: Problem, chip: Chip, contract: dict[str, Any]) -> None:
    left, right = (
        problem.inputs[name].format
        for name in (("dy", "w") if problem.operation == "linear_backward" else ("a", "b"))
    )
    contract.setdefault("unit", "int32" if {left, right} <= {"s8", "u8"} else chip.unit_of(left))
    contract.setdefault("epilogue", [])
    # Scales of blocks of k can only be applied to the sums of blocks.
    block = {"1x128": 128, "1x32": 32}.get(str(problem.fields.get("scale_a")))
    block = block or {"128x128": 128, "32x1": 32}.get(str(problem.fields.get("scale_b")))
    if block and problem.operation == "gemm" and "schedule" not in contract:
        contract["schedule"] = "promote"
        contract.setdefault("interval", block)
        contract.setdefault("promotion", "scaled")
    if problem.operation == "linear_backward":
        contract.setdefault("db", {"unit": "fma.f32", "schedule": "any", "epilogue": []})
    act = problem.fields.get("act", "none")
    if act not in ("none", "relu") and not any(
        str(step).startswith(f"{act} ") for step in contract["epilogue"]
    ):
        ways = {
            "gelu": ["gelu erff"],
            "gelu_tanh": [
                "gelu_tanh tanhf", "gelu_tanh tanh.approx", "gelu_tanh expf", "gelu_tanh ex2.approx",
            ],
            "silu": ["silu expf", "silu ex2.approx", "silu tanh.approx"],
        }[str(act)]
        choices = " or ".join(f'contract={{"epilogue": ["{way}"]}}' for way in ways)
        raise InputError(f'act="{act}" needs what the function is computed with: {choices}')
