# SPDX-License-Identifier: MIT
"""From the tensors of one call to the problem that the program judges: sizes, words and formats.

The tensors of the program have fixed names and shapes (docs/operations.md). What callers have in
another shape (leading dimensions, weights stored the other way) is viewed in that shape here.
"""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .errors import InputError, nearest
from .operation_tables import OPERATIONS
from .texts import Text, main_output, operation_of, row_of
from .tensors import Tensor, f32, from_bytes, is_tensor, read_tensor

FieldValue = str | int | float


@dataclass
class Judged:
    """An output in the program's shape, and how its places are named in the caller's."""

    tensor: Tensor
    shape: tuple[int, ...]  # the caller's
    axes: tuple[int, ...] | None = None  # of the caller's, which make the program's

    def place_of(self, index: int) -> tuple[int, ...]:
        """The caller's indices of an element of the program's."""
        if self.axes is None:
            return unravel(index, self.shape)
        place = unravel(index, tuple(self.shape[axis] for axis in self.axes))
        return tuple(place[self.axes.index(axis)] for axis in range(len(self.shape)))


def unravel(index: int, shape: Sequence[int]) -> tuple[int, ...]:
    """The indices of the element at a place in row-major order."""
    place: list[int] = []
    for size in reversed(shape):
        index, rest = divmod(index, size)
        place.append(rest)
    return tuple(reversed(place))


@dataclass
class Problem:
    """What a call says, and what was derived from it."""

    operation: str
    inputs: dict[str, Tensor]
    outputs: dict[str, Judged]
    fields: dict[str, FieldValue]  # given and derived
    sizes: dict[str, tuple[int, str]] = field(default_factory=dict)  # with what says so

    # The sizes of a tensor, by name or as numbers; what other tensors say of them must agree.
    def bind(self, name: str, *dimensions: str | int) -> None:
        tensor = self.tensor(name)
        if tensor is None:
            return
        shape = self.shape_of(name)
        if len(shape) != len(dimensions):
            raise InputError(
                f"{name} is {tensor}, {self.operation} takes [{', '.join(map(str, dimensions))}]"
            )
        for axis, (size, dimension) in enumerate(zip(shape, dimensions, strict=True)):
            if isinstance(dimension, int):
                due, said = dimension, "here"
            else:
                due, said = self.sizes.setdefault(dimension, (size, f"{name} {tensor}"))
            if size != due:
                raise InputError(
                    f"{name} is {tensor}: axis {axis} has {size}, but {dimension} is {due} "
                    f"({said})"
                    if isinstance(dimension, str)
                    else f"{name} is {tensor}: axis {axis} has {size}, and has to have {due}"
                )

    def tensor(self, name: str) -> Tensor | None:
        if name in self.outputs:
            return self.outputs[name].tensor
        return self.inputs.get(name)

    def shape_of(self, name: str) -> tuple[int, ...]:
        tensor = self.tensor(name)
        assert tensor is not None
        return tensor.shape

    def size(self, name: str) -> int:
        return self.sizes[name][0]

    def view(self, name: str, change: Callable[[Tensor], Tensor]) -> None:
        """Another view of a tensor, if it is there."""
        if name in self.outputs:
            self.outputs[name].tensor = change(self.outputs[name].tensor)
        elif name in self.inputs:
            self.inputs[name] = change(self.inputs[name])

    def permute(self, name: str, axes: tuple[int, ...]) -> None:
        self.view(name, lambda tensor: tensor.permuted(axes))
        if name in self.outputs:
            self.outputs[name].axes = axes

    def require(self, *names: str) -> None:
        for name in names:
            if name not in self.inputs:
                row = row_of(self.operation).tensors[name]
                raise InputError(f"{self.operation} needs {name}=, the tensor {row.shape}")

    def flatten_rows(self, *names: str) -> None:
        """[..., n] as [m, n]."""
        for name in names:
            tensor = self.tensor(name)
            if tensor is None:
                continue
            if not tensor.shape:
                raise InputError(f"{name} is a single number, {self.operation} takes rows")
            m = math.prod(tensor.shape[:-1])
            self.view(name, lambda t, m=m: t.reshaped((m, t.shape[-1])))  # type: ignore[misc]

    def join_leading_axes(self) -> None:
        """[batch, length, n] as [m, n] where a text has [m, n]: axes that a tensor has more than in
        the text are joined into its first. Tensors with the same first size have the same axes
        there, or that size."""
        leading: dict[str, tuple[tuple[int, ...], str]] = {}
        for name in (*self.inputs, *self.outputs):
            row, shape = row_of(self.operation).tensors[name], self.shape_of(name)
            sizes = row.sizes()
            more = len(shape) - len(sizes)
            if more < 0 or more > 0 and not sizes:
                raise InputError(f"{name} is {self.tensor(name)}, {self.operation} takes {row.shape}")
            if more == 0:
                continue
            first = shape[: more + 1]
            due, said = leading.setdefault(sizes[0], (first, f"{name} is {self.tensor(name)}"))
            if first != due:
                raise InputError(
                    f"{said} and {name} is {self.tensor(name)}: their leading axes, which are "
                    f"{sizes[0]} in {self.operation}, have to be the same"
                )
            joined = (math.prod(first), *shape[more + 1 :])
            self.view(name, lambda t, joined=joined: t.reshaped(joined))  # type: ignore[misc]

    def flatten(self, *names: str) -> None:
        """[..., 1] and the like as [size]."""
        for name in names:
            self.view(name, lambda t: t.reshaped((t.count,)))

    def set(self, name: str, value: FieldValue) -> None:
        """A field that the tensors imply, unless the caller gave it."""
        row = row_of(self.operation).fields[name]
        if row.kind == "word" and value not in row.words:
            raise InputError(
                f"{self.operation} has no {value} for {name} ({row.meaning}); it has "
                f"{', '.join(row.words)}"
            )
        self.fields.setdefault(name, value)

    def set_format(self, name: str, tensor: str) -> None:
        """The field of a tensor's format; formats that it has no word for are said by the tensor."""
        held = self.tensor(tensor)
        assert held is not None
        if held.format in row_of(self.operation).fields[name].words:
            self.set(name, held.format)

    def set_sizes(self, *names: str) -> None:
        for name in names:
            size, said = self.sizes[name]
            if self.fields.setdefault(name, size) != size:
                raise InputError(f"{name}={self.fields[name]}, but {said} makes it {size}")


