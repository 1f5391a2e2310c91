# SPDX-License-Identifier: MIT
"""Problems are derived from tensors as the program has them. If these fail, a call from Python is judged as another problem
than it was, or refused."""
import os

import numpy
import operation_tables
import pytest
from plumbline.errors import InputError
from plumbline.operation_tables import OPERATIONS
from plumbline.operations import _DERIVE, problem_of, problem_text

F = numpy.float32


def test_tables_are_those_of_the_page():
    if os.environ.get("PLUMBLINE_APPROVE"):
        operation_tables.TARGET.write_text(operation_tables.module(), encoding="utf-8")
    assert operation_tables.TARGET.read_text(encoding="utf-8") == operation_tables.module()


def test_every_operation_can_be_judged():
    assert set(_DERIVE) == set(OPERATIONS)


def zeros(*shape, dtype=F):
    return numpy.zeros(shape, dtype)


def text(operation, out, **arguments):
    return problem_text(problem_of(operation, out, arguments))


@pytest.mark.parametrize(("a", "b", "d", "expected"), [
    ((3, 5), (5, 7), (3, 7), "m=3 n=7 k=5"),
    ((2, 3, 5), (2, 5, 7), (2, 3, 7), "m=3 n=7 k=5 batch=2"),
    ((2, 3, 5), (5, 7), (2, 3, 7), "m=6 n=7 k=5"),
    ((3, 5), (2, 5, 7), (2, 3, 7), "m=3 n=7 k=5 batch=2"),
    ((4, 2, 3, 5), (4, 2, 5, 7), (4, 2, 3, 7), "m=3 n=7 k=5 batch=8"),
    ((5,), (5, 7), (7,), "m=1 n=7 k=5"),
    ((3, 5), (5,), (3,), "m=3 n=1 k=5"),
    ((0, 5), (5, 7), (0, 7), "m=0 n=7 k=5"),
])
def test_sizes_of_products(a, b, d, expected):
    found = problem_of("gemm", zeros(*d, dtype=numpy.float16), {"a": zeros(*a, dtype=numpy.float16), "b": zeros(*b, dtype=numpy.float16)})
    assert problem_text(found) == f"{expected} out=f16 a=f16 b=f16"


def gemm(**more):
    return text("gemm", zeros(3, 256), a=zeros(3, 256, dtype=numpy.float16), b=zeros(256, 256, dtype=numpy.float16), **more)


@pytest.mark.parametrize(("arguments", "expected"), [
    ({"bias": zeros(256)}, "bias=column"),
    ({"bias": zeros(3)}, "bias=row"),
    ({"bias": zeros(3, 1)}, "bias=row"),
    ({"c": zeros(3, 256)}, "beta=1"),
    ({"c": zeros(256), "beta": 0.5, "alpha": 2}, "alpha=2 beta=0.5"),
    ({"scale_a": 0.5, "scale_b": zeros(256)}, "scale_a=tensor scale_b=column"),
    ({"scale_a": zeros(3, 2), "scale_b": zeros(2, 2)}, "scale_a=1x128 scale_b=128x128"),
    ({"scale_a": zeros(3, 8), "scale_b": zeros(8, 256)}, "scale_a=1x32 scale_b=32x1"),
    ({"scale_b": zeros(256, 8), "scale_layout": "k_major"}, "scale_b=32x1 scale_layout=k_major"),
    ({"scale_b": zeros(2, 2, 32, 4, 4), "scale_layout": "128x4"}, "scale_b=32x1 scale_layout=128x4"),
    ({"scale_a": zeros(1, 1, 32, 4, 4), "scale_layout": "128x4"}, "scale_a=1x128"),
    ({"act": "relu"}, "act=relu"), ({"alpha": numpy.float32(0.5)}, "alpha=0.5"), ({"alpha": numpy.array(0.5)}, "alpha=0.5"),
])
def test_words_that_inputs_imply(arguments, expected):
    assert all(word in gemm(**arguments).split() for word in expected.split())


def test_a_transposed_view_is_a_layout():
    d = zeros(3, 7)
    weight = zeros(7, 5, dtype=numpy.float16)
    assert "layout=nt" in text("gemm", d, a=zeros(3, 5, dtype=numpy.float16), b=weight.T)
    assert "layout=nt" in text("gemm", d, a=zeros(3, 5, dtype=numpy.float16), b=weight, layout="nt")


