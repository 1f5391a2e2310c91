# SPDX-License-Identifier: MIT
"""Tensors of any library as formats, shapes and bytes, and the file that the program reads.

PyTorch, NumPy (with ml_dtypes), everything with DLPack or ``__array_interface__``, and Python's
buffers are understood, without importing any of their libraries. Memory is looked at where it
lies: what is contiguous is not copied before it is written. What is on a GPU is copied once.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .errors import InputError
from .formats import BY_DTYPE, FORMATS


@dataclass(frozen=True)
class Tensor:
    """Elements in memory, each at ``offset`` plus the sum of its indices times ``strides``."""

    format: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # in elements
    memory: memoryview  # of bytes
    offset: int = 0  # of the first element, in elements
    owner: Any = None  # keeps the memory alive
    device: str = "cpu"  # where it was; "cuda sm_90" for a GPU whose chip is known

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.count * FORMATS[self.format].bytes

    @property
    def is_contiguous(self) -> bool:
        return self.count == 0 or _simplified(self.shape, self.strides)[1] in ((), (1,))

    def __str__(self) -> str:
        return f"{self.format} [{', '.join(map(str, self.shape))}]"

    def permuted(self, axes: Sequence[int]) -> Tensor:
        """The same elements with the axes in another order."""
        return replace(
            self,
            shape=tuple(self.shape[axis] for axis in axes),
            strides=tuple(self.strides[axis] for axis in axes),
        )

    def transposed(self) -> Tensor:
        """With the last two axes exchanged."""
        last = len(self.shape)
        return self.permuted((*range(last - 2), last - 1, last - 2))

    def reshaped(self, shape: Sequence[int]) -> Tensor:
        """The same elements in the same order, in another shape of as many."""
        assert math.prod(shape) == self.count
        own = self if self.is_contiguous else self.contiguous()
        return replace(own, shape=tuple(shape), strides=dense_strides(shape))

    def expanded(self, shape: Sequence[int]) -> Tensor:
        """Broadcast to a shape, as NumPy does it."""
        lead = len(shape) - len(self.shape)
        strides = (0,) * lead + tuple(
            0 if own == 1 else stride for own, stride in zip(self.shape, self.strides, strict=True)
        )
        return replace(self, shape=tuple(shape), strides=strides)

    def contiguous(self) -> Tensor:
        """A copy whose elements lie one after the other."""
        data = b"".join(self.chunks())
        return replace(
            self, strides=dense_strides(self.shape), memory=memoryview(data), offset=0, owner=data
        )

    def chunks(self) -> Iterator[memoryview | bytes]:
        """The bytes of all elements in order, in pieces."""
        if self.count == 0:
            return
        width = FORMATS[self.format].bytes
        shape, strides = _simplified(self.shape, self.strides)
        if strides in ((), (1,)):
            begin = self.offset * width
            yield self.memory[begin : begin + self.count * width]
            return
        elements = _cast(self.memory, "BHIQ"[width.bit_length() - 1])
        length, step = shape[-1], strides[-1]
        for start in _starts(shape[:-1], strides[:-1], self.offset):
            if step == 0:
                yield elements[start : start + 1].tobytes() * length
                continue
            end = start + (length - 1) * step
            stop = end + 1 if step > 0 else (end - 1 if end > 0 else None)
            yield elements[start:stop:step].tobytes()

    def integers(self) -> list[int]:
        """The elements of a tensor of integers."""
        code = {"s64": "q", "s32": "i", "s8": "b", "u8": "B"}[self.format]
        data = b"".join(self.chunks())
        return list(_cast(memoryview(data), code))


def dense_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of elements that lie one after the other."""
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def from_bytes(format: str, shape: Sequence[int], data: bytes) -> Tensor:
    """A tensor of bytes that lie one after the other."""
    return Tensor(format, tuple(shape), dense_strides(shape), memoryview(data), 0, data)


def f32(value: float) -> Tensor:
    """One number as a tensor of shape [1]."""
    try:
        return from_bytes("f32", (1,), struct.pack("<f", value))
    except OverflowError:
        raise InputError(f"{value!r} is beyond f32") from None


def as_format(tensor: Any, format: str) -> Tensor:
    """The same bits as numbers of another format of that width.

    For libraries without a dtype of the format: FP8 that is kept as ``uint8``, for example.

    >>> as_format(bytearray(b"\\x38\\xb8"), "e4m3").format
    'e4m3'
    """
    if format not in FORMATS or not FORMATS[format].safetensors:
        names = ", ".join(f.name for f in FORMATS.values() if f.safetensors)
        raise InputError(f"there is no format {format!r}; there are {names}")
    read = read_tensor("tensor", tensor)
    if FORMATS[read.format].bytes != FORMATS[format].bytes:
        raise InputError(
            f"{read.format} has {FORMATS[read.format].bytes} bytes, "
            f"{format} has {FORMATS[format].bytes}"
        )
    return replace(read, format=format)


