# SPDX-License-Identifier: MIT
"""Triton kernels, compiled for each chip without a GPU and verified (docs/python.md, "Triton").

What a manifest needs beside the PTX is the operation, what each argument is, and the grid. What an
argument is, is guessed by its name where the caller does not say it, and printed.
"""

from __future__ import annotations

import importlib
import inspect
import pathlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from .chips import Chip, chip_named
from .errors import CannotRun, InputError
from .manifest import toml_table, toml_value
from .operation_tables import OPERATIONS
from .report import Report

Grid = str | int | Sequence[str | int] | Callable[..., Any]

_POINTERS = {
    "bf16": "*bf16",
    "f16": "*fp16",
    "f32": "*fp32",
    "e4m3": "*fp8e4nv",
    "e5m2": "*fp8e5",
    "s8": "*i8",
    "u8": "*u8",
    "s32": "*i32",
}

# Names of arguments, in lower case and without "ptr", and the tensors that they are, the first
# that the operation has and no other argument is.
_TENSOR_NAMES = {
    "in": ("x",),
    "input": ("x",),
    "output": ("y", "d", "o"),
    "out": ("y", "d", "o"),
    "c": ("d", "c"),
    "w": ("gamma", "b"),
    "weight": ("gamma", "b"),
    "dw": ("dgamma", "dw"),
    "db": ("dbeta", "db"),
    "b": ("b", "beta"),
    "bias": ("bias", "beta"),
    "dout": ("dy", "do"),
    "grad_output": ("dy",),
    "grad_input": ("dx",),
    "l": ("lse",),
}
_SIZE_NAMES = {
    "n_rows": "m",
    "rows": "m",
    "num_rows": "m",
    "n_cols": "n",
    "cols": "n",
    "n_columns": "n",
    "columns": "n",
    "num_cols": "n",
}
# The leading dimension of a tensor that holds the name.
_ROW_STRIDE = re.compile(
    r"(?:(?P<a>\w+?)_)?(?:row_)?stride(?:_(?P<b>\w+?)(?:_row)?)?|ld_?(?P<c>\w+)"
)


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

    def __bool__(self) -> bool:
        raise InputError(
            f"the grid compares {self}, which is not a number here: write it as a manifest's "
            'expression, for example "min(m, 132)"'
        )

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Exported:
    """The files of one compiled kernel."""

    manifest: pathlib.Path
    chip: Chip
    notes: tuple[str, ...]  # what was guessed


@dataclass
class Verification:
    """A Triton kernel with what a manifest needs to know of it."""

    kernel: Any
    operation: str
    grid: Grid
    arguments: Mapping[str, Any] = field(default_factory=dict)
    formats: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)
    contract: Mapping[str, Any] = field(default_factory=dict)
    problem: Mapping[str, Any] = field(default_factory=dict)
    require: Sequence[str] = ()
    aligned: Sequence[str] = ()
    num_warps: int = 4
    num_stages: int | None = None

    def export(self, folder: str | pathlib.Path, chips: Iterable[str | int]) -> list[Exported]:
        """Compiles for each chip, and for each configuration of an autotuned kernel."""
        target = pathlib.Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        exported = []
        configurations = _configurations(self.kernel)
        for place, (kernel, own) in enumerate(configurations):
            for chip in map(chip_named, chips):
                suffix = f"_{place}" if len(configurations) > 1 else ""
                name = f"{kernel.__name__}{suffix}_{chip}"
                exported.append(_export(self, kernel, own, chip, target, name))
        return exported

    def verify(
        self,
        chips: Iterable[str | int] | str | int = ("sm_80", "sm_90"),
        *,
        folder: str | pathlib.Path = "plumbline-out/triton",
        show: bool = True,
        on: str = "emulator",
        **options: Any,
    ) -> Report:
        """Compiles, and runs the planned cases as ``plumbline.verify`` does with its options."""
        from .verification import verify

        if isinstance(chips, (str, int)):
            chips = [chips]
        exported = self.export(folder, chips)
        if show:
            for note in dict.fromkeys(note for export in exported for note in export.notes):
                print(f"plumbline: {note}")
            print(f"plumbline: manifests are in {pathlib.Path(folder)}")
        return verify([export.manifest for export in exported], on=on, **options)


