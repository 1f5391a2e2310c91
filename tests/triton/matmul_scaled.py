#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A GEMM of MXFP8, MXFP4 or NVFP4 in Triton: tl.dot_scaled, which is mma.sync with block scales on sm_120 and tcgen05 on sm_100.

    pip install triton==3.9.0 && python matmul_scaled.py     writes the files beside it anew
"""
import triton
import triton.language as tl

from export import TYPES, export


@triton.jit
def matmul_scaled(a, a_scale, b, b_scale, d, m, n, k, lda, ldb, ldd,
                  FORMAT_A: tl.constexpr, FORMAT_B: tl.constexpr, ZERO_A: tl.constexpr, ZERO_B: tl.constexpr, SCALE_ZERO: tl.constexpr,
                  PACK_A: tl.constexpr, PACK_B: tl.constexpr, BLOCK: tl.constexpr, TILE: tl.constexpr, STEP: tl.constexpr):
    """D[m, n] = A[m, k] * B[n, k] transposed, PACK_A and PACK_B elements to a byte, with a scale for each BLOCK of k."""
    rows = tl.program_id(1) * TILE + tl.arange(0, TILE)
    columns = tl.program_id(0) * TILE + tl.arange(0, TILE)
    blocks = tl.cdiv(k, BLOCK)
    sums = tl.zeros((TILE, TILE), tl.float32)
    for first in range(0, k, STEP):
        of_a = first // PACK_A + tl.arange(0, STEP // PACK_A)
        of_b = first // PACK_B + tl.arange(0, STEP // PACK_B)
        left = tl.load(a + rows[:, None] * (lda // PACK_A) + of_a[None, :], mask=(rows[:, None] < m) & (of_a[None, :] < k // PACK_A), other=ZERO_A)
        right = tl.load(b + columns[:, None] * (ldb // PACK_B) + of_b[None, :], mask=(columns[:, None] < n) & (of_b[None, :] < k // PACK_B), other=ZERO_B)
        block = first // BLOCK + tl.arange(0, STEP // BLOCK)
        of_left = tl.load(a_scale + rows[:, None] * blocks + block[None, :], mask=(rows[:, None] < m) & (block[None, :] < blocks), other=SCALE_ZERO)
        of_right = tl.load(b_scale + columns[:, None] * blocks + block[None, :], mask=(columns[:, None] < n) & (block[None, :] < blocks), other=SCALE_ZERO)
        sums = tl.dot_scaled(left, of_left, FORMAT_A, right.T, of_right, FORMAT_B, sums)
    tl.store(d + rows[:, None] * ldd + columns[None, :], sums.to(d.dtype.element_ty),
             mask=(rows[:, None] < m) & (columns[None, :] < n))


MANIFEST = """\
# Written by matmul_scaled.py.
computes   = "gemm"
summary    = "a GEMM with block scales from Triton"
ptx        = "{name}.ptx"
targets    = [{sm}]
entry      = "matmul_scaled"
# The last two are Triton's own: pointers to scratch memory that this kernel has none of.
parameters = [
  "ptr a", "ptr scale_a", "ptr b", "ptr scale_b", "ptr d",
  "s32 m", "s32 n", "s32 k", "s32 ld_a", "s32 ld_b", "s32 ld_d", "s64 0", "s64 0",
]

[problem]
layout  = ["nt"]
a       = ["{FORMAT_A}"]
b       = ["{FORMAT_B}"]
out     = ["{out}"]
scale_a = ["1x{BLOCK}"]
scale_b = ["{BLOCK}x1"]
scale_layout = ["k_major"]
free    = ["lda", "ldb", "ldd"]

[launch]
grid   = ['ceil_div(n, {TILE})', 'ceil_div(m, {TILE})']
block  = [{threads}]
shared = {shared}

[formats]
a = "{FORMAT_A}"
b = "{FORMAT_B}"
c = "bf16"
d = "{out}"
scale_a = "{scale}"
scale_b = "{scale}"

[tile]
m = {TILE}
n = {TILE}
k = {STEP}

[[domain]]
require = 'ld_a % 16 == 0 && ld_b % 16 == 0 && ld_d % 16 == 0 && k % {PACK_B} == 0'
reason  = "it was compiled for strides that 16 divides, and for whole bytes"

[[domain]]
require = 'm * ld_a <= 2147483647 && n * ld_b <= 2147483647 && m * ld_d <= 2147483647'
reason  = "offsets have 32 bits in this kernel"

[contract]
unit     = "{unit}"
schedule = "sequential"
epilogue = []
"""


def write(name, formats, scale, block, out, sm, tile, step):
    # Of operands and scales that are integers to Triton the padding is 0, of the others 0.0.
    a, b = formats
    zero = {word: 0.0 if word == "e4m3" else 0 for word in (a, b, scale)}
    pack = {word: 2 if word == "e2m1" else 1 for word in formats}
    constants = {"FORMAT_A": a, "FORMAT_B": b, "ZERO_A": zero[a], "ZERO_B": zero[b], "SCALE_ZERO": zero[scale], "PACK_A": pack[a], "PACK_B": pack[b],
                 "BLOCK": block, "TILE": tile, "STEP": step}
    types = {"a": TYPES[a], "a_scale": TYPES[scale], "b": TYPES[b], "b_scale": TYPES[scale], "d": TYPES[out]}
    types |= {size: "i32" for size in ("m", "n", "k", "lda", "ldb", "ldd")}
    export(f"matmul_{name}_sm_{sm}", matmul_scaled, sm, MANIFEST, types, constants,
           ("a", "b", "d", "lda", "ldb", "ldd"), ptx_version=88, scale=scale, out=out)


if __name__ == "__main__":
    for sm, tile in ((100, 128), (120, 64)):
        write("mxfp8", ("e4m3", "e4m3"), "ue8m0", 32, "f32", sm, tile, 128 if sm == 100 else 64)
        write("mxfp4", ("e2m1", "e2m1"), "ue8m0", 32, "bf16", sm, tile, 128)
        write("nvfp4", ("e2m1", "e2m1"), "e4m3", 16, "f32", sm, tile, 128)
    write("mxfp8_mxfp4", ("e4m3", "e2m1"), "ue8m0", 32, "bf16", 100, 128, 128)  # on sm_120 it is a product of bf16
