# SPDX-License-Identifier: MIT
"""Number formats: their names in plumbline, in safetensors files and in array libraries."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass


@dataclass(frozen=True)
class Format:
    """A number format."""

    name: str
    safetensors: str  # empty: not written to files
    bytes: int
    dtypes: tuple[str, ...]  # as numpy, ml_dtypes and PyTorch call it


# clang-format and its like leave tables alone here, too.
# fmt: off
_FORMATS = (
    Format("f64",   "F64",     8, ("float64", "double")),
    Format("f32",   "F32",     4, ("float32", "float")),
    Format("f16",   "F16",     2, ("float16", "half")),
    Format("bf16",  "BF16",    2, ("bfloat16",)),
    Format("e4m3",  "F8_E4M3", 1, ("float8_e4m3fn",)),
    Format("e5m2",  "F8_E5M2", 1, ("float8_e5m2",)),
    Format("ue8m0", "F8_E8M0", 1, ("float8_e8m0fnu",)),
    Format("s64",   "I64",     8, ("int64",)),
    Format("s32",   "I32",     4, ("int32",)),
    Format("s8",    "I8",      1, ("int8",)),
    Format("u8",    "U8",      1, ("uint8",)),
)
# fmt: on

FORMATS: dict[str, Format] = {f.name: f for f in _FORMATS}
BY_DTYPE: dict[str, str] = {dtype: f.name for f in _FORMATS for dtype in f.dtypes}

# Exponent bits, mantissa bits, whether the largest exponent means Inf and NaN.
_FLOATS = {
    "f64": (11, 52, True),
    "f32": (8, 23, True),
    "f16": (5, 10, True),
    "bf16": (8, 7, True),
    "e4m3": (4, 3, False),
    "e5m2": (5, 2, True),
}


def value_of_bits(name: str, bits: int) -> float | int:
    """The number that bits stand for in a format."""
    if name in ("s8", "s32", "s64"):
        width = 8 * FORMATS[name].bytes
        return bits - (1 << width) if bits >> (width - 1) else bits
    if name not in _FLOATS:
        return bits
    exponent_bits, mantissa_bits, has_infinity = _FLOATS[name]
    bias = (1 << (exponent_bits - 1)) - 1
    sign = -1.0 if bits >> (exponent_bits + mantissa_bits) & 1 else 1.0
    top = (1 << exponent_bits) - 1
    exponent = bits >> mantissa_bits & top
    mantissa = bits & ((1 << mantissa_bits) - 1)
    if exponent == top and has_infinity:
        return math.nan if mantissa else sign * math.inf
    if exponent == top and mantissa == (1 << mantissa_bits) - 1:
        return math.nan
    if exponent == 0:
        return sign * math.ldexp(mantissa, 1 - bias - mantissa_bits)
    return sign * math.ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits)


def text_of_bits(name: str, bits: int) -> str:
    """The number that bits stand for, as short as it reads back."""
    value = value_of_bits(name, bits)
    if isinstance(value, int):
        return str(value)
    if math.isnan(value):
        return "NaN"
    if math.isfinite(value) and name != "f64":
        for digits in range(1, 18):
            text = f"{value:.{digits}g}"
            if struct.pack("<d", float(text)) == struct.pack("<d", value):
                return text
            if name == "f32" and _rounds_to(text, value):
                return text
    return repr(value)


def _rounds_to(text: str, value: float) -> bool:
    try:
        return bool(struct.unpack("<f", struct.pack("<f", float(text)))[0] == value)
    except OverflowError:
        return False
