# SPDX-License-Identifier: MIT
"""The pytest plugin: a test for each planned case of a kernel (docs/python.md, "pytest").

A test that has the mark ``plumbline`` and takes the argument ``case`` runs once for each case; the
case's text is its id. Cases are planned when tests are collected, and run in batches.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from . import program
from .chips import chip_named
from .errors import (
    Broken,
    CannotRun,
    Error,
    InputError,
    InternalError,
    Mistrusted,
    NothingSelected,
    error_of,
)
from .report import LINES_OF_EXPLANATION, Case, read_record
from .verification import described_of

# Cases that one start of the program runs. Workers of pytest-xdist get neighboring cases, too.
_BATCH = 32
# Of a failing case; all of them are in what `explain` prints.
_SHOWN_FINDINGS = 3


@dataclass(frozen=True)
class Plan:
    """Planned cases of one kernel, and what has been found out about them."""

    kernels: tuple[str, ...]  # flags that name the manifest, or nothing for a shipped kernel
    on: str
    texts: tuple[tuple[str, int], ...]  # a case, and the chip that it runs on
    results: dict[tuple[str, int], Case | Error] = field(default_factory=dict, repr=False)
    explanations: dict[tuple[str, int], tuple[str, ...]] = field(default_factory=dict, repr=False)

    def result(self, place: int) -> Case | Error:
        key = self.texts[place]
        if key not in self.results:
            chip = key[1]
            batch = [text for text, sm in self.texts[place : place + _BATCH] if sm == chip]
            self._run(batch, chip)
        return self.results[key]

    def _run(self, batch: list[str], chip: int) -> None:
        folder = tempfile.mkdtemp(prefix="plumbline-")
        flags = ["--on", self.on, "--sm", str(chip), "--out", folder, "--color", "never"]
        try:
            ended = program.run(["replay", *batch, *self.kernels, *flags])
            found = sorted(entry for entry in os.listdir(folder) if entry != "latest")
            records = [f for f in found if os.path.isfile(os.path.join(folder, f, "record.json"))]
            if not records:
                error = error_of(ended.exit_code or 70, ended.complaint or ended.output)
                self.results.update({(text, chip): error for text in batch})
                return
            record = read_record(os.path.join(folder, records[0]))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        for case in record.cases:
            self.results[case.case, chip] = case
        for card in record.counterexamples:
            self.explanations[card.original, chip] = card.sentences
        lost = InternalError(f"plumbline replay ended with {ended.exit_code} without this case")
        for text in batch:
            self.results.setdefault((text, chip), lost)


@dataclass(frozen=True)
class PlannedCase:
    """The argument ``case`` of a marked test."""

    plan: Plan
    place: int

    @property
    def text(self) -> str:
        """The case as ``plumbline replay`` takes it."""
        return self.plan.texts[self.place][0]

    @property
    def chip(self) -> str:
        return f"sm_{self.plan.texts[self.place][1]}"

    @property
    def replay(self) -> str:
        """The command that runs this case."""
        kernels = "".join(f" {_quoted(word)}" for word in self.plan.kernels)
        return f"plumbline replay '{self.text}'{kernels} --on {self.plan.on} --sm {self.chip[3:]}"

    def run(self) -> Case:
        """What running the case found out."""
        result = self.plan.result(self.place)
        if isinstance(result, Error):
            raise result
        return result

    def check(self) -> Case:
        """What running the case found out; it raises ``Broken`` where a promise was broken."""
        __tracebackhide__ = True
        case = self.run()
        if case.verdict in ("pass", "skip"):
            return case
        lines = [f"{case.verdict}: {case.reason or self.text}"]
        claims = [claim for claim, verdict in case.claims.items() if verdict != "pass"]
        if claims:
            lines.append(f"broken: {', '.join(claims)}")
        for finding in case.findings[:_SHOWN_FINDINGS]:
            where = f" ({finding.source_file}:{finding.source_line})" if finding.source_file else ""
            lines.append(f"{finding.text}{where}")
        if len(case.findings) > _SHOWN_FINDINGS:
            lines.append(f"{len(case.findings) - _SHOWN_FINDINGS} more findings")
        for output in case.outputs:
            if output.failed:
                error = f", the largest error is {output.worst_ulp:.4g} ulp" if output.worst_ulp else ""
                lines.append(
                    f"{output.name}: {output.failed} of {output.compared} elements mismatch{error}"
                )
        told = self.plan.explanations.get(self.plan.texts[self.place], ())
        lines += [f"  {line}" for line in told[:LINES_OF_EXPLANATION]]
        lines += [f"replay:  {self.replay}", f"explain: {self.replay.replace('replay', 'explain', 1)}"]
        kinds: dict[str, type[Error]] = {
            "fail": Broken,
            "mistrusted": Mistrusted,
            "error": CannotRun,
        }
        raise kinds.get(case.verdict, Error)("\n".join(lines))


class NoPlan:
    """The argument ``case`` of a test whose mark cannot be planned: whatever the test asks of it
    fails with the reason."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def __getattr__(self, name: str) -> Any:
        raise InputError(self._reason)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "plumbline(kernel, chips=None, profile='quick', only=None, on='emulator', seed=None): runs "
        "the test once for each planned case of the kernel, as its argument `case`",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    mark = metafunc.definition.get_closest_marker("plumbline")
    if mark is None or "case" not in metafunc.fixturenames:
        return
    try:
        planned: list[Any] = list(_planned(*mark.args, **mark.kwargs))
        ids = [f"{case.text} [{case.chip}]" for case in planned]
    except (Error, TypeError) as error:  # of this test alone
        planned = [NoPlan(str(error).replace("_planned()", "the mark plumbline"))]
        ids = ["no plan"]
    metafunc.parametrize("case", planned, ids=ids)


