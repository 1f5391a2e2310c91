# SPDX-License-Identifier: MIT
"""Operations that a text says are judged and verified from Python. If these fail, an operation of ten lines needs a manifest after
all, or is judged as another one than it is."""
import pathlib

import ml_dtypes
import numpy
import plumbline
import pytest
from plumbline import assert_conforms
from plumbline.errors import InputError
from test_ptx import nvrtc

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
SHIPPED = SOURCE / "kernels" / "shipped"

GATED = """
operation silu_and_mul(x[m, 2 n]) -> y[m, n]
  y[i, j] = silu(x[i, j]) * x[i, n + j]
"""


def bf16(*shape, seed=1):
    return numpy.random.default_rng(seed).standard_normal(shape).astype(ml_dtypes.bfloat16)


def gated(x):
    z = x.astype(numpy.float32)
    n = z.shape[1] // 2
    return (z[:, :n] / (1 + numpy.exp(-z[:, :n])) * z[:, n:]).astype(ml_dtypes.bfloat16)


def test_outputs_of_a_text_are_judged():
    x = bf16(6, 64)
    report = assert_conforms(gated(x), GATED, x=x, chip=90)
    assert report.records[0].cases[0].case.startswith("silu_and_mul m=6 n=32 ")


def test_what_is_wrong_is_told_by_the_line():
    x = bf16(6, 64)
    wrong = gated(numpy.concatenate([x[:, 32:], x[:, :32]], axis=1))
    with pytest.raises(plumbline.Broken) as broken:
        assert_conforms(wrong, GATED, x=x, chip=90)
    text = str(broken.value)
    for part in ("silu_and_mul m=6 n=32 on sm_90", "fits: line 3: with x[i, j] and x[i, n + j] exchanged", "/silu_and_mul.op"):
        assert part in text
    assert "/dev/shm" not in text
    folder = broken.value.report.folders[0]
    assert (folder / "silu_and_mul.op").read_text() == GATED
    command = text.split("Replay: ")[1].splitlines()[0].split()
    from plumbline import program
    assert program.run(command[1:]).exit_code == 1


def test_a_text_is_judged_at_the_sizes_of_its_tensors():
    """Of halves of an odd size the text says nothing, and no tensor here has one."""
    halves = "operation swap(x[m, n]) -> y[m, n]\n  y[i, j] = x[i, n // 2 + j] for j < n // 2\n  y[i, n // 2 + j] = x[i, j] for j < n // 2\n"
    x = bf16(3, 8)
    assert_conforms(numpy.concatenate([x[:, 4:], x[:, :4]], axis=1), halves, x=x, chip=90)
    with pytest.raises(plumbline.InputError, match="nothing computes element 8"):
        assert_conforms(bf16(3, 9), halves, x=bf16(3, 9), chip=90)


def test_scalars_and_what_is_written_over(tmp_path):
    text = SHIPPED / "add_rmsnorm_bf16" / "add_rmsnorm.op"
    x, residual, gamma = bf16(5, 48), bf16(5, 48, seed=2), bf16(48, seed=3)
    total = (x.astype(numpy.float32) + residual.astype(numpy.float32)).astype(ml_dtypes.bfloat16)
    z = total.astype(numpy.float32)
    y = (z / numpy.sqrt((z * z).mean(1, keepdims=True) + 0.25) * gamma.astype(numpy.float32)).astype(ml_dtypes.bfloat16)
    out = {"residual_out": total, "y": y}
    assert assert_conforms(out, text, x=x, residual=residual, gamma=gamma, eps=0.25, chip=80).passed
    with pytest.raises(plumbline.Broken):
        assert_conforms(out, text, x=x, residual=residual, gamma=gamma, eps=1e-6, chip=80)


def test_choices_of_64_bits():
    text = str(SHIPPED / "topk_softmax_f32" / "topk_softmax.op")
    gate = numpy.random.default_rng(4).standard_normal((7, 20)).astype(numpy.float32)
    ids = numpy.argsort(-gate, axis=1, kind="stable")[:, :3]
    p = numpy.exp(gate - gate.max(1, keepdims=True))
    weight = numpy.take_along_axis(p / p.sum(1, keepdims=True), ids, 1)
    assert assert_conforms({"weight": weight, "id": ids}, text, gate=gate, chip=90).passed
    with pytest.raises(plumbline.Broken, match="id: 14 of 21 elements mismatch"):
        assert_conforms({"weight": numpy.ascontiguousarray(weight), "id": ids[:, ::-1]}, text, gate=gate, chip=90)
    with pytest.raises(InputError, match="output id is missing: weight is judged by it"):
        assert_conforms({"weight": weight}, text, gate=gate, chip=90)


def test_one_output_is_the_one_behind_the_arrow():
    text = "operation f(x[m, n], r[m, n] inout) -> y[m, n]\n  r[i, j] = bf16(x[i, j] + r[i, j])\n  y[i, j] = 2 * r'[i, j]\n"
    x, r = bf16(4, 8), bf16(4, 8, seed=2)
    sums = (x.astype(float) + r.astype(float)).astype(ml_dtypes.bfloat16)
    report = assert_conforms((2 * sums.astype(float)).astype(ml_dtypes.bfloat16), text, x=x, r=r, chip=90)
    assert [output.name for output in report.records[0].cases[0].outputs] == ["y"]


