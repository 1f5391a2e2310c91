# SPDX-License-Identifier: MIT
"""assert_conforms on outputs of every operation, which the emulator gave for shipped kernels: they pass, with one bit changed
they do not. If these fail, a call from Python judges another problem or another contract than it says.
"""
import dataclasses
import os
import pathlib
import sys
import tempfile

import ml_dtypes
import numpy
import plumbline
import pytest
from plumbline import assert_conforms
from plumbline.operation_tables import OPERATIONS
from plumbline.operations import problem_of, problem_text

ATTENTION = {"tile": 64, "p": "bf16", "logits": "natural difference"}

# Operation, case of a shipped kernel, chip, contract, and what tensors do not tell.
CASES = [
    ("gemm", "gemm_bf16 m=9 n=5 k=33 out=f32 layout=nt bias=column act=relu value=normal seed=0x1", 80, None, {"act": "relu"}),
    ("gemm", "gemm_bf16 m=9 n=5 k=33 batch=3 beta=0.5 value=normal seed=0x1", 80, None, {"beta": 0.5}),
    ("gemm", "gemm_fp8 m=9 n=5 k=40 a=e4m3 b=e5m2 scale_a=row scale_b=column value=normal seed=0x1", 89,
     {"unit": "mma.sync", "schedule": "sequential"}, {}),
    ("gemm", "gemm_fp8_blockwise m=9 n=16 k=256 value=normal seed=0x1", 89, {"unit": "mma.sync"}, {}),
    ("gemm", "gemm_mxfp8 m=9 n=16 k=64 value=normal seed=0x1", 89, {"unit": "mma.sync"}, {}),
    ("gemm", "gemm_s8 m=9 n=16 k=64 out=s32 value=normal seed=0x1", 80, None, {}),
    ("grouped_gemm", "gemm_grouped_bf16 groups=3 m=9 n=5 k=33 value=normal seed=0x1", 80, None, {}),
    ("softmax", "softmax_bf16 m=5 n=77 scale=0.5 value=normal seed=0x1", 80, {"lanes": 128, "vector": 8}, {"scale": 0.5}),
    ("softmax_backward", "softmax_bf16_backward m=5 n=77 scale=0.5 value=normal seed=0x1", 80, {"lanes": 128, "vector": 8}, {"scale": 0.5}),
    ("rmsnorm", "rmsnorm_bf16 m=5 n=77 eps=1e-06 value=normal seed=0x1", 80, {"lanes": 128, "vector": 8, "root": "rsqrt.approx"}, {"eps": 1e-6}),
    ("rmsnorm_backward", "rmsnorm_bf16_backward m=5 n=77 value=normal seed=0x1", 80, {"lanes": 128, "vector": 8, "stripes": 32}, {}),
    ("layernorm", "layernorm_bf16 m=5 n=77 value=normal seed=0x1", 80, {"lanes": 128, "vector": 8, "root": "rsqrt.approx"}, {"eps": 1e-5}),
    ("layernorm_backward", "layernorm_bf16_backward m=5 n=77 value=normal seed=0x1", 80, {"lanes": 128, "vector": 8, "stripes": 32}, {}),
    ("quantize", "quantize_fp8 m=5 n=177 scale=row value=normal seed=0x1", 89, {"rule": "x / scale"}, {}),
    ("attention", "attention_bf16_forward batch=2 heads=4 kv_heads=2 queries=17 keys=33 d=16 causal=bottom_right scale=0.25 value=normal seed=0x1",
     80, ATTENTION, {"causal": "bottom_right", "scale": 0.25}),
    ("attention", "attention_bf16_forward batch=3 queries=17 keys=33 d=16 lengths=random scale=0.25 value=normal seed=0x1",
     80, ATTENTION, {"scale": 0.25}),
    ("attention_backward", "attention_bf16_backward heads=4 kv_heads=2 queries=17 keys=33 d=16 scale=0.25 value=normal seed=0x1",
     80, {"p": "bf16", "ds": "bf16", "logits": "natural difference"}, {"scale": 0.25}),
    ("linear_backward", "linear_bf16_backward m=9 n=20 k=33 value=normal seed=0x1", 80, None, {}),
    ("linear_backward", "linear_s8_backward m=9 n=20 k=33 scales=channel value=normal seed=0x1", 80, None, {}),
    ("swiglu_mlp", "swiglu_mlp_bf16 tokens=5 d=33 hidden=20 d_out=7 value=normal seed=0x1", 80, {"silu": "g / (1 + e)"}, {}),
]


def split(operation, tensors):
    role = {name: row.role for name, row in OPERATIONS[operation].tensors.items()}
    return ({name: t for name, t in tensors.items() if role[name] == "input"},
            {name: t for name, t in tensors.items() if role[name] == "output"})