def _planned(
    kernel: Any,
    *,
    chips: Any = None,
    profile: str = "quick",
    only: str | None = None,
    on: str = "emulator",
    seed: str | None = None,
) -> Iterator[PlannedCase]:
    described = described_of(kernel)
    if described is not None:  # a Triton kernel below plumbline.triton.computes
        if isinstance(chips, (str, int)):
            chips = [chips]
        kernels = [
            os.fspath(export.manifest)
            for export in described.export(described.folder(), chips or ("sm_80", "sm_90"))
        ]
        chips = None
    else:
        kernels = [os.fspath(kernel)]
    if isinstance(chips, (str, int)):
        chips = [chips]
    options = [("--profile", profile), ("--only", only), ("--seed", seed)]
    flags = tuple(word for flag, value in options if value for word in (flag, str(value)))
    for name in kernels:
        for chip in chips or [None]:
            sm = None if chip is None else chip_named(chip).sm
            plan = _plan(name, sm, on, flags)
            for place in range(len(plan.texts)):
                yield PlannedCase(plan, place)


@functools.cache
def _plan(kernel: str, sm: int | None, on: str, flags: tuple[str, ...]) -> Plan:
    named = ("--kernel", kernel) if kernel.endswith(".toml") else ()
    ended = program.run(
        ["verify", *(() if named else (kernel,)), *named, *flags, "--on", on, "--no-corpus"]
        + ["--list-cases", "--format", "json", *(["--sm", str(sm)] if sm is not None else [])]
    )
    if ended.exit_code not in (0, 4):
        raise error_of(ended.exit_code, ended.complaint or ended.output)
    texts = []
    for line in ended.output.splitlines():
        if not line.startswith("{"):
            continue
        planned: Mapping[str, Any] = json.loads(line)
        if "case" in planned:
            texts.append((str(planned["case"]), int(str(planned["device"]).rpartition("sm_")[2])))
    if not texts:
        raise NothingSelected(f"no case of {kernel} fits {' '.join(flags)}")
    # Cases of one chip lie together, so that a batch has many.
    texts.sort(key=lambda planned: planned[1])
    return Plan(named, on, tuple(texts))


def _quoted(text: str) -> str:
    return f"'{text}'" if " " in text else text
