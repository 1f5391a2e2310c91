# SPDX-License-Identifier: MIT
"""Triton's tutorials 05 (LayerNorm) and 06 (attention) for sm_80 and sm_90, with a manifest for each kernel: tutorials.py FOLDER SOURCE.

SOURCE is the folder of the tutorials (packages.py brings it). It needs Triton 3.9.0; no GPU, and no PyTorch: of a tutorial
only its @triton.jit functions are taken, as they stand.
"""
import pathlib
import re
import shutil
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

HERE = pathlib.Path(__file__).parent.resolve()
sys.path.insert(0, str(HERE.parent))
from jit_functions import jit_functions  # noqa: E402

BUILD = HERE.parents[2] / "build/third_party"
FOLDER = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else BUILD / "triton_tutorials").resolve()
SOURCE = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else BUILD / "triton/python/tutorials").resolve()


def kernels(file: str) -> dict:
    return jit_functions(SOURCE / file)


def ptx_of(kernel, sm: int, types: dict, constants: dict, aligned=(), **options):
    """PTX, and what a manifest has to know of it. Pointers are multiples of 16, as PyTorch's are."""
    aligned = [name for name, type_ in types.items() if type_.startswith("*")] + list(aligned)
    places = {(kernel.arg_names.index(name),): [["tt.divisibility", 16]] for name in aligned}
    source = ASTSource(kernel, types | {name: "constexpr" for name in constants}, constants, places)
    options = {"num_warps": 4, "ptx_version": 86, "enable_fp_fusion": False} | options
    compiled = triton.compile(source, target=GPUTarget("cuda", sm, 32), options=options)
    ptx = compiled.asm["ptx"].split("\t.section\t.debug_abbrev")[0]
    ptx = re.sub(r'"/.*/site-packages/', '"', re.sub(r", function_name .*", "", ptx.replace(f"{SOURCE}/", "")))
    return ptx, {"shared": compiled.metadata.shared, "threads": 32 * compiled.metadata.num_warps,
                 "unit": "wgmma" if "wgmma.mma_async" in ptx else "mma.sync"}


def write(name: str, sm: int, kernel, computes: str, summary: str, parameters: list[str], grid: str, types: dict, constants: dict, rest: str,
          aligned=(), in_place="", **options) -> None:
    ptx, has = ptx_of(kernel, sm, types, constants, aligned, **options)
    name = f"{name}_sm_{sm}"
    parameters = [*parameters, "s64 0", "s64 0"]  # Triton's own pointers
    (FOLDER / f"{name}.ptx").write_text(ptx, encoding="utf-8")
    if computes.endswith(".op"):
        shutil.copy(HERE / computes, FOLDER)
    (FOLDER / f"{name}.toml").write_text(f"""# Written by tests/third_party/triton_tutorials/tutorials.py.
computes   = "{computes}"
summary    = "Triton tutorials: {summary}"
ptx        = "{name}.ptx"
targets    = [{sm}]
entry      = "{kernel.__name__}"
parameters = {parameters}
{in_place}
[launch]
grid   = {grid}
block  = [{has["threads"]}]
shared = {has["shared"]}

{rest.format(**has, **constants).strip()}
""", encoding="utf-8")
    print(name, flush=True)


def rule(require: str, reason: str) -> str:
    return f"\n[[domain]]\nrequire = '{require}'\nreason  = \"{reason}\"\n"


ROWS = rule("m > 0", "the host code launches no blocks then, which is an error")
FITS = rule("m * n <= 2147483647", "offsets have 32 bits")