def with_a_wrong_bit(tensor):
    data = bytearray(b"".join(tensor.chunks()))
    width = len(data) // tensor.count
    data[width * (tensor.count // 2 + 1) - 1] ^= 0x20  # of the exponent
    return dataclasses.replace(tensor, memory=memoryview(bytes(data)), offset=0)


@pytest.mark.parametrize(("operation", "case", "sm", "contract", "more"), CASES, ids=[case[1].split(" value")[0] for case in CASES])
def test_operations(dump, operation, case, sm, contract, more):
    tensors, metadata = dump(case, sm)
    inputs, outputs = split(operation, tensors)
    call = {**inputs, **more}
    fields = {}
    if "lengths=random" in case:  # the shapes of packed sequences are [rows, heads, d] in Python
        for group in (call, outputs):
            for name in set(group) & {"q", "k", "v", "o"}:
                group[name] = group[name].reshaped(group[name].shape[1:]).permuted((1, 0, 2))
    report = assert_conforms(outputs, operation, chip=sm, contract=contract, problem=fields, allow_mistrusted=True, **call)
    assert report.records[0].verb == "check"
    derived = problem_text(problem_of(operation, outputs, call, fields)).split()
    asked = metadata["case"].split(" value=")[0].split()[1:]
    # How tensors lie in memory, and sizes that are also their defaults, need not be derived.
    assert set(derived) - {"lengths=random"} >= {word for word in asked if not word.startswith(("layout=", "lengths="))}
    name = next(iter(outputs))
    with pytest.raises(plumbline.Broken) as broken:
        assert_conforms({**outputs, name: with_a_wrong_bit(outputs[name])}, operation, chip=sm, contract=contract, **call)
    assert f"{name}: 1 of " in str(broken.value)
    assert broken.value.report.counterexamples


def gemm(m=6, n=4, k=32):
    generator = numpy.random.default_rng(1)
    a = generator.standard_normal((m, k)).astype(ml_dtypes.bfloat16)
    b = generator.standard_normal((k, n)).astype(ml_dtypes.bfloat16)
    d = (a.astype(numpy.float64) @ b.astype(numpy.float64)).astype(ml_dtypes.bfloat16)
    return a, b, d


def test_the_message_says_what_is_wrong_and_how_to_see_it_again():
    a, b, d = gemm()
    d[2, 3] *= 2
    d[4, 1] = numpy.nan
    with pytest.raises(AssertionError) as broken:
        assert_conforms(d, "gemm", a=a, b=b, chip="h200")
    text = str(broken.value)
    for part in ("gemm m=6 n=4 k=32 on sm_90", "d: 2 of 24 elements mismatch (8.3 %)", "d[2, 3]: got", "d[4, 1]: got NaN (0x7fc0)",
                 "admissible: ", "exact value ", "wgmma bf16 on sm_90", "Replay: plumbline check plumbline-out/python/gemm-"):
        assert part in text
    command = text.split("Replay: ")[1].splitlines()[0].split()
    from plumbline import program
    assert program.run(command[1:]).exit_code == 1
    assert (broken.value.report.folders[0] / "report.html").exists()


def test_a_fault_that_fits_is_named():
    a, b, _ = gemm(m=8, n=8)
    generator = numpy.random.default_rng(2)
    bias = generator.standard_normal(8).astype(numpy.float32)
    d = (a.astype(numpy.float64) @ b.astype(numpy.float64) + bias[:, None]).astype(ml_dtypes.bfloat16)
    with pytest.raises(plumbline.Broken, match="the bias was taken by row instead of by column"):
        assert_conforms(d, "gemm", a=a, b=b, bias=bias, problem={"bias": "column"}, chip="h200")


def test_nothing_is_left_of_a_pass(monkeypatch):
    # Only the folders of this process count: other programs may make theirs in /dev/shm meanwhile.
    made = []
    mkdtemp = tempfile.mkdtemp

    def recorded(*arguments, **options):
        made.append(mkdtemp(*arguments, **options))
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", recorded)
    a, b, d = gemm()
    assert assert_conforms(d, "gemm", a=a, b=b, chip=90).passed
    assert os.listdir() == []
    assert made
    assert not [folder for folder in made if os.path.exists(folder)]


def test_outputs_that_are_not_there_are_not_judged(dump):
    tensors, _ = dump("attention_bf16_forward queries=17 keys=33 d=16 scale=0.25 value=normal seed=0x1", 80)
    inputs, outputs = split("attention", tensors)
    assert assert_conforms(outputs["o"], "attention", scale=0.25, contract=ATTENTION, chip=80, **inputs).passed


def test_special_values_are_judged():
    a, b, d = gemm()
    a[1, 2], d[1] = numpy.nan, numpy.nan
    assert assert_conforms(d, "gemm", a=a, b=b, chip="h200").passed
    d[1, 1] = 1
    with pytest.raises(plumbline.Broken, match=r"d\[1, 1\]: got 1 .*admissible: only NaN"):
        assert_conforms(d, "gemm", a=a, b=b, chip="h200")


def test_a_pass_of_nothing_is_mistrusted():
    a, b, d = gemm()
    with pytest.raises(plumbline.Mistrusted, match="no output was compared"):
        assert_conforms(d[:0], "gemm", a=a[:0], b=b, chip=90)
    assert assert_conforms(d[:0], "gemm", a=a[:0], b=b, chip=90, allow_mistrusted=True).passed


def test_transposed_views_and_large_strides():
    a, b, d = gemm(m=40, n=24)
    wide = numpy.zeros((40, 100), ml_dtypes.bfloat16)
    wide[:, 3:35] = a
    assert assert_conforms(numpy.ascontiguousarray(d.T).T, "gemm", a=wide[:, 3:35], b=b.T.copy().T, chip="sm_90a").passed


@pytest.mark.parametrize(("arguments", "says"), [
    ({}, "chip= is needed"),
    ({"chip": "h2000"}, "chip='h2000' is not known"),
    ({"chip": 75}, "sm_75"),
    ({"chip": 90, "contract": {"unti": "wgmma"}}, 'unknown key "unti"'),
    ({"chip": 90, "contract": {"unit": object()}}, "no place in a manifest"),
    ({"chip": 90, "contract": ["wgmma"]}, "is no dict of terms"),
    ({"chip": 90, "act": "silu"}, 'contract={"epilogue": ["silu expf"]}'),
])
def test_what_is_wrong_with_a_call(arguments, says):
    a, b, d = gemm()
    with pytest.raises(plumbline.InputError) as error:
        assert_conforms(d, "gemm", a=a, b=b, **arguments)
    assert says in str(error.value)
    assert "/dev/shm" not in str(error.value)


def test_missing_terms_are_listed_with_their_choices():
    x = numpy.zeros((3, 4), numpy.float32)
    with pytest.raises(plumbline.InputError) as error:
        assert_conforms(x, "rmsnorm", x=x, gamma=x[0], eps=1e-6, chip=90)
    assert 'root: how rstd is computed ("rsqrt.approx" or "1 / sqrt")' in str(error.value)


def test_paths_with_spaces(monkeypatch):
    a, b, d = gemm()
    d[0, 0] *= 2
    with pytest.raises(plumbline.Broken) as broken:
        assert_conforms(d, "gemm", a=a, b=b, chip=90, keep="what is left")
    assert "plumbline check 'what is left/call.safetensors' --kernel 'what is left/gemm.toml'" in str(broken.value)
    assert pathlib.Path("what is left/call.safetensors").exists()


def test_without_room_in_memory(monkeypatch, tmp_path):
    import shutil
    import tempfile
    usage = shutil.disk_usage
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(path)._replace(free=0))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    a, b, d = gemm()
    assert assert_conforms(d, "gemm", a=a, b=b, chip=90).passed


def test_torch():
    torch = pytest.importorskip("torch")
    a, b = torch.randn(33, 64, dtype=torch.bfloat16), torch.randn(64, 40, dtype=torch.bfloat16, requires_grad=True)
    assert assert_conforms(a @ b, "gemm", a=a, b=b, chip="h200").passed
    linear = torch.nn.Linear(64, 40, dtype=torch.bfloat16)
    y = (a.double() @ linear.weight.double().T + linear.bias.double()).bfloat16()
    assert assert_conforms(y, "gemm", a=a, b=linear.weight.T, bias=linear.bias, chip="h200").passed


def test_threads_judge_at_the_same_time():
    import concurrent.futures
    a, b, d = gemm()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(assert_conforms, d, "gemm", a=a, b=b, chip=90) for _ in range(8)]
        assert all(call.result().passed for call in calls)


