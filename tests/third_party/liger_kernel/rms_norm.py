# SPDX-License-Identifier: MIT
"""Liger-Kernel's RMSNorm, forward and backward, as Llama and as Gemma have it, by plumbline.verify_triton: rms_norm.py [SOURCE].

SOURCE is the project's folder (packages.py brings it). It needs Triton 3.9.0 and the package plumbline; no GPU, and no PyTorch: of
the file only its @triton.jit functions are taken, as they stand. Exit code 1 when a kernel does not pass.
"""
import pathlib
import sys

import plumbline
import triton.language as tl
from triton.language.extra.libdevice import rsqrt

HERE = pathlib.Path(__file__).parent.resolve()
sys.path.insert(0, str(HERE.parent))
from jit_functions import jit_functions  # noqa: E402

SOURCE = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else HERE.parents[2] / "build/third_party/liger_kernel")
LLAMA, GEMMA = 0, 1


def kernels() -> dict:
    modes = (("NONE", -1), ("LLAMA", LLAMA), ("GEMMA", GEMMA))
    return jit_functions((SOURCE / "src/liger_kernel/ops/rms_norm.py").resolve(), rsqrt=rsqrt,
                         **{f"_CASTING_MODE_{mode}": tl.constexpr(value) for mode, value in modes})


def main():
    of = kernels()
    constants = {"elementwise_affine": True, "BLOCK_SIZE": 1024}
    strides = {"W_row_stride": 1, "RSTD_row_stride": 1, "X_row_stride": "ld_x", "offset": "shift"}
    reports = []
    for mode, name in ((GEMMA, "rms_norm"), (LLAMA, "rms_norm_llama")):
        reports.append(plumbline.verify_triton(
            of["_rms_norm_forward_kernel"], HERE / f"{name}.op", grid="m", chips=["sm_90"], require=["n <= BLOCK_SIZE"],
            arguments={"Y_row_stride": "ld_y"} | strides, constants={"casting_mode": mode} | constants, corpus=False))
        # One block does all rows: blocks add up rows of their own, which the host adds.
        reports.append(plumbline.verify_triton(
            of["_rms_norm_backward_kernel"], HERE / f"{name}_backward.op", grid=1, chips=["sm_90"], require=["n <= BLOCK_SIZE"],
            arguments={"dY_row_stride": "ld_dy", "dX_row_stride": "ld_dx", "dW_row_stride": "n", "rows_per_program": "m", "n_rows": "m"} | strides,
            constants={"casting_mode": mode, "X_dtype": tl.bfloat16} | constants, corpus=False))
    for report in reports:
        for kernel in report.kernels.values():
            print(f"{kernel.operation}: {kernel.verdict}, {kernel.case_count} cases")
    sys.exit(0 if all(report.passed for report in reports) else 1)


if __name__ == "__main__":
    main()
