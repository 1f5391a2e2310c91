# SPDX-License-Identifier: MIT
"""Triton kernels become manifests and are verified. These skip where Triton is missing. If they fail, a kernel is verified as
something else than it is, or not at all."""
import dataclasses

import plumbline
import pytest
from plumbline.errors import InputError
from plumbline.described import Compiled, Described, Expression, formats_of, manifest_of
from plumbline.triton import Verification, _guess, computes

triton = pytest.importorskip("triton")
import triton_kernels as kernels  # noqa: E402

SOFTMAX = {
    "grid": "min(m, 4)", "formats": {"x": "f32", "y": "f32"}, "constants": {"BLOCK_SIZE": 1024, "num_stages": 2}, "require": ["n <= BLOCK_SIZE"],
    "num_warps": 8}


def matmul_grid(META, M, N):
    return triton.cdiv(M, META["BLOCK_SIZE_M"]) * triton.cdiv(N, META["BLOCK_SIZE_N"]),


def test_softmax(capsys):
    report = plumbline.verify_triton(kernels.softmax_kernel, "softmax", chips=["sm_80", "h100"], only="m<=5 class=normal", corpus=False, **SOFTMAX)
    assert report.check().kernels["softmax_kernel_sm_90"].case_count > 3
    assert "input_ptr is x, input_row_stride is ld_x" in capsys.readouterr().out


def test_an_operation_that_a_text_says(tmp_path):
    text = "operation silu_and_mul(x[m, 2 n]) -> y[m, n]\n  y[i, j] = silu(x[i, j]) * x[i, n + j]\n"
    report = plumbline.verify_triton(
        kernels.silu_and_mul_kernel, text, grid="m", constants={"BLOCK_SIZE": 64}, chips="sm_90", only="m<=5", corpus=False, folder=tmp_path)
    assert report.check().kernels["silu_and_mul_kernel_sm_90"].case_count > 20
    manifest = (tmp_path / "silu_and_mul_kernel_sm_90.toml").read_text()
    assert 'parameters = ["ptr x", "ptr y", "s32 n", "s32 ld_x", "s32 ld_y", "s64 0", "s64 0"]' in manifest
    assert 'require = "(m) * ld_x <= 2147483647"' in manifest


LINE = "operation line(x[m, n]) -> y[m, n]\n  y[i, j] = 3 * x[i, j] + 8\n"
SMALL = {"grid": "m", "constants": {"BLOCK": 64, "num_warps": 8}, "formats": {"x": "f32", "y": "f32"}, "chips": "sm_90", "corpus": False}


def test_constants_that_are_left_out_have_their_defaults(tmp_path):
    report = plumbline.verify_triton(kernels.line_kernel, LINE, only="m<=5", folder=tmp_path, **SMALL)
    assert report.check().kernels["line_kernel_sm_90"].case_count > 20
    assert "block = [256]" in (tmp_path / "line_kernel_sm_90.toml").read_text()  # of num_warps, the compiler's option


@pytest.mark.parametrize(("constants", "says"), [
    ({"BLOC": 64}, "has no argument 'BLOC' (did you mean \"BLOCK\"?)"), ({}, "BLOCK is tl.constexpr and without a default")])
def test_constants_that_are_wrong(constants, says, tmp_path):
    with pytest.raises(InputError) as error:
        plumbline.verify_triton(kernels.line_kernel, LINE, folder=tmp_path, **{**SMALL, "constants": constants})
    assert says in str(error.value)


def test_offsets_beyond_32_bits(tmp_path, capsys):
    def verify(**more):
        return plumbline.verify_triton(kernels.line_kernel, LINE, only="n=72 m=12", folder=tmp_path, **SMALL, **more)

    assert verify().passed
    assert "rows times a leading dimension are kept within 2^31 - 1" in capsys.readouterr().out
    assert verify(wide_offsets=True).kernels["line_kernel_sm_90"].verdict == "fail"


def test_what_is_written_over(tmp_path):
    # Of a smaller tile several threads would load one element, and one of them store it: a race.
    options = {**SMALL, "constants": {"BLOCK": 256, "num_warps": 8}}
    report = plumbline.verify_triton(
        kernels.line_kernel, LINE, only="m<=5", folder=tmp_path, arguments={"stride_x": "ld_y"}, in_place={"y": "x"}, **options)
    assert report.check().kernels["line_kernel_sm_90"].case_count > 20


