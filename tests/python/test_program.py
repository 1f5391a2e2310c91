# SPDX-License-Identifier: MIT
"""The program as a process: missing, crashing, endless, interrupted. If these fail, a test run hangs, dies, or leaves processes."""
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

import plumbline
import pytest
from plumbline import program


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """stand_in(SHELL): a program that does this."""
    def make(script):
        file = tmp_path / "a program"
        file.write_text("#!/bin/sh\n" + script)
        file.chmod(0o755)
        monkeypatch.setenv("PLUMBLINE_PROGRAM", str(file))
        return file
    return make


def test_no_program(monkeypatch, tmp_path):
    monkeypatch.delenv("PLUMBLINE_PROGRAM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(program, "_HERE", tmp_path / "lib/plumbline")
    with pytest.raises(plumbline.CannotRun, match="build it with `scripts/build release plumbline kernels`"):
        plumbline.verify("softmax_bf16")
    monkeypatch.setenv("PLUMBLINE_PROGRAM", str(tmp_path / "nothing"))
    with pytest.raises(plumbline.CannotRun, match="PLUMBLINE_PROGRAM is .*nothing'"):
        plumbline.verify("softmax_bf16")


def test_a_crash_is_an_exception(stand_in):
    stand_in("echo oops >&2; kill -SEGV $$")
    with pytest.raises(plumbline.InternalError, match=r"ended by signal 11 \(SIGSEGV\)\noops"):
        plumbline.verify("softmax_bf16")


def test_a_bug_is_an_exception(stand_in):
    stand_in("echo 'plumbline: bug: details' >&2; exit 70")
    with pytest.raises(plumbline.InternalError, match="^bug: details"):
        plumbline.verify("softmax_bf16")


def test_progress_is_watched_and_no_complaint(stand_in):
    line = "  softmax_bf16   1,200/4,800 cases, 25 %   90/s   40 s left"
    stand_in(f"echo '{line}' >&2; echo 'plumbline: no such kernel' >&2; exit 2")
    seen = []
    ended = program.run(["verify"], watch=seen.append)
    assert seen == [line] and ended.complaint == "no such kernel"
    with pytest.raises(plumbline.InputError, match="^no such kernel$"):
        plumbline.verify("softmax_bf16")


@pytest.mark.parametrize("looked_at", [True, False])
def test_progress_is_shown_on_a_terminal(looked_at, stand_in, monkeypatch, capsys):
    stand_in("echo '  k   1/4 cases, 25 %' >&2; exit 4")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: looked_at)
    with pytest.raises(plumbline.NothingSelected):
        plumbline.verify("k")
    assert capsys.readouterr().err == ("plumbline: k   1/4 cases, 25 %\n" if looked_at else "")


def test_an_endless_run_is_ended(stand_in):
    stand_in("exec sleep 60")
    start = time.monotonic()
    with pytest.raises(plumbline.CannotRun, match="did not finish within 0.3 s"):
        plumbline.verify("softmax_bf16", timeout=0.3)
    assert time.monotonic() - start < 10


@pytest.mark.parametrize("alone", [True, False], ids=["process", "terminal"])
def test_an_interrupt_ends_both(alone, tmp_path):
    code = textwrap.dedent("""
        import plumbline
        print("ready", flush=True)
        try:
            plumbline.verify("gemm_bf16", profile="deep", on="emulator", corpus=False)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """)
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(plumbline.__file__).parents[1])}
    environment["PLUMBLINE_PROGRAM"] = str(program.find_program())
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=environment, start_new_session=True)
    assert child.stdout.readline() == "ready\n"
    time.sleep(1.5)
    if alone:
        child.send_signal(signal.SIGINT)
    else:  # Ctrl-C reaches all processes of the terminal
        os.killpg(child.pid, signal.SIGINT)
    assert child.communicate(timeout=30)[0] == "interrupted\n"
    with pytest.raises(ProcessLookupError):
        os.killpg(child.pid, 0)  # nothing is left of the group


def test_the_command_becomes_the_program():
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(plumbline.__file__).parents[1])}
    environment["PLUMBLINE_PROGRAM"] = str(program.find_program())
    said = subprocess.run([sys.executable, "-c", "from plumbline.program import main; main()", "verify", "no_such_kernel"],
                          capture_output=True, text=True, env=environment)
    assert said.returncode == 2 and "no_such_kernel" in said.stderr
