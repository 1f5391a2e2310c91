// SPDX-License-Identifier: MIT
// Writes what page_in_browser.py opens and strict_readers.py reads: sample_report FOLDER.
#include <cstdio>
#include <fstream>
#include <string>

#include "reports/html/html.h"
#include "reports/junit.h"
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
  write("propagation.html", report_html(propagation_run()));
  write("failing.junit.xml", junit_xml(failing_record(), false));
  write("findings.sarif", sarif_json(record_with_findings({88, 90}), "/repo"));
}
