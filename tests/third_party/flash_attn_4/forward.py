# SPDX-License-Identifier: MIT
"""FlashAttention 4's forward kernels for sm_100a and sm_90a, as CuTe DSL compiles them, with a manifest for each: forward.py FOLDER.

It needs flash-attn-4 4.0.0b36 and nvidia-cutlass-dsl 4.8.1 with what they import (torch, quack-kernels 0.6.5); no GPU.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/third_party/flash_attn_4").resolve()
if len(sys.argv) < 3:  # CuTe DSL compiles for one chip in a process
    for one in ("sm_100a", "sm_90a"):
        subprocess.run([sys.executable, __file__, FOLDER, one], check=True)
    sys.exit()
CHIP = sys.argv[2]
HOPPER = CHIP == "sm_90a"
SCRATCH = tempfile.TemporaryDirectory()
os.chdir(SCRATCH.name)  # CuTe DSL leaves its files where it is imported
os.environ |= {"CUTE_DSL_ARCH": CHIP, "FLASH_ATTENTION_ARCH": CHIP[:-1], "CUTE_DSL_KEEP_PTX": "1"}

import cutlass
import cutlass.cute as cute
import cutlass.utils
from flash_attn.cute.flash_fwd_sm90 import FlashAttentionForwardSm90
from flash_attn.cute.flash_fwd_sm100 import FlashAttentionForwardSm100
from quack.compile_utils import make_fake_tensor

# Name: width, mask or what else it is compiled for, query heads per head of K and V. "persistent": blocks take one tile after the
# other; "pair": so do clusters of two; "packed": sequences of any lengths lie one after the other.
VARIANTS = {
    "forward_64": (64, "", 1),
    "forward_128": (128, "", 1),
    "forward_64_causal": (64, "causal", 1),
    "forward_128_causal": (128, "causal", 1),
    "forward_128_window": (128, "window", 1),
    "forward_64_shared": (64, "", 4),
    "forward_128_persistent": (128, "persistent", 1),
    "forward_128_pair": (128, "pair", 1),
    "packed_128": (128, "packed", 1),
}
if HOPPER:
    VARIANTS = {
        "forward_64_sm_90": (64, "", 1),
        "forward_128_sm_90": (128, "", 1),
        "forward_128_causal_sm_90": (128, "causal", 1),
    }
BLOCK = 128 if HOPPER else 256  # queries of one head
CONTRACTS = ("""[[known]]
says   = "tcgen05.wait::ld is missing"
reason = "what is written over a load's columns comes behind stores of what was loaded (docs/kernels_of_others.md)"

# Some exponentials are a polynomial of degree 3, whose max() drops a NaN.
[contract]
unit              = "tcgen05"
logits            = "natural"
rescale_threshold = 8
exponential_bits  = 13
nan_rows          = "open"
""", """[contract]
unit              = "wgmma"
logits            = "natural either"
nan_lse           = "-inf"
""")
PROCESSORS = 4  # blocks that run at once, so that small problems have several tiles each
WINDOW = """[[domain]]
require = 'window_left >= 0 && window_right >= 0'
reason  = "compiled for a window that is closed on both sides"

"""


def divisor(name: str, of: str, bits: int) -> str:
    """A FastDivmodDivisorV2: divisor, multiplier, shifts. `bits`: the divisor is at most 2^bits."""
    power = " * ".join(f"(1 + ({of} > {2 ** i}))" for i in range(bits))
    log = " + ".join(f"({of} > {2 ** i})" for i in range(bits))
    return f"""
