# SPDX-License-Identifier: MIT
"""plumbline.assert_conforms in three test files of other projects, in place of their own assertions: drop_in.py [FOLDER].

Each project is copied into a scratch folder. Its test runs there as it stands, and with its last assertions replaced by one call of
assert_conforms; then again with each of several faults planted in its kernel. What runs are the projects' own Triton kernels, by
Triton's interpreter on the processor (TRITON_INTERPRET=1), so no GPU is needed, but PyTorch, transformers, einops, ml_dtypes and Triton 3.9.0 are.
FOLDER has the projects as packages.py brings them: liger_kernel, flash_linear_attention and triton.

Prints a table in Markdown. Exit code 1 when a test fails without a fault, or its own assertions see one that assert_conforms does not.
"""
import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent.resolve()
FOLDER = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else HERE.parents[1] / "build/third_party").resolve()

# Of a number among the arguments Triton's compiler makes a tensor, its interpreter does not; it has no libdevice; and it cuts f32 down to
# bf16 where a GPU rounds (assert_conforms says so of the unchanged test). It multiplies bf16 numbers wrongly, so that tests are chosen
# whose kernels convert them first.
CONFTEST = """
import contextlib, ml_dtypes, numpy, torch, triton, triton.language as tl, triton.language.extra.libdevice as libdevice
from triton.runtime import interpreter
@triton.jit
def rsqrt(x):
    return 1 / tl.sqrt(x)
libdevice.rsqrt = rsqrt
cut = interpreter._convert_float
def rounded(data, source, target, mode):
    if (source, target) == (tl.float32, tl.bfloat16):
        return data.astype(ml_dtypes.bfloat16).view(numpy.uint16)
    return cut(data, source, target, mode)
interpreter._convert_float = rounded
torch.cuda.device = lambda index: contextlib.nullcontext()
convert = interpreter._implicit_cvt
interpreter._implicit_cvt = lambda arg: tl.tensor(
    interpreter.TensorHandle(numpy.array([arg], numpy.float32), tl.float32), tl.float32) if isinstance(arg, float) else convert(arg)
"""


@dataclasses.dataclass
class Project:
    name: str
    folder: str  # below FOLDER
    parts: list[str]  # what is copied
    test: str
    select: list[str]  # which of the file's tests
    kernel: str
    own: str  # the last lines of the test
    ours: str  # what stands there instead
    faults: list[tuple[str, str, str]]  # name, a line of the kernel, the faulty line
    setup: list[tuple[str, str]] = dataclasses.field(default_factory=list)  # lines of the test that ask for a GPU, or for too much
    tuning: list[tuple[str, str]] = dataclasses.field(default_factory=list)  # lines of the kernel's file that try configurations
    empty: list[str] = dataclasses.field(default_factory=list)  # packages that would import all the others


