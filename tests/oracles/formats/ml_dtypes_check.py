#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares a dump of plumbline's conversions with ml_dtypes, the number formats of JAX.

ml_dtypes_test.cpp writes, for each format, <format>.encode (pairs of 32-bit words: the bits of an
f32, the code plumbline rounds it to, nearest even, overflow to the special value) and <format>.decode
(one f32 for each code, from 0 up), and runs this program on the directory. It exits with 0 when all
agree, 1 after saying what differs, and 77 when ml_dtypes or numpy cannot be imported.

    python3 ml_dtypes_check.py DIRECTORY
"""

import pathlib
import sys

try:
    import ml_dtypes
    import numpy as np
except ImportError as error:
    print(f"{error}; pip install ml_dtypes numpy")
    sys.exit(77)

FORMATS = {
    "e2m1": "float4_e2m1fn",
    "e2m3": "float6_e2m3fn",
    "e3m2": "float6_e3m2fn",
    "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2",
    "ue8m0": "float8_e8m0fnu",
    "bf16": "bfloat16",
    "f16": None,  # numpy's own
}


def dtype_of(name):
    """The dtype, or None where the installed ml_dtypes is too old to have it."""
    if FORMATS[name] is None:
        return np.dtype(np.float16)
    scalar = getattr(ml_dtypes, FORMATS[name], None)
    return None if scalar is None else np.dtype(scalar)


def report(name, what, inputs, ours, theirs, differ):
    """Says how many differ and shows the first; returns whether none did."""
    if not differ.any():
        print(f"{name}: {differ.size} {what}, all the same")
        return True
    first = int(np.argmax(differ))
    print(f"{name}: {int(differ.sum())} of {differ.size} {what} differ, for instance "
          f"{int(inputs[first]):#x}: plumbline {ours[first]!r}, ml_dtypes {theirs[first]!r}")
    return False


def check_encode(name, dtype, path):
    """f32 to code. Any two NaN agree; where the two promise different things, nothing is compared."""
    pairs = np.fromfile(path, dtype=np.uint32).reshape(-1, 2)
    inputs, ours = pairs[:, 0], pairs[:, 1]
    values = inputs.view(np.float32)
    keep = np.ones(values.shape, dtype=bool)
    if name in ("e2m1", "e2m3", "e3m2"):
        keep &= ~np.isnan(values)  # no NaN in the format: plumbline gives the largest as cvt does, ml_dtypes -0
    if name == "ue8m0":
        # plumbline, as cvt does, drops the sign and clamps at 2^-127; ml_dtypes gives NaN there.
        keep &= values >= np.float32(2.0**-127)
        # ml_dtypes 0.6.0 rounds (2^-127, 1.5 * 2^-127), subnormal as f32, to 2^-126, the farther neighbor.
        keep &= (values == np.float32(2.0**-127)) | (values >= np.float32(1.5 * 2.0**-127))
    inputs, ours, values = inputs[keep], ours[keep], values[keep]
    width = np.uint8 if dtype.itemsize == 1 else np.uint16
    theirs = values.astype(dtype).view(width).astype(np.uint32)
    decode = lambda codes: codes.astype(width).view(dtype).astype(np.float32)
    both_nan = np.isnan(decode(ours)) & np.isnan(decode(theirs))
    return report(name, "conversions from f32", inputs, ours, theirs, (ours != theirs) & ~both_nan)


def check_decode(name, dtype, path):
    """Every code to f32, to the bit, but for NaN."""
    ours = np.fromfile(path, dtype=np.float32)
    width = np.uint8 if dtype.itemsize == 1 else np.uint16
    codes = np.arange(ours.size).astype(width)
    theirs = codes.view(dtype).astype(np.float32)
    both_nan = np.isnan(ours) & np.isnan(theirs)
    differ = (ours.view(np.uint32) != theirs.view(np.uint32)) & ~both_nan
    return report(name, "codes to f32", codes, ours, theirs, differ)


def main():
    directory = pathlib.Path(sys.argv[1])
    good = True
    np.seterr(all="ignore")
    for name in FORMATS:
        dtype = dtype_of(name)
        if dtype is None:
            print(f"{name}: not in ml_dtypes {ml_dtypes.__version__}; not compared")
            continue
        good &= check_encode(name, dtype, directory / f"{name}.encode")
        good &= check_decode(name, dtype, directory / f"{name}.decode")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
