# SPDX-License-Identifier: MIT
"""The package is taken from the source tree, and tests write into a folder of their own."""
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests/python")]

from plumbline import program, tensors  # noqa: E402


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def kernel_folder():
    """Where the manifests of shipped kernels are, as sources."""
    return ROOT / "kernels/shipped"


def read_safetensors(path):
    """The tensors of a file, and its metadata."""
    import json
    import struct

    data = pathlib.Path(path).read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    metadata = header.pop("__metadata__")
    names = {f.safetensors: f.name for f in tensors.FORMATS.values()}
    body = data[8 + size:]
    return {
        name: tensors.from_bytes(names[entry["dtype"]], entry["shape"], body[slice(*entry["data_offsets"])])
        for name, entry in header.items()
    }, metadata


@pytest.fixture(scope="session")
def dump(tmp_path_factory):
    """dump(CASE, SM): the tensors that the emulator gave for a case of a shipped kernel."""
    def run(case, sm):
        folder = tmp_path_factory.mktemp("dump")
        subprocess.run(
            [program.find_program(), "replay", case, "--on", "emulator", "--sm", str(sm), "--tensors", folder, "--out", folder / "out"],
            check=True, capture_output=True)
        (file,) = folder.glob("*.safetensors")
        return read_safetensors(file)
    return run
