# SPDX-License-Identifier: MIT
"""Outputs that were computed anywhere, held against a contract: ``assert_conforms``."""

from __future__ import annotations

import math
import os
import pathlib
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from . import program
from .chips import Chip, chip_named
from .errors import Broken, CannotRun, InputError, error_of
from .formats import text_of_bits, value_of_bits
from .manifest import contract_of, contract_only
from .operations import FieldValue, Problem, chip_of, problem_of, problem_text
from .report import LINES_OF_EXPLANATION, Case, Element, Output, Record, Report, read_record
from .tensors import Tensor, write_safetensors
from .texts import Text, file_stem

# Of a failure, tensors up to this size are kept without being asked for.
_KEPT_BYTES = 64 << 20
# What is left free of memory that files are put in.
_SPARE_BYTES = 256 << 20
_SHOWN = 5


def assert_conforms(
    out: Any,
    operation: str | os.PathLike[str],
    *,
    chip: str | int | None = None,
    contract: Mapping[str, Any] | None = None,
    problem: Mapping[str, FieldValue] | None = None,
    keep: str | os.PathLike[str] | None = None,
    timeout: float | None = None,
    jobs: int | None = None,
    allow_mistrusted: bool = False,
    **arguments: Any,
) -> Report:
    """Raises ``Broken`` unless every element of `out` is one that the contract admits.

    out: the output, or a dict of several by name (``{"y": y, "rstd": rstd}``). Outputs of the
        operation that are not given are not judged.
    operation: what was computed: "gemm", "softmax", "attention", ... (docs/operations.md), or a
        text that says it: a file "mine.op", or its lines (docs/operation_texts.md).
    chip: what it was computed on: "h200", "sm_90" or 90. Left out, it is the GPU that the tensors
        are on.
    contract: the arithmetic that was promised. Of GEMMs nothing has to be said: the chip's usual
        unit adds products in any order that kernels use. Other operations have terms without a
        default; the error says which.
    problem: fields that have the name of a tensor: ``{"bias": "row"}``.
    keep: a folder for tensors, manifest and report if the call fails. Left out, that is
        plumbline-out/python, and tensors are kept up to 64 MiB.
    timeout: seconds after which the judging is given up.
    jobs: worker threads; one for each core, if left out.
    allow_mistrusted: whether a pass that proves too little is accepted.
    arguments: the inputs by name (``a=``, ``bias=``), and fields of the problem (``eps=1e-6``).

    Tensors can be of PyTorch, NumPy with ml_dtypes, JAX, CuPy, or anything else with DLPack or
    ``__array_interface__``. The report of a pass is returned.
    """
    __tracebackhide__ = True  # pytest shows the test's line
    if not isinstance(operation, (str, os.PathLike)):
        raise InputError(f"operation={operation!r}: say what was computed, \"gemm\" or a text")
    call = problem_of(operation, out, arguments, problem)
    named = chip if chip is not None else chip_of(call)
    if named is None:
        raise InputError(
            'chip= is needed, what the outputs were computed on: "h200", "sm_90" or 90'
        )
    where = chip_named(named)
    promised = contract_of(call, where, contract)
    stem = file_stem(call.operation)
    text = f"{stem} {problem_text(call)}".strip()
    tensors = {
        **call.inputs,
        **{name: judged.tensor for name, judged in call.outputs.items()},
    }
    program.find_program()  # before tensors are written
    folder = _room_for(sum(tensor.nbytes for tensor in tensors.values()))
    try:
        _write(folder, call, where, contract_only(call, where, promised), tensors, text)
        ended = program.run(_check(folder, stem, jobs, allow_mistrusted), timeout)
        if ended.exit_code in (0, 1, 5):
            record = _record_of(folder)
            report = Report((record,), ended.exit_code, ended.output)
            if ended.exit_code == 0:
                return report
            kept = _keep(folder, keep, stem, record.run, tensors)
            report = Report((record,), ended.exit_code, ended.output, (kept.folder,))
            message = _message(call, where, report, kept).replace(f"{folder}/", f"{kept.folder}/")
            raise error_of(ended.exit_code, message, report)
        raise error_of(ended.exit_code, _complaint(folder, ended, text))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Kept:
    """What is left of a failure, and how it is judged again."""

    def __init__(self, folder: pathlib.Path, operation: str, with_tensors: bool) -> None:
        self.folder = folder
        self.operation = operation
        self.with_tensors = with_tensors

    @property
    def replay(self) -> str:
        if not self.with_tensors:
            return f"(the tensors have more than {_KEPT_BYTES >> 20} MiB: keep=FOLDER keeps them)"
        call, manifest = self.folder / "call.safetensors", self.folder / f"{self.operation}.toml"
        return f"plumbline check {_quoted(call)} --kernel {_quoted(manifest)}"


