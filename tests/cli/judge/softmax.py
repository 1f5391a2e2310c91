# SPDX-License-Identifier: MIT
import triton
import triton.language as tl

import plumbline.triton


@plumbline.triton.computes("softmax", grid="m", constants={"WIDTH": 1024})
@triton.jit
def softmax(x, y, n, ldx, ldy, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, WIDTH)
    z = tl.load(x + row * ldx + columns, mask=columns < n, other=-float("inf")).to(tl.float32)
    p = tl.exp(z - tl.max(z, 0))
    tl.store(y + row * ldy + columns, p / tl.sum(p, 0), mask=columns < n)
