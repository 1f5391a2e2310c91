#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A GEMM in Triton, its PTX for four chips and formats, and a manifest for each: what docs/triton.md describes.

    pip install triton==3.9.0 && python matmul.py     writes the files beside it anew; no GPU is needed

tests/cli/triton.sh verifies them.
"""
import os
import pathlib

os.environ["TRITON_DEFAULT_FP_FUSION"] = "0"  # the PTX has to fix the bits: nothing may be fused behind its back

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


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
grid   = ['ceil_div(n, {tile})', 'ceil_div(m, {tile})']
block  = [{threads}]
shared = {shared}

[formats]
a = "{format}"
b = "{format}"
c = "bf16"
d = "{out}"

[tile]
m = {tile}
n = {tile}
k = {step}

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


TRITON_TYPES = {"bf16": "*bf16", "e4m3": "*fp8e4nv", "f32": "*fp32"}


def write(format, out, sm, unit, tile=64, step=64):
    signature = {"a": TRITON_TYPES[format], "b": TRITON_TYPES[format], "d": TRITON_TYPES[out]}
    signature |= {name: "i32" for name in ("m", "n", "k", "lda", "ldb", "ldd")}
    signature |= {"TILE": "constexpr", "STEP": "constexpr"}
    aligned = [matmul.arg_names.index(name) for name in ("a", "b", "d", "lda", "ldb", "ldd")]
    source = ASTSource(matmul, signature, {"TILE": tile, "STEP": step},
                       {(place,): [["tt.divisibility", 16]] for place in aligned})
    compiled = triton.compile(source, target=GPUTarget("cuda", sm, 32), 
                              options={"num_warps": 4, "ptx_version": 84})
    name = f"matmul_{format}_sm_{sm}"
    here = pathlib.Path(__file__).parent
    ptx = compiled.asm["ptx"].replace(str(here.resolve()) + "/", "")  # .file: findings name matmul.py and a line
    (here / f"{name}.ptx").write_text(ptx[:ptx.index("\t.section\t.debug_abbrev")])
    (here / f"{name}.toml").write_text(MANIFEST.format(
        name=name, sm=sm, format=format, out=out, unit=unit, tile=tile, step=step,
        threads=32 * compiled.metadata.num_warps, shared=compiled.metadata.shared))


if __name__ == "__main__":
    write("bf16", "bf16", 80, "mma.sync")
    write("bf16", "bf16", 90, "wgmma")
    write("e4m3", "f32", 89, "mma.sync")
    write("e4m3", "f32", 90, "wgmma")
