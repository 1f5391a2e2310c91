#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A GEMM in CuTe DSL for sm_100a: one warp copies tiles by TMA, one multiplies them by tcgen05, four store the sums.
By one CTA, and by pairs of CTAs (.cta_group::2): each copies half of both tiles, one multiplies.

    pip install nvidia-cutlass-dsl==4.8.1 && python gemm.py     writes the files beside it anew
"""
import os
import pathlib
import re

os.environ["CUTE_DSL_ARCH"] = "sm_100a"
os.environ["CUTE_DSL_KEEP_PTX"] = "1"
import cutlass  # noqa: E402
import cutlass.cute as cute  # noqa: E402
import cutlass.utils.blackwell_helpers as blackwell  # noqa: E402
from cutlass import pipeline, utils  # noqa: E402
from cutlass.cute.nvgpu import cpasync, tcgen05  # noqa: E402
from cutlass.cute.runtime import make_fake_compact_tensor  # noqa: E402

ROWS, COLUMNS, STAGES, THREADS = 128, 64, 3, 128
COPIER, MULTIPLIER = 0, 1  # warps


@cute.struct
class Barriers:
    stages: cute.struct.MemRange[cutlass.Int64, 2 * STAGES]
    sums: cute.struct.MemRange[cutlass.Int64, 2]
    freed: cutlass.Int64  # of a pair: the other CTA is done with tensor memory
    columns: cutlass.Int32  # where tensor memory begins


@cute.kernel
def gemm(mma: cute.TiledMma, copy_a: cute.CopyAtom, a: cute.Tensor, copy_b: cute.CopyAtom, b: cute.Tensor, d: cute.Tensor,
         layout_a: cute.ComposedLayout, layout_b: cute.ComposedLayout, cluster: cute.Layout, tile: cutlass.Constexpr,
         element: cutlass.Constexpr):
    ctas = cutlass.const_expr(cute.size(mma.thr_id.shape))
    thread, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    row, column, _ = cute.arch.block_idx()
    part_of_pair = row % ctas
    leads = part_of_pair == 0
    where = (row // ctas, column, None)
    memory = cutlass.memory.SmemAllocator()
    barriers = memory.allocate(Barriers)
    tiles_a = memory.allocate_tensor(element, layout_a.outer, 1024, layout_a.inner)
    tiles_b = memory.allocate_tensor(element, layout_b.outer, 1024, layout_b.inner)
    lanes = utils.TmemAllocator(barriers.columns.ptr, barrier_for_retrieve=pipeline.NamedBarrier(barrier_id=1, num_threads=THREADS),
                                is_two_cta=ctas == 2, two_cta_tmem_dealloc_mbar_ptr=barriers.freed.ptr)

    one = pipeline.CooperativeGroup(pipeline.Agent.Thread)
    bytes_of_stage = ctas * sum(cute.size_in_bytes(element, cute.select(layout, mode=[0, 1, 2])) for layout in (layout_a, layout_b))
    copied, multiplied = pipeline.PipelineTmaUmma.create(
        num_stages=STAGES, producer_group=one, consumer_group=one, tx_count=bytes_of_stage,
        barrier_storage=barriers.stages.data_ptr(), cta_layout_vmnk=cluster, defer_sync=True).make_participants()
    summed, stored = pipeline.PipelineUmmaAsync.create(
        num_stages=1, producer_group=one, consumer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, THREADS),
        barrier_storage=barriers.sums.data_ptr(), cta_layout_vmnk=cluster, defer_sync=True).make_participants()
    pipeline.pipeline_init_arrive(cluster_shape_mn=cluster, is_relaxed=True)
    pipeline.pipeline_init_wait(cluster_shape_mn=cluster)
    lanes.allocate(COLUMNS)

    slices = mma.get_slice(part_of_pair)
    of_a = cute.local_tile(a, tile, where, proj=(1, None, 1))
    to_a, from_a = cpasync.tma_partition(
        copy_a, 0, cute.make_layout(1), cute.group_modes(tiles_a, 0, 3), cute.group_modes(slices.partition_A(of_a), 0, 3))
    of_b = cute.local_tile(b, tile, where, proj=(None, 1, 1))
    to_b, from_b = cpasync.tma_partition(
        copy_b, 0, cute.make_layout(1), cute.group_modes(tiles_b, 0, 3), cute.group_modes(slices.partition_B(of_b), 0, 3))
    left, right = mma.make_fragment_A(tiles_a), mma.make_fragment_B(tiles_b)
    lanes.wait_for_alloc()
    start = lanes.retrieve_ptr(cutlass.Float32)
    sums = cute.make_tensor(start, mma.make_fragment_C(mma.partition_shape_C(tile[:2])).layout)

    steps = cute.size(of_a, mode=[2])
    if warp == COPIER:
        for _ in cutlass.range(steps, unroll=1):
            free = copied.acquire_and_advance()
            cute.copy(copy_a, from_a[(None, free.count)], to_a[(None, free.index)], tma_bar_ptr=free.barrier)
            cute.copy(copy_b, from_b[(None, free.count)], to_b[(None, free.index)], tma_bar_ptr=free.barrier)
        copied.tail()
    elif warp == MULTIPLIER and leads:
        empty = summed.acquire_and_advance()
        mma.set(tcgen05.Field.ACCUMULATE, False)
        for _ in cutlass.range(steps, unroll=1):
            full = multiplied.wait_and_advance()
            for part in cutlass.range_constexpr(cute.size(left, mode=[2])):
                at = (None, None, part, full.index)
                cute.gemm(mma, sums, left[at], right[at], sums)
                mma.set(tcgen05.Field.ACCUMULATE, True)
            full.release()
        empty.commit()
    lanes.relinquish_alloc_permit()

    done = stored.wait_and_advance()
    load = tcgen05.make_tmem_copy(cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x64), cutlass.Float32), sums[((None, None), 0, 0)])
    mine = load.get_slice(thread)
    places = mine.partition_D(slices.partition_C(cute.make_identity_tensor(tile[:2]))[((None, None), 0, 0)])
    values = cute.make_rmem_tensor(places.shape, cutlass.Float32)
    cute.copy(load, mine.partition_S(sums[((None, None), 0, 0)]), values)
    done.release()
    for i in cutlass.range_constexpr(cute.size(values)):
        r, c = where[0] * tile[0] + places[i][0], column * COLUMNS + places[i][1]
        if r < d.shape[0] and c < d.shape[1]:
            d[r, c] = values[i].to(d.element_type)
    pipeline.sync(barrier_id=1)
    lanes.free(start)


@cute.jit
def launch(a: cute.Tensor, b: cute.Tensor, d: cute.Tensor, depth: cutlass.Constexpr, ctas: cutlass.Constexpr):
    tile = (ctas * ROWS, COLUMNS, depth)
    group = tcgen05.CtaGroup.TWO if ctas == 2 else tcgen05.CtaGroup.ONE
    along_k = cute.nvgpu.OperandMajorMode.K
    mma = blackwell.make_trivial_tiled_mma(a.element_type, b.element_type, along_k, along_k, cutlass.Float32, group, tile[:2])
    cluster = cute.tiled_divide(cute.make_layout((ctas, 1, 1)), (mma.thr_id.shape,))
    layout_a = blackwell.make_smem_layout_a(mma, tile, a.element_type, STAGES)
    layout_b = blackwell.make_smem_layout_b(mma, tile, b.element_type, STAGES)
    copy = cpasync.CopyBulkTensorTileG2SOp(group)
    copy_a, map_a = cute.nvgpu.make_tiled_tma_atom_A(copy, a, cute.select(layout_a, mode=[0, 1, 2]), tile, mma, cluster.shape)
    copy_b, map_b = cute.nvgpu.make_tiled_tma_atom_B(copy, b, cute.select(layout_b, mode=[0, 1, 2]), tile, mma, cluster.shape)
    rows, columns, _ = cute.ceil_div((*d.layout.shape, 1), tile[:2])
    gemm(mma, copy_a, map_a, copy_b, map_b, d, layout_a, layout_b, cluster, tile, a.element_type).launch(
        grid=(ctas * rows, columns, 1), block=(THREADS, 1, 1), cluster=(ctas, 1, 1))


MANIFEST = """\
# Written by gemm.py.
computes   = "gemm"
summary    = "a GEMM from CuTe DSL: TMA, tcgen05, a warp for each{by}"
ptx        = "{name}.ptx"
targets    = ["100a"]
entry      = "{entry}"
parameters = ["struct mma", "tensor_map a", "struct a", "tensor_map b", "struct b", "struct d"]