LIGER = Project(
    name="Liger-Kernel, test_rms_norm.py",
    folder="liger_kernel",
    parts=["src", "test/__init__.py", "test/utils.py", "test/transformers/test_rms_norm.py"],
    test="test/transformers/test_rms_norm.py",
    select=["-k", "True-False-GemmaRMSNorm and dtype1"],
    kernel="src/liger_kernel/ops/rms_norm.py",
    setup=[("skipif(not supports_bfloat16()", "skipif(False")],
    own="""    assert_verbose_allclose(ref_o, triton_o, atol=atol, rtol=rtol)
    if elementwise_affine:
        assert_verbose_allclose(ref_rms.weight.grad, triton_rms.weight.grad, atol=atol, rtol=rtol)
    print(f"{h1.grad=}")
    print(f"{h2.grad=}")
    assert_verbose_allclose(h1.grad, h2.grad, atol=atol, rtol=rtol, max_print=20)
""",
    ours='''    plumbline.assert_conforms(
        {"y": triton_o.detach(), "dx": h2.grad, "dw": triton_rms.weight.grad}, RMS_NORM,
        x=_tensor, w=triton_rms.weight.detach(), dy=do, chip=90)


import plumbline
RMS_NORM = """
operation rms_norm(x[m, n], w[n], dy[m, n], eps = 1e-6) -> y[m, n], dx[m, n], dw[n]
  rstd[i] = rsqrt((sum[j] x[i, j]^2) / n + eps)
  y[i, j] = x[i, j] * rstd[i] * (1 + w[j])
  g[i, j] = dy[i, j] * (1 + w[j])
  dx[i, j] = rstd[i] * g[i, j] - rstd[i]^2 * rstd[i] / n * (sum[l] (g[i, l] * x[i, l])) * x[i, j]
  dw[j] = sum[i] (dy[i, j] * (x[i, j] * rstd[i]))
"""
''',
    faults=[
        ("eps is 1e-5", "rstd = rsqrt(mean_square + eps)", "rstd = rsqrt(mean_square + 10 * eps)"),
        ("eps is left out", "rstd = rsqrt(mean_square + eps)", "rstd = rsqrt(mean_square)"),
        ("the mean over n + 1 columns", "mean_square = tl.sum(X_row * X_row, axis=0) / n_cols", "mean_square = tl.sum(X_row * X_row, axis=0) / (n_cols + 1)"),
        ("the last column is not in the sum", "mean_square = tl.sum(X_row * X_row, axis=0) / n_cols",
         "mean_square = tl.sum(tl.where(col_offsets < n_cols - 1, X_row * X_row, 0.0), axis=0) / n_cols"),
        ("squares in bf16", "mean_square = tl.sum(X_row * X_row, axis=0) / n_cols",
         "mean_square = tl.sum((X_row * X_row).to(tl.bfloat16).to(tl.float32), axis=0) / n_cols"),
        ("rstd in bf16", "rstd = rsqrt(mean_square + eps)", "rstd = rsqrt(mean_square + eps).to(tl.bfloat16).to(tl.float32)"),
        ("y from x rstd that is not rounded, cut at 7 bits", "    tl.store(y_base + col_offsets, Y_row, mask=mask)",
         "    Y_row = (Y_row.to(tl.float32).to(tl.int32, bitcast=True) & -131072).to(tl.float32, bitcast=True).to(X_row_dtype)\n"
         "    tl.store(y_base + col_offsets, Y_row, mask=mask)"),
        ("dx without its second term", "-(1 / n_cols) * rstd_row * rstd_row", "-(0 / n_cols) * rstd_row * rstd_row"),
        ("dx's second term with rstd for its square", "-(1 / n_cols) * rstd_row * rstd_row", "-(1 / n_cols) * rstd_row"),
    ])

FLA = Project(
    name="flash-linear-attention, test_l2norm.py",
    folder="flash_linear_attention",
    parts=["fla", "tests/modules/test_l2norm.py"],
    test="tests/modules/test_l2norm.py",
    select=["-k", "bfloat16 and D1024"],
    kernel="fla/modules/l2norm.py",
    empty=["fla/__init__.py", "fla/ops/__init__.py", "fla/ops/utils/__init__.py", "fla/modules/__init__.py"],
    own="""    assert_close('y', ref, tri, 0.005)
    assert_close('dx', ref_dx, tri_dx, 0.005)
""",
    ours='''    plumbline.assert_conforms({"y": tri.detach(), "dx": tri_dx}, L2NORM, x=x.detach(), dy=torch.ones_like(tri), chip=90)


import plumbline
L2NORM = """
operation l2norm(x[m, n], dy[m, n], eps = 1e-6) -> y[m, n], dx[m, n]
  rstd[i] = 1 / sqrt((sum[j] x[i, j]^2) + eps)
  y[i, j] = bf16(x[i, j] * rstd[i])
  dx[i, j] = dy[i, j] * rstd[i] - (sum[l] (dy[i, l] * y[i, l])) * y[i, j] * rstd[i]
"""
''',
    tuning=[("[1, 2, 4, 8, 16] if IS_AMD else [1, 2, 4, 8, 16, 32]", "[1]")],
    # 4 x 1024 x 5 rows take the interpreter a quarter of an hour.
    setup=[("from fla.utils import assert_close, device", "from fla.utils import assert_close\ndevice = 'cpu'"),
           ("(4, 1024, 5, 1024, torch.bfloat16)", "(1, 32, 2, 1024, torch.bfloat16)")],
    faults=[
        ("eps is 1e-3", "b_rstd = 1 / tl.sqrt(tl.sum(b_x * b_x) + eps)", "b_rstd = 1 / tl.sqrt(tl.sum(b_x * b_x) + 1000 * eps)"),
        ("max(norm, eps) for eps in the root", "b_rstd = 1 / tl.sqrt(tl.sum(b_x * b_x) + eps)", "b_rstd = 1 / tl.maximum(tl.sqrt(tl.sum(b_x * b_x)), 1e-12)"),
        ("the last column is not in the sum", "b_rstd = 1 / tl.sqrt(tl.sum(b_x * b_x) + eps)",
         "b_rstd = 1 / tl.sqrt(tl.sum(tl.where(cols < D - 1, b_x * b_x, 0.0)) + eps)"),
        ("squares in bf16", "b_rstd = 1 / tl.sqrt(tl.sum(b_x * b_x) + eps)",
         "b_rstd = 1 / tl.sqrt(tl.sum((b_x * b_x).to(tl.bfloat16).to(tl.float32)) + eps)"),
        ("rstd in bf16", "b_rstd = 1 / tl.sqrt(tl.sum(b_x * b_x) + eps)", "b_rstd = (1 / tl.sqrt(tl.sum(b_x * b_x) + eps)).to(tl.bfloat16).to(tl.float32)"),
        ("column 7 takes column 6's value", "    tl.store(y + cols, b_y, mask=mask)",
         "    b_y = tl.where(cols == 7, tl.sum(tl.where(cols == 6, b_y, 0.0)), b_y)\n    tl.store(y + cols, b_y, mask=mask)"),
        ("the last element is 0", "    tl.store(y + cols, b_y, mask=mask)", "    tl.store(y + cols, tl.where(cols < D - 1, b_y, 0.0), mask=mask)"),
        ("the products of dx's sum in bf16", "tl.sum(b_dy * b_y) * b_y * b_rstd", "tl.sum((b_dy * b_y).to(tl.bfloat16).to(tl.float32)).to(tl.bfloat16).to(tl.float32) * b_y * b_rstd"),
    ])

