# SPDX-License-Identifier: MIT
"""What a run found: the objects of record.json (docs/reports.md) as dataclasses.

Names are those of the file. Two things differ: ``Record.cases`` and ``Kernel.cases`` hold all
cases, also those that the file keeps as columns, and the number of them is ``Kernel.case_count``.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import os
import pathlib
import types
import typing
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from .errors import InputError, error_of
from .record import cases_of

_FORMAT = 3
# Lines of an explanation that a failure shows; the report has all of them.
LINES_OF_EXPLANATION = 12


@dataclass(frozen=True)
class Element:
    """One element of an output. Bits are hexadecimal."""

    index: int
    got: str
    expected: str
    low: str
    high: str
    exact: float
    error_ulp: float
    bound_ulp: float
    share: float
    class_mismatch: bool = False
    # `pass` in the file.
    passed: bool = False


@dataclass(frozen=True)
class Output:
    """What was found out about one output of a case."""

    name: str
    format: str
    elements: int
    compared: int = 0
    bounded: int = 0
    failed: int = 0
    class_mismatches: int = 0
    nonzero: int = 0
    exact_required: int = 0
    undecided: int = 0
    unresolved: int = 0
    refereed: int = 0
    disagreements: int = 0
    sampled: bool = False
    worst_ulp: float = 0.0
    worst_relative: float = 0.0
    worst_share: float = 0.0
    median_bound_ulp: float = 0.0
    length_name: str = ""
    length: int = 0
    open: int = 0
    confirmed: int = 0
    modeled: int = 0
    other_bits: int = 0
    unbounded: int = 0
    histogram: str = ""
    magnitudes: str = ""
    worst: Element | None = None
    failures: tuple[Element, ...] = ()
    others: tuple[Element, ...] = ()


@dataclass(frozen=True)
class Access:
    """The other access of a race."""

    access: str
    text: str
    warp: int
    lane: int
    ptx_file: str = ""
    ptx_line: int = 0
    source_file: str = ""
    source_line: int = 0
    inlined_at: str = ""


@dataclass(frozen=True)
class Finding:
    """What a device saw while a kernel ran: a race, a read out of bounds, a missing wait."""

    kind: str
    text: str
    ptx_file: str = ""
    ptx_line: int = 0
    source_file: str = ""
    source_line: int = 0
    inlined_at: str = ""
    other: Access | None = None


@dataclass(frozen=True)
class Case:
    """One case on one device; ``case`` is the text that ``plumbline replay`` takes."""

    case: str
    position: int
    device: str
    kernel: str
    verdict: str
    claims: dict[str, str]
    shape_class: str
    layout_class: str
    value_class: str
    origin: str
    outputs: tuple[Output, ...]
    fingerprint: str = ""
    length_name: str = ""
    length: int = 0
    reason: str = ""
    known: tuple[str, ...] = ()
    population: str = ""
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Excerpt:
    """Lines of source code that a failure leads to."""

    what: str
    """Where it happens, the other access, or which stored it."""
    file: str
    line: int
    """The line that is meant."""
    first: int
    """The line of text[0]."""
    text: tuple[str, ...]


@dataclass(frozen=True)
class Counterexample:
    """The smallest case found for a failure, and what explains it."""

    kernel: str
    device: str
    claim: str
    value_class: str
    original: str
    case: str
    steps: int
    tried: int
    case_file: str
    headline: str
    elements: tuple[str, ...]
    explanation: tuple[str, ...]
    faults: tuple[str, ...]
    findings: tuple[Finding, ...]
    evidence: str = ""
    """What else speaks for the first of the faults."""
    unnamed: str = ""
    """Why no fault is named."""
    manifest: str = ""
    store: Finding | None = None
    excerpts: tuple[Excerpt, ...] = ()
    differences: tuple[float, ...] = ()
    difference_stride: int = 0

    @property
    def sentences(self) -> tuple[str, ...]:
        """The cause, where one is known, and what explains the failure."""
        causes = [f"fits: {fault}" for fault in self.faults]
        if causes and self.evidence:
            causes[0] += f"; {self.evidence}"
        return (*causes, *self.explanation, *([self.unnamed] if self.unnamed else []))

    @property
    def replay(self) -> str:
        """The command that runs this case again."""
        return " ".join(
            ["plumbline replay", _quoted(self.case_file or self.case)]
            + ([f"--kernel {_quoted(self.manifest)}"] if self.manifest else [])
        )


@dataclass(frozen=True)
class CodeHole:
    """Instructions that no case executed."""

    where: str
    instructions: int


@dataclass(frozen=True)
class Code:
    """How much of the PTX the cases executed."""

    instructions: int
    executed: int
    holes: tuple[CodeHole, ...] = ()
    unrepeated: tuple[str, ...] = ()


@dataclass(frozen=True)
class Known:
    """A finding that the manifest accepts, and in how many cases it was met."""

    says: str
    reason: str
    cases: int


@dataclass(frozen=True)
class Kernel:
    """One kernel's part of a run."""

    name: str
    summary: str
    operation: str
    formats: str
    verdict: str
    reasons: tuple[str, ...]
    source_hash: str
    ptx_hashes: dict[str, str]
    contracts: dict[str, str]
    arithmetic: dict[str, str]
    case_count: int
    passed: int
    failed: int
    mistrusted: int
    errors: int
    skipped: int
    outputs: int
    compared: int
    bounded: int
    nonzero: int
    undecided: int
    refereed: int
    disagreements: int
    sampled_cases: int
    worst_ulp: float
    worst_relative: float
    worst_share: float
    least_accurate_case: str
    worst_case: str
    mistrusted_because: tuple[str, ...] = ()
    manifest: str = ""
    population: str = ""
    failing: str = ""
    left_out: str = ""
    not_run: int = 0
    confirmed: int = 0
    sampled: int = 0
    unsampled: int = 0
    code: dict[str, Code] = dataclasses.field(default_factory=dict)
    code_parts: dict[str, Any] = dataclasses.field(default_factory=dict, repr=False)
    known: tuple[Known, ...] = ()
    cases: tuple[Case, ...] = dataclasses.field(default=(), repr=False)
    counterexamples: tuple[Counterexample, ...] = dataclasses.field(default=(), repr=False)