def layer_norm(sm: int) -> None:
    of = kernels("05-layer-norm.py")
    for block, warps in ((64, 1), (1024, 4)):  # the tutorial's block for that many columns and fewer
        write(f"layer_norm_{block}", sm, of["_layer_norm_fwd_fused"], "layer_norm.op", f"LayerNorm, f16, blocks of {block}",
              ["ptr x", "ptr y", "ptr gamma", "ptr beta", "ptr mean", "ptr rstd", "s32 n", "s32 n", "f32 eps"], "['m']",
              {"X": "*fp16", "Y": "*fp16", "W": "*fp16", "B": "*fp16", "Mean": "*fp32", "Rstd": "*fp32", "stride": "i32", "N": "i32", "eps": "fp32"},
              {"BLOCK_SIZE": block}, """
[problem]
free = ["eps"]

[formats]
x     = "f16"
gamma = "f16"
beta  = "f16"
y     = "f16"

[tile]
n = {BLOCK_SIZE}
""" + ROWS + FITS + f"""
# Each thread adds up its {block // (32 * warps)} elements of a block.
[contract]
lanes  = {32 * warps}
vector = {block // (32 * warps)}
""", num_warps=warps)
    for block, warps, groups in ((128, 1, 64), (1024, 4, 256)):
        write(f"layer_norm_backward_{block}", sm, of["_layer_norm_bwd_dx_fused"], f"layer_norm_backward_{groups}.op",
              f"gradients of LayerNorm, f16, blocks of {block}, under locks",
              ["ptr dx", "ptr dy", "ptr dgamma", "ptr dbeta", "ptr x", "ptr gamma", "ptr mean", "ptr rstd", "ptr lock", "s32 n", "s32 n"], "['m']",
              {"DX": "*fp16", "DY": "*fp16", "DW": "*fp16", "DB": "*fp16", "X": "*fp16", "W": "*fp16", "Mean": "*fp32", "Rstd": "*fp32",
               "Lock": "*i32", "stride": "i32", "N": "i32"},
              {"GROUP_SIZE_M": groups, "BLOCK_SIZE_N": block}, """
[problem]

[formats]
dx     = "f16"
dy     = "f16"
dgamma = "f16"
dbeta  = "f16"
x      = "f16"
gamma  = "f16"

[tile]
n = {BLOCK_SIZE_N}
""" + ROWS + FITS + rule("n <= {BLOCK_SIZE_N}", "a row is one block") +
              rule("m <= {GROUP_SIZE_M}", "rows that share a buffer are added to it in any order, each sum rounded to f16, which no text says") + f"""
# Each thread adds up its {block // (32 * warps)} elements of a row.
[contract]
lanes  = {32 * warps}
vector = {block // (32 * warps)}
""", in_place='in_place   = {lock_out = "lock"}\n', num_warps=warps)
    write("layer_norm_backward_sum", sm, of["_layer_norm_bwd_dwdb"], "layer_norm_backward_sum.op", "the rest of the gradients of weight and bias, f16",
          ["ptr parts_gamma", "ptr parts_beta", "ptr dgamma", "ptr dbeta", "s32 m", "s32 n"], "['ceil_div(n, 128)']",
          {"DW": "*fp16", "DB": "*fp16", "FINAL_DW": "*fp16", "FINAL_DB": "*fp16", "M": "i32", "N": "i32"},
          {"BLOCK_SIZE_M": 32, "BLOCK_SIZE_N": 128}, """
[problem]

[formats]
parts_gamma = "f16"
parts_beta  = "f16"
dgamma      = "f16"
dbeta       = "f16"

[tile]
m = {BLOCK_SIZE_M}
n = {BLOCK_SIZE_N}
""" + rule("m > 0 && n > 0", "the host code launches no blocks then, which is an error") + FITS + """
# 32 sums of every 32nd row.
[contract]
lanes = 32
""")