[struct.{name}]
size   = 12
fields = ["u32 {of}", "u32 4294967296 * ({power} - {of}) / {of} + 1", "u8 min({log}, 1)", "u8 max({log} - 1, 0)"]
"""


def scheduler(mask: str) -> tuple[list[str], str, str]:
    """Parameters of the tile scheduler, their structs, and the grid."""
    blocks, heads = f"ceil_div(queries, {BLOCK})", "heads * batch"
    by_one, one = ["struct by_one", "s32 1"], divisor("by_one", "1", 1)
    parts = [] if HOPPER else ["s32 1"]  # of the keys
    if mask in ("persistent", "pair"):
        clusters = f"ceil_div(queries, {2 * BLOCK if mask == 'pair' else BLOCK})"
        parameters = ["struct by_blocks", f"s32 {clusters}", "struct by_heads", "s32 heads", f"s32 {clusters} * {heads}", *parts]
        size = 2 if mask == "pair" else 1
        return (parameters, divisor("by_blocks", clusters, 16) + divisor("by_heads", "heads", 6),
                f"'min({PROCESSORS}, {size} * {clusters} * {heads})', '1', '1'")
    if mask == "packed":
        parameters = ["s32 batch * queries", "s32 heads", "s32 batch", *parts, "s32 800", "struct query_starts", *parts]
        return parameters, "", f"'(batch * queries + batch * {BLOCK - 1}) / {BLOCK} * heads', '1', '1'"
    if not mask:
        return ([f"s32 {blocks}", "s32 heads", "s32 batch", *parts, *by_one, *parts], one, f"'{blocks}', 'heads', 'batch'")
    # The longest blocks first, heads in sections that fit L2: any power of two of heads.
    section = 4
    parameters = [f"s32 {blocks} * {heads}", *parts, f"s32 {blocks}", "s32 heads", "s32 batch", f"s32 {section}",
                  "struct by_heads", "s32 heads", "struct by_section", f"s32 {section}",
                  "struct by_blocks", f"s32 {section} * {blocks}", "struct by_rest", f"s32 max({heads} % {section}, 1)",
                  f"s32 {heads} / {section}", *by_one, *parts]
    structs = (divisor("by_heads", "heads", 6) + divisor("by_section", f"{section}", 2) +
               divisor("by_blocks", f"({section} * {blocks})", 16) + divisor("by_rest", f"max({heads} % {section}, 1)", 2) + one)
    return parameters, structs, f"'{blocks} * {heads}', '1', '1'"


def manifest(name: str, width: int, mask: str, group: int) -> str:
    last, structs, grid = scheduler(mask)
    windows = ["s32 window_left", "s32 window_right"] if mask == "window" else []
    packed = mask == "packed"
    starts = ["struct query_starts", "struct key_starts"] if packed else []
    parameters = ["struct q", "struct k", "struct k", "struct o", "struct lse", *starts, "tensor_map q", "tensor_map k",
                  "tensor_map v", *([] if packed else ["tensor_map o"]), "f32 scale * 1.4426950408889634", *windows,
                  "struct mma", "struct mma", *last]
    queries, keys = ("batch * queries", "batch * keys") if packed else ("queries", "keys")
    batch = [] if packed else ["batch"]
    sizes = [f"s32 {queries}", "s32 heads", *(f"s32 {size}" for size in batch)]
    fields = {
        "q": sizes,
        "k": [f"s32 {keys}", "s32 heads / group", *(f"s32 {size}" for size in batch)],
        "o": ["ptr o", *sizes, "s64 o_row", "s64 o_head"] if packed else sizes,
        "lse": ["ptr lse", *sizes, *(["s64 1"] if HOPPER else []), f"s64 {queries}", *([] if packed else ["s64 heads * queries"])],
    }
    if packed:
        fields |= {name: [f"ptr {name}", "s32 batch + 1"] for name in ("query_starts", "key_starts")}
    structs += "".join(f"\n[struct.{struct}]\nfields = {list_}\n" for struct, list_ in fields.items())
    maps = "".join(f"""
[tensor_map.{tensor}]
dims    = {[columns, rows, heads, *batch]}
strides = {[f"{tensor}_{way}" for way in ("row", "head", *batch)]}
box     = {[64, 64 if mask == "pair" and tensor == "k" else 128, 1, *(1 for _ in batch)]}
swizzle = "128B"
""" for tensor, columns, rows, heads in (("q", "d", queries, "heads"), ("k", "d", keys, "heads / group"),
                                         ("v", "width_v", keys, "heads / group"), ("o", "width_v", queries, "heads"))
                   if not packed or tensor != "o")
    causal = "bottom_right" if mask == "causal" else "none"
    free = ["batch", "heads", "scale", "pad"] + (["kv_heads"] if group > 1 else []) + (
        ["window_left", "window_right"] if mask == "window" else [])
    return f"""# Written by tests/third_party/flash_attn_4/forward.py.