TUTORIAL = Project(
    name="Triton, 05-layer-norm.py",
    folder="triton",
    parts=["python/tutorials/05-layer-norm.py"],
    test="python/tutorials/05-layer-norm.py",
    select=["-k", "test_layer_norm"],
    kernel="python/tutorials/05-layer-norm.py",
    own="""    assert torch.allclose(y_tri, y_ref, atol=1e-2, rtol=0)
    assert torch.allclose(dx_tri, dx_ref, atol=1e-2, rtol=0)
    assert torch.allclose(db_tri, db_ref, atol=1e-2, rtol=0)
    assert torch.allclose(dw_tri, dw_ref, atol=1e-2, rtol=0)
""",
    ours='''    plumbline.assert_conforms(
        {"y": y_tri.detach(), "dx": dx_tri, "dgamma": dw_tri, "dbeta": db_tri}, LAYER_NORM,
        x=x.detach(), gamma=weight.detach(), beta=bias.detach(), dy=dy, eps=eps, chip=90)


import plumbline
LAYER_NORM = """
operation layer_norm(x[m, n], gamma[n], beta[n], dy[m, n], eps = 1e-5) -> y[m, n], dx[m, n], dgamma[n], dbeta[n]
  mean[i] = (sum[j] x[i, j]) / n
  rstd[i] = 1 / sqrt((sum[j] (x[i, j] - mean[i])^2) / n + eps)
  xhat[i, j] = (x[i, j] - mean[i]) * rstd[i]
  y[i, j] = xhat[i, j] * gamma[j] + beta[j]
  weighted[i, j] = gamma[j] * dy[i, j]
  c1[i] = (sum[j] (xhat[i, j] * weighted[i, j])) / n
  c2[i] = (sum[j] weighted[i, j]) / n
  dx[i, j] = (weighted[i, j] - (xhat[i, j] * c1[i] + c2[i])) * rstd[i]
  dgamma[j] = sum[i] f16(dy[i, j] * xhat[i, j])
  dbeta[j] = sum[i] dy[i, j]
"""
''',
    setup=[("DEVICE = triton.runtime.driver.active.get_active_torch_device()", "import pytest\nDEVICE = 'cpu'"),
           ("def test_layer_norm(M, N, dtype, eps=1e-5, device=DEVICE):",
            '@pytest.mark.parametrize("M, N, dtype", [(64, 512, torch.float16)])\ndef test_layer_norm(M, N, dtype, eps=1e-5, device=DEVICE):\n    torch.manual_seed(1)')],
    faults=[
        ("eps is left out", "rstd = 1 / tl.sqrt(var + eps)", "rstd = 1 / tl.sqrt(var)"),
        ("the variance over n - 1 columns", "var = tl.sum(_var, axis=0) / N", "var = tl.sum(_var, axis=0) / (N - 1)"),
        ("the mean in f16", "mean = tl.sum(_mean, axis=0) / N", "mean = (tl.sum(_mean, axis=0) / N).to(tl.float16).to(tl.float32)"),
        ("rstd in f16", "rstd = 1 / tl.sqrt(var + eps)", "rstd = (1 / tl.sqrt(var + eps)).to(tl.float16).to(tl.float32)"),
        ("x - mean in f16", "x_hat = (x - mean) * rstd", "x_hat = (x - mean).to(tl.float16).to(tl.float32) * rstd"),
        ("dx without the mean of its gradient", "dx = (wdy - (xhat * c1 + c2)) * rstd", "dx = (wdy - xhat * c1) * rstd"),
        ("dx without the sum with xhat", "dx = (wdy - (xhat * c1 + c2)) * rstd", "dx = (wdy - c2) * rstd"),
        ("dbeta without its last row", "db += tl.load(DB + offs, mask=mask, other=0.)", "db += tl.load(DB + offs, mask=mask & (rows[:, None] < M - 1), other=0.)"),
    ])

