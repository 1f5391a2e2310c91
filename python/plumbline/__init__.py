# SPDX-License-Identifier: MIT
"""plumbline tells rounding from bugs in low-precision GPU kernels (docs/python.md).

``assert_conforms`` judges outputs that were computed anywhere, ``verify`` runs a kernel's planned
cases, ``verify_triton`` those of a Triton kernel, ``verify_ptx`` those of any PTX. Nothing is imported that they do not need: the
package has no dependencies.
"""

from __future__ import annotations

from .conform import assert_conforms
from .errors import (
    Broken,
    CannotRun,
    Error,
    InputError,
    InternalError,
    Mistrusted,
    NothingSelected,
)
from .ptx import verify_ptx
from .report import Case, Counterexample, Kernel, Output, Record, Report, read_record
from .tensors import Tensor, as_format
from .triton import verify_triton
from .verification import verify

__version__ = "0.1.0"

__all__ = [
    "Broken",
    "CannotRun",
    "Case",
    "Counterexample",
    "Error",
    "InputError",
    "InternalError",
    "Kernel",
    "Mistrusted",
    "NothingSelected",
    "Output",
    "Record",
    "Report",
    "Tensor",
    "as_format",
    "assert_conforms",
    "read_record",
    "verify",
    "verify_ptx",
    "verify_triton",
]