def verify_triton(
    kernel: Any,
    operation: str,
    *,
    grid: Grid,
    chips: Iterable[str | int] | str | int = ("sm_80", "sm_90"),
    arguments: Mapping[str, Any] | None = None,
    formats: Mapping[str, str] | None = None,
    constants: Mapping[str, Any] | None = None,
    contract: Mapping[str, Any] | None = None,
    problem: Mapping[str, Any] | None = None,
    require: Sequence[str] = (),
    aligned: Sequence[str] = (),
    num_warps: int = 4,
    num_stages: int | None = None,
    **options: Any,
) -> Report:
    """Verifies a ``@triton.jit`` function, or every configuration of an autotuned one.

    operation: what it computes: "gemm", "softmax", ... (docs/operations.md).
    grid: blocks, as expressions over the problem (``"m"``, ``["cdiv(m, 64)", 1]``), or as the
        function that a launch would have: its parameters get constants, arguments and sizes by
        name, and META all constants.
    chips: what it is compiled for and emulated as.
    arguments: what arguments are, where their names do not tell: a tensor ("x"), an expression
        ("ld_a", "n"), or a number. An argument that is 1 is a constant, as in a launch.
    formats: of tensors: ``{"x": "f32"}``; bf16 if left out, or what is usual.
    constants: the ``tl.constexpr`` arguments.
    contract, problem: terms and fields for the manifest, beside those that the PTX shows.
    require: what problems have to fulfill: ``"n <= BLOCK_SIZE"``.
    aligned: integer arguments that 16 divides in every launch, which Triton compiles for.
    options: those of ``plumbline.verify``, and ``folder=`` and ``show=`` of the export.
    """
    return Verification(
        kernel,
        operation,
        grid,
        arguments or {},
        formats or {},
        constants or {},
        contract or {},
        problem or {},
        require,
        aligned,
        num_warps,
        num_stages,
    ).verify(chips, **options)


F = TypeVar("F")


def computes(operation: str, *, grid: Grid, **details: Any) -> Callable[[F], F]:
    """A decorator above ``@triton.jit`` that says what ``verify_triton`` is given otherwise.

    The kernel stays what it is. ``plumbline.verify(kernel, chips=[...])`` verifies it.
    """

    def attach(kernel: F) -> F:
        kernel.plumbline = Verification(kernel, operation, grid, **details)  # type: ignore[attr-defined]
        return kernel

    return attach


# ------------------------------------------------------------------------------------------------
# Compilation


def _triton() -> Any:
    try:
        return importlib.import_module("triton")
    except ImportError as error:
        raise CannotRun(f"Triton is missing (pip install triton): {error}") from error


# The functions to compile, each with the constants and options of its configuration.
def _configurations(kernel: Any) -> list[tuple[Any, dict[str, Any]]]:
    _triton()
    if hasattr(kernel, "configs"):  # an Autotuner
        inner = _configurations(kernel.fn)
        found = []
        for configuration in kernel.configs:
            own = dict(configuration.kwargs)
            own["num_warps"] = configuration.num_warps
            own["num_stages"] = configuration.num_stages
            found += [(function, before | own) for function, before in inner]
        return found
    if hasattr(kernel, "arg_names") and hasattr(kernel, "params"):
        return [(kernel, {})]
    if hasattr(kernel, "fn") and hasattr(kernel, "values"):
        raise InputError("triton.heuristics depend on arguments: give the kernel within, with constants=")
    raise InputError(f"{kernel!r} is not a @triton.jit function")


def _export(
    wanted: Verification,
    kernel: Any,
    own: Mapping[str, Any],
    chip: Chip,
    folder: pathlib.Path,
    name: str,
) -> Exported:
    if wanted.operation not in OPERATIONS:
        raise InputError(f"there is no operation {wanted.operation!r}; see docs/operations.md")
    constants: dict[str, Any] = {**own, **wanted.constants}
    options = {
        "num_warps": constants.pop("num_warps", wanted.num_warps),
        "enable_fp_fusion": False,  # the PTX has to fix the bits
    }
    stages = constants.pop("num_stages", None) if "num_stages" not in kernel.arg_names else None
    stages = wanted.num_stages or own.get("num_stages") or stages
    if stages:
        options["num_stages"] = stages
    arguments, notes = _arguments(wanted, kernel, constants)
    formats = _formats(wanted, arguments)
    compiled, constants = _compile(wanted, kernel, arguments, constants, formats, chip, options)
    ptx = compiled.asm["ptx"]
    (folder / f"{name}.ptx").write_text(ptx, encoding="utf-8")
    manifest = folder / f"{name}.toml"
    manifest.write_text(
        _manifest(wanted, kernel, arguments, constants, formats, chip, compiled, name),
        encoding="utf-8",
    )
    return Exported(manifest, chip, tuple(notes))


