# SPDX-License-Identifier: MIT
"""What PyTorch's libraries compute on this GPU, judged by plumbline: libraries.py

One line a call: the operation, the verdict, and the order of additions where all outputs have one.
"""
import itertools
import re
import sys
import tempfile

import torch

import plumbline

torch.manual_seed(1)
torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False


def judge(name, out, operation, **what):
    """Prints the verdict; whether it is the one expected."""
    try:
        report = plumbline.assert_conforms(out, operation, chip="sm_90", allow_mistrusted=True, keep=tempfile.mkdtemp(), **what)
        text = " ".join(report.output.split())
        orders = re.findall(r"\w+ is bit for bit what .*? gives", text) + re.findall(r"bit for bit.{0,200}", text)[:1]
        open_contract = re.findall(r"mistrusted.{0,200}", text)[:1]
        print(f"{name}: conforms; {(orders or open_contract or ['within the bound of all orders'])[0]}", flush=True)
        return True
    except plumbline.Error as error:
        print(f"{name}: {type(error).__name__}: {str(error)[:1500]}", flush=True)
        return False


def main():
    good = True
    for (m, n, k), dtype in itertools.product(
            [(64, 64, 64), (128, 256, 512), (16, 64, 16384), (1, 1024, 8192), (512, 512, 2048), (1000, 520, 1032)],
            [torch.bfloat16, torch.float16]):
        a = torch.randn(m, k, device="cuda", dtype=dtype)
        b = torch.randn(k, n, device="cuda", dtype=dtype)
        good &= judge(f"matmul {dtype} m={m} n={n} k={k}", a @ b, "gemm", a=a, b=b)
    for (m, n, k), fast in itertools.product([(64, 64, 64), (128, 256, 512), (16, 64, 16384), (512, 512, 2048)], [True, False]):
        a = torch.randn(m, k, device="cuda").to(torch.float8_e4m3fn)
        b = torch.randn(n, k, device="cuda").to(torch.float8_e4m3fn)
        one = torch.ones((), device="cuda")
        d = torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.bfloat16, use_fast_accum=fast)
        good &= judge(f"_scaled_mm e4m3 fast={fast} m={m} n={n} k={k}", d, "gemm", a=a, b=b, layout="nt")
    a = torch.randint(-128, 128, (128, 512), device="cuda", dtype=torch.int8)
    b = torch.randint(-128, 128, (512, 256), device="cuda", dtype=torch.int8)
    good &= judge("_int_mm m=128 n=256 k=512", torch._int_mm(a, b), "gemm", a=a, b=b)
    a = torch.randn(300, 700, device="cuda")
    b = torch.randn(700, 200, device="cuda")
    good &= judge("matmul float32 m=300 n=200 k=700", a @ b, "gemm", a=a, b=b)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
