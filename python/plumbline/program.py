# SPDX-License-Identifier: MIT
"""The program that does the work: where it is, and how it is run.

It runs as a process of its own. A crash or an endless kernel does not take the calling process
down, other threads run on, and an interrupt reaches it.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO, NoReturn

from .errors import CannotRun, InternalError

_HERE = pathlib.Path(__file__).resolve().parent
_VARIABLE = "PLUMBLINE_PROGRAM"

# What a run says now and then while it goes on: "  softmax_bf16   1,200/4,800 cases, 25 %   90/s ...".
_PROGRESS = re.compile(r" +\S+ +[\d,]+/[\d,]+ cases")

# How long an interrupted program may take to write what it has found.
_GRACE_SECONDS = 10.0


@dataclass(frozen=True)
class Ended:
    """How a run of the program ended."""

    exit_code: int
    output: str
    errors: str

    @property
    def complaint(self) -> str:
        """What the program said on standard error, without its name in front."""
        return self.errors.strip().removeprefix("plumbline: ")


def find_program() -> pathlib.Path:
    """The program: of ``PLUMBLINE_PROGRAM``, of the wheel, of the checkout, or of ``PATH``."""
    named = os.environ.get(_VARIABLE)
    if named:
        if os.access(named, os.X_OK) and os.path.isfile(named):
            return pathlib.Path(named)
        raise CannotRun(f"{_VARIABLE} is {named!r}, which is not a program that can be run")
    for candidate in (_HERE / "bin/plumbline", _HERE.parents[1] / "build/release/bin/plumbline"):
        if candidate.is_file():
            return candidate
    found = shutil.which("plumbline")
    if found:
        return pathlib.Path(found)
    raise CannotRun(
        "the program plumbline was not found. In a checkout, build it with "
        "`scripts/build release plumbline kernels`; elsewhere, install the wheel, or set "
        f"{_VARIABLE} to its path"
    )


def run(
    arguments: Sequence[str | os.PathLike[str]],
    timeout: float | None = None,
    cwd: str | os.PathLike[str] | None = None,
    watch: Callable[[str], object] | None = None,
) -> Ended:
    """Runs the program and waits for it.

    ``watch`` gets each line of progress, from another thread; ``errors`` has none of them.

    An interrupt, and any other exception while it runs, ends it as well. ``KeyboardInterrupt`` is
    raised too where the program alone was interrupted.
    """
    command = [os.fspath(find_program()), *(os.fspath(argument) for argument in arguments)]
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            cwd=cwd,
        )
    except OSError as error:
        raise CannotRun(f"{command[0]} could not be started: {error}") from error
    assert process.stderr is not None
    said: list[str] = []
    reader = threading.Thread(target=_read_errors, args=(process.stderr, said, watch), daemon=True)
    reader.start()
    process.stderr = None  # the thread's
    with process:
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise CannotRun(
                f"plumbline did not finish within {timeout} s, and was ended"
            ) from None
        except BaseException:
            _end(process)
            raise
    reader.join()
    errors = "".join(said)
    code = process.returncode
    if code in (130, -signal.SIGINT):
        raise KeyboardInterrupt
    if code < 0:
        raise InternalError(
            f"plumbline was ended by signal {-code} ({_signal_name(-code)})"
            + (f"\n{errors.strip()}" if errors.strip() else "")
        )
    return Ended(code, output, errors)


def main() -> NoReturn:
    """The command ``plumbline`` of an installed wheel: becomes the program."""
    try:
        program = find_program()
    except CannotRun as error:
        print(f"plumbline: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    os.execv(program, [os.fspath(program), *sys.argv[1:]])


def _read_errors(
    errors: IO[str], said: list[str], watch: Callable[[str], object] | None
) -> None:
    with errors:
        for line in errors:
            if not _PROGRESS.match(line):
                said.append(line)
            elif watch is not None:
                watch(line.rstrip("\n"))


def _end(process: subprocess.Popen[str]) -> None:
    # A Ctrl-C has reached the program already, with all processes of the terminal. A second
    # interrupt would end it at once, so it is asked only where it still runs after a moment.
    for wait in (0.5, _GRACE_SECONDS):
        try:
            process.communicate(timeout=wait)
            return
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
        except BaseException:  # interrupted again: at once
            break
    process.kill()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"
