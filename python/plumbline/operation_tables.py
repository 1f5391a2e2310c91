# SPDX-License-Identifier: MIT
"""Fields, contract terms and tensors of the operations. Written from docs/operations.md by
tests/python/test_operations.py (PLUMBLINE_APPROVE=1 writes it again); do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Field:
    """A field of a problem: an integer, a real number, or one of some words."""

    kind: str  # "integer", "f32" or "word"
    words: tuple[str, ...]
    default: str | None  # None: it must be given
    meaning: str


@dataclass(frozen=True)
class Term:
    """A term of a contract."""

    values: tuple[str, ...]  # empty: an integer
    default: str | None  # None: it must be given
    settles: str


@dataclass(frozen=True)
class TensorRow:
    """A tensor of an operation, and the formats that it can have."""

    role: str  # "input" or "output"
    usual: str  # empty: none is usual; "{out}": that of the field
    formats: tuple[str, ...]
    shape: str
    optional: bool = False  # a kernel may lack it

    def sizes(self) -> list[str]:
        """The dimensions of ``shape``, outermost first, each as an expression."""
        return self.shape[1 : self.shape.index("]")].split(", ")


@dataclass(frozen=True)
class Operation:
    """An operation, as docs/operations.md describes it."""

    fields: dict[str, Field]
    terms: dict[str, Term]
    tensors: dict[str, TensorRow]


# fmt: off
OPERATIONS: dict[str, Operation] = {
    'attention': Operation(
        fields={
            'batch': Field('integer', (), '1', 'sequences'),
            'heads': Field('integer', (), '1', 'query heads'),
            'kv_heads': Field('integer', (), '0', 'heads of K and V, a divisor of heads; 0 is as many as heads'),
            'queries': Field('integer', (), None, 'queries per sequence; on average where lengths vary'),
            'keys': Field('integer', (), None, 'keys per sequence; on average where lengths vary'),
            'd': Field('integer', (), None, 'width of queries and keys'),
            'dv': Field('integer', (), '0', 'width of values; 0 is d'),
            'causal': Field('word', ('none', 'bottom_right', 'top_left'), 'none', 'the corner of the scores that the causal diagonal ends in'),
            'window_left': Field('integer', (), '-1', "keys visible before a query's own, which is i + keys - queries for query i, with causal=top_left i; -1 is all"),
            'window_right': Field('integer', (), '-1', "keys visible after a query's own; -1 is all"),
            'lengths': Field('word', ('full', 'random', 'gaps', 'ones', 'slack'), 'full', 'full: every sequence has all queries and keys. Packed one after the other: random, many empty, all but one of one row, ending before the tensors do'),
            'bias': Field('word', ('none', 'f32'), 'none', 'format of a bias added to the scores'),
            'sink': Field('word', ('none', 'f32'), 'none', 'format of a logit per head that takes part in the softmax and has no value'),
            'scales': Field('word', ('none', 'head', 'block', 'tensor'), 'none', 'head: elements of Q, K and V stand for themselves times one factor per sequence and head; block: those of Q, K and an 8-bit V times one per 64 rows of a head; tensor: one for each matrix; for 8-bit formats'),
            'softcap': Field('f32', (), '0', 'scores become softcap * tanh(score / softcap); 0 is off'),
            'scale': Field('f32', (), '1', 'what q . k is multiplied by, usually 1 / sqrt(d)'),
            'layout': Field('word', ('bhs', 'bsh', 'sbh'), 'bhs', 'order in memory of batch, heads and length (s), slowest first'),
            'pad': Field('integer', (), '0', 'elements after each row of the matrices'),
            'kv': Field('word', ('own', 'shared'), 'own', 'shared: one K and one V for the whole batch (stride 0)'),
            'splits': Field('integer', (), '1', 'parts that the keys of a sequence are cut into, whole tiles each; each has maxima of its own'),
            'out': Field('word', ('bf16', 'f16', 'f32'), 'bf16', 'format of the outputs'),
            'lse': Field('word', ('natural', 'base_2', 'none'), 'natural', "LSE as an output: the natural logarithm of each row's sum of exponentials, its logarithm in base 2, or none"),
        },
        terms={
            'unit': Term(('mma.sync', 'wgmma', 'tcgen05', 'fma.f32'), None, 'what adds products, as for GEMM'),
            'scores': Term(('unit', 'int32'), 'unit', 'what adds the products of Q and K: the same, or int32, which is exact for 8-bit integers'),
            'tile': Term((), None, 'keys per step of the online softmax'),
            'p': Term(('bf16', 'f16', 'e4m3', 'f32'), None, 'format of the probabilities that meet V; f32: they are not rounded, as in kernels on CUDA cores'),
            'p_shift': Term((), '0', 'probabilities are multiplied by 2 to this power before they are rounded'),
            'logits': Term(('natural', 'base 2', 'base 2 fused', 'natural either', 'natural difference'), 'natural', "the unit of maxima and of LSE's sum. base 2: each logit is multiplied by log2 e and rounded; base 2 fused: inside of the exponent's FMA; natural either: the exponent is that FMA, or a product and a difference, where ptxas may choose; natural difference: it is log2 e (times the scale) times the logit's difference from the maximum, which is 0 at the maximum however large the logits are"),
            'lse_sum': Term(('as logits', 'base 2'), 'as logits', "how LSE is added up: as the unit of logits says, or as the maximum times log2 e plus the sum's logarithm in base 2, times ln 2"),
            'row_sum': Term(('unrounded', 'rounded'), 'unrounded', "whether the row's sum adds probabilities before or after their rounding"),
            'row_sum_lanes': Term((), '4', 'partial sums per row, joined at the end'),
            'row_sum_start': Term(('zero', 'sum'), 'zero', "what such a sum over a tile begins with: 0, and the row's sum is added at its end; or the row's sum"),
            'rescale_threshold': Term((), '0', 'the maximum is kept, and nothing is rescaled, while the new one is not above it by more than 2 to this power in the probabilities; 0: every new maximum counts'),
            'exponential_bits': Term((), '0', "the probabilities' exponentials are within 2 to the minus this power of themselves, as a polynomial makes them; 0: ex2.approx"),
            'order': Term(('ascending', 'descending'), 'ascending', 'whether the first tile of keys comes first, or the last'),
            'sink_step': Term(('last', 'first', 'maximum first'), 'last', 'where a sink comes in the online softmax: after all tiles of keys; before them, so that the maximum begins with it and the sum with 1; or the maximum begins with it, and the sum takes it at the end'),
            'log2_e': Term(('f32', 'f64'), 'f32', 'scale times log2 e: of log2 e rounded to f32, or rounded only once, as host code in double does'),
            'tanh': Term(('ex2', 'approx'), 'ex2', "of a softcap: from ex2; or tanh.approx, and the cap is part of the exponent's factor instead of the logits"),
            'normalize': Term(('reciprocal', 'quotient', 'div.full', 'rcp.approx'), 'reciprocal', 'O times 1 / l, O / l rounded once, div.full, or O times rcp.approx of l'),
            'subnormals': Term(('kept', 'flushed'), 'kept', "of f32, outside of tensor cores: flushed is nvcc's --use_fast_math"),
            'masked_lse': Term(('-inf', '+inf'), '-inf', 'LSE of a row that sees no key, where it is an output'),
            'nan_rows': Term(('nan', 'open'), 'nan', 'a row with a logit that is NaN or +Inf: its O is NaN; or open, where anything may come out, as of code whose max() drops a NaN'),
            'nan_lse': Term(('nan', '+inf', '-inf'), 'nan', 'LSE of a row with a logit that is NaN or +Inf'),
        },
        tensors={
            'q': TensorRow('input', '', ('bf16', 'f16', 'f32', 'e4m3', 'e5m2', 's8'), '[batch, heads, queries, d]; [1, heads, all queries, d] where lengths vary'),
            'k': TensorRow('input', '', ('bf16', 'f16', 'f32', 'e4m3', 'e5m2', 's8'), '[batch, kv_heads, keys, d]'),
            'v': TensorRow('input', '', ('bf16', 'f16', 'f32', 'e4m3', 'e5m2', 's8'), '[batch, kv_heads, keys, dv]'),
            'bias': TensorRow('input', 'f32', ('bf16', 'f16', 'f32'), '[heads, queries, keys]'),
            'sink': TensorRow('input', 'f32', ('bf16', 'f16', 'f32'), '[heads]'),
            'q_scale': TensorRow('input', 'f32', ('f32',), '[batch, heads]: what the elements of Q stand for, times themselves; [batch, heads, ceil(queries / 64)] per block of rows, and [1, heads, ceil(all queries / 64)] where lengths vary'),
            'k_scale': TensorRow('input', 'f32', ('f32',), '[batch, kv_heads]: the same for K; [batch, kv_heads, ceil(keys / 64)] per block'),
            'v_scale': TensorRow('input', 'f32', ('f32',), '[batch, kv_heads]: the same for V; [batch, kv_heads, ceil(keys / 64)] per block, where V has 8 bits'),
            'query_starts': TensorRow('input', 's32', ('s32',), "[batch + 1]: where each sequence's queries start"),
            'key_starts': TensorRow('input', 's32', ('s32',), "[batch + 1]: where each sequence's keys start"),
            'o': TensorRow('output', '{out}', ('bf16', 'f16', 'f32'), '[batch, heads, queries, dv]'),
            'lse': TensorRow('output', 'f32', ('f32',), '[batch, heads, queries]: logarithm of the sum of exponentials; but with lse=none'),
        },
    ),
    'attention_backward': Operation(
        fields={
            'batch': Field('integer', (), '1', 'sequences'),
            'heads': Field('integer', (), '1', 'query heads'),
            'kv_heads': Field('integer', (), '0', 'heads of K and V, a divisor of heads; 0 is as many as heads'),
            'queries': Field('integer', (), None, 'queries per sequence; on average where lengths vary'),
            'keys': Field('integer', (), None, 'keys per sequence; on average where lengths vary'),
            'd': Field('integer', (), None, 'width of queries and keys'),
            'dv': Field('integer', (), '0', 'width of values; 0 is d'),
            'causal': Field('word', ('none', 'bottom_right', 'top_left'), 'none', 'the corner of the scores that the causal diagonal ends in'),
            'window_left': Field('integer', (), '-1', "keys visible before a query's own, which is i + keys - queries for query i, with causal=top_left i; -1 is all"),
            'window_right': Field('integer', (), '-1', "keys visible after a query's own; -1 is all"),
            'lengths': Field('word', ('full', 'random', 'gaps', 'ones', 'slack'), 'full', 'full: every sequence has all queries and keys. Packed one after the other: random, many empty, all but one of one row, ending before the tensors do'),
            'bias': Field('word', ('none', 'f32'), 'none', 'format of a bias added to the scores'),
            'sink': Field('word', ('none', 'f32'), 'none', 'format of a logit per head that takes part in the softmax and has no value'),
            'scales': Field('word', ('none', 'head', 'block', 'tensor'), 'none', 'head: elements of Q, K and V stand for themselves times one factor per sequence and head; block: those of Q, K and an 8-bit V times one per 64 rows of a head; tensor: one for each matrix; for 8-bit formats'),
            'softcap': Field('f32', (), '0', 'scores become softcap * tanh(score / softcap); 0 is off'),
            'scale': Field('f32', (), '1', 'what q . k is multiplied by, usually 1 / sqrt(d)'),
            'layout': Field('word', ('bhs', 'bsh', 'sbh'), 'bhs', 'order in memory of batch, heads and length (s), slowest first'),
            'pad': Field('integer', (), '0', 'elements after each row of the matrices'),
            'kv': Field('word', ('own', 'shared'), 'own', 'shared: one K and one V for the whole batch (stride 0)'),
            'splits': Field('integer', (), '1', 'parts that the keys of a sequence are cut into, whole tiles each; each has maxima of its own'),
            'out': Field('word', ('bf16', 'f16', 'f32'), 'bf16', 'format of the outputs'),
        },
        terms={
            'unit': Term(('mma.sync', 'wgmma', 'tcgen05', 'fma.f32'), None, 'what adds products, as for GEMM'),
            'p': Term(('bf16', 'f16', 'e4m3', 'e5m2'), None, 'format of the probabilities that meet dO'),
            'ds': Term(('bf16', 'f16', 'e4m3', 'e5m2'), None, 'format of the score gradients that meet Q and K'),
            'p_shift': Term((), '0', 'probabilities are multiplied by 2 to this power before they are rounded'),
            'logits': Term(('natural', 'natural difference'), 'natural', 'natural: the exponent is fma(z, log2 e, -LSE log2 e); natural difference: log2 e times the difference of the logit, in natural units, from LSE, which is 0 where they are equal however large they are'),
            'dq': Term(('ordered', 'f32 atomic'), 'ordered', 'ordered: one accumulator over all keys; f32 atomic: one per tile of keys, added in memory'),
            'tile': Term((), '64', 'keys per such tile'),
        },
        tensors={
            'q': TensorRow('input', '', ('bf16', 'f16', 'f32', 'e4m3', 'e5m2', 's8'), '[batch, heads, queries, d]; [1, heads, all queries, d] where lengths vary'),
            'k': TensorRow('input', '', ('bf16', 'f16', 'f32', 'e4m3', 'e5m2', 's8'), '[batch, kv_heads, keys, d]'),
            'v': TensorRow('input', '', ('bf16', 'f16', 'f32', 'e4m3', 'e5m2', 's8'), '[batch, kv_heads, keys, dv]'),
            'o': TensorRow('input', '', ('bf16', 'f16', 'f32', 'e4m3', 'e5m2'), '[batch, heads, queries, dv]: as the forward pass stored it'),
            'lse': TensorRow('input', 'f32', ('f32',), '[batch, heads, queries]: the same'),
            'do': TensorRow('input', '', ('bf16', 'f16', 'f32', 'e4m3', 'e5m2'), '[batch, heads, queries, dv]: the gradient of O'),
            'bias': TensorRow('input', 'f32', ('bf16', 'f16', 'f32'), '[heads, queries, keys]'),
            'sink': TensorRow('input', 'f32', ('bf16', 'f16', 'f32'), '[heads]; it has done its work in LSE'),
            'q_scale': TensorRow('input', 'f32', ('f32',), '[1]: what the elements of Q stand for, times themselves'),
            'k_scale': TensorRow('input', 'f32', ('f32',), '[1]: the same for K'),
            'v_scale': TensorRow('input', 'f32', ('f32',), '[1]: the same for V'),
            'do_scale': TensorRow('input', 'f32', ('f32',), '[1]: the same for dO'),
            'ds_scale': TensorRow('input', 'f32', ('f32',), '[1]: what dS is multiplied by before it is rounded'),
            'query_starts': TensorRow('input', 's32', ('s32',), "[batch + 1]: where each sequence's queries start"),
            'key_starts': TensorRow('input', 's32', ('s32',), "[batch + 1]: where each sequence's keys start"),
            'dq': TensorRow('output', '{out}', ('bf16', 'f16', 'f32'), '[batch, heads, queries, d]'),
            'dk': TensorRow('output', '{out}', ('bf16', 'f16', 'f32'), '[batch, kv_heads, keys, d]'),
            'dv': TensorRow('output', '{out}', ('bf16', 'f16', 'f32'), '[batch, kv_heads, keys, dv]'),
        },
    ),
    'gemm': Operation(
        fields={
            'm': Field('integer', (), None, 'rows of A and D'),
            'n': Field('integer', (), None, 'columns of B and D'),
            'k': Field('integer', (), None, 'columns of A, rows of B'),
            'batch': Field('integer', (), '1', 'independent products'),
            'layout': Field('word', ('nn', 'nt', 'tn', 'tt'), 'nn', 'how A and B are stored; t is transposed'),
            'out': Field('word', ('bf16', 'f32', 'f16', 's32', 'e4m3', 's8'), 'bf16', 'format of C and D'),
            'bias': Field('word', ('none', 'row', 'column'), 'none', 'one f32 per row or per column of D'),
            'act': Field('word', ('none', 'relu', 'gelu', 'gelu_tanh', 'silu'), 'none', 'activation'),
            'alpha': Field('f32', (), '1', 'factor of the product'),
            'beta': Field('f32', (), '0', 'factor of C; 0 means that C is not read'),
            'c': Field('word', ('auto', 'always'), 'auto', 'always: pass C although beta is 0'),
            'lda': Field('integer', (), '0', 'leading dimension of A; 0 is tight'),
            'ldb': Field('integer', (), '0', 'leading dimension of B; 0 is tight'),
            'ldc': Field('integer', (), '0', 'leading dimension of C; 0 is tight'),
            'ldd': Field('integer', (), '0', 'leading dimension of D; 0 is tight'),
            'stride_a': Field('integer', (), '-1', 'batch stride of A in elements; -1 is tight, 0 shares A'),
            'stride_b': Field('integer', (), '-1', 'batch stride of B in elements; -1 is tight, 0 shares B'),
            'stride_c': Field('integer', (), '-1', 'batch stride of C in elements; -1 is tight, 0 shares C'),
            'stride_d': Field('integer', (), '-1', 'batch stride of D in elements; -1 is tight'),
            'a': Field('word', ('bf16', 'f16', 'e4m3', 'e5m2', 's8', 'u8', 'e2m1'), 'bf16', 'format of A'),
            'b': Field('word', ('bf16', 'f16', 'e4m3', 'e5m2', 's8', 'u8', 'e2m1'), 'bf16', 'format of B'),
            'scale_a': Field('word', ('none', 'tensor', 'row', '1x128', '1x32', '1x16'), 'none', 'scales of A: one, per row, or per block of 1 x 128, 1 x 32 or 1 x 16'),
            'scale_b': Field('word', ('none', 'tensor', 'column', '128x128', '32x1', '16x1'), 'none', 'scales of B: one, per column, or per block (k x n)'),
            'scale_d': Field('word', ('none', 'tensor'), 'none', 'factor before the conversion to the output format'),
            'zero_a': Field('integer', (), '0', 'zero point of A: the product is of a - zero_a'),
            'zero_b': Field('integer', (), '0', 'zero point of B'),
            'zero_d': Field('integer', (), '0', 'zero point of D, added before its conversion'),
            'splits': Field('integer', (), '1', 'parts that k is split into'),
            'scale_layout': Field('word', ('row_major', 'k_major', '128x4'), 'row_major', 'how scales of blocks of k are stored: those of A [m, blocks] and of B [blocks, n]; k_major: of B [n, blocks]; 128x4: of both in tiles of 128 rows or columns and 4 blocks, as cuBLAS takes them'),
        },
        terms={
        },
        tensors={
            'a': TensorRow('input', '', ('bf16', 'f16', 'f32', 'tf32', 'e4m3', 'e5m2', 'e2m1', 's8', 'u8'), '[batch, m, k]'),
            'b': TensorRow('input', '', ('bf16', 'f16', 'f32', 'tf32', 'e4m3', 'e5m2', 'e2m1', 's8', 'u8'), '[batch, k, n]'),
            'c': TensorRow('input', '', ('bf16', 'f32', 'f16', 's32', 'e4m3', 'e5m2', 's8'), '[batch, m, n]; when beta is not 0, or c=always'),
            'bias': TensorRow('input', 'f32', ('bf16', 'f16', 'f32'), '[m] for bias=row, [n] for bias=column'),
            'scale_a': TensorRow('input', 'f32', ('f32', 'ue8m0', 'e4m3'), '[1], [m] or [m, blocks of k]'),
            'scale_b': TensorRow('input', 'f32', ('f32', 'ue8m0', 'e4m3'), '[1], [n] or [blocks of k, n or blocks of n]'),
            'scale_d': TensorRow('input', 'f32', ('f32',), '[1]'),
            'd': TensorRow('output', '', ('bf16', 'f32', 'f16', 's32', 'e4m3', 'e5m2', 's8'), '[batch, m, n]'),
        },
    ),
    'grouped_gemm': Operation(
        fields={
            'm': Field('integer', (), None, 'rows of A and D, of all groups together'),
            'n': Field('integer', (), None, 'columns of every B and of D'),
            'k': Field('integer', (), None, 'columns of A, rows of every B'),
            'groups': Field('integer', (), None, 'groups of rows, each with a B of its own'),
            'routing': Field('word', ('even', 'random', 'gaps', 'ones', 'single'), 'even', 'how rows fall into groups: evenly, at random, many groups empty, groups of one row, all into one'),
            'layout': Field('word', ('nn', 'nt'), 'nn', 'how every B is stored: nn as [k, n], nt as [n, k]'),
            'out': Field('word', ('bf16', 'f32'), 'bf16', 'format of D'),
            'a': Field('word', ('bf16', 'f16', 'e4m3', 'e5m2'), 'bf16', 'format of A'),
            'b': Field('word', ('bf16', 'f16', 'e4m3', 'e5m2'), 'bf16', 'format of B'),
            'scale_a': Field('word', ('none', 'tensor', 'row'), 'none', 'scales of A: one, or one per row'),
            'scale_b': Field('word', ('none', 'tensor'), 'none', 'tensor: one scale per group'),
        },
        terms={
        },
        tensors={
            'a': TensorRow('input', '', ('bf16', 'f16', 'f32', 'tf32', 'e4m3', 'e5m2', 'e2m1', 's8', 'u8'), '[m, k]'),
            'b': TensorRow('input', '', ('bf16', 'f16', 'f32', 'tf32', 'e4m3', 'e5m2', 'e2m1', 's8', 'u8'), '[groups, k, n]'),
            'group_sizes': TensorRow('input', 's32', ('s32',), '[groups]: rows per group; they add up to m'),
            'scale_a': TensorRow('input', 'f32', ('f32',), '[1] or [m]'),
            'scale_b': TensorRow('input', 'f32', ('f32',), '[groups]'),
            'd': TensorRow('output', '', ('bf16', 'f16', 'f32'), '[m, n]'),
        },
    ),
    'layernorm': Operation(
        fields={
            'm': Field('integer', (), None, 'rows'),
            'n': Field('integer', (), None, 'columns'),
            'out': Field('word', ('bf16', 'f32', 'f16'), 'bf16', 'format of the matrix that comes out'),
            'eps': Field('f32', (), '1e-05', 'added to the mean square'),
            'ldx': Field('integer', (), '0', 'leading dimension of X; 0 is tight'),
            'ldy': Field('integer', (), '0', 'leading dimension of Y; 0 is tight'),
            'statistics': Field('word', ('stored', 'none'), 'stored', "whether the rows' mean and rstd are outputs as well"),
        },
        terms={
            'lanes': Term((), None, 'partial sums of a sum along a row, joined in pairs'),
            'vector': Term((), '1', 'neighboring columns that a partial sum takes at a time'),
            'mean': Term(('quotient', 'div.approx', 'reciprocal', 'reciprocal either'), 'quotient', 'a sum over n, rounded once, or div.approx; reciprocal: the sum times 1 / n, which is rounded to f32; reciprocal either: eps may be added by the same fma'),
            'root': Term(('rsqrt.approx', '1 / sqrt'), None, 'how rstd is computed'),
            'normalized': Term(('f32', 'bf16', 'f16'), 'f32', 'what x rstd, or (x - mean) rstd, is rounded to before it meets gamma; f32: it is not, as it is f32 already'),
            'subnormals': Term(('kept', 'flushed'), 'kept', "of f32: flushed is nvcc's --use_fast_math"),
        },
        tensors={
            'x': TensorRow('input', 'bf16', ('bf16', 'f16', 'f32', 'e4m3', 'e5m2'), '[m, n]'),
            'gamma': TensorRow('input', 'bf16', ('bf16', 'f16', 'f32', 'e4m3', 'e5m2'), '[n]'),
            'beta': TensorRow('input', 'bf16', ('bf16', 'f16', 'f32', 'e4m3', 'e5m2'), '[n]'),
            'y': TensorRow('output', '{out}', ('bf16', 'f16', 'f32'), '[m, n]'),
            'mean': TensorRow('output', 'f32', ('bf16', 'f16', 'f32'), '[m]; with statistics=stored'),
            'rstd': TensorRow('output', 'f32', ('bf16', 'f16', 'f32'), '[m]; with statistics=stored'),
        },
    ),
    'layernorm_backward': Operation(
        fields={
            'm': Field('integer', (), None, 'rows'),
            'n': Field('integer', (), None, 'columns'),
            'out': Field('word', ('bf16', 'f32', 'f16'), 'bf16', 'format of the matrix that comes out'),
            'ldx': Field('integer', (), '0', 'leading dimension of X; 0 is tight'),
            'lddy': Field('integer', (), '0', 'leading dimension of dY; 0 is tight'),
            'lddx': Field('integer', (), '0', 'leading dimension of dX; 0 is tight'),
        },
        terms={
            'lanes': Term((), None, 'partial sums of a sum along a row, joined in pairs'),
            'vector': Term((), '1', 'neighboring columns that a partial sum takes at a time'),
            'stripes': Term((), None, 'partial sums of a sum along a column, joined one after the other'),
        },
        tensors={
            'x': TensorRow('input', 'bf16', ('bf16', 'f16', 'f32', 'e4m3', 'e5m2'), '[m, n]'),
            'gamma': TensorRow('input', 'bf16', ('bf16', 'f16', 'f32', 'e4m3', 'e5m2'), '[n]'),
            'mean': TensorRow('input', 'f32', ('bf16', 'f16', 'f32'), '[m]: of the rows of X, as LayerNorm gives it'),
            'rstd': TensorRow('input', 'f32', ('bf16', 'f16', 'f32'), '[m]: as the norm gives it'),
            'dy': TensorRow('input', 'bf16', ('bf16', 'f16', 'f32', 'e4m3', 'e5m2'), '[m, n]'),
            'dx': TensorRow('output', '{out}', ('bf16', 'f16', 'f32'), '[m, n]'),
            'dgamma': TensorRow('output', 'f32', ('bf16', 'f16', 'f32'), '[n]'),
            'dbeta': TensorRow('output', 'f32', ('bf16', 'f16', 'f32'), '[n]'),
        },
    ),
    'linear_backward': Operation(
        fields={
            'm': Field('integer', (), None, 'rows of x and dy: tokens'),
            'n': Field('integer', (), None, 'output features: columns of dy, rows of w'),
            'k': Field('integer', (), None, 'input features: columns of x and w'),
            'out': Field('word', ('bf16', 'f32'), 'bf16', 'format of dx and dw'),
            'scales': Field('word', ('none', 'tensor', 'channel'), 'none', 'tensor: one each of dy, x and w; channel: one per row of w, which becomes bf16'),
        },
        terms={
        },
        tensors={
            'dy': TensorRow('input', '', ('bf16', 'f16', 'f32', 'tf32', 'e4m3', 'e5m2', 'e2m1', 's8', 'u8'), '[m, n]'),
            'x': TensorRow('input', '', ('bf16', 'f16', 'f32', 'tf32', 'e4m3', 'e5m2', 'e2m1', 's8', 'u8'), '[m, k]'),
            'w': TensorRow('input', '', ('bf16', 'f16', 'f32', 'tf32', 'e4m3', 'e5m2', 'e2m1', 's8', 'u8'), '[n, k]'),
            'scale_dy': TensorRow('input', 'f32', ('f32',), '[1]'),
            'scale_x': TensorRow('input', 'f32', ('f32',), '[1]'),
            'scale_w': TensorRow('input', 'f32', ('f32',), '[1], or [n] for scales=channel'),
            'dx': TensorRow('output', '{out}', ('bf16', 'f16', 'f32'), '[m, k]'),
            'dw': TensorRow('output', '{out}', ('bf16', 'f16', 'f32'), '[n, k]'),
            'db': TensorRow('output', 'f32', ('bf16', 'f16', 'f32'), '[n]'),
        },
    ),
    'quantize': Operation(
        fields={
            'm': Field('integer', (), None, 'rows of X'),
            'n': Field('integer', (), None, 'columns of X'),
            'in': Field('word', ('f32', 'bf16', 'f16'), 'f32', 'format of X'),
            'out': Field('word', ('e4m3', 'e5m2', 's8'), 'e4m3', 'format of the codes'),
            'scale': Field('word', ('tensor', 'row', '1x128'), 'tensor', 'one scale per tensor, per row, or per 128 columns of a row'),
            'ldx': Field('integer', (), '0', 'leading dimension of X; 0 is tight'),
            'ldq': Field('integer', (), '0', 'leading dimension of Q; 0 is tight'),
        },
        terms={
            'rule': Term(('x / scale', 'x * (1 / scale)', 'x * (limit / amax)'), None, 'what is rounded to the code, each operation to f32'),
        },
        tensors={
            'x': TensorRow('input', '{in}', ('bf16', 'f16', 'f32'), '[m, n]'),
            'q': TensorRow('output', '{out}', ('e4m3', 'e5m2', 's8'), '[m, n]: the codes'),
            'scale': TensorRow('output', 'f32', ('f32',), '[1], [m] or [m, blocks of n]'),
            'amax': TensorRow('output', 'f32', ('f32',), 'the largest magnitudes; shaped as scale'),
        },
    ),
    'rmsnorm': Operation(
        fields={
            'm': Field('integer', (), None, 'rows'),
            'n': Field('integer', (), None, 'columns'),
            'out': Field('word', ('bf16', 'f32', 'f16'), 'bf16', 'format of the matrix that comes out'),
            'eps': Field('f32', (), '1e-05', 'added to the mean square'),
            'ldx': Field('integer', (), '0', 'leading dimension of X; 0 is tight'),
            'ldy': Field('integer', (), '0', 'leading dimension of Y; 0 is tight'),
            'statistics': Field('word', ('stored', 'none'), 'stored', "whether the rows' mean and rstd are outputs as well"),
            'gamma_plus': Field('f32', (), '0', "added to gamma: 1 where weights are kept as what they are off 1, as Gemma's are"),
        },
        terms={
            'lanes': Term((), None, 'partial sums of a sum along a row, joined in pairs'),
            'vector': Term((), '1', 'neighboring columns that a partial sum takes at a time'),
            'mean': Term(('quotient', 'div.approx', 'reciprocal', 'reciprocal either'), 'quotient', 'a sum over n, rounded once, or div.approx; reciprocal: the sum times 1 / n, which is rounded to f32; reciprocal either: eps may be added by the same fma'),
            'root': Term(('rsqrt.approx', '1 / sqrt'), None, 'how rstd is computed'),
            'normalized': Term(('f32', 'bf16', 'f16'), 'f32', 'what x rstd, or (x - mean) rstd, is rounded to before it meets gamma; f32: it is not, as it is f32 already'),
            'subnormals': Term(('kept', 'flushed'), 'kept', "of f32: flushed is nvcc's --use_fast_math"),
        },
        tensors={
            'x': TensorRow('input', 'bf16', ('bf16', 'f16', 'f32', 'e4m3', 'e5m2'), '[m, n]'),
            'gamma': TensorRow('input', 'bf16', ('bf16', 'f16', 'f32', 'e4m3', 'e5m2'), '[n]'),
            'y': TensorRow('output', '{out}', ('bf16', 'f16', 'f32'), '[m, n]'),
            'rstd': TensorRow('output', 'f32', ('bf16', 'f16', 'f32'), '[m]; with statistics=stored'),
        },
    ),
    'rmsnorm_backward': Operation(
        fields={
            'm': Field('integer', (), None, 'rows'),
            'n': Field('integer', (), None, 'columns'),
            'out': Field('word', ('bf16', 'f32', 'f16'), 'bf16', 'format of the matrix that comes out'),
            'ldx': Field('integer', (), '0', 'leading dimension of X; 0 is tight'),
            'lddy': Field('integer', (), '0', 'leading dimension of dY; 0 is tight'),
            'lddx': Field('integer', (), '0', 'leading dimension of dX; 0 is tight'),
        },
        terms={
            'lanes': Term((), None, 'partial sums of a sum along a row, joined in pairs'),
            'vector': Term((), '1', 'neighboring columns that a partial sum takes at a time'),
            'stripes': Term((), None, 'partial sums of a sum along a column, joined one after the other'),
        },
        tensors={
            'x': TensorRow('input', 'bf16', ('bf16', 'f16', 'f32', 'e4m3', 'e5m2'), '[m, n]'),
            'gamma': TensorRow('input', 'bf16', ('bf16', 'f16', 'f32', 'e4m3', 'e5m2'), '[n]'),
            'rstd': TensorRow('input', 'f32', ('bf16', 'f16', 'f32'), '[m]: as the norm gives it'),
            'dy': TensorRow('input', 'bf16', ('bf16', 'f16', 'f32', 'e4m3', 'e5m2'), '[m, n]'),
            'dx': TensorRow('output', '{out}', ('bf16', 'f16', 'f32'), '[m, n]'),
            'dgamma': TensorRow('output', 'f32', ('bf16', 'f16', 'f32'), '[n]'),
        },
    ),
    'softmax': Operation(
        fields={
            'm': Field('integer', (), None, 'rows'),
            'n': Field('integer', (), None, 'columns'),
            'out': Field('word', ('bf16', 'f32', 'f16'), 'bf16', 'format of the matrix that comes out'),
            'scale': Field('f32', (), '1', 'what the logits are multiplied by'),
            'ldx': Field('integer', (), '0', 'leading dimension of X; 0 is tight'),
            'ldy': Field('integer', (), '0', 'leading dimension of Y; 0 is tight'),
        },
        terms={
            'lanes': Term((), None, 'partial sums of a sum along a row, joined in pairs'),
            'vector': Term((), '1', 'neighboring columns that a partial sum takes at a time'),
            'exponential': Term(('ex2.approx.ftz', 'ex2.approx'), 'ex2.approx.ftz', 'whether p below 2^-126 becomes 0'),
            'normalize': Term(('reciprocal', 'quotient', 'div.full'), 'reciprocal', 'p times 1 / l, p / l rounded once, or div.full'),
            'subnormals': Term(('kept', 'flushed'), 'kept', "of f32: flushed is nvcc's --use_fast_math"),
        },
        tensors={
            'x': TensorRow('input', 'bf16', ('bf16', 'f16', 'f32', 'e4m3', 'e5m2'), '[m, n]'),
            'y': TensorRow('output', '{out}', ('bf16', 'f16', 'f32'), '[m, n]'),
        },
    ),
    'softmax_backward': Operation(
        fields={
            'm': Field('integer', (), None, 'rows'),
            'n': Field('integer', (), None, 'columns'),
            'out': Field('word', ('bf16', 'f32', 'f16'), 'bf16', 'format of the matrix that comes out'),
            'scale': Field('f32', (), '1', 'what the logits are multiplied by'),
            'ldy': Field('integer', (), '0', 'leading dimension of Y; 0 is tight'),
            'lddy': Field('integer', (), '0', 'leading dimension of dY; 0 is tight'),
            'lddx': Field('integer', (), '0', 'leading dimension of dX; 0 is tight'),
        },
        terms={
            'lanes': Term((), None, 'partial sums of a sum along a row, joined in pairs'),
            'vector': Term((), '1', 'neighboring columns that a partial sum takes at a time'),
            'subnormals': Term(('kept', 'flushed'), 'kept', "of f32: flushed is nvcc's --use_fast_math"),
        },
        tensors={
            'y': TensorRow('input', 'bf16', ('bf16', 'f16', 'f32', 'e4m3', 'e5m2'), '[m, n]'),
            'dy': TensorRow('input', 'bf16', ('bf16', 'f16', 'f32', 'e4m3', 'e5m2'), '[m, n]'),
            'dx': TensorRow('output', '{out}', ('bf16', 'f16', 'f32'), '[m, n]'),
        },
    ),
    'swiglu_mlp': Operation(
        fields={
            'tokens': Field('integer', (), None, 'rows of X, h and y'),
            'd': Field('integer', (), None, 'columns of X'),
            'hidden': Field('integer', (), None, 'columns of h'),
            'd_out': Field('integer', (), None, 'columns of y'),
            'weights': Field('word', ('nk', 'kn'), 'nk', 'nk: stored as [outputs, inputs]; kn: as [inputs, outputs]'),
            'pad': Field('integer', (), '0', 'elements after each row of the matrices'),
            'out': Field('word', ('bf16', 'f32'), 'bf16', 'format of y'),
        },
        terms={
            'unit': Term(('mma.sync', 'wgmma', 'tcgen05', 'fma.f32'), None, 'what adds products, as for GEMM'),
            'silu': Term(('g / (1 + e)', 'g * (1 / (1 + e))'), None, 'how silu(g) comes from e = ex2(fl(-g fl(log2 e))), each operation rounded to f32'),
        },
        tensors={
            'x': TensorRow('input', '', ('bf16', 'f16', 'f32', 'tf32', 'e4m3', 'e5m2', 'e2m1'), '[tokens, d]'),
            'w_gate': TensorRow('input', '', ('bf16', 'f16', 'f32', 'tf32', 'e4m3', 'e5m2', 'e2m1'), '[hidden, d]'),
            'w_up': TensorRow('input', '', ('bf16', 'f16', 'f32', 'tf32', 'e4m3', 'e5m2', 'e2m1'), '[hidden, d]'),
            'w_down': TensorRow('input', '', ('bf16', 'f16', 'f32', 'tf32', 'e4m3', 'e5m2', 'e2m1'), '[d_out, hidden]'),
            'h': TensorRow('output', '', ('bf16', 'f16', 'f32', 'e4m3', 'e5m2'), '[tokens, hidden]'),
            'y': TensorRow('output', '{out}', ('bf16', 'f16', 'f32'), '[tokens, d_out]'),
        },
    ),
}