def problem_of(
    operation: str | os.PathLike[str],
    out: Any,
    arguments: Mapping[str, Any],
    problem: Mapping[str, FieldValue] | None = None,
) -> Problem:
    """The problem of a call; `problem` are fields whose names are also those of tensors."""
    operation = operation_of(operation)
    row = row_of(operation)
    inputs = [name for name, tensor in row.tensors.items() if tensor.role == "input"]
    outputs = [name for name, tensor in row.tensors.items() if tensor.role == "output"]
    found = Problem(operation, {}, {}, {})
    for name, value in arguments.items():
        if value is None:
            continue
        if name in outputs and name not in inputs and is_tensor(value):
            raise InputError(f"{name} is an output of {operation}: give it in out={{...}}")
        if name in inputs and is_tensor(value):
            found.inputs[name] = _of_format(operation, name, read_tensor(name, value))
        elif name in inputs and _is_number(value) and "f32" in row.tensors[name].formats:
            found.inputs[name] = f32(float(value))
        elif name in row.fields and (not is_tensor(value) or _is_one_number(value)):
            found.fields[name] = _field(operation, name, value)
        elif name in inputs:
            raise InputError(f"{name}={value!r} is no tensor")
        elif name in row.fields:
            raise InputError(f"{name} is a field of {operation} and takes a value, not a tensor")
        else:
            known = [*inputs, *row.fields]
            raise InputError(
                f"{operation} has no tensor or field {name!r}{nearest(name, known)}; "
                f"tensors: {', '.join(inputs)}; fields: {', '.join(row.fields)}"
            )
    for name, value in (problem or {}).items():
        if name not in row.fields:
            raise InputError(f"{operation} has no field {name!r}{nearest(name, row.fields)}")
        found.fields[name] = _field(operation, name, value)
    if not isinstance(out, Mapping):
        out = {main_output(operation): out}
    for name, value in out.items():
        if name not in outputs:
            raise InputError(
                f"{operation} has no output {name!r}{nearest(name, outputs)}; "
                f"it has {', '.join(outputs)}"
            )
        tensor = _of_format(operation, name, read_tensor(name, value))
        found.outputs[name] = Judged(tensor, tensor.shape)
    if not found.outputs:
        raise InputError("out is empty: there is nothing to judge")
    if isinstance(operation, Text):
        # The program finds the sizes.
        found.require(*(name for name in inputs if not row.tensors[name].optional))
        found.join_leading_axes()
    else:
        _DERIVE[operation](found)
    return found


