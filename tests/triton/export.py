# SPDX-License-Identifier: MIT
"""From a Triton kernel to the two files that plumbline takes: its PTX and a manifest. No GPU is needed."""
import os
import pathlib
import re

os.environ["TRITON_DEFAULT_FP_FUSION"] = "0"  # the PTX has to fix the bits: nothing may be fused behind its back

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

TYPES = {"bf16": "*bf16", "e4m3": "*fp8e4nv", "f32": "*fp32", "e2m1": "*u8", "ue8m0": "*u8"}
UNITS = {"wgmma": "wgmma.mma_async", "tcgen05": "tcgen05.mma"}


def export(name, kernel, sm, manifest, types, constants, aligned, ptx_version=86, **words):
    """Writes NAME.ptx and NAME.toml beside this file.

    types: Triton's type of every argument that is no constant; aligned: those that 16 divides; manifest: the text, with the
    `words` and what Triton decides in braces.
    """
    here = pathlib.Path(__file__).parent.resolve()
    places = {(kernel.arg_names.index(argument),): [["tt.divisibility", 16]] for argument in aligned}
    source = ASTSource(kernel, types | {constant: "constexpr" for constant in constants}, constants, places)
    compiled = triton.compile(source, target=GPUTarget("cuda", sm, 32), options={"num_warps": 4, "ptx_version": ptx_version})
    # Findings name the Python file and a line. Paths of this machine, and what only a debugger reads, are left out.
    ptx = compiled.asm["ptx"].replace(f"{here}/", "").split("\t.section\t.debug_abbrev")[0]
    ptx = re.sub(r'"/.*/site-packages/', '"', re.sub(r", function_name .*", "", ptx))
    (here / f"{name}.ptx").write_text(ptx)
    unit = next((unit for unit, words in UNITS.items() if words in ptx), "mma.sync")
    unit += ".block_scale" if ".block_scale" in ptx else ""
    target = f'"{sm}a"' if sm >= 100 else sm  # an architecture's own code, as its .target says
    (here / f"{name}.toml").write_text(manifest.format(
        name=name, sm=target, unit=unit,
        threads=32 * compiled.metadata.num_warps, shared=compiled.metadata.shared, **constants, **words))