def _compile(
    wanted: Verification,
    kernel: Any,
    arguments: Mapping[str, Any],
    constants: Mapping[str, Any],
    formats: Mapping[str, str],
    chip: Chip,
    options: Mapping[str, Any],
) -> tuple[Any, dict[str, Any]]:
    _triton()
    compiler = importlib.import_module("triton.compiler")
    target = importlib.import_module("triton.backends.compiler").GPUTarget("cuda", chip.sm, 32)
    constants = dict(constants)
    types: dict[str, str] = {}
    alignment: dict[tuple[int, ...], list[list[Any]]] = {}
    for place, name in enumerate(kernel.arg_names):
        if name not in arguments:
            types[name] = "constexpr"
            continue
        meant = arguments[name]
        if meant is None or meant == 1 and isinstance(meant, int):
            types[name] = "constexpr"
            constants[name] = meant
        elif meant in OPERATIONS[wanted.operation].tensors:
            types[name] = _POINTERS[formats[meant]]
            alignment[(place,)] = [["tt.divisibility", 16]]
        else:
            types[name] = "fp32" if _is_real(wanted.operation, meant) else "i32"
            if name in wanted.aligned:
                alignment[(place,)] = [["tt.divisibility", 16]]
    try:
        source = compiler.ASTSource(kernel, types, constants, alignment)
        return _triton().compile(source, target=target, options=dict(options)), constants
    except Exception as error:
        raise CannotRun(f"Triton does not compile {kernel.__name__} for {chip}: {error}") from error


def _is_real(operation: str, expression: Any) -> bool:
    if isinstance(expression, float):
        return True
    names = re.findall(r"[a-z_]\w*", str(expression))
    fields = OPERATIONS[operation].fields
    return any(name in fields and fields[name].kind == "f32" for name in names)