def is_tensor(value: Any) -> bool:
    """Whether ``read_tensor`` would try to read this, rather than take it for a field's value."""
    if isinstance(value, Tensor):
        return True
    if isinstance(value, (str, bytes, bool, int, float)) or value is None:
        return False
    if hasattr(value, "__dlpack__") or hasattr(value, "__array_interface__"):
        return getattr(value, "shape", None) != () or not _is_numpy_scalar(value)
    if isinstance(value, (bytearray, memoryview)):
        return True
    return type(value).__module__ == "array"


def read_tensor(name: str, value: Any) -> Tensor:
    """A tensor of any library; `name` is for messages."""
    if isinstance(value, Tensor):
        return value
    if _is_torch(value):
        return _read_torch(name, value)
    if hasattr(value, "__array_interface__"):
        return _read_array_interface(name, value)
    if hasattr(value, "__dlpack__"):
        return _read_dlpack(name, value)
    try:
        view = memoryview(value)
    except TypeError:
        raise InputError(
            f"{name} is a {type(value).__qualname__}, which is no tensor: it has neither DLPack "
            "(__dlpack__) nor __array_interface__"
        ) from None
    return _read_buffer(name, view)


def write_safetensors(
    path: str | os.PathLike[str], tensors: Mapping[str, Tensor], metadata: Mapping[str, str]
) -> None:
    """Writes the file that ``plumbline check`` reads."""
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    end = 0
    for name, tensor in tensors.items():
        begin, end = end, end + tensor.nbytes
        header[name] = {
            "dtype": FORMATS[tensor.format].safetensors,
            "shape": list(tensor.shape),
            "data_offsets": [begin, end],
        }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # the data begin aligned
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            for chunk in tensor.chunks():
                file.write(chunk)


# As memoryview.cast, whose types know only codes that are written out.
def _cast(view: memoryview, code: str) -> memoryview[int]:
    cast: Any = view.cast("B").cast
    result: memoryview[int] = cast(code)
    return result


