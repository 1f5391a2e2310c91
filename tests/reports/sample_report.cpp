// SPDX-License-Identifier: MIT
// Writes what page_in_browser.py opens and strict_readers.py reads: sample_report FOLDER.
#include <cstdio>
#include <fstream>
#include <string>

#include "reports/code_quality.h"
#include "reports/html/html.h"
#include "reports/junit.h"
#include "reports/record/json.h"
#include "reports/sarif.h"
#include "tests/reports/html/page_samples.h"
#include "tests/reports/record/propagation_samples.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: sample_report FOLDER\n");
    return 2;
  }
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(std::string(argv[1]) + "/" + name, std::ios::binary) << text;
  };
  using namespace plumbline;
  write("failing.html", report_html(failing_record()));
  write("passing.html", report_html(passing_record()));
  write("large.html", report_html(large_record()));
  write("large_passing.html", report_html(large_record(0)));
  // As many classes of shapes and values as large plans have.
  RunRecord wide = failing_record();
  for (std::size_t i = 0; i < wide.cases.size(); ++i)
    wide.cases[i].shape_class = fmt::format("tile_minus_{}", i % 19);
  write("wide.html", report_html(wide));
  write("propagation.html", report_html(propagation_run()));
  write("failing.junit.xml", junit_xml(failing_record(), false));
  RunRecord findings = record_with_findings({88, 90});
  findings.cases[2].findings[0].other = {
      "read", "a read", 1, 3, "/repo/k.ptx", 90, "/repo/b.cu", 61, "/repo/c.cu:7"};
  write("findings.sarif", sarif_json(findings, "/repo"));
  write("gl-code-quality.json", code_quality_json(findings, "/repo"));
  write("findings.record.json", record_json(findings));
  write("failing.record.json", record_json(failing_record()));
  write("propagation.record.json", record_json(propagation_run()));
}
