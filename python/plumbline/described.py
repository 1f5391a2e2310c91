# SPDX-License-Identifier: MIT
"""The manifest of a kernel whose PTX is there, of what its caller says about it."""

from __future__ import annotations

import inspect
import os
import pathlib
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .errors import InputError
from .manifest import toml_table, toml_value
from .texts import Text, main_output, operation_of, row_of

Grid = str | int | Sequence[str | int] | Callable[..., Any]


class Expression:
    """A manifest's expression, built by the operators of Python: for grids that are functions."""

    def __init__(self, text: str) -> None:
        self.text = text

    def _with(self, sign: str, other: Any, turned: bool = False) -> Expression:
        own, other = f"({self})", f"({other})" if isinstance(other, Expression) else str(other)
        return Expression(f"{other} {sign} {own}" if turned else f"{own} {sign} {other}")

    def __add__(self, other: Any) -> Expression:
        return self._with("+", other)

    def __radd__(self, other: Any) -> Expression:
        return self._with("+", other, True)

    def __sub__(self, other: Any) -> Expression:
        return self._with("-", other)

    def __rsub__(self, other: Any) -> Expression:
        return self._with("-", other, True)

    def __mul__(self, other: Any) -> Expression:
        return self._with("*", other)

    def __rmul__(self, other: Any) -> Expression:
        return self._with("*", other, True)

    def __floordiv__(self, other: Any) -> Expression:
        return self._with("/", other)

    def __rfloordiv__(self, other: Any) -> Expression:
        return self._with("/", other, True)

    def __mod__(self, other: Any) -> Expression:
        return self._with("%", other)

    def _compared(self, *_: object) -> bool:
        raise InputError(
            f"the grid compares {self}, which is not a number here: write it as a manifest's "
            'expression, for example "min(m, 132)"'
        )

    __bool__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _compared
    __hash__ = object.__hash__

    def __str__(self) -> str:
        return self.text


@dataclass(kw_only=True)
class Described:
    """What a manifest needs beside the PTX. Arguments are those of the kernel, each a tensor, an
    expression of the problem, or a number."""

    operation: str  # a text is read by resolve(): what is kept is its name
    grid: Grid
    arguments: Mapping[str, Any] = field(default_factory=dict)
    formats: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)
    contract: Mapping[str, Any] = field(default_factory=dict)
    problem: Mapping[str, Any] = field(default_factory=dict)
    require: Sequence[str] = ()
    aligned: Sequence[str] = ()
    in_place: Mapping[str, str] = field(default_factory=dict)
    zeroed: Sequence[str] = ()
    wide_offsets: bool = False

    def resolve(self) -> None:
        """Reads the operation, if it is a text: that runs the program."""
        self.operation = operation_of(self.operation)

    def write_text(self, folder: pathlib.Path) -> None:
        """Puts the operation's text beside the manifest, if it is one."""
        if isinstance(self.operation, Text):
            write_file(folder / self.operation, self.operation.source)


def write_file(path: pathlib.Path, text: str) -> None:
    """Writes a file that others may be reading: they see it as it was or as it is."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as file:
        file.write(text)
    os.replace(file.name, path)


@dataclass(kw_only=True)
class Compiled:
    """A kernel's PTX, and how it is launched."""

    file: str
    summary: str
    ptx: str
    target: int | str
    entry: str
    parameters: Sequence[str]
    block: Sequence[int]
    shared: int
    scratch: int = 0  # bytes of global memory for each block, the tensor workspace
    tensor_maps: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    rules: Sequence[tuple[str, str]] = ()  # which problems it takes, and why


def is_real(operation: str, expression: Any) -> bool:
    if isinstance(expression, float):
        return True
    names = re.findall(r"[a-z_]\w*", str(expression))
    fields = row_of(operation).fields
    return any(name in fields and fields[name].kind == "f32" for name in names)


def formats_of(wanted: Described, arguments: Mapping[str, Any]) -> dict[str, str]:
    row = row_of(wanted.operation)
    formats: dict[str, str] = {}
    out = main_output(wanted.operation)
    meant = set(map(str, arguments.values()))
    for name, tensor in row.tensors.items():
        if tensor.optional and name not in meant and name not in wanted.formats:
            continue  # of a text: the kernel lacks it
        usual = tensor.usual
        if usual.startswith("{"):
            usual = wanted.formats.get(out, str(wanted.problem.get(usual.strip("{}"), "bf16")))
        if isinstance(wanted.operation, Text) and name.endswith("_out"):
            usual = formats.get(name.removesuffix("_out"), usual)  # a tensor that is written over
        formats[name] = wanted.formats.get(name) or usual or "bf16"
        if formats[name] not in tensor.formats:
            raise InputError(f"{name} cannot be {formats[name]}; it can be {', '.join(tensor.formats)}")
    for name in wanted.formats:
        if name not in row.tensors:
            raise InputError(f"{wanted.operation} has no tensor {name!r}")
    if not any(row.tensors.get(str(meant)) for meant in arguments.values()):
        raise InputError("no argument is a tensor of the operation")
    return formats