def _quoted(path: pathlib.Path) -> str:
    text = os.fspath(path)
    return f"'{text}'" if any(c in text for c in " ()&;$") else text


# A folder of this call alone: in memory where there is room, else on the disk.
def _room_for(size: int) -> pathlib.Path:
    parents: list[str | None] = [None]
    reason: OSError | None = None
    try:
        if shutil.disk_usage("/dev/shm").free > size + _SPARE_BYTES:
            parents.insert(0, "/dev/shm")
    except OSError:
        pass
    for parent in parents:
        try:
            return pathlib.Path(tempfile.mkdtemp(prefix="plumbline-", dir=parent))
        except OSError as error:
            reason = error
    raise CannotRun(f"there is no folder for the tensors: {reason}")


def _write(
    folder: pathlib.Path,
    call: Problem,
    chip: Chip,
    manifest: str,
    tensors: Mapping[str, Tensor],
    text: str,
) -> None:
    try:
        (folder / f"{file_stem(call.operation)}.toml").write_text(manifest, encoding="utf-8")
        if isinstance(call.operation, Text):
            (folder / call.operation).write_text(call.operation.source, encoding="utf-8")
        write_safetensors(
            folder / "call.safetensors",
            tensors,
            {"case": text, "sm": str(chip.sm), "device": "Python"},
        )
    except OSError as error:
        raise CannotRun(f"the tensors cannot be written to {folder}: {error}") from error


def _check(
    folder: pathlib.Path, operation: str, jobs: int | None, allow_mistrusted: bool
) -> list[str]:
    return [
        "check",
        os.fspath(folder / "call.safetensors"),
        "--kernel",
        os.fspath(folder / f"{operation}.toml"),
        "--no-compile",
        "--partial",
        "--out",
        os.fspath(folder / "out"),
        "--color",
        "never",
        *(["--jobs", str(jobs)] if jobs is not None else []),
        *(["--allow-mistrusted"] if allow_mistrusted else []),
    ]


def _record_of(folder: pathlib.Path) -> Record:
    found = sorted((folder / "out").glob("*/record.json"))
    if not found:
        raise error_of(70, "plumbline check left no record")
    return read_record(found[0])


# The program's message without the paths of the temporary folder.
def _complaint(folder: pathlib.Path, ended: program.Ended, text: str) -> str:
    said = ended.complaint or ended.output.strip()
    said = re.sub(rf"{re.escape(str(folder))}/(call\.safetensors(:\d+)?: )?", "", said)
    return f"{said}\n(judging {text})" if said else f"plumbline check ended with {ended.exit_code}"


def _keep(
    folder: pathlib.Path,
    keep: str | os.PathLike[str] | None,
    operation: str,
    run: str,
    tensors: Mapping[str, Tensor],
) -> _Kept:
    if keep is not None:
        target = pathlib.Path(keep)
    else:
        target = pathlib.Path("plumbline-out/python") / f"{operation}-{run}"
    size = sum(tensor.nbytes for tensor in tensors.values())
    with_tensors = keep is not None or size <= _KEPT_BYTES
    try:
        target.mkdir(parents=True, exist_ok=True)
        for file in [
            folder / f"{operation}.toml",
            *folder.glob("*.op"),
            *(folder / "out").glob("*/record.json"),
            *(folder / "out").glob("*/report.html"),
            *([folder / "call.safetensors"] if with_tensors else []),
        ]:
            shutil.copyfile(file, target / file.name)
    except OSError as error:
        raise CannotRun(f"the failure cannot be kept in {target}: {error}") from error
    return _Kept(target, operation, with_tensors)


