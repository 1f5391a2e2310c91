# SPDX-License-Identifier: MIT
"""Triton's tutorials 02, 03, 05 and 06 by plumbline.verify_triton, ten lines at most for each: in_python.py FOLDER SOURCE.

The arguments are those of tutorials.py. It needs Triton 3.9.0 and the package plumbline; no GPU, no compiler, and no PyTorch.
Exit code 1 when a kernel does not pass or takes longer than a minute.
"""
import sys
import time

import plumbline
import triton
from tutorials import FOLDER, HERE, kernels


def softmax():
    return plumbline.verify_triton(
        kernels("02-fused-softmax.py")["softmax_kernel"], "softmax", grid="min(m, 4)", chips=["sm_90"],
        formats={"x": "f32", "y": "f32"}, constants={"BLOCK_SIZE": 1024, "num_stages": 2}, require=["n <= BLOCK_SIZE"], num_warps=8)


def matmul():
    return plumbline.verify_triton(
        kernels("03-matrix-multiplication.py")["matmul_kernel"], "gemm", chips=["sm_90"],
        grid=lambda META, M, N: (triton.cdiv(M, META["BLOCK_SIZE_M"]) * triton.cdiv(N, META["BLOCK_SIZE_N"]),),
        formats={"a": "f16", "b": "f16", "d": "f16"},
        constants={"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 32, "GROUP_SIZE_M": 8, "ACTIVATION": ""})


def layer_norm():
    return plumbline.verify_triton(
        kernels("05-layer-norm.py")["_layer_norm_fwd_fused"], HERE / "layer_norm.op", grid="m", chips=["sm_90"],
        formats={"x": "f16", "gamma": "f16", "beta": "f16", "y": "f16"}, constants={"BLOCK_SIZE": 1024})


def layer_norm_backward():
    return plumbline.verify_triton(
        kernels("05-layer-norm.py")["_layer_norm_bwd_dx_fused"], HERE / "layer_norm_backward_64.op", grid="m", chips=["sm_90"],
        formats=dict.fromkeys(["x", "gamma", "dy", "dx", "dgamma", "dbeta"], "f16"), in_place={"lock_out": "lock"},
        constants={"GROUP_SIZE_M": 64, "BLOCK_SIZE_N": 128}, require=["n <= BLOCK_SIZE_N", "m <= GROUP_SIZE_M"], num_warps=1)


def attention():
    return plumbline.verify_triton(
        kernels("06-fused-attention.py")["_attn_fwd"], "attention", grid=["queries / 64", "batch * heads"], chips=["sm_80"],
        formats=dict.fromkeys("qkvo", "f16"), problem={"lse": "base_2"}, aligned=["N_CTX"], num_stages=2,
        constants={"HEAD_DIM": 64, "BLOCK_M": 64, "BLOCK_N": 32, "FP8_OUTPUT": False, "STAGE": 1, "warp_specialize": False, "IS_HOPPER": False},
        require=["d == 64", "width_v == 64", "queries == keys", "queries % 64 == 0"],
        contract={"unit": "mma.sync", "tile": 32, "p": "f16", "logits": "base 2", "normalize": "div.full"})


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    failed = 0
    for tutorial in (softmax, matmul, layer_norm, layer_norm_backward, attention):
        start = time.monotonic()
        report = tutorial()
        seconds = time.monotonic() - start
        cases = sum(kernel.case_count for kernel in report.kernels.values())
        print(f"{tutorial.__name__}: {'passed' if report.passed else 'FAILED'}, {cases} cases, {seconds:.1f} s", flush=True)
        failed += not report.passed or cases == 0 or seconds > 60
    sys.exit(1 if failed else 0)