# Neighboring axes that can be walked as one are one.
def _simplified(
    shape: Sequence[int], strides: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    sizes: list[int] = []
    steps: list[int] = []
    for size, step in zip(shape, strides, strict=True):
        if size == 1:
            continue
        if sizes and steps[-1] == size * step:
            sizes[-1] *= size
            steps[-1] = step
        else:
            sizes.append(size)
            steps.append(step)
    return tuple(sizes), tuple(steps)


def _starts(shape: Sequence[int], strides: Sequence[int], first: int) -> Iterator[int]:
    if not shape:
        yield first
        return
    for index in range(shape[0]):
        yield from _starts(shape[1:], strides[1:], first + index * strides[0])


# A view of memory at an address, from the lowest element to the highest.
def _view(
    format: str, shape: Sequence[int], strides: Sequence[int], address: int, owner: Any, device: str
) -> Tensor:
    shape, strides = tuple(shape), tuple(strides)
    if math.prod(shape) == 0:
        return Tensor(format, shape, dense_strides(shape), memoryview(b""), 0, owner, device)
    width = FORMATS[format].bytes
    spans = [(size - 1) * step for size, step in zip(shape, strides, strict=True)]
    lowest, highest = sum(s for s in spans if s < 0), sum(s for s in spans if s > 0)
    size = (highest - lowest + 1) * width
    memory = (ctypes.c_char * size).from_address(address + lowest * width)
    return Tensor(
        format, shape, strides, memoryview(memory).cast("B"), -lowest, (owner, memory), device
    )


def _format_of_dtype(name: str, dtype: str) -> str:
    if dtype in BY_DTYPE:
        return BY_DTYPE[dtype]
    known = ", ".join(d for f in FORMATS.values() for d in f.dtypes[:1])
    raise InputError(
        f"{name} is {dtype}, which plumbline has no format for; it has {known}. "
        "plumbline.as_format gives bits another format of the same width"
    )


def _is_torch(value: Any) -> bool:
    return any(
        base.__module__ == "torch" and base.__name__ == "Tensor" for base in type(value).__mro__
    )


def _read_torch(name: str, value: Any) -> Tensor:
    format = _format_of_dtype(name, str(value.dtype).removeprefix("torch."))
    if value.device.type == "meta":
        raise InputError(f"{name} is on the device meta: it has no values")
    if str(value.layout) != "torch.strided":
        raise InputError(f"{name} is {value.layout}: call .to_dense() on it")
    value = value.detach().resolve_neg()
    device = value.device.type
    if device == "cuda":
        major, minor = __import__("torch").cuda.get_device_capability(value.device)
        device = f"cuda sm_{major}{minor}"
    if value.device.type != "cpu":
        value = value.cpu()
    return _view(format, value.shape, value.stride(), value.data_ptr(), value, device)


def _is_numpy_scalar(value: Any) -> bool:
    return any(
        base.__module__ == "numpy" and base.__name__ == "generic" for base in type(value).__mro__
    )


_TYPESTR = {
    "f8": "float64",
    "f4": "float32",
    "f2": "float16",
    "i8": "int64",
    "i4": "int32",
    "i1": "int8",
    "u1": "uint8",
}


def _read_array_interface(name: str, value: Any) -> Tensor:
    interface = value.__array_interface__
    typestr: str = interface["typestr"]
    # The formats of ml_dtypes are opaque bytes in the interface; the dtype has their name.
    dtype = getattr(getattr(value, "dtype", None), "name", None) or _TYPESTR.get(typestr[1:], "")
    format = _format_of_dtype(name, dtype or typestr)
    if typestr[0] == ">" and FORMATS[format].bytes > 1:
        raise InputError(f"{name} is big-endian: call .astype on it")
    width = FORMATS[format].bytes
    shape = tuple(interface["shape"])
    in_bytes = interface.get("strides")
    if in_bytes is None:
        strides = dense_strides(shape)
    elif any(step % width for step in in_bytes):
        raise InputError(f"{name} has elements at odd addresses: copy it first")
    else:
        strides = tuple(step // width for step in in_bytes)
    data = interface.get("data")
    if not isinstance(data, tuple):
        return _read_buffer(name, memoryview(value if data is None else data))
    return _view(format, shape, strides, data[0], value, "cpu")


class _DLDevice(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class _DLDataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", _DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


# Of a managed tensor with a version, what precedes the tensor: version, context, deleter, flags.
_BEFORE_VERSIONED = 8 + 2 * ctypes.sizeof(ctypes.c_void_p) + 8

# DLDataTypeCode and bits.
_DL_TYPES = {
    (0, 8): "s8",
    (0, 32): "s32",
    (0, 64): "s64",
    (1, 8): "u8",
    (2, 16): "f16",
    (2, 32): "f32",
    (2, 64): "f64",
    (4, 16): "bf16",
    (10, 8): "e4m3",
    (12, 8): "e5m2",
    (14, 8): "ue8m0",
}
_DL_ON_HOST = (1, 3, 13)  # CPU, pinned by CUDA, managed by CUDA


def _read_dlpack(name: str, value: Any) -> Tensor:
    try:
        device = value.__dlpack_device__() if hasattr(value, "__dlpack_device__") else (1, 0)
        if int(device[0]) in _DL_ON_HOST:
            capsule = value.__dlpack__()
        else:
            capsule = value.__dlpack__(dl_device=(1, 0), copy=True)
    except (TypeError, BufferError, ValueError, RuntimeError) as error:
        raise InputError(
            f"{name} does not give its elements by DLPack: {error}. Copy it to the CPU first"
        ) from error
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype = ctypes.c_void_p
    pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]
    is_valid = ctypes.pythonapi.PyCapsule_IsValid
    is_valid.argtypes = [ctypes.py_object, ctypes.c_char_p]
    # The capsule is kept and not consumed: it frees the tensor when it is collected.
    if is_valid(capsule, b"dltensor"):
        address = pointer_of(capsule, b"dltensor")
    elif is_valid(capsule, b"dltensor_versioned"):
        address = pointer_of(capsule, b"dltensor_versioned") + _BEFORE_VERSIONED
    else:
        raise InputError(f"{name} gives a DLPack capsule of an unknown kind")
    tensor = _DLTensor.from_address(address)
    kind = (tensor.dtype.code, tensor.dtype.bits)
    if kind not in _DL_TYPES or tensor.dtype.lanes != 1:
        dtype = getattr(value, "dtype", f"DLPack type {kind[0]} of {kind[1]} bits")
        raise InputError(f"{name} is {dtype}, which plumbline has no format for")
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    if tensor.strides:
        strides = tuple(tensor.strides[i] for i in range(tensor.ndim))
    else:
        strides = dense_strides(shape)
    data = (tensor.data or 0) + tensor.byte_offset
    return _view(_DL_TYPES[kind], shape, strides, data, (value, capsule), "cpu")


_BUFFER_CODES = {
    "d": "float64",
    "f": "float32",
    "e": "float16",
    "i": "int32",
    "b": "int8",
    "B": "uint8",
    "q": "int64",
}


def _read_buffer(name: str, view: memoryview) -> Tensor:
    code = view.format.lstrip("@=<") or "B"
    if code == "l":  # of 4 bytes behind a prefix, but not from ctypes
        code = "q" if view.itemsize == 8 else "i"
    format = _format_of_dtype(name, _BUFFER_CODES.get(code, f"of type {view.format!r}"))
    data = view if view.c_contiguous else memoryview(view.tobytes())
    shape = tuple(view.shape or ())
    if data.nbytes == 0:
        return from_bytes(format, shape, b"")
    return Tensor(format, shape, dense_strides(shape), data.cast("B"), 0, view)
