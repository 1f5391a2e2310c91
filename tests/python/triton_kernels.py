# SPDX-License-Identifier: MIT
"""Kernels in the manner of Triton's tutorials: a softmax that walks over rows, a GEMM with autotuned tiles in groups, and small ones."""
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(output_ptr, input_ptr, input_row_stride, output_row_stride, n_rows, n_cols, BLOCK_SIZE: tl.constexpr,
                   num_stages: tl.constexpr):
    columns = tl.arange(0, BLOCK_SIZE)
    for row in tl.range(tl.program_id(0), n_rows, tl.num_programs(0), num_stages=num_stages):
        x = tl.load(input_ptr + row * input_row_stride + columns, mask=columns < n_cols, other=-float("inf"))
        numerator = tl.exp(x - tl.max(x, axis=0))
        tl.store(output_ptr + row * output_row_stride + columns, numerator / tl.sum(numerator, axis=0), mask=columns < n_cols)


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 32, "BLOCK_SIZE_K": 32, "GROUP_SIZE_M": 8}, num_stages=3, num_warps=2),
        triton.Config({"BLOCK_SIZE_M": 32, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 32, "GROUP_SIZE_M": 2}, num_stages=2, num_warps=4),
    ],
    key=["M", "N", "K"],
)
@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
                  BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr, BLOCK_SIZE_K: tl.constexpr, GROUP_SIZE_M: tl.constexpr):
    tile = tl.program_id(axis=0)
    tiles_n = tl.cdiv(N, BLOCK_SIZE_N)
    group = tile // (GROUP_SIZE_M * tiles_n)
    height = min(tl.cdiv(M, BLOCK_SIZE_M) - group * GROUP_SIZE_M, GROUP_SIZE_M)
    tile_m = group * GROUP_SIZE_M + tile % (GROUP_SIZE_M * tiles_n) % height
    tile_n = tile % (GROUP_SIZE_M * tiles_n) // height
    rows = tile_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    columns = tile_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    ks = tl.arange(0, BLOCK_SIZE_K)
    a_ptrs = a_ptr + (rows % M)[:, None] * stride_am + ks[None, :] * stride_ak
    b_ptrs = b_ptr + ks[:, None] * stride_bk + (columns % N)[None, :] * stride_bn
    sums = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BLOCK_SIZE_K)):
        left = K - step * BLOCK_SIZE_K
        a = tl.load(a_ptrs, mask=ks[None, :] < left, other=0.0)
        b = tl.load(b_ptrs, mask=ks[:, None] < left, other=0.0)
        sums = tl.dot(a, b, sums)
        a_ptrs += BLOCK_SIZE_K * stride_ak
        b_ptrs += BLOCK_SIZE_K * stride_bk
    tl.store(c_ptr + stride_cm * rows[:, None] + stride_cn * columns[None, :], sums.to(tl.float16), mask=(rows[:, None] < M) & (columns[None, :] < N))


@triton.jit
def wrong_softmax(y, x, n_cols, BLOCK_SIZE: tl.constexpr):
    columns = tl.arange(0, BLOCK_SIZE)
    row = tl.program_id(0)
    values = tl.load(x + row * n_cols + columns, mask=columns < n_cols, other=0.0)  # 0 takes part in the maximum and the sum
    numerator = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row * n_cols + columns, numerator / tl.sum(numerator, axis=0), mask=columns < n_cols)


@triton.jit
def line_kernel(y, x, stride_y, stride_x, n, BLOCK: tl.constexpr, FACTOR: tl.constexpr = 3, num_warps: tl.constexpr = 1):
    row = tl.program_id(0)
    for first in range(0, n, BLOCK):
        columns = first + tl.arange(0, BLOCK)
        values = tl.load(x + row * stride_x + columns, mask=columns < n)
        tl.store(y + row * stride_y + columns, values * FACTOR + num_warps, mask=columns < n)


@triton.jit
def silu_and_mul_kernel(x_ptr, y_ptr, n, ld_x, ld_y, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    for first in range(0, n, BLOCK_SIZE):
        j = first + tl.arange(0, BLOCK_SIZE)
        mask = j < n
        gate = tl.load(x_ptr + row * ld_x + j, mask=mask, other=0.0).to(tl.float32)
        up = tl.load(x_ptr + row * ld_x + n + j, mask=mask, other=0.0).to(tl.float32)
        tl.store(y_ptr + row * ld_y + j, (gate * tl.sigmoid(gate) * up).to(tl.bfloat16), mask=mask)


@triton.jit
def copied_by_descriptors(y, x, m, n, ld_y, ld_x, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    source = tl.make_tensor_descriptor(x, shape=[m, n], strides=[ld_x, 1], block_shape=[ROWS, COLUMNS])
    target = tl.make_tensor_descriptor(y, shape=[m, n], strides=[ld_y, 1], block_shape=[ROWS, COLUMNS])
    row = tl.program_id(0) * ROWS
    for column in range(0, n, COLUMNS):
        target.store([row, column], source.load([row, column]))


@triton.autotune(configs=[triton.Config({"BLOCK": 32}, num_warps=1)], key=["n"], reset_to_zero=["y"])
@triton.jit
def summed_by_atomics(y, x, stride_x, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + row * stride_x + columns, mask=columns < n, other=0.0)
    tl.atomic_add(y + row, tl.sum(values, axis=0))


@triton.heuristics({"EVEN": lambda arguments: arguments["n"] % arguments["BLOCK"] == 0})
@triton.jit
def line_with_heuristics(y, x, stride_y, stride_x, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    row = tl.program_id(0)
    for first in range(0, n, BLOCK):
        columns = first + tl.arange(0, BLOCK)
        values = tl.load(x + row * stride_x + columns) if EVEN else tl.load(x + row * stride_x + columns, mask=columns < n)
        tl.store(y + row * stride_y + columns, values * 3 + 8, mask=columns < n)


@triton.jit
def matmul_descriptors(a_desc, b_desc, c_desc, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    row, column = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    sums = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for first in range(0, K, BLOCK_K):
        sums = tl.dot(a_desc.load([row, first]), b_desc.load([column, first]).T, sums)
    c_desc.store([row, column], sums.to(tl.bfloat16))