def test_every_configuration_of_an_autotuned_kernel():
    report = plumbline.verify_triton(
        kernels.matmul_kernel, "gemm", grid=matmul_grid, chips=["sm_80", "sm_90"], only="k<=100 m<=100 n<=100 class=normal", corpus=False,
        formats={"a": "f16", "b": "f16", "d": "f16"}, allow_mistrusted=True)
    assert set(report.check().kernels) == {f"matmul_kernel_{i}_sm_{sm}" for i in (0, 1) for sm in (80, 90)}


def test_a_fault_is_found_in_its_line():
    report = plumbline.verify_triton(
        kernels.wrong_softmax, "softmax", grid="m", arguments={"n_cols": "n"}, formats={"x": "f32", "y": "f32"}, constants={"BLOCK_SIZE": 256},
        require=["n <= BLOCK_SIZE"], chips="sm_80", only="m<=5 class=normal", corpus=False)
    assert report.kernels["wrong_softmax_sm_80"].verdict == "fail"
    with pytest.raises(plumbline.Broken):
        report.check()


def test_a_kernel_that_says_what_it_computes():
    decorated = computes("softmax", **SOFTMAX)(kernels.softmax_kernel)
    assert decorated is kernels.softmax_kernel
    assert plumbline.verify(decorated, chips="sm_80", only="m<=3 class=normal", corpus=False).passed


def test_manifests(tmp_path):
    (exported,) = Verification(kernel=kernels.softmax_kernel, operation="softmax", **SOFTMAX).export(tmp_path / "a folder", ["sm_80"])
    text = exported.manifest.read_text()
    assert 'parameters = ["ptr y", "ptr x", "s32 ld_x", "s32 ld_y", "s32 m", "s32 n", "s64 0", "s64 0"]' in text
    assert 'require = "n <= 1024"' in text and "lanes = 256" in text
    aligned = Verification(kernel=kernels.softmax_kernel, operation="softmax", aligned=["input_row_stride"], **SOFTMAX)
    (exported,) = aligned.export(tmp_path, ["sm_80"])
    assert 'require = "ld_x % 16 == 0"' in exported.manifest.read_text()


@pytest.mark.parametrize(("operation", "name", "layout", "expected"), [
    ("gemm", "a_ptr", "", "a"), ("gemm", "c_ptr", "", "d"), ("gemm", "K", "", "k"), ("gemm", "stride_am", "", "ld_a"), ("gemm", "stride_ak", "", 1),
    ("gemm", "stride_bk", "", "ld_b"), ("gemm", "stride_bk", "nt", 1), ("gemm", "stride_bn", "nt", "ld_b"), ("gemm", "stride_cm", "", "ld_d"),
    ("gemm", "lda", "", "ld_a"), ("softmax", "X", "", "x"), ("softmax", "out_ptr", "", "y"), ("softmax", "stride_x_row", "", "ld_x"),
    ("softmax", "ldx", "", "ld_x"), ("softmax", "n_cols", "", "n"), ("layernorm", "W", "", "gamma"), ("layernorm", "B", "", "beta"),
    ("layernorm", "stride", "", "n"), ("layernorm", "eps", "", "eps"), ("gemm", "flag", "", None),
    ("attention", "desc_q", "", "q"), ("attention", "M", "", "lse"), ("attention", "N_CTX", "", "queries"), ("attention", "sm_scale", "", "scale"),
    ("gemm", "M", "", "m"), ("softmax", "scratch_ptr", "", None)])
def test_guesses(operation, name, layout, expected):
    assert _guess(operation, name, [name], set(), layout) == expected


def test_expressions():
    m = Expression("m")
    assert str(triton.cdiv(m, 64) * (m % 3)) == "(((m) + 63) / 64) * ((m) % 3)"
    assert str(2 + 3 * m - 1) == "(2 + (3 * (m))) - 1"
    for compares in (bool, lambda m: min(m, 132), lambda m: m == 1, lambda m: m > 3):
        with pytest.raises(InputError, match="write it as a manifest's"):
            compares(m)