def attention(sm: int) -> None:
    of = kernels("06-fused-attention.py")
    # Not causal: hidden logits have -1e6 added, so that a NaN among them is seen (docs/kernels_of_others.md).
    for name, rows, keys in (("attention", 64, 32), ("attention_128", 128, 64)):
        descriptor = lambda tile: f"tensordesc<fp16[{tile}, 64]>" if sm >= 90 else "*fp16"
        tensor = lambda name: [f"tensor_map {name}", "s32 batch * heads * queries", "s32 64", "s64 64", "s64 1"] if sm >= 90 else [f"ptr {name}"]
        maps = "".join(f"""
[tensor_map.{name}]
dims    = [64, 'batch * heads * queries']
strides = [64]
box     = [64, {box}]
swizzle = "128B"
""" for name, box in (("q", rows), ("k", keys), ("v", keys), ("o", rows))) if sm >= 90 else ""
        write(name, sm, of["_attn_fwd"], "attention", f"attention forward, f16, tiles of {rows} x {keys}",
              ["f32 scale", "ptr lse", "s32 batch", "s32 heads", *tensor("q"), *tensor("k"), *tensor("v"), *tensor("o"), "s32 queries"],
              f"['queries / {rows}', 'batch * heads']",
              {"sm_scale": "fp32", "M": "*fp32", "Z": "i32", "H": "i32", "desc_q": descriptor(rows), "desc_k": descriptor(keys),
               "desc_v": descriptor(keys), "desc_o": descriptor(rows), "N_CTX": "i32"},
              {"HEAD_DIM": 64, "BLOCK_M": rows, "BLOCK_N": keys, "FP8_OUTPUT": False, "STAGE": 1, "warp_specialize": False,
               "IS_HOPPER": sm == 90}, maps + f"""
[problem]
out    = ["f16"]
lse    = ["base_2"]
free   = ["batch", "heads", "scale"]

[formats]
q = "f16"
k = "f16"
v = "f16"
o = "f16"

[tile]
queries = {rows}
keys    = {keys}
""" + rule(f"d == 64 && width_v == 64 && queries == keys && queries % {rows} == 0 && queries > 0", "compiled for this width; sequences are whole tiles") +
              rule("scale > 0 && batch * heads * queries * 64 <= 2147483647", "the running maximum needs a positive scale, and offsets have 32 bits") + """
[contract]
unit      = "{unit}"
tile      = {BLOCK_N}
p         = "f16"
logits    = "base 2"
normalize = "div.full"
""", aligned=["N_CTX"], num_stages=2)
    sizes = rule("t > 0 && t % 128 == 0", "the host code demands whole blocks of 128") + rule("batch * heads * t * 64 <= 2147483647", "offsets have 32 bits")
    write("attention_delta", sm, of["_attn_bwd_preprocess"], "attention_delta.op", "row sums of O times dO, f16",
          ["ptr o", "ptr do", "ptr delta", "s32 batch", "s32 heads", "s32 t"], "['t / 128', 'batch * heads']",
          {"O": "*fp16", "DO": "*fp16", "Delta": "*fp32", "Z": "i32", "H": "i32", "N_CTX": "i32"}, {"BLOCK_M": 128, "HEAD_DIM": 64}, """
[problem]

[formats]
o  = "f16"
do = "f16"
""" + sizes, aligned=["N_CTX"])
    if sm == 80:  # two minutes; for sm_90 it compiles as well
        write("attention_backward", sm, of["_attn_bwd"], "attention_backward.op", "gradients of attention, f16",
              ["ptr q", "ptr k", "ptr v", "f32 sm_scale", "ptr do", "ptr dq", "ptr dk", "ptr dv", "ptr m", "ptr delta",
               "s32 heads * t * 64", "s32 t * 64", "s32 64", "s32 heads", "s32 t"], "['t / 128', 1, 'batch * heads']",
              {"Q": "*fp16", "K": "*fp16", "V": "*fp16", "sm_scale": "fp32", "DO": "*fp16", "DQ": "*fp16", "DK": "*fp16", "DV": "*fp16", "M": "*fp32",
               "D": "*fp32", "stride_z": "i32", "stride_h": "i32", "stride_tok": "i32", "H": "i32", "N_CTX": "i32"},
              {"stride_d": 1, "BLOCK_M1": 32, "BLOCK_N1": 128, "BLOCK_M2": 128, "BLOCK_N2": 32, "BLK_SLICE_FACTOR": 2, "HEAD_DIM": 64, "CAUSAL": False}, """
[problem]
free = ["sm_scale"]

[formats]
q  = "f16"
k  = "f16"
v  = "f16"
do = "f16"
dq = "f16"
dk = "f16"
dv = "f16"
""" + sizes + """
[contract]
unit = "{unit}"
""", aligned=["stride_z", "stride_h", "stride_tok", "N_CTX"], num_stages=5)


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for chip in (80, 90):
        layer_norm(chip)
        attention(chip)