@pytest.mark.parametrize(("layout", "shape"), [("bhs", (2, 4, 6, 8)), ("bsh", (2, 6, 4, 8)), ("sbh", (6, 2, 4, 8))])
def test_axes_of_attention(layout, shape):
    half = numpy.float16
    kv = tuple(2 if size == 4 else size for size in shape)
    found = problem_of("attention", zeros(*shape, dtype=half), {
        "q": zeros(*shape, dtype=half), "k": zeros(*kv, dtype=half), "v": zeros(*kv, dtype=half), "scale": 0.25, "layout": layout, "causal": True})
    expected = "batch=2 heads=4 kv_heads=2 queries=6 keys=6 d=8 causal=bottom_right scale=0.25"
    assert problem_text(found) == expected + ("" if layout == "bhs" else f" layout={layout}") + " out=f16 lse=none"
    # Places are told in the caller's order of axes.
    at = [0] * 4
    at[layout.index("h")], at[layout.index("s")] = 3, 5
    index = (3 * 6 + 5) * 8
    assert found.outputs["o"].place_of(index) == tuple(at)


def test_packed_sequences():
    starts = numpy.array([0, 3, 8], numpy.int64)
    q = zeros(8, 4, 16, dtype=numpy.float16)
    assert "batch=2 heads=4 queries=4 keys=4 d=16 lengths=random" in text(
        "attention", q, q=q, k=q, v=q, query_starts=starts, key_starts=starts, scale=0.25)


@pytest.mark.parametrize(("call", "says"), [
    (lambda: text("gem", zeros(1)), 'did you mean "gemm"'),
    (lambda: gemm(bais=zeros(3)), 'did you mean "bias"'),
    (lambda: gemm(bias=zeros(4)), "fits none of: column: [256] or [1, 256]; row: [3] or [3, 1]"),
    (lambda: gemm(scale_b=zeros(8, 256), scale_layout="128x4"), "32x1: [2, 2, 32, 4, 4]"),
    (lambda: gemm(act="rleu"), 'did you mean "relu"'),
    (lambda: gemm(alpha=1e300), "beyond f32"),
    (lambda: gemm(beta=1.0), "beta=1.0 needs c="),
    (lambda: text("gemm", zeros(3, 4), a=zeros(3, 4), b=zeros(5, 4)), "b is f32 [5, 4]: axis 0 has 5, but k is 4 (a f32 [3, 4])"),
    (lambda: text("gemm", zeros(3, 5), a=zeros(3, 4), b=zeros(4, 4)), "makes [3, 4]"),
    (lambda: text("gemm", zeros(3, 4), a=zeros(3, 4)), "gemm needs b="),
    (lambda: text("gemm", zeros(3, 4, dtype=numpy.float64), a=zeros(3, 4), b=zeros(4, 4)), "A result in float64 is no kernel's"),
    (lambda: text("gemm", zeros(3, 4), a=zeros(3, 4, dtype=numpy.uint16), b=zeros(4, 4)), "a is uint16, which plumbline has no format for"),
    (lambda: text("gemm", zeros(3, 4), a=zeros(3, 4), b=zeros(4, 4), scale_a=zeros(7)), "scale_a"),
    (lambda: text("gemm", zeros(3, 256, dtype=numpy.int64), a=zeros(3, 4), b=zeros(4, 256)), "d is s64 [3, 256]"),
    (lambda: text("gemm", {}, a=zeros(3, 4), b=zeros(4, 4)), "nothing to judge"),
    (lambda: text("gemm", {"e": zeros(3, 4)}, a=zeros(3, 4), b=zeros(4, 4)), "it has d"),
    (lambda: text("softmax", zeros(3, 4), x=zeros(3, 5)), "y is f32 [3, 4]"),
    (lambda: text("rmsnorm", zeros(3, 4), x=zeros(3, 4), gamma=zeros(4)), "needs eps="),
    (lambda: text("attention", zeros(1, 1, 2, 4), q=zeros(1, 1, 2, 4), k=zeros(1, 1, 2, 4), v=zeros(1, 1, 2, 4)), "needs scale="),
    (lambda: text("swiglu_mlp", {"y": zeros(3, 2)}, x=zeros(3, 4), w_gate=zeros(5, 4), w_up=zeros(5, 4), w_down=zeros(2, 5)), "y is judged by the h"),
    (lambda: text("quantize", zeros(3, 4, dtype=numpy.int8), x=zeros(3, 4)), 'needs scale="tensor"'),
    (lambda: text("gemm", [1.0], a=zeros(3, 4), b=zeros(4, 4)), "d is a list, which is no tensor"),
])
def test_what_does_not_fit_is_named(call, says):
    with pytest.raises(InputError) as error:
        call()
    assert says in str(error.value)