def problem_text(problem: Problem) -> str:
    """The fields in the program's order, without those at their defaults."""
    words = []
    for name, row in row_of(problem.operation).fields.items():
        if name not in problem.fields:
            if row.default is None and not isinstance(problem.operation, Text):
                raise InputError(f"{problem.operation} needs {name}=: {row.meaning}")
            continue
        text = field_text(problem.fields[name])
        if text != row.default:
            words.append(f"{name}={text}")
    return " ".join(words)


def field_text(value: FieldValue) -> str:
    """A field's value as the program reads it."""
    if isinstance(value, float):
        if math.isnan(value):
            return "0x7fc00000"
        return repr(value).removesuffix(".0")
    return str(value)


def chip_of(problem: Problem) -> str | None:
    """The GPU that a tensor was on, where that is known."""
    for tensor in [*(judged.tensor for judged in problem.outputs.values()), *problem.inputs.values()]:
        if tensor.device.startswith("cuda sm_"):
            return tensor.device.removeprefix("cuda ")
    return None


# A scale that is given as a number, of Python or of NumPy.
def _is_number(value: Any) -> bool:
    return not isinstance(value, bool) and (isinstance(value, (int, float)) or _is_one_number(value))


# A tensor of no dimensions, as a field's value.
def _is_one_number(value: Any) -> bool:
    return getattr(value, "shape", None) in ((), []) and hasattr(value, "item")


def _field(operation: str, name: str, value: Any) -> FieldValue:
    row = row_of(operation).fields[name]
    if hasattr(value, "item") and not isinstance(value, (str, int, float)):
        value = value.item()
    if isinstance(value, bool):
        if name != "causal":
            raise InputError(f"{name}={value}: {name} is {row.meaning}")
        return "True" if value else "none"  # True is settled where the sizes are known
    if row.kind == "word":
        if value not in row.words:
            raise InputError(
                f"{name}={value!r}: {operation} has {', '.join(row.words)}"
                f"{nearest(str(value), row.words)}"
            )
        return str(value)
    if row.kind == "integer":
        if not isinstance(value, int):
            raise InputError(f"{name}={value!r}: {name} is an integer, {row.meaning}")
        return value
    if not isinstance(value, (int, float)):
        raise InputError(f"{name}={value!r}: {name} is a number, {row.meaning}")
    try:
        # The shortest text of the f32: what the program prints as well.
        struct.pack("<f", value)
    except OverflowError:
        raise InputError(f"{name}={value!r} is beyond f32") from None
    return float(value)


def _of_format(operation: str, name: str, tensor: Tensor) -> Tensor:
    formats = row_of(operation).tensors[name].formats
    if tensor.format == "s64" and formats == ("s32",):  # sizes and places, often of 64 bits
        numbers = tensor.integers()
        if any(not -(1 << 31) <= number < 1 << 31 for number in numbers):
            raise InputError(f"{name} has numbers beyond 32 bits")
        return from_bytes("s32", tensor.shape, struct.pack(f"<{len(numbers)}i", *numbers))
    if tensor.format not in formats:
        hint = ""
        if tensor.format == "f64":
            hint = ". A result in float64 is no kernel's; round what was computed to the kernel's format"
        elif tensor.format in ("u8", "s8") and any(f in formats for f in ("e4m3", "e5m2", "ue8m0")):
            hint = '. Are these FP8 numbers kept as bytes? plumbline.as_format(x, "e4m3") says so'
        raise InputError(
            f"{name} is {tensor}: {operation} takes {', '.join(formats)} there{hint}"
        )
    return tensor


