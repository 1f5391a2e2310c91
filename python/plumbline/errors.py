# SPDX-License-Identifier: MIT
"""What can come of a call, as exceptions: one for each exit code of the program (docs/cli.md)."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .report import Report


class Error(Exception):
    """The base of all exceptions of this package.

    ``exit_code`` is the program's. ``report`` is what a run found, where it got that far.
    """

    exit_code = 70

    def __init__(self, message: str, report: Report | None = None) -> None:
        super().__init__(message)
        self.report = report


class Broken(Error, AssertionError):
    """A promise was broken: an output is not admissible, or a kernel failed a case."""

    exit_code = 1


class InputError(Error, ValueError):
    """Arguments, tensors or a manifest are wrong; nothing was judged."""

    exit_code = 2


class CannotRun(Error, RuntimeError):
    """The program is missing, or it could not run the kernel."""

    exit_code = 3


class NothingSelected(InputError):
    """No kernel or no case fits what was asked for."""

    exit_code = 4


class Mistrusted(Error):
    """Nothing failed, but the pass proves too little; the message says why."""

    exit_code = 5


class InternalError(Error, RuntimeError):
    """A bug in plumbline, or the program ended without a result."""

    exit_code = 70


_BY_CODE: dict[int, type[Error]] = {
    kind.exit_code: kind
    for kind in (Broken, InputError, CannotRun, NothingSelected, Mistrusted, InternalError)
}


def error_of(exit_code: int, message: str, report: Report | None = None) -> Error:
    """The exception for an exit code that is not 0."""
    return _BY_CODE.get(exit_code, InternalError)(message, report)


def nearest(name: str, known: Iterable[str]) -> str:
    """What ``name`` may have been meant for, as the end of a message; empty if nothing is close."""
    close = difflib.get_close_matches(name, list(known), 1)
    return f' (did you mean "{close[0]}"?)' if close else ""