def manifest_of(
    wanted: Described,
    compiled: Compiled,
    arguments: Mapping[str, Any],
    constants: Mapping[str, Any],
    formats: Mapping[str, str],
) -> str:
    """The text of a manifest."""
    tensors = {str(meant) for meant in arguments.values() if meant in row_of(wanted.operation).tensors}
    threads = 1
    for size in compiled.block:
        threads *= size
    contract = contract_of(wanted.operation, compiled.ptx, threads) | dict(wanted.contract)
    if "root" in row_of(wanted.operation).terms and "root" not in contract:
        raise InputError(
            f"{wanted.operation}'s contract has no word for this PTX, which has neither rsqrt.approx "
            "nor sqrt.rn: say the operation as a text, which leaves its functions open "
            "(docs/triton.md, \"Norms\"), or give contract={\"root\": ...}"
        )
    head: dict[str, Any] = {
        "computes": wanted.operation,
        "summary": compiled.summary,
        "ptx": compiled.file,
        "targets": [compiled.target],
        "entry": compiled.entry,
        "parameters": list(compiled.parameters),
    }
    if wanted.in_place:
        head["in_place"] = dict(wanted.in_place)
    if wanted.zeroed:
        head["zeroed"] = list(wanted.zeroed)
    grid = grid_of(wanted, arguments, constants)
    head |= workspace_of(compiled, grid)
    launch = {
        "grid": grid,
        "block": list(compiled.block),
        "shared": compiled.shared,
    }
    parts = [
        "\n".join(f"{key} = {toml_value(value)}" for key, value in head.items()) + "\n",
        *(toml_table(f"tensor_map.{name}", table) for name, table in compiled.tensor_maps.items()),
        toml_table("problem", _problem(wanted, arguments, compiled.parameters, tensors, formats)),
        toml_table("launch", launch),
        toml_table("formats", formats),
    ]
    built = [*_alignment_rules(wanted, arguments), *(_with_constants(r, constants) for r in wanted.require)]
    rules = [
        *((rule, OFFSETS) for rule in offset_rules(wanted, compiled.parameters)),
        *dict.fromkeys(compiled.rules),
        *((rule, "the kernel was compiled for this") for rule in built),
    ]
    for rule, reason in rules:
        parts.append(toml_table("[domain]", {"require": rule, "reason": reason}))
    parts.append(toml_table("contract", contract))
    return "\n".join(parts)


def workspace_of(compiled: Compiled, grid: Sequence[str | int]) -> dict[str, str]:
    """The key of a manifest for a kernel that has scratch memory: elements of 4 bytes."""
    if compiled.scratch == 0:
        return {}
    blocks = " * ".join(f"({part})" for part in grid)
    return {"workspace": f"{blocks} * {-(-compiled.scratch // 4)}"}


def contract_of(operation: str, ptx: str, block: int) -> dict[str, Any]:
    contract: dict[str, Any] = {}
    terms = row_of(operation).terms
    is_text = isinstance(operation, Text)
    if "unit" in terms or operation in ("gemm", "grouped_gemm"):
        for word, unit in (("wgmma.mma_async", "wgmma"), ("tcgen05.mma", "tcgen05"), ("mma.sync", "mma.sync")):
            if word in ptx:
                contract["unit"] = unit + (".block_scale" if ".block_scale" in ptx else "")
                break
        else:
            if not is_text:
                contract["unit"] = "fma.f32"
    if operation in ("gemm", "grouped_gemm"):
        contract["epilogue"] = []
    if "lanes" in terms and not is_text:
        contract["lanes"] = block
    if "root" in terms:
        if "rsqrt.approx" in ptx:
            contract["root"] = "rsqrt.approx"
        elif "sqrt.rn" in ptx:
            contract["root"] = "1 / sqrt"
    if operation == "softmax":
        contract["exponential"] = "ex2.approx.ftz" if "ex2.approx.ftz" in ptx else "ex2.approx"
        contract["normalize"] = "div.full" if "div.full" in ptx else "quotient"
    return contract