# A TiledMma as the host begins with: no negation, no lane of D disabled.
[struct.mma]
size   = {mma_bytes}
fields = ["u8 0"]

[struct.a]
fields = ["s32 m", "s32 k"]

[struct.b]
fields = ["s32 n", "s32 k"]

[struct.d]
fields = ["ptr d", "s32 m", "s32 n", "s64 ld_d"]

[tensor_map.a]
dims    = ["k", "m"]
strides = ["ld_a"]
box     = [{depth}, {ROWS}]
swizzle = "128B"

[tensor_map.b]
dims    = ["k", "n"]
strides = ["ld_b"]
box     = [{depth}, {columns}]
swizzle = "128B"

[problem]
layout = ["nt"]
a      = ["{kind}"]
b      = ["{kind}"]
out    = ["bf16"]
free   = ["lda", "ldb", "ldd"]

[launch]
grid   = ['{grid}', 'ceil_div(n, {COLUMNS})']
block  = [{THREADS}]{cluster}
shared = {shared}

[formats]
a = "{kind}"
b = "{kind}"
c = "bf16"
d = "bf16"

[tile]
m = {rows}
n = {COLUMNS}
k = {depth}

[[domain]]
require = 'k > 0 && k % {grain} == 0 && ld_a % {grain} == 0 && ld_b % {grain} == 0'
reason  = "rows of A and B begin at multiples of 16 bytes"

