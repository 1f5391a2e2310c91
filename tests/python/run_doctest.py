#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the examples of docs/python.md, in a folder of their own: run_doctest.py PROGRAM. 77: NumPy or ml_dtypes is missing.

Of all documents, operations are read by the program, and Python that needs a GPU, PyTorch or Triton has at least to be Python.
"""
import doctest
import os
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import ml_dtypes  # noqa: F401
    import numpy  # noqa: F401
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

root = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root / "python"))
os.environ["PLUMBLINE_PROGRAM"] = sys.argv[1]
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    failed, tried = doctest.testfile(str(root / "docs/python.md"), module_relative=False, optionflags=doctest.ELLIPSIS, encoding="utf-8")
    os.chdir(root)
    for page in [root / "README.md", *sorted(root.glob("docs/**/*.md"))]:
        for language, code in re.findall(r"^```(op|python)\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
            wrong = ""
            if language == "op":
                file = pathlib.Path(folder) / "example.op"
                file.write_text(code, encoding="utf-8")
                ended = subprocess.run([sys.argv[1], "list", "text", file], capture_output=True, text=True)
                wrong = ended.stderr if ended.returncode else ""
            elif ">>>" not in code:
                try:
                    compile(code, page.name, "exec")
                except SyntaxError as error:
                    wrong = str(error)
            tried += 1
            if wrong:
                failed += 1
                print(f"FAILED: {page.relative_to(root)}: {wrong}\n{code}")
print(f"{tried - failed} passed, {failed} failed")
sys.exit(failed > 0 or tried < 40)