def test_sums_on_tensor_cores():
    text = "operation product(a[m, k], b[k, n]) -> d[m, n]\n  d[i, j] = max(sum[l] (a[i, l] * b[l, j]), 0)"
    a, b = bf16(9, 128), bf16(128, 16, seed=2)
    d = numpy.maximum(a.astype(numpy.float32) @ b.astype(numpy.float32), 0).astype(ml_dtypes.bfloat16)
    assert assert_conforms(d, text, a=a, b=b, chip="h200", contract={"unit": "wgmma"}).passed


def test_a_gradient_is_the_last_operation_of_a_text():
    text = GATED + "operation backward = gradient of silu_and_mul wrt x\n"
    x, dy = bf16(4, 16), bf16(4, 8, seed=2)
    z, g = x.astype(numpy.float64), dy.astype(numpy.float64)
    s = 1 / (1 + numpy.exp(-z[:, :8]))
    dx = numpy.concatenate([g * z[:, 8:] * (s + z[:, :8] * s * (1 - s)), g * z[:, :8] * s], axis=1)
    assert assert_conforms(dx.astype(ml_dtypes.bfloat16), text, dy=dy, x=x, chip=90).passed


@pytest.mark.parametrize(("text", "says"), [
    ("nope.op", "the text nope.op cannot be read"),
    ("sofmax", 'did you mean "softmax"'),
    ("operation f(x[m]) -> y[m]\n  y[i] = z[i]\n", "text.op:2:10: there is no 'z' here"),
    ("# nothing\n", "operation"),
    ("operation f(x[m]) -> y[m]", "text.op:1:22: no step computes 'y'"),
    (GATED, "silu_and_mul.op needs x=, the tensor [m, 2 * n]"),
])
def test_wrong_texts(text, says):
    with pytest.raises(InputError) as error:
        assert_conforms(bf16(2, 2), text, chip=90, **({} if text == GATED else {"x": bf16(2, 2)}))
    assert says in str(error.value)


def test_leading_axes_are_rows():
    x = bf16(2, 3, 64)
    y = gated(x.reshape(6, 64))
    for out in (y.reshape(2, 3, 32), y):
        report = assert_conforms(out, GATED, x=x, chip=90)
        assert report.records[0].cases[0].case.startswith("silu_and_mul m=6 n=32 ")
    wrong = y.reshape(2, 3, 32).copy()
    wrong[1, 2, 5] += 1
    with pytest.raises(plumbline.Broken, match=r"y\[1, 2, 5\]: got"):
        assert_conforms(wrong, GATED, x=x, chip=90)
    with pytest.raises(InputError, match=r"x is bf16 \[2, 3, 64\] and y is bf16 \[3, 2, 32\]: their leading axes"):
        assert_conforms(y.reshape(3, 2, 32), GATED, x=x, chip=90)


def test_sizes_that_do_not_fit():
    with pytest.raises(InputError, match=r"x is bf16 \[64\], silu_and_mul.op takes \[m, 2 \* n\]"):
        assert_conforms(bf16(6, 32), GATED, x=bf16(64), chip=90)
    with pytest.raises(InputError, match=r"^b is missing \(give b=\.\.\.\)"):
        text = "operation f(x[a * b]) -> y[a * b]\n  y[i] = x[i]\n"
        assert_conforms(bf16(12), text, x=bf16(12), a=5, chip=90)
    with pytest.raises(InputError, match=r"needs bf16\[\d,"):
        assert_conforms(bf16(5, 32), GATED, x=bf16(6, 64), chip=90)


KERNEL = r"""
extern "C" __global__ void gated(const float* x, float* y, int n, long long ldx, long long ldy) {
  for (int j = threadIdx.x; j < n; j += blockDim.x) {
    const float a = x[blockIdx.x * ldx + j];
    y[blockIdx.x * ldy + j] = a / (1 + expf(-a)) * x[blockIdx.x * ldx + n + j];
  }
}
"""
CALL = {
    "arguments": ["x", "y", "n", "ld_x", "ld_y"], "grid": ["m"], "block": 64, "formats": {"x": "f32", "y": "f32"},
    "only": "m<=20 n<=200", "corpus": False}


def test_a_kernel_of_a_text_is_verified(tmp_path):
    report = plumbline.verify_ptx(nvrtc(KERNEL), GATED, folder=tmp_path, **CALL)
    assert report.check().kernels["gated"].case_count > 20
    manifest = (tmp_path / "gated.toml").read_text()
    assert 'computes = "silu_and_mul.op"' in manifest and 'free = ["pad_x", "pad_y"]' in manifest
    assert (tmp_path / "silu_and_mul.op").read_text() == GATED


def test_a_fault_of_a_kernel_of_a_text_is_found(tmp_path):
    wrong = KERNEL.replace("ldx + n + j", "ldx + j")
    report = plumbline.verify_ptx(nvrtc(wrong), GATED, folder=tmp_path, fail_fast=True, **CALL)
    with pytest.raises(plumbline.Broken):
        report.check()