def _problem(
    wanted: Described,
    arguments: Mapping[str, Any],
    parameters: Sequence[str],
    tensors: set[str],
    formats: Mapping[str, str],
) -> dict[str, Any]:
    row = row_of(wanted.operation)
    result: dict[str, Any] = {}
    free = []
    used = set(re.findall(r"[a-z_]\w*", " ".join([*map(str, arguments.values()), *parameters])))
    for name, entry in row.fields.items():
        if name in wanted.problem:
            value = wanted.problem[name]
            result[name] = list(value) if isinstance(value, (list, tuple)) else [value]
        elif entry.kind == "word" and name in row.tensors:
            # It says which format the tensor has, or how it lies, or that there is none.
            is_there = name in tensors or "none" not in entry.words
            if not is_there:
                result[name] = ["none"]
            elif formats[name] in entry.words:
                result[name] = [formats[name]]
            elif entry.default == "none":
                ways = " or ".join(f'problem={{"{name}": "{word}"}}' for word in entry.words if word != "none")
                raise InputError(f"{name} is an argument, so the problem has to say of what: {ways}")
        elif name == "in":
            result[name] = [formats["x"]]
        elif name == "out" and not isinstance(wanted.operation, Text):
            result[name] = [formats[main_output(wanted.operation)]]
        elif name == "statistics":
            result[name] = ["stored" if {"rstd", "mean"} & tensors else "none"]
        elif name == "lse" and "lse" not in tensors:
            result[name] = ["none"]
        elif entry.kind != "word" and entry.default is not None:
            stride = f"ld_{name.removeprefix('pad_')}" if name.startswith("pad_") else f"ld_{name[2:]}"
            if name in used or name.startswith(("ld", "pad_")) and stride in used:
                free.append(name)
    if free or "free" in wanted.problem:
        result["free"] = list(wanted.problem.get("free", free))
    return result


OFFSETS = "offsets may have 32 bits; with wide_offsets=True problems need more"


def offset_rules(wanted: Described, parameters: Sequence[str]) -> list[str]:
    """Leading dimensions of 32 bits: a kernel may multiply them by a row in 32 bits."""
    if wanted.wide_offsets:
        return []
    rules = []
    rows = {"a": "m", "b": "k", "c": "m", "d": "m"} if wanted.operation == "gemm" else {}
    layout = str(wanted.problem.get("layout", "nn"))
    if wanted.operation == "gemm" and len(layout) == 2:
        rows["a"], rows["b"] = "mk"["nt".index(layout[0])], "kn"["nt".index(layout[1])]
    for parameter in dict.fromkeys(parameters):
        match = re.fullmatch(r"[su]32 ld_(\w+)", parameter)
        meant = parameter.split()[-1]
        if match and isinstance(wanted.operation, Text):
            sizes = row_of(wanted.operation).tensors[match[1]].sizes()
            rows_of = [f"({size.replace('//', '/')})" for size in sizes[:-1]]
            rules.append(f"{' * '.join([*rows_of, meant])} <= 2147483647")
        elif match and "m" in row_of(wanted.operation).fields:
            rules.append(f"{rows.get(match[1], 'm')} * {meant} <= 2147483647")
    return rules


def _alignment_rules(wanted: Described, arguments: Mapping[str, Any]) -> list[str]:
    rules = []
    for name in wanted.aligned:
        if name not in arguments:
            raise InputError(f"aligned: there is no argument {name!r}")
        rules.append(f"{arguments[name]} % 16 == 0")
    return rules


def _with_constants(expression: str, constants: Mapping[str, Any]) -> str:
    text = re.sub(r"\b(triton\.)?cdiv\(", "ceil_div(", expression)
    return re.sub(
        r"\b[A-Za-z_]\w*\b", lambda m: str(constants[m[0]]) if m[0] in constants else m[0], text
    )


def grid_of(
    wanted: Described, arguments: Mapping[str, Any], constants: Mapping[str, Any]
) -> list[str | int]:
    """The blocks of a launch along each axis, as a manifest's expressions."""
    grid = wanted.grid
    if callable(grid):
        known: dict[str, Any] = {
            name: Expression(name)
            for name, entry in row_of(wanted.operation).fields.items()
            if entry.kind == "integer"
        }
        for name, meant in arguments.items():
            known[name] = Expression(str(meant))
        known.update(constants)
        launched = {name: known[name] for name in (*arguments, *constants)}  # as Triton has it
        known.update(META=launched, meta=launched)
        parameters = list(inspect.signature(grid).parameters)
        if len(parameters) == 1 and parameters[0] not in known:
            known[parameters[0]] = launched
        unknown = [name for name in parameters if name not in known]
        if unknown:
            raise InputError(
                f"the grid's parameter {unknown[0]!r} is neither an argument, a constant nor a size"
            )
        try:
            grid = grid(*(known[name] for name in parameters))
        except InputError:
            raise
        except Exception as error:
            raise InputError(
                f"the grid function raised {type(error).__name__}: {error}. Sizes are expressions in "
                "it, not numbers; as a text a grid is, for example, [\"cdiv(m, 64)\", 1]"
            ) from error
    if isinstance(grid, (str, int, Expression)):
        grid = [grid]
    if not isinstance(grid, Iterable):
        raise InputError(f"grid={grid!r} is no grid: give blocks along each axis, [\"cdiv(m, 64)\", 1]")
    return [
        part if isinstance(part, int) else _with_constants(str(part), constants) for part in grid
    ]