def test_nothing_is_imported_that_is_not_needed():
    import subprocess
    root = pathlib.Path(plumbline.__file__).parents[1]
    code = "import sys, plumbline; print(sorted({'numpy', 'torch', 'triton', 'pytest'} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(root)}, text=True).strip() == "[]"


def test_a_gemm_of_f32():
    rng = numpy.random.default_rng(1)
    a, b = (rng.standard_normal(shape).astype(numpy.float32) for shape in ((9, 33), (33, 5)))
    right = a.astype(float) @ b.astype(float)
    assert assert_conforms(right.astype(numpy.float32), "gemm", a=a, b=b, chip=90).passed
    with pytest.raises(plumbline.Broken):
        assert_conforms((right + 1e-3).astype(numpy.float32), "gemm", a=a, b=b, chip=90)


def test_block_scales_in_any_steps():
    rng = numpy.random.default_rng(2)
    a, b = (rng.standard_normal(shape).astype(ml_dtypes.float8_e4m3fn) for shape in ((16, 256), (256, 24)))
    scale_a, scale_b = (rng.uniform(0.5, 2, shape).astype(numpy.float32) for shape in ((16, 2), (2, 1)))
    total = numpy.zeros((16, 24), numpy.float32)
    for block in range(2):
        k = slice(128 * block, 128 * block + 128)
        part = (a[:, k].astype(float) @ b[k].astype(float)).astype(numpy.float32)
        total += part * scale_a[:, block : block + 1] * scale_b[block]
    assert assert_conforms(total, "gemm", a=a, b=b, scale_a=scale_a, scale_b=scale_b, chip="h200").passed
    with pytest.raises(plumbline.Broken):
        assert_conforms(total * numpy.float32(1.01), "gemm", a=a, b=b, scale_a=scale_a, scale_b=scale_b, chip="h200")


