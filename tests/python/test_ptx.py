# SPDX-License-Identifier: MIT
"""PTX as a program makes it becomes a manifest and is verified. If these fail, a kernel of NVRTC, cuda.core or CuTe DSL is verified as
something else than it is, or not at all."""
import ctypes
import ctypes.util
import glob
import pathlib

import plumbline
import pytest
from plumbline.errors import InputError

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent

GEMM = r"""
extern "C" __global__ void gemm(const float* a, const float* b, float* d, int m, int n, int k, long long lda) {
  const int i = blockIdx.x, j = blockIdx.y * blockDim.x + threadIdx.x;
  if (j >= n) return;
  float sum = 0;
  for (int p = 0; p < k; ++p) sum = fmaf(a[i * lda + p], b[(long long)p * n + j], sum);
  d[(long long)i * n + j] = sum;
}
extern "C" __global__ void other() {}
"""
CALL = {
    "entry": "gemm", "arguments": ["a", "b", "d", "m", "n", "k", "ld_a"], "grid": ["m", "ceil_div(n, 64)"], "block": 64,
    "formats": {"a": "f32", "b": "f32", "d": "f32"}, "contract": {"schedule": "sequential"}, "require": ["n <= 65535 * 64"]}


def nvrtc(source, chip="compute_80"):
    found = sorted(glob.glob("/usr/local/cuda*/lib64/libnvrtc.so*")) or [ctypes.util.find_library("nvrtc")]
    if not found[0]:
        pytest.skip("NVRTC is missing")
    library = ctypes.CDLL(found[0])
    program = ctypes.c_void_p()
    assert library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"gemm.cu", 0, None, None) == 0
    options = (ctypes.c_char_p * 1)(f"--gpu-architecture={chip}".encode())
    assert library.nvrtcCompileProgram(program, 1, options) == 0
    size = ctypes.c_size_t()
    assert library.nvrtcGetPTXSize(program, ctypes.byref(size)) == 0
    ptx = ctypes.create_string_buffer(size.value)
    assert library.nvrtcGetPTX(program, ptx) == 0
    return ptx.raw  # with the zero at its end


def test_what_nvrtc_makes(tmp_path):
    report = plumbline.verify_ptx(nvrtc(GEMM), "gemm", folder=tmp_path, only="k<=100 m<=40 n<=40", corpus=False, **CALL)
    assert report.check().kernels["gemm"].case_count > 20
    text = (tmp_path / "gemm.toml").read_text()
    assert 'parameters = ["ptr a", "ptr b", "ptr d", "s32 m", "s32 n", "s32 k", "s64 ld_a"]' in text
    assert 'unit = "fma.f32"' in text and 'free = ["lda"]' in text


def test_a_fault_is_found(tmp_path):
    wrong = GEMM.replace("p < k", "p < k - (k > 64)")
    report = plumbline.verify_ptx(nvrtc(wrong), "gemm", folder=tmp_path, only="m<=40 n<=40", corpus=False, fail_fast=True, **CALL)
    with pytest.raises(plumbline.Broken):
        report.check()


def test_a_file_whose_block_is_required(tmp_path):
    report = plumbline.verify_ptx(
        SOURCE / "tests" / "triton" / "softmax_sm_80.ptx", "softmax", folder=tmp_path, grid="m", shared=16,
        arguments=["x", "y", "n", "ld_x", "ld_y", 0, 0], formats={"x": "bf16", "y": "f32"}, require=["n <= 1024"], only="m<=5 class=normal",
        corpus=False)
    assert report.check().passed


@pytest.mark.parametrize(("change", "words"), [
    ({"entry": ""}, "which of these it is: gemm, other"),
    ({"entry": "none"}, "no entry 'none'; there is gemm, other"),
    ({"arguments": ["a", "b", "d"]}, "gemm has 7 parameters"),
    ({"arguments": ["a", "b", "d", "m", "n", 0.5, "ld_a"]}, "parameter 5 is a .u32, which 0.5 is not"),
    ({"block": None}, "block= has to say"),
    ({"formats": {"x": "f32"}}, "gemm has no tensor 'x'"),
])
def test_errors(tmp_path, change, words):
    with pytest.raises(InputError, match=words.replace(".", r"\.")):
        plumbline.verify_ptx(nvrtc(GEMM), "gemm", folder=tmp_path, **{**CALL, **change})


def test_texts_that_are_none(tmp_path):
    for text, words in (("int main() {}\n", "no .version"), (tmp_path / "none.ptx", "No such file"), (".version 8.0\n.target sm_80\n", "no .entry")):
        with pytest.raises(InputError, match=words.replace(".", r"\.")):
            plumbline.verify_ptx(text, "gemm", folder=tmp_path, **CALL)
    with pytest.raises(InputError, match="no operation 'gem'"):
        plumbline.verify_ptx(".version 8.0\n.target sm_80\n.entry e() {}\n", "gem", folder=tmp_path, arguments=[], grid=1, block=1)