# ------------------------------------------------------------------------------------------------
# GEMM


def _gemm(p: Problem) -> None:
    p.require("a", "b")
    lead = _lay_out_gemm(p)
    p.bind("a", *["batch"] * bool(lead), "m", "k")
    p.bind("b", *["batch"] * bool(lead), "k", "n")
    p.sizes.setdefault("batch", (1, "a and b"))
    batch, m, n, k = (p.size(name) for name in ("batch", "m", "n", "k"))
    for name in ("d", "c"):
        tensor = p.tensor(name)
        if tensor is None:
            continue
        if tensor.count == batch * m * n and _same_but_ones(tensor.shape, (batch, m, n), flat=2):
            p.view(name, lambda t: t.reshaped((batch, m, n)))
        elif name == "c" and _broadcasts(tensor.shape, (batch, m, n)):
            p.view(name, lambda t: t.expanded((batch, m, n)))
        else:
            raise InputError(
                f"{name} is {tensor}: a [{m}, {k}] times b [{k}, {n}]"
                f"{f', {batch} of them,' if batch != 1 else ''} makes [{m}, {n}]"
            )
    p.set_sizes("m", "n", "k", "batch")
    p.set_format("a", "a")
    p.set_format("b", "b")
    p.set_format("out", "d")
    if "c" in p.inputs:
        p.set("beta", 1.0)
        if p.fields["beta"] == 0:
            p.set("c", "always")
    elif p.fields.get("beta", 0) != 0:
        raise InputError(f"beta={p.fields['beta']} needs c=, the matrix that it multiplies")
    _along(p, "bias", {"column": ((n,), (1, n)), "row": ((m,), (m, 1))})
    blocks = {size: -(-k // size) for size in (16, 32, 128)}
    scales_a: dict[str, tuple[tuple[int, ...], ...]] = {
        "tensor": ((), (1,), (1, 1)),
        "row": ((m,), (m, 1)),
        "1x128": ((m, blocks[128]),),
        "1x32": ((m, blocks[32]),),
        "1x16": ((m, blocks[16]),),
    }
    scales_b: dict[str, tuple[tuple[int, ...], ...]] = {
        "tensor": ((), (1,), (1, 1)),
        "column": ((n,), (1, n)),
        "128x128": ((blocks[128], -(-n // 128)),),
        "32x1": ((blocks[32], n),),
        "16x1": ((blocks[16], n),),
    }
    # What is named by its layout is given as it lies in memory.
    layout = p.fields.get("scale_layout")
    if layout == "k_major":
        scales_b |= {word: (shape[::-1],) for word, (shape, *_) in scales_b.items() if "x" in word}
    elif layout == "128x4":
        del scales_b["128x128"]
        for scales, vectors in ((scales_a, m), (scales_b, n)):
            for word in [word for word in scales if "x" in word]:
                across = -(-blocks[max(map(int, word.split("x")))] // 4)
                scales[word] = ((-(-vectors // 128), across, 32, 4, 4),)
    if _format(p, "scale_a") == "ue8m0":  # the scales of MX formats
        scales_a = {"1x32": scales_a["1x32"]}
    if _format(p, "scale_b") == "ue8m0":
        scales_b = {"32x1": scales_b["32x1"]}
    _along(p, "scale_a", scales_a)
    _along(p, "scale_b", scales_b)
    if layout == "k_major" and "x" in str(p.fields.get("scale_b")):
        p.view("scale_b", Tensor.transposed)
    if layout == "128x4":
        for name in ("scale_a", "scale_b"):
            if "x" in str(p.fields.get(name)):
                p.permute(name, (0, 3, 2, 1, 4))
    _along(p, "scale_d", {"tensor": ((), (1,), (1, 1))})


# Gives A and B the logical order of axes, and leading axes that are one or none.
def _lay_out_gemm(p: Problem) -> tuple[int, ...]:
    layout = p.fields.get("layout")
    for name, letter in (("a", 0), ("b", 1)):
        if len(p.inputs[name].shape) == 1:  # a vector, as matmul takes it
            size = p.inputs[name].count
            p.view(name, lambda t, s=(1, size) if name == "a" else (size, 1): t.reshaped(s))  # type: ignore[misc]
        elif not p.inputs[name].shape:
            raise InputError(f"{name} is a single number, gemm takes a matrix")
        elif layout is not None and str(layout)[letter] == "t":
            p.view(name, Tensor.transposed)
    if layout is None:
        letters = "".join(
            "t" if _is_stored_transposed(p.inputs[name]) else "n" for name in ("a", "b")
        )
        if letters in OPERATIONS["gemm"].fields["layout"].words:
            p.set("layout", letters)
    lead_a, lead_b = p.inputs["a"].shape[:-2], p.inputs["b"].shape[:-2]
    if lead_a and math.prod(lead_b) == 1 and math.prod(lead_a) != 1:
        # [..., m, k] times one matrix: the rows of all.
        p.view("b", lambda t: t.reshaped(t.shape[-2:]))
        p.flatten_rows("a")
        lead_a = lead_b = ()
    lead = _broadcast(lead_a, lead_b)
    for name in ("a", "b"):
        tensor = p.inputs[name]
        if tensor.shape[:-2] != lead:
            tensor = tensor.expanded((*lead, *tensor.shape[-2:]))
        if lead:
            tensor = tensor.reshaped((math.prod(lead), *tensor.shape[-2:]))
        p.inputs[name] = tensor
    return lead


def _is_stored_transposed(tensor: Tensor) -> bool:
    rows, columns = tensor.shape[-2:]
    return rows > 1 and columns > 1 and tensor.strides[-2] == 1 and tensor.strides[-1] >= rows


def _broadcast(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    length = max(len(left), len(right))
    left, right = (1,) * (length - len(left)) + left, (1,) * (length - len(right)) + right
    for own, other in zip(left, right, strict=True):
        if own != other and 1 not in (own, other):
            raise InputError(f"a and b have batches {list(left)} and {list(right)}")
    return tuple(max(pair) if 0 not in pair else 0 for pair in zip(left, right, strict=True))


def _broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    tail = to[len(to) - len(shape) :]
    return len(shape) <= len(to) and all(s in (1, t) for s, t in zip(shape, tail, strict=True))


# Whether a shape is another one but for axes of size 1 and leading axes that are one there.
def _same_but_ones(shape: tuple[int, ...], due: tuple[int, ...], flat: int) -> bool:
    if [size for size in shape if size != 1] == [size for size in due if size != 1]:
        return True
    return len(shape) >= flat and shape[-1] == due[-1] and (
        math.prod(shape[:-1]) == math.prod(due[:-1])
        and (shape[-2] == due[-2] or math.prod(due[:-2]) == 1)
    )


# Along which side of the result a tensor goes, by its shape: the first that fits.
def _along(p: Problem, name: str, choices: Mapping[str, tuple[tuple[int, ...], ...]]) -> None:
    tensor = p.inputs.get(name)
    given = p.fields.get(name)
    if tensor is None:
        if given not in (None, "none"):
            raise InputError(f"{name}={given!r} needs the tensor {name}=")
        return
    if given is not None:
        choices = {str(given): choices.get(str(given), ())}
    for word, shapes in choices.items():
        if tensor.shape in shapes:
            p.set(name, word)
            if word in ("row", "column", "tensor"):
                p.flatten(name)
            return
    listed = "; ".join(
        f"{word}: {' or '.join(str(list(shape)) for shape in shapes)}"
        for word, shapes in choices.items()
    )
    raise InputError(f"{name} is {tensor}, which fits none of: {listed}")


def _format(p: Problem, name: str) -> str | None:
    tensor = p.tensor(name)
    return None if tensor is None else tensor.format


def _grouped_gemm(p: Problem) -> None:
    p.require("a", "b", "group_sizes")
    if p.fields.get("layout") == "nt":
        p.view("b", Tensor.transposed)
    p.flatten("group_sizes")
    p.bind("a", "m", "k")
    p.bind("b", "groups", "k", "n")
    p.bind("group_sizes", "groups")
    p.bind("d", "m", "n")
    p.set_sizes("m", "n", "k", "groups")
    p.set_format("a", "a")
    p.set_format("b", "b")
    p.set_format("out", "d")
    m, groups = p.size("m"), p.size("groups")
    _along(p, "scale_a", {"tensor": ((), (1,), (1, 1)), "row": ((m,), (m, 1))})
    _along(p, "scale_b", {"tensor": ((groups,), (groups, 1), (groups, 1, 1))})


def _linear_backward(p: Problem) -> None:
    p.require("dy", "x", "w")
    p.flatten_rows("dy", "x", "dx")
    p.bind("dy", "m", "n")
    p.bind("x", "m", "k")
    p.bind("w", "n", "k")
    p.bind("dx", "m", "k")
    p.bind("dw", "n", "k")
    p.bind("db", "n")
    p.set_sizes("m", "n", "k")
    p.flatten("scale_dy", "scale_x", "scale_w")
    for name in ("dx", "dw"):
        if name in p.outputs:
            p.set_format("out", name)
    scales = [name for name in ("scale_dy", "scale_x", "scale_w") if name in p.inputs]
    if scales:
        p.set("scales", "tensor" if "scale_dy" in scales else "channel")


# ------------------------------------------------------------------------------------------------
# Rows


def _rows(p: Problem, main: str, result: str, *more: str) -> None:
    p.require(main)
    p.flatten_rows(main, result, *more)
    p.bind(main, "m", "n")
    for name in (result, *more):
        p.bind(name, "m", "n")
    p.set_sizes("m", "n")


def _out(p: Problem, name: str) -> None:
    if name in p.outputs:
        p.set_format("out", name)


def _vectors(p: Problem, size: str, *names: str) -> None:
    p.flatten(*names)
    for name in names:
        p.bind(name, size)


def _softmax(p: Problem) -> None:
    _rows(p, "x", "y")
    _out(p, "y")


def _softmax_backward(p: Problem) -> None:
    p.require("y", "dy")
    _rows(p, "y", "dx", "dy")
    _out(p, "dx")


def _rmsnorm(p: Problem) -> None:
    p.require("x", "gamma")
    _rows(p, "x", "y")
    _vectors(p, "n", "gamma")
    _vectors(p, "m", "rstd")
    p.set("statistics", "stored" if "rstd" in p.outputs else "none")
    _need_eps(p)
    _out(p, "y")


def _layernorm(p: Problem) -> None:
    p.require("x", "gamma", "beta")
    _rows(p, "x", "y")
    _vectors(p, "n", "gamma", "beta")
    _vectors(p, "m", "mean", "rstd")
    p.set("statistics", "stored" if {"mean", "rstd"} & set(p.outputs) else "none")
    _need_eps(p)
    _out(p, "y")


# Libraries differ in what they take when none is given.
def _need_eps(p: Problem) -> None:
    if "eps" not in p.fields:
        raise InputError(f"{p.operation} needs eps=, what is added to the mean square (1e-5, 1e-6)")


def _rmsnorm_backward(p: Problem) -> None:
    p.require("x", "gamma", "rstd", "dy")
    _rows(p, "x", "dx", "dy")
    _vectors(p, "n", "gamma", "dgamma")
    _vectors(p, "m", "rstd")
    _out(p, "dx")


def _layernorm_backward(p: Problem) -> None:
    p.require("x", "gamma", "mean", "rstd", "dy")
    _rows(p, "x", "dx", "dy")
    _vectors(p, "n", "gamma", "dgamma", "dbeta")
    _vectors(p, "m", "mean", "rstd")
    _out(p, "dx")


def _quantize(p: Problem) -> None:
    _rows(p, "x", "q")
    p.set("in", p.inputs["x"].format)
    if "q" in p.outputs:
        p.set_format("out", "q")
    m, blocks = p.size("m"), -(-p.size("n") // 128)
    choices = {"tensor": ((), (1,), (1, 1)), "row": ((m,), (m, 1)), "1x128": ((m, blocks),)}
    for name in ("scale", "amax"):
        if name not in p.outputs:
            continue
        shape = p.outputs[name].tensor.shape
        for word, shapes in choices.items():
            if shape in shapes and p.fields.get("scale", word) == word:
                p.set("scale", word)
                if word != "1x128":
                    p.flatten(name)
                break
        else:
            raise InputError(
                f"{name} is {p.outputs[name].tensor}, and has to be [1], [{m}] or [{m}, {blocks}]"
            )
    if "scale" not in p.fields:
        raise InputError(
            'quantize needs scale="tensor", "row" or "1x128" where out has no scale that shows it'
        )


# ------------------------------------------------------------------------------------------------
# Attention and MLP

_ATTENTION_AXES = {"bhs": (0, 1, 2, 3), "bsh": (0, 2, 1, 3), "sbh": (1, 2, 0, 3)}


def _attention(p: Problem) -> None:
    p.require("q", "k", "v")
    matrices = [name for name in ("q", "k", "v", "o", "do", "dq", "dk", "dv") if p.tensor(name)]
    vary = "query_starts" in p.inputs or "key_starts" in p.inputs
    layout = str(p.fields.get("layout", "bhs"))
    for name in matrices:
        _lay_out_heads(p, name, layout, vary)
    if vary:
        _lay_out_sequences(p)
    batch, queries, keys = ("1", "queries", "keys") if vary else ("batch", "queries", "keys")
    dimensions = {
        "q": ("heads", "queries", "d"),
        "k": ("kv_heads", "keys", "d"),
        "v": ("kv_heads", "keys", "dv"),
        "o": ("heads", "queries", "dv"),
        "do": ("heads", "queries", "dv"),
        "dq": ("heads", "queries", "d"),
        "dk": ("kv_heads", "keys", "d"),
        "dv": ("kv_heads", "keys", "dv"),
    }
    # Where sequences are packed, axis 2 counts the rows of all of them.
    names = {queries: "rows of queries", keys: "rows of keys"} if vary else {}
    for name in matrices:
        p.bind(
            name, 1 if vary else batch, *(names.get(size, size) for size in dimensions[name])
        )
    if vary:
        sequences = p.size("batch")
        for size, of in (("queries", "rows of queries"), ("keys", "rows of keys")):
            rows = p.size(of)
            if sequences == 0 or rows % sequences:
                raise InputError(
                    f"{rows} {of} in {sequences} sequences: a problem's {size} is their mean, "
                    f"which has to be an integer. Add rows behind the last sequence (their outputs "
                    "are 0)"
                )
            p.sizes[size] = (rows // sequences, p.sizes[of][1])
        p.set("lengths", "random")
    rows_of_lse = "rows of queries" if vary else "queries"
    if p.tensor("lse"):
        shape = p.shape_of("lse")
        if len(shape) == 2 and (vary or p.size("batch") == 1):
            p.view("lse", lambda t: t.reshaped((1, *t.shape)))
        p.bind("lse", 1 if vary else "batch", "heads", rows_of_lse)
    if p.tensor("bias"):
        if len(p.shape_of("bias")) == 4 and p.shape_of("bias")[0] == 1:
            p.view("bias", lambda t: t.reshaped(t.shape[1:]))
        p.bind("bias", "heads", "queries", "keys")
        p.set("bias", "f32")  # that there is one; its format is the tensor's
    if p.tensor("sink"):
        p.flatten("sink")
        p.bind("sink", "heads")
        p.set("sink", "f32")  # that there is one; its format is the tensor's
    p.set_sizes("batch", "heads", "queries", "keys", "d")
    if p.size("kv_heads") != p.size("heads"):
        p.set_sizes("kv_heads")
    if p.size("dv") != p.size("d"):
        p.set_sizes("dv")
    _scale_kind(p)
    if p.fields.get("causal") == "True":
        if p.size("queries") != p.size("keys") or vary:
            raise InputError(
                "causal=True is ambiguous where queries and keys differ: give "
                'causal="bottom_right" (FlashAttention) or causal="top_left" (PyTorch)'
            )
        p.fields["causal"] = "bottom_right"
    if "scale" not in p.fields:
        raise InputError(
            "attention needs scale=, what q . k is multiplied by: usually q.shape[-1] ** -0.5"
        )
    for name in ("o", "dq", "dk", "dv"):
        _out(p, name)
    if p.operation == "attention":
        p.set("lse", "natural" if "lse" in p.outputs else "none")


def _lay_out_heads(p: Problem, name: str, layout: str, vary: bool) -> None:
    tensor = p.tensor(name)
    assert tensor is not None
    rank = len(tensor.shape)
    if rank == 3 and vary:  # [rows, heads, d], as kernels of packed sequences have it
        p.permute(name, (1, 0, 2))
        p.view(name, lambda t: t.reshaped((1, *t.shape)))
    elif rank == 3 and layout == "bhs":
        p.view(name, lambda t: t.reshaped((1, *t.shape)))
    elif rank == 4 and layout != "bhs":
        p.permute(name, _ATTENTION_AXES[layout])
    elif rank != 4:
        raise InputError(
            f"{name} is {tensor}, attention takes [batch, heads, length, d]; with layout=\"bsh\" "
            '[batch, length, heads, d], with layout="sbh" [length, batch, heads, d]'
        )


def _lay_out_sequences(p: Problem) -> None:
    p.require("query_starts", "key_starts")
    p.flatten("query_starts", "key_starts")
    counts = [p.inputs[name].count for name in ("query_starts", "key_starts")]
    if counts[0] != counts[1] or counts[0] < 1:
        raise InputError(f"query_starts has {counts[0]} numbers, key_starts has {counts[1]}")
    p.sizes["batch"] = (counts[0] - 1, "query_starts")


def _scale_kind(p: Problem) -> None:
    names = [n for n in ("q_scale", "k_scale", "v_scale", "do_scale", "ds_scale") if p.tensor(n)]
    if not names:
        return
    tensor = p.inputs[names[0]]
    if p.operation == "attention_backward":
        p.set("scales", "tensor")
        p.flatten(*names)
    elif "scales" not in p.fields:
        p.set("scales", "block" if len(tensor.shape) == 3 else "head")


def _swiglu_mlp(p: Problem) -> None:
    p.require("x", "w_gate", "w_up", "w_down")
    p.flatten_rows("x", "h", "y")
    if p.fields.get("weights") == "kn":
        for name in ("w_gate", "w_up", "w_down"):
            p.view(name, Tensor.transposed)
    p.bind("x", "tokens", "d")
    p.bind("w_gate", "hidden", "d")
    p.bind("w_up", "hidden", "d")
    p.bind("w_down", "d_out", "hidden")
    p.bind("h", "tokens", "hidden")
    p.bind("y", "tokens", "d_out")
    if "h" not in p.outputs:
        raise InputError(
            'swiglu_mlp needs out={"h": ..., "y": ...}: y is judged by the h that the kernel stored'
        )
    p.set_sizes("tokens", "d", "hidden", "d_out")
    _out(p, "y")


_DERIVE: dict[str, Callable[[Problem], None]] = {
    "attention": _attention,
    "attention_backward": _attention,
    "gemm": _gemm,
    "grouped_gemm": _grouped_gemm,
    "layernorm": _layernorm,
    "layernorm_backward": _layernorm_backward,
    "linear_backward": _linear_backward,
    "quantize": _quantize,
    "rmsnorm": _rmsnorm,
    "rmsnorm_backward": _rmsnorm_backward,
    "softmax": _softmax,
    "softmax_backward": _softmax_backward,
    "swiglu_mlp": _swiglu_mlp,
}