def changed(text, old, new, where):
    if old not in text:
        sys.exit(f"{where} has no line {old!r}: it is another version than packages.py brings")
    return text.replace(old, new)


def prepare(project, folder, ours):
    """A copy of the project, whose test has its own assertions or ours."""
    for part in project.parts:
        source, target = FOLDER / project.folder / part, folder / part
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    for package in project.empty:
        (folder / package).write_text("__version__ = \"0\"\n", encoding="utf-8")
    test = folder / project.test
    text = test.read_text(encoding="utf-8")
    for old, new in project.setup:
        text = changed(text, old, new, test)
    for old, new in project.tuning:
        kernel = folder / project.kernel
        kernel.write_text(changed(kernel.read_text(encoding="utf-8"), old, new, kernel), encoding="utf-8")
    if project is TUTORIAL:
        text = text.split("@triton.testing.perf_report")[0]
    if ours:
        text = changed(text, project.own, project.ours, test)
    if project is TUTORIAL:  # pytest takes no name with a hyphen at its start
        test.unlink()
        test = folder / "python/tutorials/test_layer_norm.py"
    test.write_text(text, encoding="utf-8")
    (folder / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    return test


def passes(project, ours, fault=None):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        test = prepare(project, folder, ours)
        kernel = test if project is TUTORIAL else folder / project.kernel
        if fault:
            kernel.write_text(changed(kernel.read_text(encoding="utf-8"), fault[1], fault[2], kernel), encoding="utf-8")
        ended = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:rerunfailures", test.relative_to(folder), *project.select],
            cwd=folder, capture_output=True, text=True,
            env=os.environ | {"TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join([f"{folder}/src", str(folder), os.environ.get("PYTHONPATH", "")])})
    judged = " passed" in ended.stdout or "AssertionError" in ended.stdout or "Broken: " in ended.stdout
    if ended.returncode not in (0, 1) or not judged:
        sys.exit(f"{project.name}: the test does not run\n{ended.stdout[-4000:]}{ended.stderr[-2000:]}")
    return ended.returncode == 0


def main():
    wrong = by_own = by_ours = total = 0
    print("| test | fault | its own assertions | `assert_conforms` |\n|---|---|---|---|", flush=True)
    for project in (LIGER, FLA, TUTORIAL):
        for fault in (None, *project.faults):
            own, ours = passes(project, False, fault), passes(project, True, fault)
            print(f"| {project.name} | {fault[0] if fault else 'none'} | {'pass' if own else 'fail'} | {'pass' if ours else 'fail'} |", flush=True)
            if fault is None:
                wrong += not own or not ours
                continue
            wrong += ours and not own
            by_own += not own
            by_ours += not ours
            total += 1
    print(f"\n{total} faults: the tests' own assertions see {by_own}, assert_conforms {by_ours}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
