#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds the nodes of tensor cores against MMA-Sim, an independent model of them.

    nodes_by_mmasim.py NODE_SAMPLES ROWS [SEED]
    nodes_by_mmasim.py NODE_SAMPLES --write FILE     what it says of 1,000 rows, for nodes_of_mmasim_test.cpp

NODE_SAMPLES (node_samples.cpp) writes ROWS random rows for every instruction and chip. MMA-Sim 2.1.1 (PyPI mmasim, MIT, with
PyTorch on the CPU; Xie et al., arXiv 2511.10909) computes each of them, and every bit has to agree but the sign of a zero, which
no published output of a GPU decides. Exits with 77 (skipped) where mmasim or torch is not installed.
"""
import subprocess
import sys

try:
    import numpy as np
    import torch
    from mmasim.nv_ptx import sim
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

ARCHITECTURES = {70: "Volta", 75: "Turing", 80: "Ampere", 89: "Ada Lovelace", 90: "Hopper", 100: "Blackwell", 120: "RTX Blackwell"}
FLOATS = {"f32": torch.float32, "tf32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "e4m3": torch.float8_e4m3fn,
          "e5m2": torch.float8_e5m2, "ue8m0": torch.float8_e8m0fnu}
WIDTHS = {"f32": np.uint32, "tf32": np.uint32, "f16": np.uint16, "bf16": np.uint16}
PER_CALL = 4096  # rows; more are slower


def tensor(codes, name):
    """Codes as MMA-Sim takes them: FP6 in the low bits of a byte, FP4 in bits 5:2 of one."""
    narrow = np.ascontiguousarray(codes.astype(WIDTHS.get(name, np.uint8)))
    if name == "e2m1":
        return torch.from_numpy(narrow << 2)
    return torch.from_numpy(narrow) if name not in FLOATS else torch.from_numpy(narrow.view(
        {1: np.uint8, 2: np.int16, 4: np.int32}[narrow.itemsize])).view(FLOATS[name])


def packed(codes):
    """Two codes of e2m1 in a byte; the first of them lies high in MMA-Sim."""
    return torch.from_numpy(np.ascontiguousarray((codes[:, 0::2] << 4 | codes[:, 1::2]).astype(np.uint8)))


def operation(sm, instruction, a, b, d, scale, k, blocks):
    """The model of an instruction, and whether it takes two codes of FP4 in a byte."""
    chip = ARCHITECTURES[sm]
    if blocks:
        kind = "mxf8f6f4" if k == 32 else "mxf4nvf4"
        name = f"kind::{kind}.block{k // blocks}.f32.{a}.{b}"
        scales = "ue4m3" if scale == "e4m3" else scale
        if instruction == "mma":
            return sim.MMABlockScale(chip, f"m16n8k{k}.{name}.f32.{scales}"), k == 64
        return sim.TCGen05MMABlockScale(chip, f"m128n8k{k}.{name}.{scales}"), k == 64
    if instruction == "wgmma":
        return sim.WGMMA(chip, f"m64n8k{k}.{d}.{a}.{b}"), False
    if instruction == "tcgen05":
        return sim.TCGen05MMA(chip, f"m64n8k{k}.kind::f8f6f4.{d}.{a}.{b}"), False
    shape = "m8n8k4" if sm == 70 else f"m16n8k{k}"
    kind = "kind::f8f6f4." if sm == 120 and k == 32 else ""
    return sim.MMA(chip, f"{shape}.{kind}{d}.{a}.{b}.{d}"), False


def digest(words):
    """FNV-1a of 64 bits over words of 32, zeros without their sign."""
    value = 0xCBF29CE484222325
    for word in words:
        value = (value ^ int(word)) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def main():
    write = sys.argv[2] == "--write"
    command = [sys.argv[1], "1000"] if write else [sys.argv[1], sys.argv[2]] + sys.argv[3:4]
    digests = []
    torch.set_num_threads(1)
    rows_compared = different = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE) as samples:
        while line := samples.stdout.readline():
            sm, instruction, a, b, d, scale, k, blocks, rows = line.decode().split()
            k, blocks, rows = int(k), int(blocks), int(rows)

            def read(columns):
                words = np.frombuffer(samples.stdout.read(4 * rows * columns), np.uint32)
                return words.reshape(rows, columns)

            x, y, x_scales, y_scales = read(k), read(k), read(blocks), read(blocks)
            c, got = read(1)[:, 0], read(1)[:, 0]
            model, two_in_a_byte = operation(int(sm), instruction, a, b, d, scale, k, blocks)
            wrong, said = 0, []
            for first in range(0, rows, PER_CALL):
                part = slice(first, first + PER_CALL)
                operands = [packed(v[part]) if two_in_a_byte else tensor(v[part], name) for v, name in ((x, a), (y, b))]
                operands.append(tensor(c[part], d))
                if blocks:
                    operands += [tensor(v[part], scale) for v in (x_scales, y_scales)]
                due = model.dpa(*operands)
                bits = due.view(torch.int16 if d == "f16" else torch.int32).numpy()
                bits = bits.view(np.uint16 if d == "f16" else np.uint32).astype(np.uint32)
                magnitude = np.uint32(0x7FFF if d == "f16" else 0x7FFFFFFF)
                said += [0 if word & magnitude == 0 else word for word in bits.tolist()]
                zero = ((bits & magnitude) == 0) & ((got[part] & magnitude) == 0)
                bad = (bits != got[part]) & ~zero
                if bad.any() and wrong == 0:
                    i = first + int(np.flatnonzero(bad)[0])
                    print(f"sm_{sm} {instruction} {d}.{a}.{b} k={k} scales {scale} x {blocks}: row {i}: {got[i]:08x}, MMA-Sim has "
                          f"{bits[i - first]:08x}\n  a {' '.join(f'{v:x}' for v in x[i])}\n  b {' '.join(f'{v:x}' for v in y[i])}\n"
                          f"  scales {x_scales[i]} {y_scales[i]}\n  c {c[i]:08x}")
                wrong += int(bad.sum())
            digests.append(f"{line.decode().rsplit(' ', 1)[0]} {digest(said):016x}")
            rows_compared += rows
            different += wrong
            if wrong:
                print(f"sm_{sm} {instruction} {d}.{a}.{b} k={k}: {wrong} of {rows} rows differ")
    if write:
        with open(sys.argv[3], "w", encoding="utf-8") as file:
            file.write("# What MMA-Sim 2.1.1 (PyPI mmasim, MIT; Xie et al., arXiv 2511.10909) says of rows of node_samples.h: 1,000 of each kind,\n"
                       "# seed 1, as a digest of the outputs. Written by nodes_by_mmasim.py --write.\n")
            file.write("\n".join(digests) + "\n")
    print(f"{rows_compared} rows compared, {different} differ")
    return 1 if different or samples.returncode or rows_compared == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
