# SPDX-License-Identifier: MIT
"""The plugin makes a test of each case. If these fail, tests of kernels are not collected, or pass without running."""
import os
import pathlib
import re
import shlex
import subprocess
import sys

import plumbline
import pytest
from plumbline import program
from test_report import flushed


def run(folder, *flags):
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(plumbline.__file__).parents[1]), "PLUMBLINE_PROGRAM": str(program.find_program())}
    found = subprocess.run([sys.executable, "-m", "pytest", "-p", "plumbline.pytest_plugin", "-p", "no:cacheprovider", *flags],
                           capture_output=True, text=True, cwd=folder, env=environment)
    return found.returncode, found.stdout + found.stderr


TESTS = """
import pytest

@pytest.mark.plumbline("softmax_bf16", chips=["sm_80", 90], only="m<=3 class=normal")
def test_shipped(case):
    assert case.check().verdict == "pass"

@pytest.mark.plumbline("flushed.toml", only="m<=8 class=power_scaled")
def test_flushed(case):
    case.check()
"""


@pytest.mark.parametrize("flags", [["-q"], ["-q", "-n", "2"]], ids=["one process", "xdist"])
def test_cases_are_tests(tmp_path, flags):
    if "-n" in flags:
        pytest.importorskip("xdist")
    flushed(tmp_path)
    (tmp_path / "test_kernels.py").write_text(TESTS)
    code, said = run(tmp_path, *flags)
    assert code == 1
    assert re.search(r"[1-9]\d* failed, [1-9]\d* passed", said)
    replay = re.search(r"replay:  (plumbline replay '(.*)' --kernel flushed.toml --on emulator --sm 80)", said)
    assert f"test_kernels.py::test_flushed[{replay[2]} [sm_80]]" in said
    # What was stored, what is exact, and what fits.
    assert re.search(r"exact \S+; before it is stored, .*; the kernel stored \S+", said) and "simple faults" in said
    assert "Broken: fail: " in said and "test_shipped" not in said.split("short test summary")[1]
    again = subprocess.run([program.find_program(), *shlex.split(replay[1])[1:]], capture_output=True, text=True, cwd=tmp_path)
    assert again.returncode == 1


def test_a_case_can_be_chosen_by_its_id(tmp_path):
    (tmp_path / "test_kernels.py").write_text(TESTS.split("@pytest.mark.plumbline(\"flushed")[0])
    code, said = run(tmp_path, "-q", "-k", "sm_90 and normal")
    assert code == 0 and "deselected" in said


@pytest.mark.parametrize(("mark", "says"), [
    ('"softmax_bf61"', 'did you mean "softmax_bf16"'), ('"softmax_bf16", chip="sm_80"', "unexpected keyword argument 'chip'"),
    ('"softmax_bf16", only="m>99999999"', "no case")])
def test_a_mark_that_is_wrong_fails_its_test_alone(tmp_path, mark, says):
    (tmp_path / "test_kernels.py").write_text(
        f"import pytest\n@pytest.mark.plumbline({mark})\ndef test_kernel(case):\n    case.check()\ndef test_other():\n    pass\n")
    code, said = run(tmp_path, "-q")
    assert code == 1 and says in said and "1 failed, 1 passed" in said
    assert "test_kernel[no plan]" in said and "_planned()" not in said
