#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Softmax in Triton, a row of up to 1024 columns per program; see matmul.py."""
import triton
import triton.language as tl

from export import export


@triton.jit
def softmax(x, y, n, ldx, ldy, WIDTH: tl.constexpr):
    """Y[row] = softmax of X[row]."""
    row = tl.program_id(0)
    columns = tl.arange(0, WIDTH)
    z = tl.load(x + row * ldx + columns, mask=columns < n, other=-float("inf")).to(tl.float32)
    p = tl.exp(z - tl.max(z, 0))
    tl.store(y + row * ldy + columns, (p / tl.sum(p, 0)).to(y.dtype.element_ty), mask=columns < n)


MANIFEST = """\
# Written by softmax.py.
computes   = "softmax"
summary    = "softmax from Triton"
ptx        = "{name}.ptx"
targets    = [{sm}]
entry      = "softmax"
parameters = ["ptr x", "ptr y", "s32 n", "s32 ld_x", "s32 ld_y", "s64 0", "s64 0"]

[problem]
out  = ["f32"]
free = ["ldx", "ldy"]

[launch]
grid   = ['m']
block  = [{threads}]
shared = {shared}

[formats]
x = "bf16"
y = "f32"

[[domain]]
require = 'n <= {WIDTH} && m <= 2147483647 && m * max(ld_x, ld_y) <= 2147483647'
reason  = "a row is one program's, and offsets have 32 bits"

[contract]
lanes       = {threads}
exponential = "ex2.approx"
normalize   = "div.full"
"""

if __name__ == "__main__":
    types = {"x": "*bf16", "y": "*fp32", "n": "i32", "ldx": "i32", "ldy": "i32"}
    export("softmax_sm_80", softmax, 80, MANIFEST, types, {"WIDTH": 1024}, ("x", "y"))
