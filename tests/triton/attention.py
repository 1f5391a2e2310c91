#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Attention in Triton with an online softmax in base 2, for two chips; see matmul.py."""
import triton
import triton.language as tl

from export import export


@triton.jit
def attention(q, k, v, o, lse, queries, keys, scale, ROWS: tl.constexpr, TILE: tl.constexpr, WIDTH: tl.constexpr):
    """Heads one after the other: Q and O [queries, WIDTH], K and V [keys, WIDTH]."""
    head = tl.program_id(1)
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, WIDTH)
    own = (head * queries + rows[:, None]) * WIDTH + columns[None, :]
    left = tl.load(q + own, mask=rows[:, None] < queries, other=0.0)
    largest = tl.full((ROWS,), -float("inf"), tl.float32)
    total = tl.zeros((ROWS,), tl.float32)
    sums = tl.zeros((ROWS, WIDTH), tl.float32)
    for first in range(0, keys, TILE):
        there = first + tl.arange(0, TILE)
        places = (head * keys + there[:, None]) * WIDTH + columns[None, :]
        right = tl.load(k + places, mask=there[:, None] < keys, other=0.0)
        y = tl.dot(left, tl.trans(right)) * (scale * 1.4426950408889634)
        y = tl.where(there[None, :] < keys, y, -float("inf"))
        above = tl.maximum(largest, tl.max(y, 1))
        p = tl.exp2(y - above[:, None])
        factor = tl.exp2(largest - above)
        total = total * factor + tl.sum(p, 1)
        values = tl.load(v + places, mask=there[:, None] < keys, other=0.0)
        sums = tl.dot(p.to(values.dtype), values, sums * factor[:, None])
        largest = above
    tl.store(o + own, (sums / total[:, None]).to(o.dtype.element_ty), mask=rows[:, None] < queries)
    tl.store(lse + head * queries + rows, (largest + tl.log2(total)) * 0.6931471805599453, mask=rows < queries)


MANIFEST = """\
# Written by attention.py.
computes   = "attention"
summary    = "attention from Triton"
ptx        = "{name}.ptx"
targets    = [{sm}]
entry      = "attention"
parameters = ["ptr q", "ptr k", "ptr v", "ptr o", "ptr lse", "s32 queries", "s32 keys", "f32 scale", "s64 0", "s64 0"]

[problem]
free = ["heads", "scale"]

[launch]
grid   = ['ceil_div(queries, {ROWS})', 'heads']
block  = [{threads}]
shared = {shared}

[formats]
q = "bf16"
k = "bf16"
v = "bf16"
o = "bf16"

[tile]
queries = {ROWS}
keys    = {TILE}

[[domain]]
require = 'd == {WIDTH} && keys > 0'
reason  = "rows of {WIDTH}, and at least one key"

[[domain]]
require = 'scale > 0 && heads * max(queries, keys) * {WIDTH} <= 2147483647'
reason  = "the running maximum needs a positive scale, and offsets have 32 bits"

[contract]
unit      = "{unit}"
tile      = {TILE}
p         = "bf16"
logits    = "base 2"
normalize = "div.full"
"""


def write(sm):
    types = {"q": "*bf16", "k": "*bf16", "v": "*bf16", "o": "*bf16", "lse": "*fp32", "queries": "i32", "keys": "i32", "scale": "fp32"}
    export(f"attention_bf16_sm_{sm}", attention, sm, MANIFEST, types, {"ROWS": 64, "TILE": 64, "WIDTH": 64},
           ("q", "k", "v", "o"))


if __name__ == "__main__":
    write(80)
    write(90)
