# SPDX-License-Identifier: MIT
"""Triton kernels, compiled for each chip without a GPU and verified (docs/python.md, "Triton").

What a manifest needs beside the PTX is the operation, what each argument is, and the grid. What an
argument is, is guessed by its name where the caller does not say it, and printed.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import pathlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from .chips import Chip, chip_named
from .described import OFFSETS, Compiled, Described, Grid, formats_of, is_real, manifest_of, write_file
from .descriptors import Descriptor, described
from .errors import CannotRun, InputError, nearest
from .report import Report
from .texts import Text, file_stem, row_of

_POINTERS = {
    "bf16": "*bf16",
    "f16": "*fp16",
    "f32": "*fp32",
    "e4m3": "*fp8e4nv",
    "e5m2": "*fp8e5",
    "s8": "*i8",
    "u8": "*u8",
    "s32": "*i32",
    "s64": "*i64",
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
    "m": ("lse",),  # the maxima in attention's tutorial, and at the end the LSE
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
    "z": "batch",
    "h": "heads",
    "n_ctx": "queries",
    "seqlen_q": "queries",
    "seqlen_k": "keys",
    "sm_scale": "scale",
    "softmax_scale": "scale",
}
# The leading dimension of a tensor that holds the name.
_ROW_STRIDE = re.compile(
    r"(?:(?P<a>\w+?)_)?(?:row_)?stride(?:_(?P<b>\w+?)(?:_row)?)?|ld_?(?P<c>\w+)"
)

# What a launch, or a configuration of an autotuned kernel, tells the compiler beside constants.
_OPTIONS = ("num_warps", "num_stages")


@dataclass(frozen=True)
class Exported:
    """The files of one compiled kernel."""

    manifest: pathlib.Path
    chip: Chip
    notes: tuple[str, ...]  # what was guessed


@dataclass(kw_only=True)
class Verification(Described):
    """A Triton kernel with what a manifest needs to know of it."""

    kernel: Any
    num_warps: int = 4
    num_stages: int | None = None
    descriptors: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def export(self, folder: str | pathlib.Path, chips: Iterable[str | int]) -> list[Exported]:
        """Compiles for each chip, and for each configuration of an autotuned kernel."""
        self.resolve()
        target = pathlib.Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        exported = []
        found = configurations(self.kernel, self.constants)
        for place, (kernel, own) in enumerate(found):
            for chip in map(chip_named, chips):
                suffix = f"_{place}" if len(found) > 1 else ""
                name = f"{kernel.__name__}{suffix}_{chip}"
                exported.append(_export(self, kernel, own, chip, target, name))
        return exported

    def folder(self) -> pathlib.Path:
        """Where manifests are kept: one place for all that is said of the kernel, so that another
        operation, format or constant of it has another."""
        self.resolve()
        said = {name: value for name, value in vars(self).items() if name not in ("kernel", "grid")}
        said["operation"] = getattr(self.operation, "source", self.operation)
        known = hashlib.sha256(repr(sorted(said.items())).encode()).hexdigest()[:8]
        return pathlib.Path("plumbline-out/triton") / f"{file_stem(self.operation)}-{known}"

    def verify(
        self,
        chips: Iterable[str | int] | str | int = ("sm_80", "sm_90"),
        *,
        folder: str | pathlib.Path | None = None,
        show: bool = True,
        on: str = "emulator",
        **options: Any,
    ) -> Report:
        """Compiles, and runs the planned cases as ``plumbline.verify`` does with its options."""
        from .verification import verify

        if isinstance(chips, (str, int)):
            chips = [chips]
        folder = self.folder() if folder is None else pathlib.Path(folder)
        exported = self.export(folder, chips)
        if show:
            for note in dict.fromkeys(note for export in exported for note in export.notes):
                print(f"plumbline: {note}")
            print(f"plumbline: manifests are in {folder}")
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
    in_place: Mapping[str, str] | None = None,
    zeroed: Sequence[str] = (),
    wide_offsets: bool = False,
    num_warps: int = 4,
    num_stages: int | None = None,
    descriptors: Mapping[str, Any] | None = None,
    **options: Any,
) -> Report:
    """Verifies a ``@triton.jit`` function, or every configuration of an autotuned one.

    operation: what it computes: "gemm", "softmax", ... (docs/operations.md), or a text that says
        it: a file "mine.op", or its lines (docs/operation_texts.md).
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
    in_place: outputs that the kernel writes over an input: ``{"dx": "dy"}``.
    zeroed: outputs that are 0 before a launch, as what atomics add to is: ``["d"]``. Those of the
        arguments that ``triton.autotune`` has in ``reset_to_zero`` are.
    wide_offsets: also problems in which rows times a leading dimension exceed 2^31 - 1, where a
        kernel that works offsets out in 32 bits fails.
    descriptors: tensor descriptors that the host makes, each with the block that the kernel moves:
        ``{"a_desc": ["BLOCK_M", "BLOCK_K"]}``. Where its shape and strides are not those of the
        operation's tensor they are said, too, as expressions, the outermost first:
        ``{"q": {"block": [64, 64], "shape": ["batch * queries", 64], "strides": [64, 1]}}``.
    options: those of ``plumbline.verify``, and ``folder=`` and ``show=`` of the export.
    """
    return Verification(
        kernel=kernel,
        operation=operation,
        grid=grid,
        arguments=arguments or {},
        formats=formats or {},
        constants=constants or {},
        contract=contract or {},
        problem=problem or {},
        require=require,
        aligned=aligned,
        in_place=in_place or {},
        zeroed=zeroed,
        wide_offsets=wide_offsets,
        num_warps=num_warps,
        num_stages=num_stages,
        descriptors=descriptors or {},
    ).verify(chips, **options)


F = TypeVar("F")


def computes(operation: str, *, grid: Grid, **details: Any) -> Callable[[F], F]:
    """A decorator above ``@triton.jit`` that says what ``verify_triton`` is given otherwise.

    The kernel stays what it is. ``plumbline.verify(kernel, chips=[...])`` verifies it.
    """

    def attach(kernel: F) -> F:
        kernel.plumbline = Verification(kernel=kernel, operation=operation, grid=grid, **details)  # type: ignore[attr-defined]
        return kernel

    return attach


# ------------------------------------------------------------------------------------------------
# Compilation


def _triton() -> Any:
    try:
        return importlib.import_module("triton")
    except ImportError as error:
        raise CannotRun(f"Triton is missing (pip install triton): {error}") from error


def configurations(
    kernel: Any, constants: Mapping[str, Any]
) -> list[tuple[Any, dict[str, Any]]]:
    """The functions to compile, each with the constants and options of its configuration."""
    _triton()
    if hasattr(kernel, "configs"):  # an Autotuner
        inner = configurations(kernel.fn, constants)
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
        open_ones = [name for name in kernel.values if name not in constants]
        if open_ones:
            raise InputError(
                f"{', '.join(open_ones)}: triton.heuristics work this out from the arguments of a "
                f'launch. Say it for all problems, constants={{"{open_ones[0]}": ...}}, and which '
                "problems they are, require=[...]"
            )
        return configurations(kernel.fn, constants)
    raise InputError(f"{kernel!r} is not a @triton.jit function")


@dataclass(frozen=True)
class Launched:
    """A kernel compiled for a chip, and how a launch fills its parameters."""

    compiled: Compiled
    arguments: Mapping[str, Any]
    constants: Mapping[str, Any]
    formats: Mapping[str, str]
    notes: tuple[str, ...]  # what was guessed


def compiled_for(
    wanted: Verification, kernel: Any, own: Mapping[str, Any], chip: Chip, name: str
) -> Launched:
    """One configuration of a kernel, compiled. Its PTX is to be kept as ``name``.ptx."""
    constants: dict[str, Any] = {**own, **wanted.constants}
    options = {
        "num_warps": constants.get("num_warps", wanted.num_warps),
        "enable_fp_fusion": False,  # the PTX has to fix the bits
    }
    stages = constants.get("num_stages") if "num_stages" not in kernel.arg_names else None
    stages = wanted.num_stages or own.get("num_stages") or stages
    if stages:
        options["num_stages"] = stages
    constants = _constants(kernel, constants)
    arguments, notes = _arguments(wanted, kernel, constants)
    formats = formats_of(wanted, arguments)
    descriptors = _descriptors(wanted, kernel, arguments, constants, formats)
    compiled, constants = _compile(
        wanted, kernel, arguments, constants, formats, descriptors, chip, options
    )
    launched = _launched(wanted, kernel, arguments, constants, descriptors, chip, compiled, name)
    return Launched(launched, arguments, constants, formats, tuple(notes))


def _descriptors(
    wanted: Verification,
    kernel: Any,
    arguments: Mapping[str, Any],
    constants: Mapping[str, Any],
    formats: Mapping[str, str],
) -> dict[str, Descriptor]:
    found = {}
    tensors = row_of(wanted.operation).tensors
    layout = str(wanted.problem.get("layout", "nn"))
    for name, said in wanted.descriptors.items():
        if name not in kernel.arg_names:
            raise InputError(
                f"descriptors: {kernel.__name__} has no argument {name!r}"
                f"{nearest(name, kernel.arg_names)}"
            )
        tensor = arguments.get(name)
        if tensor not in tensors:
            raise InputError(f"descriptors: {name} is no tensor of {wanted.operation}")
        found[name] = described(
            wanted.operation, layout, str(tensor), formats[str(tensor)], said, constants
        )
    return found


def _export(
    wanted: Verification,
    kernel: Any,
    own: Mapping[str, Any],
    chip: Chip,
    folder: pathlib.Path,
    name: str,
) -> Exported:
    launched = compiled_for(wanted, kernel, own, chip, name)
    reset = [launched.arguments[one] for one in getattr(wanted.kernel, "reset_to_zero", None) or ()]
    wanted = dataclasses.replace(wanted, zeroed=list(dict.fromkeys([*wanted.zeroed, *reset])))
    notes = list(launched.notes)
    write_file(folder / launched.compiled.file, launched.compiled.ptx)
    wanted.write_text(folder)
    manifest = folder / f"{name}.toml"
    text = manifest_of(
        wanted, launched.compiled, launched.arguments, launched.constants, launched.formats
    )
    write_file(manifest, text)
    if OFFSETS in text:
        notes.append(
            f"{kernel.__name__}: rows times a leading dimension are kept within 2^31 - 1; "
            "wide_offsets=True tries more"
        )
    return Exported(manifest, chip, tuple(notes))


def _compile(
    wanted: Verification,
    kernel: Any,
    arguments: Mapping[str, Any],
    constants: Mapping[str, Any],
    formats: Mapping[str, str],
    descriptors: Mapping[str, Descriptor],
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
        elif meant in row_of(wanted.operation).tensors:
            if formats[meant] not in _POINTERS:
                raise InputError(
                    f"Triton has no pointers to {formats[meant]}, the format of {meant}: it has "
                    f"{', '.join(_POINTERS)} (a tl.dot of f32 takes tf32, which no operation has)"
                )
            if name in descriptors:
                types[name] = descriptors[name].type(_POINTERS[formats[meant]].removeprefix("*"))
                continue
            types[name] = _POINTERS[formats[meant]]
            alignment[(place,)] = [["tt.divisibility", 16]]
        else:
            types[name] = "fp32" if is_real(wanted.operation, meant) else "i32"
            if name in wanted.aligned:
                alignment[(place,)] = [["tt.divisibility", 16]]
    try:
        source = compiler.ASTSource(kernel, types, constants, alignment)
        return _triton().compile(source, target=target, options=dict(options)), constants
    except Exception as error:
        raise CannotRun(f"Triton does not compile {kernel.__name__} for {chip}: {error}") from error


# Those of the kernel's arguments that are constants. As in a launch, what is left out has its
# default, and options of the compiler are arguments only where the kernel has them.
def _constants(kernel: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    constants = {name: value for name, value in given.items() if name in kernel.arg_names}
    unknown = [name for name in given if name not in constants and name not in _OPTIONS]
    if unknown:
        raise InputError(
            f"{kernel.__name__} has no argument {unknown[0]!r}{nearest(unknown[0], kernel.arg_names)}; "
            f"it has {', '.join(kernel.arg_names)}"
        )
    missing = []
    for param in kernel.params:
        if param.name in constants or not param.is_constexpr:
            continue
        if param.has_default:
            constants[param.name] = param.default
        else:
            missing.append(param.name)
    if missing:
        raise InputError(
            f"{kernel.__name__}: {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} "
            f"tl.constexpr and without a default: give constants={{\"{missing[0]}\": ...}}"
        )
    return constants


# What every argument is that is not a constant, and a line about each guess.
def _arguments(
    wanted: Verification, kernel: Any, constants: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    operation = row_of(wanted.operation)
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
    defaults = {
        param.name: param.default
        for param in kernel.params
        if param.has_default and isinstance(param.default, (int, float))
    }
    for name in variables:
        if name in wanted.arguments:
            found[name] = wanted.arguments[name]
    taken = set(map(str, found.values()))
    missing = []
    for name in variables:
        if name in found:
            continue
        layout = str(wanted.problem.get("layout", ""))
        meant: Any = _guess(wanted.operation, name, variables, taken, layout)
        if meant is None:
            meant = defaults.get(name)
        if meant is None:
            missing.append(name)
            continue
        found[name] = meant
        if meant in operation.tensors:
            taken.add(str(meant))
        guessed.append(f"{name} is {meant}")
    if missing:
        raise InputError(
            f"{kernel.__name__}: nothing tells what {', '.join(missing)} "
            f"{'is' if len(missing) == 1 else 'are'}. Say it with "
            f'arguments={{"{missing[0]}": ...}}: a tensor ({", ".join(operation.tensors)}), a size or '
            f"stride ({', '.join(n for n, f in operation.fields.items() if f.kind == 'integer')}, "
            "ld_...), or a number"
        )
    notes = [f"{kernel.__name__}: guessed by name that " + ", ".join(guessed)] if guessed else []
    return {name: found[name] for name in variables}, notes


def _guess(
    operation: str, name: str, variables: Sequence[str], taken: set[str], layout: str
) -> str | int | None:
    row = row_of(operation)
    plain = re.sub(r"^(ptr|p|desc)_|_?(ptr|pointer|desc)s?$", "", name.lower())
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
        return "n" if "n" in row_of(operation).fields else None
    for tensor in (of, *_TENSOR_NAMES.get(of, ())):
        fields = row_of(operation).fields
        if f"ld{tensor}" in fields or isinstance(operation, Text) and f"pad_{tensor}" in fields:
            return f"ld_{'d' if operation == 'gemm' and tensor == 'c' else tensor}"
    return None


def _launched(
    wanted: Verification,
    kernel: Any,
    arguments: Mapping[str, Any],
    constants: Mapping[str, Any],
    descriptors: Mapping[str, Descriptor],
    chip: Chip,
    compiled: Any,
    name: str,
) -> Compiled:
    row = row_of(wanted.operation)
    ptx: str = compiled.asm["ptx"]
    parameters: list[str] = []
    made = list(getattr(compiled.metadata, "tensordesc_meta", None) or ())
    tensor_maps: dict[str, dict[str, Any]] = {}
    rules: list[tuple[str, str]] = []
    for argument, meant in arguments.items():
        if argument in constants:
            continue
        if argument in descriptors:
            descriptor = descriptors[argument]
            parameters += descriptor.parameters(bool(made))
            if descriptor.tensor in tensor_maps:
                raise InputError(f"two descriptors of {descriptor.tensor} need a manifest")
            if made:
                tensor_maps[descriptor.tensor] = descriptor.tensor_map(made[len(tensor_maps)])
            rules += descriptor.rules(row.tensors[descriptor.tensor].role == "output")
        elif meant in row.tensors:
            parameters.append(f"ptr {meant}")
        else:
            parameters.append(f"{'f32' if is_real(wanted.operation, meant) else 's32'} {meant}")
    entry = re.search(r"\.entry\s+(\w+)\s*\((.*?)\)", ptx, re.DOTALL)
    assert entry is not None
    # Pointers to scratch memory, which Triton adds: what descriptors are made in comes first.
    added = len(re.findall(r"\.param", entry[2])) - len(parameters)
    scratch = getattr(compiled.metadata, "global_scratch_size", 0) or 0
    if added > 0 and scratch > 0:
        parameters.append("ptr workspace")
        added -= 1
    parameters += ["s64 0"] * added
    threads = re.search(r"\.reqntid\s+(\d+)", ptx)
    return Compiled(
        file=f"{name}.ptx",
        summary=f"{kernel.__name__}, from Triton",
        ptx=ptx,
        target=chip.target,
        entry=entry[1],
        parameters=parameters,
        block=[int(threads[1]) if threads else 32 * compiled.metadata.num_warps],
        shared=compiled.metadata.shared,
        scratch=scratch,
        tensor_maps=tensor_maps,
        rules=rules,
    )
