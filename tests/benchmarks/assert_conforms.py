# SPDX-License-Identifier: MIT
"""What one call of assert_conforms takes for square bf16 GEMMs: assert_conforms.py [SIZE ...]. Seconds, and the program's largest memory."""
import resource
import sys
import time

import ml_dtypes
import numpy
import plumbline

for size in map(int, sys.argv[1:] or ["1024", "4096"]):
    generator = numpy.random.default_rng(1)
    a, b = (generator.standard_normal((size, size), numpy.float32).astype(ml_dtypes.bfloat16) for _ in range(2))
    out = (a.astype(numpy.float32) @ b.astype(numpy.float32)).astype(ml_dtypes.bfloat16)
    tensors = 3 * out.nbytes
    start = time.monotonic()
    assert plumbline.assert_conforms(out, "gemm", a=a, b=b, chip="sm_90").passed
    seconds = time.monotonic() - start
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    print(f"{size}^3: {seconds:.2f} s, the program has at most {most / 1e6:.0f} MB; the tensors have {tensors / 1e6:.0f} MB")