# ------------------------------------------------------------------------------------------------
# The message


def _message(call: Problem, chip: Chip, report: Report, kept: _Kept) -> str:
    record = report.records[0]
    case = record.cases[0]
    kernel = record.kernels[0]
    if isinstance(call.operation, Text):  # the program found the sizes
        where = f"{case.case.split(' value=')[0]} on {chip}"
    else:
        where = f"{call.operation} {problem_text(call)} on {chip}"
    lines: list[str] = []
    if report.exit_code == Broken.exit_code:
        outside = any(output.failed for output in case.outputs)
        lines.append(f"{where}: {'outputs are outside what the contract allows.' if outside else case.reason}")
    else:
        reasons = kernel.mistrusted_because or ((case.reason,) if case.reason else kernel.reasons)
        lines.append(f"{where}: nothing failed, but the pass proves too little.")
        lines += [f"  {reason}" for reason in reasons]
        lines.append("  (allow_mistrusted=True accepts it)")
    for output in case.outputs:
        lines += _about_output(call, output)
    for card in record.counterexamples:
        lines += _explanation(card.sentences)
        break
    for output_name, contract in kernel.contracts.items():
        lines.append("")
        lines.append(f"Contract ({output_name}):")
        lines += [f"  {line}" for line in contract.strip().splitlines()]
    lines.append("")
    lines.append(f"Replay: {kept.replay}")
    lines.append(f"Report: {kept.folder / 'report.html'}")
    return "\n".join(lines)


def _about_output(call: Problem, output: Output) -> list[str]:
    if not output.failed:
        return []
    share = 100 * output.failed / max(output.compared, 1)
    largest = f", the largest error is {output.worst_ulp:.4g} ulp" if output.worst_ulp else ""
    lines = [
        "",
        f"{output.name}: {output.failed} of {output.compared} elements mismatch ({share:.1f} %){largest}"
        + (f", {output.class_mismatches} of them NaN or Inf where a number is due, or the reverse"
           if output.class_mismatches else ""),
    ]
    if output.sampled:
        lines[-1] += "; a sample was compared"
    shown: list[Element] = []
    for element in (*([output.worst] if output.worst else []), *output.failures):
        if not element.passed and all(element.index != other.index for other in shown):
            shown.append(element)
    del shown[_SHOWN:]
    for element in shown:
        lines += _about_element(call, output, element)
    rest = output.failed - len(shown)
    if rest > 0:
        lines.append(f"  and {rest} more")
    return lines


def _about_element(call: Problem, output: Output, element: Element) -> list[str]:
    place = ", ".join(map(str, call.outputs[output.name].place_of(element.index)))

    def text(bits: str) -> str:
        return f"{text_of_bits(output.format, int(bits, 16))} ({bits})"

    if element.low == element.high:
        allowed = f"only {text(element.low)}"
    else:
        allowed = f"{text(element.low)} to {text(element.high)}"
    line = f"  {output.name}[{place}]: got {text(element.got)}, admissible: {allowed}"
    error = ""
    if math.isfinite(element.error_ulp):
        error = f", {element.error_ulp:+.4g} ulp from it"
        if _lies_within(output, element):
            error += ", but no value that the arithmetic of the contract can give"
        elif element.bound_ulp:
            error += f" ({element.bound_ulp:.4g} ulp allowed)"
    elif element.class_mismatch:
        error = ", which is of another class"
    exact = "NaN" if math.isnan(element.exact) else repr(element.exact)
    return [line, f"    exact value {exact}{error}"]


def _lies_within(output: Output, element: Element) -> bool:
    low, got, high = (
        value_of_bits(output.format, int(bits, 16))
        for bits in (element.low, element.got, element.high)
    )
    return low <= got <= high


def _explanation(lines: Sequence[str]) -> list[str]:
    # The first line repeats an element, which was told above.
    told = [line for line in lines if " got " not in line]
    if not told:
        return []
    return ["", *(f"  {line}" for line in told[:LINES_OF_EXPLANATION])]


