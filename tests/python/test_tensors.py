# SPDX-License-Identifier: MIT
"""Every library's tensors become the same bytes. If these fail, other numbers are judged than the caller has."""
import array
import sys

import ml_dtypes
import numpy
import pytest
from plumbline import as_format
from plumbline.errors import InputError
from plumbline.formats import value_of_bits
from plumbline.tensors import is_tensor, read_tensor, write_safetensors


def data(value):
    return b"".join(read_tensor("x", value).chunks())


class OnlyDLPack:
    def __init__(self, inner, device=(1, 0)):
        self.inner, self.device = inner, device

    def __dlpack__(self, **arguments):
        if self.device[0] != 1 and arguments.get("dl_device") != (1, 0):
            raise BufferError("is on a GPU")
        return self.inner.__dlpack__()

    def __dlpack_device__(self):
        return self.device


@pytest.mark.parametrize(("dtype", "format"), [
    (ml_dtypes.bfloat16, "bf16"), (ml_dtypes.float8_e4m3fn, "e4m3"), (ml_dtypes.float8_e5m2, "e5m2"),
    (ml_dtypes.float8_e8m0fnu, "ue8m0"), (numpy.float32, "f32"), (numpy.float16, "f16"), (numpy.int8, "s8"),
    (numpy.uint8, "u8"), (numpy.int32, "s32")])
def test_formats_and_values(dtype, format):
    x = numpy.array([1, 2, 4], dtype)
    read = read_tensor("x", x)
    assert (read.format, read.shape) == (format, (3,))
    assert data(x) == x.tobytes()
    if format != "ue8m0":
        bits = [int(b) for b in x.view(f"u{x.itemsize}")]
        assert [value_of_bits(format, b) for b in bits] == [1, 2, 4]


@pytest.mark.parametrize("dtype", [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.bfloat16, numpy.float16])
def test_every_value_of_a_format(dtype):
    width = numpy.dtype(dtype).itemsize
    bits = numpy.arange(1 << 8 * width, dtype=f"u{width}")
    with numpy.errstate(invalid="ignore"):  # a NaN that signals
        expected = bits.view(dtype).astype(numpy.float64)
    format = read_tensor("x", bits.view(dtype)).format
    got = numpy.array([value_of_bits(format, int(b)) for b in bits], numpy.float64)
    numpy.testing.assert_array_equal(got, expected)
    assert (numpy.signbit(got) == numpy.signbit(expected))[~numpy.isnan(expected)].all()


BASE = numpy.arange(2 * 3 * 4 * 5, dtype=numpy.int32).reshape(2, 3, 4, 5)


@pytest.mark.parametrize("view", [
    BASE, BASE.T, BASE[:, ::-1], BASE[::-1, :, ::2, ::-2], BASE.transpose(0, 2, 1, 3), numpy.array(7, numpy.int32), BASE[:, :0], BASE[..., 1],
    numpy.broadcast_to(BASE[0, 0, 0], (7, 5)), numpy.broadcast_to(BASE[0, 0, :, :1], (4, 6)), BASE.astype(numpy.int8)[:, 1, ::-1].T])
def test_strides(view):
    expected = numpy.ascontiguousarray(view).tobytes()
    assert data(view) == expected
    assert data(OnlyDLPack(view.copy() if not view.flags.writeable else view)) == expected


def test_dlpack_of_another_device_is_copied_once():
    x = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    assert data(OnlyDLPack(x, (2, 0))) == x.tobytes()

    class Stubborn(OnlyDLPack):
        def __dlpack__(self):
            return self.inner.__dlpack__()

    with pytest.raises(InputError, match="Copy it to the CPU first"):
        read_tensor("x", Stubborn(x, (2, 0)))


def test_dlpack_frees_its_tensor():
    x = numpy.zeros(3, numpy.float32)
    before = sys.getrefcount(x)
    for _ in range(5):
        data(OnlyDLPack(x))
    assert sys.getrefcount(x) == before


def test_buffers():
    assert data(array.array("f", [1, 2])) == array.array("f", [1, 2]).tobytes()
    assert read_tensor("x", bytearray(b"ab")).format == "u8"
    assert as_format(bytearray(b"ab"), "e4m3").format == "e4m3"
    with pytest.raises(InputError, match="u8 has 1 bytes, bf16 has 2"):
        as_format(bytearray(b"ab"), "bf16")
    with pytest.raises(InputError, match="there is no format 'fp8'"):
        as_format(bytearray(b"ab"), "fp8")


@pytest.mark.parametrize(("value", "says"), [
    (numpy.zeros(2, bool), "x is bool"), (numpy.zeros(2, ">f4"), "big-endian"), (numpy.zeros(2, complex), "x is complex128"),
    (numpy.zeros(2, ml_dtypes.float8_e4m3fnuz), "x is float8_e4m3fnuz"), ([1.0], "which is no tensor")])
def test_others_are_refused(value, says):
    with pytest.raises(InputError, match=says):
        read_tensor("x", value)


def test_numbers_are_no_tensors():
    assert not any(map(is_tensor, (1, 1.5, "x", None, True, numpy.float32(1))))
    assert is_tensor(numpy.zeros(())) and is_tensor(bytearray(1))


def test_the_file_is_what_safetensors_readers_take(tmp_path):
    from conftest import read_safetensors
    x, y = BASE.T, numpy.zeros((0, 3), numpy.float32)
    write_safetensors(tmp_path / "x.safetensors", {"x": read_tensor("x", x), "y": read_tensor("y", y)}, {"case": "c"})
    found, metadata = read_safetensors(tmp_path / "x.safetensors")
    assert metadata == {"case": "c"} and found["y"].shape == (0, 3)
    assert b"".join(found["x"].chunks()) == x.tobytes()


def test_torch():
    torch = pytest.importorskip("torch")
    x = torch.randn(4, 6)
    for dtype in (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2, torch.float16, torch.float32, torch.int8):
        y = x.to(dtype)
        width = y.element_size()
        same = torch.uint8 if width == 1 else torch.int16 if width == 2 else torch.int32
        assert data(y.t()) == y.view(same).t().contiguous().numpy().tobytes()
    assert data(torch.nn.Parameter(x)) == x.numpy().tobytes()  # requires a gradient
    for value, says in ((x.to_sparse(), "call .to_dense"), (x.to("meta"), "has no values"), (x.to(torch.complex64), "x is complex64")):
        with pytest.raises(InputError, match=says):
            read_tensor("x", value)
