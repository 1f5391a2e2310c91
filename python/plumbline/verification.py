# SPDX-License-Identifier: MIT
"""Kernels through their planned cases: ``verify``."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from . import program
from .chips import chip_named
from .errors import InputError, error_of
from .report import Report, read_record
from .triton import Verification

Target = str | os.PathLike[str]

# Of several runs the worst counts, as the program has it (docs/cli.md).
_WORST_FIRST = (130, 70, 1, 3, 5, 4, 0)


def verify(
    kernels: Target | Iterable[Target] | Any,
    *,
    chips: Iterable[str | int] | str | int | None = None,
    profile: str = "quick",
    only: str | None = None,
    on: str = "auto",
    seed: str | int | None = None,
    jobs: int | None = None,
    fail_fast: bool = False,
    corpus: str | os.PathLike[str] | bool = True,
    out: str | os.PathLike[str] = "plumbline-out",
    timeout: float | None = None,
    allow_mistrusted: bool = False,
    options: Sequence[str] = (),
) -> Report:
    """Runs the planned cases of kernels, on the GPU or emulated, and judges them.

    kernels: manifests (paths that end in .toml), names or globs of shipped kernels, or several; or
        a Triton kernel below ``plumbline.triton.computes``.
    chips: "sm_90", "h200" or 90, or several; left out, every chip that the manifests name.
    profile: "quick" (seconds), "default" (minutes) or "deep" (hours).
    only: a filter: ``"class=cancelling k>512"``.
    on: "auto" (the GPU if there is one), "emulator", "gpu" or "both".
    corpus: a folder of case files that are run first and get new failures; False for none.
    out: the folder for records and reports.
    timeout: seconds after which a run is given up.
    options: further flags of ``plumbline verify``.

    A kernel that fails is no exception; ``Report.check`` makes it one. What could not be run at all
    is one: a manifest with an error, a kernel that does not exist, a filter that leaves no case.
    """
    described = described_of(kernels)
    if described is not None:  # a Triton kernel that says what it computes
        return described.verify(
            chips if chips is not None else ("sm_80", "sm_90"),
            profile=profile,
            only=only,
            on="emulator" if on == "auto" else on,
            seed=seed,
            jobs=jobs,
            fail_fast=fail_fast,
            corpus=corpus,
            out=out,
            timeout=timeout,
            allow_mistrusted=allow_mistrusted,
            options=options,
        )
    names, manifests = _targets(kernels)
    flags = ["--profile", profile, "--on", on, "--out", os.fspath(out), "--color", "never"]
    for manifest in manifests:
        flags += ["--kernel", manifest]
    if only is not None:
        flags += ["--only", only]
    if seed is not None:
        flags += ["--seed", hex(seed) if isinstance(seed, int) else seed]
    if jobs is not None:
        flags += ["--jobs", str(jobs)]
    if fail_fast:
        flags.append("--fail-fast")
    if allow_mistrusted:
        flags.append("--allow-mistrusted")
    if corpus is False:
        flags.append("--no-corpus")
    elif corpus is not True:
        flags += ["--corpus", os.fspath(corpus)]
    runs: list[Sequence[str]] = [
        [*(["--sm", str(chip)] if chip else []), *flags, *options] for chip in _chips(chips)
    ]
    reports = [_run("verify", names, flags, timeout) for flags in runs]
    return reports[0] if len(reports) == 1 else joined(reports)


def described_of(kernel: Any) -> Verification | None:
    """What ``plumbline.triton.computes`` says of a Triton kernel, whether it stands above or below
    the kernel's other decorators."""
    inner = kernel
    while inner is not None:
        described = getattr(inner, "plumbline", None)
        if isinstance(described, Verification):
            return dataclasses.replace(described, kernel=kernel)
        inner = getattr(inner, "fn", None)
    return None


def joined(reports: Sequence[Report]) -> Report:
    """Several reports as one, which ended as the worst of them did."""
    codes = [report.exit_code for report in reports]
    return Report(
        tuple(record for report in reports for record in report.records),
        min(codes, key=_WORST_FIRST.index),
        "\n".join(report.output for report in reports),
        tuple(folder for report in reports for folder in report.folders),
    )


def _targets(kernels: Target | Iterable[Target]) -> tuple[list[str], list[str]]:
    if isinstance(kernels, (str, os.PathLike)):
        kernels = [kernels]
    names: list[str] = []
    manifests: list[str] = []
    if not isinstance(kernels, Iterable) or hasattr(kernels, "fn"):
        raise InputError(
            f"{kernels!r} is neither a manifest nor the name of a shipped kernel. Of a Triton kernel "
            "verify_triton(kernel, operation, grid=...) says what it computes, or "
            "@plumbline.triton.computes(operation, grid=...) above it"
        )
    for kernel in kernels:
        if not isinstance(kernel, (str, os.PathLike)):
            raise InputError(f"{kernel!r} is no manifest and no name")
        if (ending := os.fspath(kernel).rpartition(".")[2]) in ("cu", "ptx", "cubin"):
            raise InputError(
                f"{kernel} does not say what it computes: a manifest does (`plumbline init {kernel}` "
                "drafts one)" + (", or verify_ptx(file, operation, ...)" if ending == "ptx" else "")
            )
        is_path = isinstance(kernel, os.PathLike) or kernel.endswith(".toml")
        (manifests if is_path else names).append(os.fspath(kernel))
    return names, manifests


def _chips(chips: Iterable[str | int] | str | int | None) -> list[int | None]:
    if chips is None:
        return [None]
    if isinstance(chips, (str, int)):
        chips = [chips]
    return [chip_named(chip).sm for chip in chips] or [None]


def _run(verb: str, names: Sequence[str], flags: Sequence[str], timeout: float | None) -> Report:
    # Manifests are all that runs where no kernel is named.
    ended = program.run([verb, *names, *flags], timeout, watch=_show)
    folder = _folder_of(ended.output)
    if folder is None or ended.exit_code in (4, 70):
        said = ended.complaint or ended.output.strip()
        raise error_of(ended.exit_code or 70, said)
    return Report((read_record(folder),), ended.exit_code, ended.output, (folder,))


# Where somebody looks on: a terminal, or a notebook.
def _show(line: str) -> None:
    if sys.stderr.isatty() or "ipykernel" in sys.modules:
        print(f"plumbline: {line.strip()}", file=sys.stderr, flush=True)


# The program ends its output with the report's path.
def _folder_of(output: str) -> pathlib.Path | None:
    found = re.findall(r"^report: (.*)/report\.html$", output, re.MULTILINE)
    return pathlib.Path(found[-1]) if found else None
