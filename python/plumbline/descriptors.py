# SPDX-License-Identifier: MIT
"""Triton's tensor descriptors that the host makes, as tensor maps and parameters of a manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import InputError
from .formats import FORMATS
from .texts import Text, row_of

# How a launch says the pattern of shared memory.
_SWIZZLES = ("none", "32B", "64B", "128B")


@dataclass(frozen=True)
class Descriptor:
    """Of a tensor: its shape and strides as expressions of the problem, the outermost first, and
    the block of elements that the kernel moves at a time."""

    tensor: str
    format: str
    block: tuple[int, ...]
    shape: tuple[str, ...]
    strides: tuple[str, ...]

    def type(self, element: str) -> str:
        """As Triton's compiler names it."""
        return f"tensordesc<{element}[{', '.join(map(str, self.block))}]>"

    def parameters(self, by_tma: bool) -> list[str]:
        """What a launch passes for it."""
        shape_and_strides = [f"s32 {size}" for size in self.shape] + [
            f"s64 {stride}" for stride in self.strides
        ]
        if by_tma:
            return [f"tensor_map {self.tensor}", *shape_and_strides]
        # Its pointer, shape and strides, how it pads, and whether it rounds to tf32.
        wide = [f"s64 {size}" for size in (*self.shape, *self.strides)]
        return [f"ptr {self.tensor}", *wide, "u8 0", "u8 0", *shape_and_strides]

    def tensor_map(self, made: Mapping[str, Any]) -> dict[str, Any]:
        """The manifest's table, by what the compiler chose."""
        if made["fp4_padded"] or made.get("is_im2col"):
            raise InputError(f"the descriptor of {self.tensor} is of a kind that needs a manifest")
        table: dict[str, Any] = {"dims": [f"max({size}, 1)" for size in reversed(self.shape)]}
        if len(self.shape) > 1:
            table["strides"] = list(reversed(self.strides[:-1]))
        return table | {
            "box": list(reversed(made["block_size"])),
            "swizzle": _SWIZZLES[made["swizzle"]],
        }

    def rules(self, is_output: bool) -> list[tuple[str, str]]:
        """Which problems have the tensor map: (rule, reason)."""
        multiple = 16 // FORMATS[self.format].bytes
        rules = [
            (f"({stride}) % {multiple} == 0", "rows of a tensor map begin at multiples of 16 bytes")
            for stride in self.strides[:-1]
            if not stride.isdigit() or int(stride) % multiple
        ]
        if is_output:
            rules.append((f"({self.shape[-1]}) % {multiple} == 0", "copies to a tensor write whole multiples of 16 bytes"))
        return rules


def described(
    operation: str,
    layout: str,
    tensor: str,
    format: str,
    said: Sequence[Any] | Mapping[str, Any],
    constants: Mapping[str, Any],
) -> Descriptor:
    """The descriptor of a tensor by its block, ``["BLOCK_M", 64]``, or by a dict with block, shape
    and strides where these are not those of the operation's tensor."""
    if format == "e2m1":
        raise InputError(f"the descriptor of {tensor}, which is packed, needs a manifest")
    known = dict(said) if isinstance(said, Mapping) else {"block": said}
    if unknown := set(known) - {"block", "shape", "strides"}:
        raise InputError(f"descriptors: {tensor} has {unknown.pop()!r}; it has block, shape, strides")
    if not known.get("block") or isinstance(known["block"], str):
        raise InputError(f'descriptors: {tensor} needs its block, for example ["BLOCK_M", "BLOCK_K"]')
    block = tuple(_number(tensor, size, constants) for size in known["block"])
    shape = known.get("shape") or _shape(operation, layout, tensor, len(block))
    shape = tuple(str(constants.get(size, size)) for size in shape)
    strides = known.get("strides") or _strides(operation, tensor, shape)
    strides = tuple(str(constants.get(stride, stride)) for stride in strides)
    if not len(block) == len(shape) == len(strides):
        raise InputError(f"descriptors: block, shape and strides of {tensor} have different lengths")
    if strides[-1] != "1":
        raise InputError(f"descriptors: the last stride of {tensor} is {strides[-1]}, and has to be 1")
    return Descriptor(tensor, format, block, shape, strides)


def _number(tensor: str, size: Any, constants: Mapping[str, Any]) -> int:
    value = constants.get(size, size) if isinstance(size, str) else size
    if not isinstance(value, int):
        raise InputError(f"descriptors: {size!r} in the block of {tensor} is no constant of the kernel")
    return value


# Sizes that are 0 where they are as many as others, in effect.
_IN_EFFECT = {"kv_heads": "heads / group", "dv": "width_v"}


# The operation's sizes as they are stored; the leading ones are joined where the block has fewer.
def _shape(operation: str, layout: str, tensor: str, rank: int) -> list[str]:
    sizes = [size.replace("//", "/") for size in row_of(operation).tensors[tensor].sizes()]
    if not isinstance(operation, Text):
        sizes = [_IN_EFFECT.get(size, size) for size in sizes]
    if operation == "gemm" and tensor in "ab" and layout["ab".index(tensor)] == "t":
        sizes[-2:] = sizes[:-3:-1]
    if rank > len(sizes):
        raise InputError(
            f"descriptors: the block of {tensor} has {rank} sizes, and {tensor} of {operation} is "
            f"[{', '.join(sizes)}]: say its shape and strides"
        )
    if operation == "gemm" and rank < len(sizes):
        sizes = sizes[1:]  # one matrix
    first = len(sizes) - rank + 1
    return [" * ".join(f"({s})" if not s.isidentifier() else s for s in sizes[:first]), *sizes[first:]]


def _strides(operation: str, tensor: str, shape: Sequence[str]) -> list[str]:
    strides = ["1"]
    if len(shape) > 1:
        fields = row_of(operation).fields
        has_own = f"ld{tensor}" in fields or isinstance(operation, Text) and f"pad_{tensor}" in fields
        strides.insert(0, f"ld_{tensor}" if has_own else shape[-1])
    for size in reversed(shape[1:-1]):
        strides.insert(0, f"({size}) * {strides[0]}")
    return strides