computes   = "attention"
summary    = "FlashAttention 4 forward on {CHIP[:-1]}, {width} columns"
ptx        = "{name}.ptx"
targets    = ["{CHIP[3:]}"]
entry      = "forward"
parameters = {parameters}

[struct.mma]
size   = {1 if HOPPER else 64 if mask == "pair" else 32}
fields = ["u8 0"]
{structs}{maps}
[problem]
causal = ["{causal}"]
lengths = {["random", "gaps", "ones"] if packed else ["full"]}
layout = ["bsh", "bhs"]
out    = ["bf16"]
free   = {free}

[launch]
grid   = [{grid}]
block  = [{384 if HOPPER else 512}]
{"cluster = [2]" if mask == "pair" else ""}
shared = 232448

[formats]
q = "bf16"
k = "bf16"
v = "bf16"
o = "bf16"

[tile]
queries = {BLOCK}
keys    = 128

[[domain]]
require = 'd == {width} && width_v == {width} && group == {group}'
reason  = "compiled for this width and this number of query heads per head of K and V"

[[domain]]
require = 'queries > 0 && keys > 0 && pad % 8 == 0'
reason  = "tensor maps have no empty dimension, and rows begin at multiples of 16 bytes"

{WINDOW if mask == "window" else ""}[[domain]]
require = 'scale > 0'
reason  = "the running maximum needs a positive scale"

{CONTRACTS[HOPPER]}tile              = 128
order             = "descending"
log2_e            = "f64"
lse_sum           = "base 2"
p                 = "bf16"
row_sum           = "unrounded"
row_sum_lanes     = 4
row_sum_start     = "sum"
normalize         = "rcp.approx"
masked_lse        = "-inf"
"""


class Processors:
    """In place of HardwareInfo, which asks a driver."""

    def __init__(self, device_id: int = 0) -> None:
        pass

    def get_device_multiprocessor_count(self) -> int:
        return PROCESSORS

    def get_max_active_clusters(self, cluster_size: int) -> int:
        return PROCESSORS // cluster_size


def write(name: str, width: int, mask: str, group: int) -> None:
    batch, queries, keys, heads, kv_heads, starts = (cute.sym_int() for _ in range(6))
    bf16, of_batch = cutlass.BFloat16, () if mask == "packed" else (batch,)
    q, o = (make_fake_tensor(bf16, (*of_batch, queries, heads, width), divisibility=8) for _ in range(2))
    k, v = (make_fake_tensor(bf16, (*of_batch, keys, kv_heads, width), divisibility=8) for _ in range(2))
    lse = make_fake_tensor(cutlass.Float32, (*of_batch, heads, queries), divisibility=1)
    masks = {"is_causal": mask == "causal", "is_local": mask == "window"}
    if HOPPER:
        kernel = FlashAttentionForwardSm90(bf16, width, width, group, **masks, tile_m=BLOCK, tile_n=128, num_stages=2, num_threads=384,
                                           Q_in_regs=False, intra_wg_overlap=True, mma_pv_is_rs=True)
    else:
        kernel = FlashAttentionForwardSm100(width, width, qhead_per_kvhead=group, **masks, is_static_persistent=mask in ("persistent", "pair"),
                                            use_2cta_instrs=mask == "pair", is_varlen_q=mask == "packed")
    given = {"stream": cute.runtime.make_fake_stream()}
    if mask == "window":
        given |= {"window_size_left": cutlass.Int32(1), "window_size_right": cutlass.Int32(1)}
    if mask == "packed":
        given |= {name: make_fake_tensor(cutlass.Int32, (starts,), divisibility=1) for name in ("mCuSeqlensQ", "mCuSeqlensK")}
    ptx = cute.compile(kernel, q, k, v, o, lse, cutlass.Float32(1), **given).__ptx__
    entry = re.search(r"\.entry (\w+)", ptx)[1]  # the names of CuTe DSL say the types of all layouts
    (FOLDER / f"{name}.ptx").write_text(ptx.replace(entry, "forward"))
    (FOLDER / f"{name}.toml").write_text(manifest(name, width, mask, group))


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    cutlass.utils.HardwareInfo = Processors
    for name, (width, mask, group) in VARIANTS.items():
        write(name, width, mask, group)
        print(name, flush=True)