[[domain]]
require = 'm <= 2147483647 && n <= 2147483647 && k <= 2147483647'
reason  = "sizes have 32 bits in this kernel"

[contract]
unit     = "tcgen05"
epilogue = []
"""


def write(kind: str, element: type, bytes_of: int, ctas: int = 1) -> None:
    depth = 128 // bytes_of  # a row of a tile has 128 bytes
    m, n, k = cute.sym_int(), cute.sym_int(), cute.sym_int(divisibility=16 // bytes_of)

    def tensor(of: type, rows: object, columns: object, alignment: int) -> object:
        return make_fake_compact_tensor(of, (rows, columns), stride_order=(1, 0), assumed_align=alignment)

    compiled = cute.compile(
        launch, tensor(element, m, k, 16), tensor(element, n, k, 16), tensor(cutlass.BFloat16, m, n, 2), depth, ctas)
    here = pathlib.Path(__file__).resolve().parent
    name = f"gemm_{kind}_pair_sm_100" if ctas == 2 else f"gemm_{kind}_sm_100"
    # Names of CuTe DSL say the types of all layouts.
    entry = re.search(r"\.entry (\w+)", compiled.__ptx__)[1]
    (here / f"{name}.ptx").write_text(compiled.__ptx__.replace(entry, "gemm"))
    rows, columns = ctas * ROWS, COLUMNS // ctas
    (here / f"{name}.toml").write_text(MANIFEST.format(
        name=name, entry="gemm", kind=kind, depth=depth, grain=16 // bytes_of, shared=1024 + STAGES * 128 * (ROWS + columns),
        rows=rows, columns=columns, COLUMNS=COLUMNS, ROWS=ROWS, THREADS=THREADS,
        grid=f"2 * ceil_div(m, {rows})" if ctas == 2 else f"ceil_div(m, {ROWS})",
        mma_bytes=32 * ctas, by=", by pairs of CTAs" if ctas == 2 else "", cluster="\ncluster = [2]" if ctas == 2 else ""))


if __name__ == "__main__":
    write("bf16", cutlass.BFloat16, 2)
    write("e4m3", cutlass.Float8E4M3FN, 1)
    write("bf16", cutlass.BFloat16, 2, ctas=2)
