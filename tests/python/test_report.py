# SPDX-License-Identifier: MIT
"""verify gives what record.json says. If these fail, a program that reads reports sees other results than the files have."""
import dataclasses
import json

import plumbline
import pytest
from conftest import ROOT
from plumbline import report as reports
from plumbline.record import counts_of

SCHEMA = json.loads((ROOT / "docs/record.schema.json").read_text(encoding="utf-8"))
QUICK = {"on": "emulator", "corpus": False, "only": "m<=3 class=normal"}


@pytest.mark.parametrize(("kind", "schema", "more", "without"), [
    (reports.Element, SCHEMA["$defs"]["element"], {"passed"}, {"pass"}),
    (reports.Output, SCHEMA["$defs"]["output"], set(), set()),
    (reports.Case, SCHEMA["$defs"]["case"], set(), set()),
    (reports.Finding, SCHEMA["$defs"]["finding"], set(), set()),
    (reports.Access, SCHEMA["$defs"]["finding"]["properties"]["other"], set(), set()),
    (reports.Kernel, SCHEMA["$defs"]["kernel"], {"case_count", "counterexamples"}, set()),
    (reports.Counterexample, SCHEMA["$defs"]["counterexample"], set(), set()),
    (reports.Excerpt, SCHEMA["$defs"]["counterexample"]["properties"]["excerpts"]["items"], set(), set()),
    (reports.Place, SCHEMA["$defs"]["place"], set(), set()),
    (reports.Circumstances, SCHEMA["properties"]["circumstances"], set(), {"mutants"}),
    (reports.Record, SCHEMA, {"raw"}, {"passed", "shard", "missing_shards", "error_maps", "mutants", "peers", "scores", "propagations", "depths",
                                       "gradients", "stochastics"}),
])
def test_classes_have_the_fields_of_the_schema(kind, schema, more, without):
    assert {field.name for field in dataclasses.fields(kind)} - more == set(schema["properties"]) - without


def test_one_chip():
    report = plumbline.verify("softmax_bf16", chips="sm_90", **QUICK)
    kernel = report.kernels["softmax_bf16"]
    assert report.passed and report.check() is report
    assert kernel.verdict == "pass" and len(kernel.cases) == kernel.case_count == kernel.passed > 3
    assert repr(report) == f"<Report: {kernel.name} pass; {kernel.case_count} cases, exit code 0>"
    assert len(repr(kernel)) + len(repr(report.records)) < 5000  # what an interactive prompt shows
    assert [case.position for case in kernel.cases] == sorted(case.position for case in kernel.cases)
    assert all(case.outputs[0].name == "y" and case.device == "emulator sm_90" for case in kernel.cases)
    first, counts = counts_of(kernel.cases[0].outputs[0].magnitudes)
    assert first + len(counts) <= 64
    (folder,) = report.folders
    raw = json.loads((folder / "record.json").read_text(encoding="utf-8"))
    assert raw == report.records[0].raw
    assert plumbline.read_record(folder) == report.records[0]


def test_several_chips_are_one_report():
    report = plumbline.verify("softmax_bf16", chips=["a100", 90], **QUICK)
    kernel = report.kernels["softmax_bf16"]
    assert len(report.records) == 2
    assert {case.device for case in kernel.cases} == {"emulator sm_80", "emulator sm_90"}
    assert kernel.case_count == len(kernel.cases) == sum(record.kernels[0].case_count for record in report.records)
    assert set(kernel.contracts) == {"sm_80", "sm_90"}


def flushed(folder):
    """The softmax of Triton with a contract that it does not keep."""
    text = (ROOT / "tests/triton/softmax_sm_80.toml").read_text(encoding="utf-8")
    (folder / "flushed.toml").write_text("\n".join(line for line in text.splitlines() if not line.startswith("exponential")))
    (folder / "softmax_sm_80.ptx").write_bytes((ROOT / "tests/triton/softmax_sm_80.ptx").read_bytes())
    return folder / "flushed.toml"


def test_a_kernel_that_fails(tmp_path):
    folder = tmp_path / "with a space"
    folder.mkdir()
    report = plumbline.verify(flushed(folder), only="m<=8 class=power_scaled", on="emulator", corpus=False)
    assert not report.passed and report.kernels["flushed"].failed > 0
    card = report.kernels["flushed"].counterexamples[0]
    assert card.replay.startswith("plumbline replay") and "'" in card.replay
    with pytest.raises(plumbline.Broken) as broken:
        report.check()
    assert broken.value.report is report and "FAIL  flushed" in str(broken.value)


@pytest.mark.parametrize(("arguments", "kind", "says"), [
    ({"kernels": "softmax_bf61"}, plumbline.InputError, 'did you mean "softmax_bf16"'),
    ({"kernels": "nothing.toml"}, plumbline.InputError, "cannot be read"),
    ({"kernels": "softmax_bf16", "only": "m>99999999"}, plumbline.NothingSelected, ""),
    ({"kernels": "softmax_bf16", "chips": "h300"}, plumbline.InputError, "not known"),
    ({"kernels": "softmax_bf16", "profile": "quik"}, plumbline.InputError, "quik"),
    ({"kernels": "softmax_bf16", "on": "gpu", "options": ["--nonsense"]}, plumbline.InputError, "nonsense"),
])
def test_what_cannot_be_run(arguments, kind, says):
    with pytest.raises(kind) as error:
        plumbline.verify(**arguments)
    assert says in str(error.value)


def test_records_of_other_formats_are_refused(tmp_path):
    (tmp_path / "record.json").write_text('{"format": 1, "plumbline": "0.0.9"}')
    with pytest.raises(plumbline.InputError, match="written by plumbline '0.0.9'"):
        plumbline.read_record(tmp_path)
    with pytest.raises(plumbline.InputError, match="No such file"):
        plumbline.read_record(tmp_path / "none")