@pytest.mark.parametrize(("change", "says"), [
    ({"arguments": {"nothing": "x"}}, "has no argument 'nothing'"),
    ({"formats": {"x": "s32"}}, "x cannot be s32"),
    ({"grid": lambda q: (q,) if isinstance(q, int) else q["nothing"]}, "the grid function raised KeyError: 'nothing'"),
    ({"grid": None}, "grid=None is no grid"),
    ({"formats": {"x": "tf32"}}, "x cannot be tf32"),
    ({"aligned": ["nothing"]}, "no argument 'nothing'")])
def test_what_is_wrong(change, says, tmp_path):
    with pytest.raises(InputError) as error:
        Verification(kernel=kernels.softmax_kernel, operation="softmax", **{**SOFTMAX, **change}).export(tmp_path, ["sm_80"])
    assert says in str(error.value)


def test_tensors_that_no_argument_is(tmp_path):
    """Attention without a bias and a sink."""
    wanted = Described(operation="attention", grid="m", arguments={"q": "q", "k": "k", "v": "v", "o": "o", "m": "queries"})
    text = manifest_of(wanted, COMPILED, wanted.arguments, {}, formats_of(wanted, wanted.arguments))
    for line in ('bias = ["none"]', 'sink = ["none"]', 'lse = ["none"]'):
        assert line in text
    wanted = Described(operation="gemm", grid="m", arguments={"a": "a", "b": "b", "bias": "bias", "c": "d"})
    with pytest.raises(InputError, match='bias is an argument, so the problem has to say of what: problem={"bias": "row"} or '):
        manifest_of(wanted, COMPILED, wanted.arguments, {}, formats_of(wanted, wanted.arguments))


COMPILED = Compiled(file="k.ptx", summary="k", ptx="", target=90, entry="k", parameters=[], block=[32], shared=0)


def test_a_grid_has_the_arguments_of_the_launch():
    kernel = Verification(kernel=kernels.line_kernel, operation=LINE, **{**DESCRIBED, "grid": lambda META: (META["n"] * META["BLOCK"],)})
    (exported,) = kernel.export(kernel.folder(), ["sm_90"])
    assert 'grid = ["(n) * 64"]' in exported.manifest.read_text()


DESCRIBED = {"constants": {"BLOCK": 64}, "formats": {"x": "f32", "y": "f32"}, "arguments": {"n": "n"}}


def test_manifests_of_other_constants_lie_elsewhere():
    one, same, other = (
        Verification(kernel=kernels.line_kernel, operation=LINE, grid="m", constants={"BLOCK": block}) for block in (64, 64, 128))
    assert one.folder() == same.folder() != other.folder()


def test_descriptors_have_memory_of_their_own(tmp_path):
    """tl.make_tensor_descriptor makes tensor maps in scratch memory."""
    report = plumbline.verify_triton(
        kernels.copied_by_descriptors, "operation copied(x[m, n]) -> y[m, n]\n  y[i, j] = x[i, j]\n", grid="cdiv(m, 8)", chips=["sm_80", "sm_90"],
        constants={"ROWS": 8, "COLUMNS": 64}, require=["n % 8 == 0", "ld_x % 8 == 0", "ld_y % 8 == 0"], only="m<=20 n<=80", corpus=False,
        folder=tmp_path)
    assert report.check().passed
    assert 'workspace = "(ceil_div(m, 8)) * ' in (tmp_path / "copied_by_descriptors_sm_90.toml").read_text()


def test_outputs_that_atomics_add_to():
    report = plumbline.verify_triton(
        kernels.summed_by_atomics, "operation totals(x[m, n]) -> y[m]\n  y[i] = sum[j] x[i, j]\n", grid=["m", "cdiv(n, 32)"], chips="sm_90",
        formats={"x": "f32", "y": "f32"}, contract={"deterministic": False}, only="m<=5 n<=100", corpus=False)
    assert report.check().passed


def test_heuristics_are_said():
    with pytest.raises(InputError, match='constants={"EVEN": ...}'):
        plumbline.verify_triton(kernels.line_with_heuristics, LINE, grid="m", constants={"BLOCK": 64}, formats={"x": "f32", "y": "f32"})
    report = plumbline.verify_triton(
        kernels.line_with_heuristics, LINE, grid="m", constants={"BLOCK": 64, "EVEN": True}, formats={"x": "f32", "y": "f32"},
        require=["n % 64 == 0"], chips="sm_90", only="m<=5 n<=128", corpus=False)
    assert report.check().passed