# What every argument is that is not a constant, and a line about each guess.
def _arguments(
    wanted: Verification, kernel: Any, constants: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    operation = OPERATIONS[wanted.operation]
    found: dict[str, Any] = {}
    guessed: list[str] = []
    unknown = [name for name in wanted.arguments if name not in kernel.arg_names]
    if unknown:
        raise InputError(
            f"{kernel.__name__} has no argument {unknown[0]!r}; it has {', '.join(kernel.arg_names)}"
        )
    variables = [
        param.name
        for param in kernel.params
        if not param.is_constexpr and param.name not in constants
    ]
    for name in variables:
        if name in wanted.arguments:
            found[name] = wanted.arguments[name]
    taken = set(map(str, found.values()))
    missing = []
    for name in variables:
        if name in found:
            continue
        meant = _guess(wanted.operation, name, variables, taken, str(wanted.problem.get("layout", "")))
        if meant is None:
            missing.append(name)
            continue
        found[name] = meant
        if meant in operation.tensors:
            taken.add(str(meant))
        guessed.append(f"{name} is {meant}")
    if missing:
        raise InputError(
            f"{kernel.__name__}: what is {' and what is '.join(missing)}? Say it with "
            f'arguments={{"{missing[0]}": ...}}: a tensor ({", ".join(operation.tensors)}), a size or '
            f"stride ({', '.join(n for n, f in operation.fields.items() if f.kind == 'integer')}, "
            "ld_...), or a number"
        )
    notes = [f"{kernel.__name__}: guessed by name that " + ", ".join(guessed)] if guessed else []
    return {name: found[name] for name in variables}, notes


def _guess(
    operation: str, name: str, variables: Sequence[str], taken: set[str], layout: str
) -> str | int | None:
    row = OPERATIONS[operation]
    plain = re.sub(r"^(ptr|p)_|_?(ptr|pointer)s?$", "", name.lower())
    is_pointer = plain != name.lower()
    stride = _stride(operation, name.lower(), layout)
    if stride is not None:
        return stride
    if plain in row.tensors or plain in _TENSOR_NAMES:
        lower = {re.sub(r"_?ptr$", "", other.lower()) for other in variables}
        # A GEMM's C is the result, unless there is a D.
        choices = _TENSOR_NAMES.get(plain, ()) if plain not in row.tensors else (plain,)
        if operation == "gemm" and plain == "c" and "d" not in lower:
            choices = ("d",)
        for choice in choices:
            if choice in row.tensors and choice not in taken:
                return choice
    if is_pointer:
        return None
    size = _SIZE_NAMES.get(plain, plain)
    return size if size in row.fields and row.fields[size].kind != "word" else None


# stride_am is the stride of A along m; input_row_stride, stride_x and ldx are leading dimensions.
def _stride(operation: str, name: str, layout: str) -> str | int | None:
    if operation == "gemm":
        match = re.fullmatch(r"stride_?([abcd])_?([mnk])", name)
        if match:
            tensor, axis = match[1], match[2]
            stored = dict(zip("ab", layout or "nn", strict=True)) | {"c": "n", "d": "n"}
            inner = {"a": "k", "b": "n", "c": "n", "d": "n"}[tensor]
            if stored[tensor] == "t":
                inner = {"a": "m", "b": "k"}[tensor]
            return 1 if axis == inner else f"ld_{'d' if tensor == 'c' else tensor}"
    match = _ROW_STRIDE.fullmatch(name)
    if not match:
        return None
    of = match["a"] or match["b"] or match["c"]
    if of is None:
        return "n" if "n" in OPERATIONS[operation].fields else None
    for tensor in (of, *_TENSOR_NAMES.get(of, ())):
        if f"ld{tensor}" in OPERATIONS[operation].fields:
            return f"ld_{'d' if operation == 'gemm' and tensor == 'c' else tensor}"
    return None


def _formats(wanted: Verification, arguments: Mapping[str, Any]) -> dict[str, str]:
    row = OPERATIONS[wanted.operation]
    formats: dict[str, str] = {}
    out = next((n for n, t in row.tensors.items() if t.role == "output"), "")
    for name, tensor in row.tensors.items():
        usual = tensor.usual
        if usual.startswith("{"):
            usual = wanted.formats.get(out, str(wanted.problem.get(usual.strip("{}"), "bf16")))
        formats[name] = wanted.formats.get(name) or usual or "bf16"
        if formats[name] not in tensor.formats:
            raise InputError(f"{name} cannot be {formats[name]}; it can be {', '.join(tensor.formats)}")
    for name in wanted.formats:
        if name not in row.tensors:
            raise InputError(f"{wanted.operation} has no tensor {name!r}")
    if not any(row.tensors.get(str(meant)) for meant in arguments.values()):
        raise InputError("no argument is a tensor of the operation")
    return formats


# ------------------------------------------------------------------------------------------------
# The manifest


def _manifest(
    wanted: Verification,
    kernel: Any,
    arguments: Mapping[str, Any],
    constants: Mapping[str, Any],
    formats: Mapping[str, str],
    chip: Chip,
    compiled: Any,
    name: str,
) -> str:
    row = OPERATIONS[wanted.operation]
    ptx: str = compiled.asm["ptx"]
    parameters = []
    for argument, meant in arguments.items():
        if argument in constants:
            continue
        if meant in row.tensors:
            parameters.append(f"ptr {meant}")
        else:
            parameters.append(f"{'f32' if _is_real(wanted.operation, meant) else 's32'} {meant}")
    entry = re.search(r"\.entry\s+(\w+)\s*\((.*?)\)", ptx, re.DOTALL)
    assert entry is not None
    # Pointers to scratch memory, which Triton adds.
    parameters += ["s64 0"] * (len(re.findall(r"\.param", entry[2])) - len(parameters))
    threads = re.search(r"\.reqntid\s+(\d+)", ptx)
    block = int(threads[1]) if threads else 32 * compiled.metadata.num_warps
    contract = _contract(wanted.operation, ptx, block) | dict(wanted.contract)
    tensors = {str(meant) for meant in arguments.values() if meant in row.tensors}
    rules = [*_rules(wanted, arguments), *(_with_constants(r, constants) for r in wanted.require)]
    head = {
        "computes": wanted.operation,
        "summary": f"{kernel.__name__}, from Triton",
        "ptx": f"{name}.ptx",
        "targets": [chip.target],
        "entry": entry[1],
        "parameters": parameters,
    }
    launch = {
        "grid": _grid(wanted, arguments, constants),
        "block": [block],
        "shared": compiled.metadata.shared,
    }
    parts = [
        "\n".join(f"{key} = {toml_value(value)}" for key, value in head.items()) + "\n",
        toml_table("problem", _problem(wanted, arguments, tensors, formats)),
        toml_table("launch", launch),
        toml_table("formats", formats),
    ]
    for rule in rules:
        reason = "the kernel was compiled for this"
        parts.append(toml_table("[domain]", {"require": rule, "reason": reason}))
    parts.append(toml_table("contract", contract))
    return "\n".join(parts)


def _contract(operation: str, ptx: str, block: int) -> dict[str, Any]:
    contract: dict[str, Any] = {}
    if "unit" in OPERATIONS[operation].terms or operation in ("gemm", "grouped_gemm"):
        for word, unit in (("wgmma.mma_async", "wgmma"), ("tcgen05.mma", "tcgen05"), ("mma.sync", "mma.sync")):
            if word in ptx:
                contract["unit"] = unit + (".block_scale" if ".block_scale" in ptx else "")
                break
        else:
            contract["unit"] = "fma.f32"
    if operation in ("gemm", "grouped_gemm"):
        contract["epilogue"] = []
    if "lanes" in OPERATIONS[operation].terms:
        contract["lanes"] = block
    if operation == "softmax":
        contract["exponential"] = "ex2.approx.ftz" if "ex2.approx.ftz" in ptx else "ex2.approx"
        contract["normalize"] = "div.full" if "div.full" in ptx else "quotient"
    return contract


def _problem(
    wanted: Verification,
    arguments: Mapping[str, Any],
    tensors: set[str],
    formats: Mapping[str, str],
) -> dict[str, Any]:
    row = OPERATIONS[wanted.operation]
    result: dict[str, Any] = {}
    free = []
    used = set(re.findall(r"[a-z_]\w*", " ".join(map(str, arguments.values()))))
    for name, entry in row.fields.items():
        if name in wanted.problem:
            value = wanted.problem[name]
            result[name] = list(value) if isinstance(value, (list, tuple)) else [value]
        elif entry.kind == "word" and name in row.tensors and formats[name] in entry.words:
            result[name] = [formats[name]]  # a and b of a GEMM
        elif name == "in":
            result[name] = [formats["x"]]
        elif name == "out":
            main = next(n for n, t in row.tensors.items() if t.role == "output")
            result[name] = [formats[main]]
        elif name == "statistics":
            result[name] = ["stored" if {"rstd", "mean"} & tensors else "none"]
        elif name == "lse" and "lse" not in tensors:
            result[name] = ["none"]
        elif entry.kind != "word" and entry.default is not None:
            if name in used or name.startswith("ld") and f"ld_{name[2:]}" in used:
                free.append(name)
    if free or "free" in wanted.problem:
        result["free"] = list(wanted.problem.get("free", free))
    return result


# What 32-bit arguments and those that 16 divides demand of a problem.
def _rules(wanted: Verification, arguments: Mapping[str, Any]) -> list[str]:
    rules = []
    rows = {"a": "m", "b": "k", "c": "m", "d": "m"} if wanted.operation == "gemm" else {}
    layout = str(wanted.problem.get("layout", "nn"))
    if wanted.operation == "gemm" and len(layout) == 2:
        rows["a"], rows["b"] = "mk"["nt".index(layout[0])], "kn"["nt".index(layout[1])]
    for meant in dict.fromkeys(map(str, arguments.values())):
        match = re.fullmatch(r"ld_(\w+)", meant)
        if match and "m" in OPERATIONS[wanted.operation].fields:
            rules.append(f"{rows.get(match[1], 'm')} * {meant} <= 2147483647")
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


def _grid(
    wanted: Verification, arguments: Mapping[str, Any], constants: Mapping[str, Any]
) -> list[str | int]:
    grid = wanted.grid
    if callable(grid):
        known: dict[str, Any] = {
            name: Expression(name)
            for name, entry in OPERATIONS[wanted.operation].fields.items()
            if entry.kind == "integer"
        }
        for name, meant in arguments.items():
            known[name] = Expression(str(meant))
        known.update(constants)
        known.update(META=dict(constants), meta=dict(constants))
        parameters = list(inspect.signature(grid).parameters)
        if len(parameters) == 1 and parameters[0] not in known:
            known[parameters[0]] = dict(constants)
        unknown = [name for name in parameters if name not in known]
        if unknown:
            raise InputError(
                f"the grid's parameter {unknown[0]!r} is neither an argument, a constant nor a size"
            )
        grid = grid(*(known[name] for name in parameters))
    if isinstance(grid, (str, int, Expression)):
        grid = [grid]
    assert isinstance(grid, Iterable)
    return [
        part if isinstance(part, int) else _with_constants(str(part), constants) for part in grid
    ]