@dataclass(frozen=True)
class Place:
    """Where and when a run was made."""

    date: str
    processor: str
    instruction_set: str
    commit: str = ""
    uncommitted_changes: bool = False


@dataclass(frozen=True)
class Circumstances:
    """All in which two equal runs differ."""

    command: str
    places: tuple[Place, ...]
    elapsed_ms: float
    kernels: dict[str, float]
    cases: tuple[float, ...]


@dataclass(frozen=True, repr=False)
class Record:
    """One record.json."""

    format: int
    plumbline: str
    git: str
    verb: str
    profile: str
    seed: str
    run: str
    devices: tuple[str, ...]
    environment: dict[str, str]
    interrupted: bool
    planned: int
    kernels: tuple[Kernel, ...]
    counterexamples: tuple[Counterexample, ...]
    cases: tuple[Case, ...]
    circumstances: Circumstances
    filter: str = ""  # the options that left cases of the plan out
    stopped_after: int = 0  # failing cases that ended the run, as -x or --max-fail asked
    # The file as it is, with what has no class here: shards, error maps, planted faults.
    raw: dict[str, Any] = dataclasses.field(default_factory=dict)

    def __repr__(self) -> str:
        return (
            f"<Record of plumbline {self.verb}: {_verdicts(self.kernels)}; {len(self.cases)} cases>"
        )


def _verdicts(kernels: Iterable[Kernel]) -> str:
    return ", ".join(f"{kernel.name} {kernel.verdict}" for kernel in kernels) or "no kernel"


# Worst first: the verdict of several is the first that is among them.
_VERDICTS = ("error", "fail", "mistrusted", "skip", "pass")


@dataclass(frozen=True, repr=False)
class Report:
    """What came of a call: a record for each run of the program, and how the worst of them ended."""

    records: tuple[Record, ...]
    exit_code: int
    output: str = ""  # what the program printed
    folders: tuple[pathlib.Path, ...] = ()  # with report.html, one for each record

    @property
    def passed(self) -> bool:
        """Whether every promise held, and the passes can be trusted."""
        return self.exit_code == 0

    @functools.cached_property
    def kernels(self) -> dict[str, Kernel]:
        """The kernels by name. One that several runs had has the cases and counts of all."""
        merged: dict[str, Kernel] = {}
        for record in self.records:
            for kernel in record.kernels:
                known = merged.get(kernel.name)
                merged[kernel.name] = kernel if known is None else _merged(known, kernel)
        return merged

    @property
    def cases(self) -> tuple[Case, ...]:
        return tuple(case for record in self.records for case in record.cases)

    @property
    def counterexamples(self) -> tuple[Counterexample, ...]:
        return tuple(card for record in self.records for card in record.counterexamples)

    def check(self) -> Report:
        """This report, or the exception that its exit code stands for."""
        if self.exit_code:
            raise error_of(self.exit_code, str(self), self)
        return self

    def __repr__(self) -> str:
        return (
            f"<Report: {_verdicts(self.kernels.values())}; {len(self.cases)} cases, "
            f"exit code {self.exit_code}>"
        )

    def __str__(self) -> str:
        return self.output.strip() or f"{len(self.cases)} cases, exit code {self.exit_code}"


