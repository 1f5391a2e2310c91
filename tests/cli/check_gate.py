# What `plumbline check` says of outputs whose order of additions is not declared: those of orders that
# kernels use pass and are named; outputs that are wrong in ways a tolerance lets pass fail, or are
# mistrusted. The tensor cores here are written in numpy from docs/numbers.md, apart from plumbline's.
# Usage: check_gate.py PROGRAM K [K ...]
import os, struct, subprocess, sys, tempfile

import json
import ml_dtypes
import numpy as np

program, lengths = sys.argv[1], [int(k) for k in sys.argv[2:]]
M = N = 32


class Unit:  # a node: products, fraction bits that alignment keeps, significant bits of its result
    def __init__(self, name, word, sm, dtype, storage, products, fraction, precision):
        self.name, self.word, self.sm, self.dtype, self.storage = name, word, sm, dtype, storage
        self.products, self.fraction, self.precision = products, fraction, precision


UNITS = [
    Unit("bf16", "wgmma", "90a", ml_dtypes.bfloat16, "BF16", 16, 25, 24),
    Unit("e4m3", "mma.sync", "89", ml_dtypes.float8_e4m3fn, "F8_E4M3", 16, 13, 14),
]


def exponent(x):
    return np.where(x == 0, -133, np.frexp(np.where(x == 0, 1, x))[1] - 1)


def toward_zero(x, unit):
    return np.trunc(x / unit) * unit


def node(total, a, b, unit):
    """total + sum of a b over the last axis: [M, 1, L] and [1, N, L]."""
    products = a * b
    highest = np.where(products == 0, -133, exponent(a) + exponent(b)).max(-1)
    highest = np.maximum(highest, exponent(total))
    cut = np.ldexp(1.0, highest - unit.fraction)
    sums = toward_zero(products, cut[..., None]).sum(-1) + toward_zero(total, cut)
    return toward_zero(sums, np.ldexp(1.0, exponent(sums) - unit.precision + 1))


def run(a, b, unit, blocks):
    total = np.zeros((M, N))
    for begin in blocks:
        part = slice(begin, begin + unit.products)
        total = node(total, a[:, None, part], b.T[None, :, part], unit)
    return total


def f32(x):
    return x.astype(np.float32).astype(np.float64)


def outputs(a, b, unit):
    """Accumulators by name: whether they conform, and what the program is to call them."""
    k = a.shape[1]
    starts = np.arange(0, k, unit.products)
    exact = a @ b
    quarter = np.array_split(starts, 4)
    parts = [run(a, b, unit, q) for q in quarter]
    promoted = np.zeros((M, N))
    for begin in range(0, k, 128):
        promoted = f32(promoted + run(a, b, unit, range(begin, begin + 128, unit.products)))
    turns = [run(a, b, unit, [s for s in starts if s // 32 % 2 == way]) for way in (0, 1)]
    half = np.zeros((M, N))
    for begin in starts:
        half = (half + a[:, begin:begin + 16] @ b[begin:begin + 16]).astype(np.float16).astype(float)
    rng = np.random.default_rng(7)
    return {
        "sequential": (run(a, b, unit, starts), "sequential"),
        "split-K": (f32(f32(f32(parts[0] + parts[1]) + parts[2]) + parts[3]), "split-K of 4"),
        "sliced-K": (f32(turns[0] + turns[1]), "blocks of 32 of k in turn to 2"),
        "promoted": (promoted, "a fresh accumulator every 128 of k"),
        "fp16 accumulators": (half, None),
        "last product missing": (exact - np.outer(a[:, -1], b[-1]), None),
        "half of k": (a[:, :k // 2] @ b[:k // 2], None),
        "zeros": (np.zeros((M, N)), None),
        "unrelated numbers": (rng.standard_normal((M, N)) * exact.std(), None),
    }


def stored(x):
    return x.astype(np.float32).astype(ml_dtypes.bfloat16)


def truncated(x):
    bits = x.astype(np.float32).view(np.uint32) & 0xFFFF0000
    return bits.view(np.float32).astype(ml_dtypes.bfloat16)


def one_up(x):
    return (stored(x).view(np.uint16) + 1).view(ml_dtypes.bfloat16)


def write(path, tensors, metadata):
    header, data = {"__metadata__": metadata}, b""
    for name, dtype, array in tensors:
        raw = array.tobytes()
        header[name] = {"dtype": dtype, "shape": list(array.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


MANIFEST = """computes   = "gemm"
summary    = "a product whose order of additions is not declared"
ptx        = "elsewhere.ptx"
targets    = [{target}]
entry      = "elsewhere"
parameters = []
[launch]
grid  = [1]
block = [1]
[formats]
a = "{name}"
b = "{name}"
c = "bf16"
bias = "f32"
d = "bf16"
[contract]
unit = "{word}"
epilogue = []
"""

failed = 0
os.chdir(tempfile.mkdtemp())
for unit in UNITS:
    with open(f"product_{unit.name}.toml", "w") as file:
        file.write(MANIFEST.format(target=unit.sm if unit.sm.isdigit() else f"\"{unit.sm}\"", name=unit.name, word=unit.word))
    for k in lengths:
        rng = np.random.default_rng(k)
        a, b = (rng.standard_normal(s).astype(unit.dtype) for s in ((M, k), (k, N)))
        wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
        cases = {name: (stored(x), words) for name, (x, words) in outputs(wide_a, wide_b, unit).items()}
        exact = wide_a @ wide_b
        cases["truncated outputs"] = (truncated(exact), None)
        cases["one ulp up everywhere"] = (one_up(exact), None)
        for name, (d, words) in cases.items():
            write("call.safetensors", [("a", unit.storage, a), ("b", unit.storage, b), ("d", "BF16", d)],
                  {"case": f"product_{unit.name} m={M} n={N} k={k}", "sm": unit.sm[:2]})
            ran = subprocess.run([program, "check", "call.safetensors", "--kernel",
                                  f"product_{unit.name}.toml"], capture_output=True, text=True)
            said = ran.stdout + ran.stderr
            told = "passes" if ran.returncode == 0 else {1: "fails", 5: "mistrusted"}.get(
                ran.returncode, f"exit {ran.returncode}")
            if words:
                # Where sums of 24 bits become bf16, one order may store what another does.
                text = " ".join(said.split())
                right = told == "passes" and (words in text or "other orders" in text)
            else:
                right = told in ("fails", "mistrusted")
            print(f"{unit.name:5} k={k:<6} {name:22} {told}{'' if right else '   WRONG'}", flush=True)
            if not right:
                failed += 1
                print(said)
print(f"{len(lengths) * len(UNITS) * 11 - failed} passed, {failed} failed")
sys.exit(failed > 0)
