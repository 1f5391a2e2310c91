#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A GEMM in Triton for four chips and two formats: what docs/triton.md describes, and tests/cli/triton.sh verifies.

    pip install triton==3.9.0 && python matmul.py     writes the files beside it anew
"""
import triton
import triton.language as tl

from export import TYPES, export


@triton.jit
def matmul(a, b, d, m, n, k, lda, ldb, ldd, TILE: tl.constexpr, STEP: tl.constexpr):
    """D[m, n] = A[m, k] * B[n, k] transposed."""
    rows = tl.program_id(1) * TILE + tl.arange(0, TILE)
    columns = tl.program_id(0) * TILE + tl.arange(0, TILE)
    sums = tl.zeros((TILE, TILE), tl.float32)
    for first in range(0, k, STEP):
        ks = first + tl.arange(0, STEP)
        left = tl.load(a + rows[:, None] * lda + ks[None, :], mask=(rows[:, None] < m) & (ks[None, :] < k), other=0.0)
        right = tl.load(b + columns[None, :] * ldb + ks[:, None], mask=(columns[None, :] < n) & (ks[:, None] < k), other=0.0)
        sums = tl.dot(left, right, sums)
    tl.store(d + rows[:, None] * ldd + columns[None, :], sums.to(d.dtype.element_ty),
             mask=(rows[:, None] < m) & (columns[None, :] < n))


MANIFEST = """\
# Written by matmul.py.
computes   = "gemm"
summary    = "a GEMM from Triton"
ptx        = "{name}.ptx"
targets    = [{sm}]
entry      = "matmul"
# The last two are Triton's own: pointers to scratch memory that this kernel has none of.
parameters = ["ptr a", "ptr b", "ptr d", "s32 m", "s32 n", "s32 k", "s32 ld_a", "s32 ld_b", "s32 ld_d", "s64 0", "s64 0"]

[problem]
layout = ["nt"]
a      = ["{format}"]
b      = ["{format}"]
out    = ["{out}"]
free   = ["lda", "ldb", "ldd"]

[launch]
grid   = ['ceil_div(n, {TILE})', 'ceil_div(m, {TILE})']
block  = [{threads}]
shared = {shared}

[formats]
a = "{format}"
b = "{format}"
c = "bf16"
d = "{out}"

[tile]
m = {TILE}
n = {TILE}
k = {STEP}

[[domain]]
require = 'ld_a % 16 == 0 && ld_b % 16 == 0 && ld_d % 16 == 0'
reason  = "it was compiled for strides that 16 divides"

[[domain]]
require = 'm * ld_a <= 2147483647 && n * ld_b <= 2147483647 && m * ld_d <= 2147483647'
reason  = "offsets have 32 bits in this kernel"

[contract]
unit     = "{unit}"
schedule = "sequential"
epilogue = []
"""


def write(format, out, sm, tile=64):
    types = {"a": TYPES[format], "b": TYPES[format], "d": TYPES[out]}
    types |= {size: "i32" for size in ("m", "n", "k", "lda", "ldb", "ldd")}
    export(f"matmul_{format}_sm_{sm}", matmul, sm, MANIFEST, types, {"TILE": tile, "STEP": 64},
           ("a", "b", "d", "lda", "ldb", "ldd"), format=format, out=out)


if __name__ == "__main__":
    write("bf16", "bf16", 80)
    write("bf16", "bf16", 90)
    write("e4m3", "f32", 89)
    write("e4m3", "f32", 90)
    # Of 64 and of 128 rows: in tensor memory, sums lie otherwise.
    write("bf16", "bf16", 100)
    write("e4m3", "f32", 100, tile=128)