@pytest.mark.parametrize(("kernel", "says"), [
    (kernels.line_kernel, "verify_triton"), (3, "neither a manifest nor the name"), ([3], "no manifest and no name"),
    ("my.cu", "plumbline init my.cu"), ("my.ptx", "verify_ptx")])
def test_what_says_nothing_of_its_operation(kernel, says):
    with pytest.raises(InputError) as error:
        plumbline.verify(kernel)
    assert says in str(error.value)


@pytest.mark.parametrize(("ptx", "root"), [("rsqrt.approx.ftz.f32", "rsqrt.approx"), ("sqrt.rn.f32", "1 / sqrt")])
def test_how_a_norm_takes_its_root(ptx, root):
    wanted = Described(operation="rmsnorm", grid="m", arguments={"x": "x", "y": "y"})
    compiled = dataclasses.replace(COMPILED, ptx=ptx)
    assert f'root = "{root}"' in manifest_of(wanted, compiled, wanted.arguments, {}, formats_of(wanted, wanted.arguments))
    with pytest.raises(InputError, match="no word for this PTX, which has neither rsqrt.approx nor sqrt.rn: say the operation as a text"):
        manifest_of(wanted, dataclasses.replace(COMPILED, ptx="sqrt.approx.ftz.f32"), wanted.arguments, {}, formats_of(wanted, wanted.arguments))


DESCRIPTORS = {
    "grid": ["cdiv(m, BLOCK_M)", "cdiv(n, BLOCK_N)"], "constants": {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64}, "problem": {"layout": "nt"},
    "descriptors": {"a_desc": ["BLOCK_M", "BLOCK_K"], "b_desc": ["BLOCK_N", "BLOCK_K"], "c_desc": ["BLOCK_M", "BLOCK_N"]}, "corpus": False}


def test_descriptors_that_the_host_makes(tmp_path):
    """By the TMA unit on sm_90 and sm_100; as pointers on sm_80, which has none."""
    report = plumbline.verify_triton(
        kernels.matmul_descriptors, "gemm", chips=["sm_80", "sm_90", "sm_100"], only="k<=100 m<=100 n<=100", folder=tmp_path,
        allow_mistrusted=True, **DESCRIPTORS)
    assert all(kernel.case_count > 20 for kernel in report.check().kernels.values())
    text = (tmp_path / "matmul_descriptors_sm_90.toml").read_text()
    for part in ('"tensor_map a", "s32 m", "s32 k", "s64 ld_a", "s64 1"', 'dims = ["max(k, 1)", "max(n, 1)"]', 'swizzle = "128B"',
                 'require = "(ld_b) % 8 == 0"', 'require = "(n) % 8 == 0"', 'free = ["lda", "ldb", "ldd"]'):
        assert part in text
    assert '"ptr a", "s64 m", "s64 k", "s64 ld_a", "s64 1", "u8 0"' in (tmp_path / "matmul_descriptors_sm_80.toml").read_text()


@pytest.mark.parametrize(("descriptors", "says"), [
    ({"a_dsc": [64, 64]}, 'has no argument \'a_dsc\' (did you mean "a_desc"?)'),
    ({"M": [64]}, "M is no tensor of gemm"),
    ({"a_desc": "64"}, 'a needs its block, for example ["BLOCK_M", "BLOCK_K"]'),
    ({"a_desc": ["BLOK", 64]}, "'BLOK' in the block of a is no constant of the kernel"),
    ({"a_desc": {"block": [64, 64], "stride": [1]}}, "a has 'stride'; it has block, shape, strides"),
    ({"a_desc": {"block": [64, 64], "strides": [1]}}, "block, shape and strides of a have different lengths"),
    ({"a_desc": {"block": [64, 64], "strides": [1, "m"]}}, "the last stride of a is m, and has to be 1"),
    ({"a_desc": [1, 1, 64, 64]}, "the block of a has 4 sizes, and a of gemm is [batch, m, k]: say its shape and strides")])
def test_wrong_descriptors(descriptors, says, tmp_path):
    with pytest.raises(InputError) as error:
        plumbline.verify_triton(kernels.matmul_descriptors, "gemm", folder=tmp_path, **{**DESCRIPTORS, "descriptors": descriptors})
    assert says in str(error.value)
