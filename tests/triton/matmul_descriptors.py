#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A GEMM in Triton whose tiles are moved by the TMA unit, for sm_90: pipelined by one group of warps, and with groups that copy for others.

    pip install triton==3.9.0 && python matmul_descriptors.py     writes the files beside it anew
"""
import triton
import triton.language as tl

from export import export


@triton.jit
def matmul(a, b, d, m, n, k, TILE: tl.constexpr, STEP: tl.constexpr, SPECIALIZED: tl.constexpr):
    """D[m, n] = A[m, k] * B[n, k] transposed; a, b and d are tensor descriptors."""
    row = tl.program_id(1) * TILE
    column = tl.program_id(0) * TILE
    sums = tl.zeros((TILE, TILE), tl.float32)
    for first in tl.range(0, k, STEP, warp_specialize=SPECIALIZED):
        sums = tl.dot(a.load([row, first]), b.load([column, first]).T, sums)
    d.store([row, column], sums.to(tl.bfloat16))


MANIFEST = """\
# Written by matmul_descriptors.py.
computes   = "gemm"
summary    = "a GEMM from Triton, moved by the TMA unit"
ptx        = "{name}.ptx"
targets    = [{sm}]
entry      = "matmul"
# Behind each tensor map its shape and strides. The last two are Triton's own: pointers to scratch memory that this kernel has none of.
parameters = [
  "tensor_map a", "s32 m", "s32 k", "s64 ld_a", "s64 1",
  "tensor_map b", "s32 n", "s32 k", "s64 ld_b", "s64 1",
  "tensor_map d", "s32 m", "s32 n", "s64 ld_d", "s64 1",
  "s32 m", "s32 n", "s32 k", "s64 0", "s64 0",
]

# As Triton's launcher makes them: a box is a tile, swizzled over its 128 bytes.
[tensor_map.a]
dims    = ["max(k, 1)", "m"]
strides = ["ld_a"]
box     = [{STEP}, {TILE}]
swizzle = "128B"

[tensor_map.b]
dims    = ["max(k, 1)", "n"]
strides = ["ld_b"]
box     = [{STEP}, {TILE}]
swizzle = "128B"

[tensor_map.d]
dims    = ["n", "m"]
strides = ["ld_d"]
box     = [{TILE}, {TILE}]
swizzle = "128B"

[problem]
layout = ["nt"]
a      = ["bf16"]
b      = ["bf16"]
out    = ["bf16"]
free   = ["lda", "ldb", "ldd"]

[launch]
grid   = ['ceil_div(n, {TILE})', 'ceil_div(m, {TILE})']
block  = [{threads}]
shared = {shared}

[formats]
a = "bf16"
b = "bf16"
c = "bf16"
d = "bf16"

[tile]
m = {TILE}
n = {TILE}
k = {STEP}

[[domain]]
require = 'n % 8 == 0 && ld_a % 8 == 0 && ld_b % 8 == 0 && ld_d % 8 == 0'
reason  = "the TMA unit finds rows that begin at multiples of 16 bytes, and stores whole multiples of 16 bytes"

[contract]
unit     = "{unit}"
schedule = "sequential"
epilogue = []
"""

if __name__ == "__main__":
    tile = "tensordesc<bf16[64, 64]>"
    types = {"a": tile, "b": tile, "d": tile, "m": "i32", "n": "i32", "k": "i32"}
    for kind in ("pipelined", "specialized"):
        export(f"matmul_{kind}_sm_90", matmul, 90, MANIFEST, types, {"TILE": 64, "STEP": 64, "SPECIALIZED": kind == "specialized"}, ())