_COUNTS = (
    "case_count", "passed", "failed", "mistrusted", "errors", "skipped", "outputs", "compared",
    "bounded", "nonzero", "undecided", "refereed", "disagreements", "sampled_cases", "confirmed",
    "sampled", "unsampled", "not_run",
)  # fmt: skip


def _merged(one: Kernel, other: Kernel) -> Kernel:
    worse = min(one, other, key=lambda kernel: _VERDICTS.index(kernel.verdict))
    by_error = max(one, other, key=lambda kernel: kernel.worst_ulp)
    by_share = max(one, other, key=lambda kernel: kernel.worst_share)
    return dataclasses.replace(
        worse,
        **{name: getattr(one, name) + getattr(other, name) for name in _COUNTS},
        reasons=tuple(dict.fromkeys(one.reasons + other.reasons)),
        ptx_hashes=one.ptx_hashes | other.ptx_hashes,
        contracts=one.contracts | other.contracts,
        arithmetic=one.arithmetic | other.arithmetic,
        worst_ulp=by_error.worst_ulp,
        least_accurate_case=by_error.least_accurate_case,
        worst_share=by_share.worst_share,
        worst_case=by_share.worst_case,
        cases=one.cases + other.cases,
        counterexamples=one.counterexamples + other.counterexamples,
    )


def read_record(path: str | os.PathLike[str]) -> Record:
    """Reads a record.json, or the one in a run's folder."""
    file = pathlib.Path(path)
    if file.is_dir():
        file = file / "record.json"
    try:
        raw = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: {error}") from error
    return record_of(raw)


def record_of(raw: dict[str, Any]) -> Record:
    """A record from parsed JSON."""
    if raw.get("format") != _FORMAT:
        raise InputError(
            f"the record has format {raw.get('format')!r} and was written by plumbline "
            f"{raw.get('plumbline')!r}; this package reads format {_FORMAT}"
        )
    cases = tuple(_object(Case, case) for case in cases_of(raw))
    cards = tuple(_object(Counterexample, card) for card in raw["counterexamples"])
    kernels = []
    for kernel in raw["kernels"]:
        named = {key: value for key, value in kernel.items() if key != "cases"}
        read = _object(Kernel, named | {"case_count": kernel["cases"]})
        kernels.append(
            dataclasses.replace(
                read,
                cases=tuple(case for case in cases if case.kernel == read.name),
                counterexamples=tuple(card for card in cards if card.kernel == read.name),
            )
        )
    rest = {
        key: value for key, value in raw.items() if key not in ("cases", "kernels", "counterexamples")
    }
    return dataclasses.replace(
        _object(Record, rest | {"cases": [], "kernels": [], "counterexamples": []}),
        cases=cases,
        kernels=tuple(kernels),
        counterexamples=cards,
        raw=raw,
    )


T = TypeVar("T")
_RENAMED = {"pass": "passed"}


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _object(kind: type[T], raw: dict[str, Any]) -> T:
    hints = _hints(typing.cast(Any, kind))
    values = {_RENAMED.get(key, key): value for key, value in raw.items()}
    return kind(**{key: _value(hints[key], value) for key, value in values.items() if key in hints})


def _value(hint: Any, value: Any) -> Any:
    if isinstance(value, dict) and set(value) == {"bits", "value"}:
        return float(value["value"])
    origin = typing.get_origin(hint)
    if origin is types.UnionType:
        hint = next(part for part in typing.get_args(hint) if part is not types.NoneType)
        return None if value is None else _value(hint, value)
    if origin is tuple:
        return tuple(_value(typing.get_args(hint)[0], item) for item in value)
    if origin is dict:
        return {key: _value(typing.get_args(hint)[1], item) for key, item in value.items()}
    if dataclasses.is_dataclass(hint):
        return _object(typing.cast(type, hint), value)
    if hint is float:
        return math.nan if value is None else float(typing.cast(float, value))
    return value


def _quoted(text: str) -> str:
    return f"'{text}'" if " " in text else text
