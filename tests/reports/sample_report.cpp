// SPDX-License-Identifier: MIT
// Writes the sample pages that page_in_browser.py opens: sample_report FOLDER.
#include <cstdio>
#include <fstream>
#include <string>

#include "page_samples.h"
#include "reports/html.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: sample_report FOLDER\n");
    return 2;
  }
  const auto write = [&](const std::string& name, const plumbline::RunRecord& record) {
    std::ofstream(std::string(argv[1]) + "/" + name, std::ios::binary)
        << plumbline::report_html(record);
  };
  write("failing.html", plumbline::failing_record());
  write("passing.html", plumbline::passing_record());
  write("large.html", plumbline::large_record());
}