@pytest.mark.parametrize("layout", ["row_major", "k_major", "128x4"])
def test_block_scales_as_they_lie_in_memory(layout):
    rng = numpy.random.default_rng(3)
    m, n, k, blocks = 5, 130, 256, 8  # 130 columns are two tiles of 128
    a, b = (rng.integers(-4, 5, shape).astype(numpy.int8) for shape in ((m, k), (k, n)))
    scales = numpy.exp2(rng.integers(-2, 3, (n, blocks))).astype(numpy.float32)
    tiles = numpy.zeros((256, blocks), numpy.float32)
    tiles[:n] = scales
    stored = {
        "row_major": scales.T,
        "k_major": scales,
        # Of row r and block q: tile (r / 128, q / 4), and in it (r % 32, r / 32 % 4, q % 4).
        "128x4": tiles.reshape(2, 4, 32, 2, 4).transpose(0, 3, 2, 1, 4).copy(),
    }[layout]
    sums = numpy.einsum("mbk,bkn->bmn", a.reshape(m, blocks, 32).astype(float),
                        b.reshape(blocks, 32, n).astype(float))
    right = numpy.einsum("bmn,nb->mn", sums, scales.astype(float)).astype(numpy.float32)
    arguments = {"a": a, "b": b, "scale_b": stored, "scale_layout": layout, "chip": 90}
    assert assert_conforms(right, "gemm", problem={"scale_b": "32x1"}, **arguments).passed
    right[2, 129] *= 1.001
    with pytest.raises(plumbline.Broken):
        assert_conforms(right, "gemm", problem={"scale_b": "32x1"}, **arguments)


@pytest.mark.parametrize("bias_format", [numpy.float16, ml_dtypes.bfloat16])
def test_formats_that_no_word_names(bias_format):
    rng = numpy.random.default_rng(4)
    q, k, v = (rng.standard_normal((1, 2, rows, 8)).astype(numpy.float32) for rows in (4, 6, 6))
    bias = rng.standard_normal((2, 4, 6)).astype(bias_format)
    logits = 0.5 * q.astype(float) @ k.astype(float).swapaxes(-1, -2) + bias.astype(float)
    weights = numpy.exp(logits - logits.max(-1, keepdims=True))
    o = (weights / weights.sum(-1, keepdims=True) @ v.astype(float)).astype(numpy.float32)
    arguments = {"q": q, "k": k, "v": v, "bias": bias, "scale": 0.5, "chip": 90,
                 "contract": {"unit": "fma.f32", "tile": 16, "p": "f32", "logits": "natural"}}
    assert assert_conforms(o, "attention", **arguments).passed
    arguments["bias"] = numpy.zeros_like(bias)
    with pytest.raises(plumbline.Broken):
        assert_conforms(o, "attention", **arguments)
    right = q[0, 0].astype(float) @ k[0, 0].astype(float).T
    groups = {"a": q[0, 0], "b": k[:, 0].swapaxes(1, 2), "group_sizes": numpy.array([4]), "chip": 90}
    assert assert_conforms(right.astype(numpy.float16), "grouped_gemm", **groups).passed


def test_an_exact_value_that_the_contract_cannot_give():
    """Sums of FP8 on Hopper keep 14 bits: f32 values between those are no results of it."""
    rng = numpy.random.default_rng(5)
    a, b = (rng.standard_normal(shape).astype(ml_dtypes.float8_e4m3fn) for shape in ((16, 256), (256, 8)))
    with pytest.raises(plumbline.Broken) as broken:
        assert_conforms((a.astype(float) @ b.astype(float)).astype(numpy.float32), "gemm", a=a, b=b, chip=90,
                        contract={"unit": "wgmma", "schedule": "sequential"})
    assert "no value that the arithmetic of the contract can give" in str(broken.value)
