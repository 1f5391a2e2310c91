// SPDX-License-Identifier: MIT
// Any bytes as record.json or record.jsonl: the reader must give a record of which every report can
// be written, or an error that names the file.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "reports/code_quality.h"
#include "reports/html/html.h"
#include "reports/junit.h"
#include "reports/markdown.h"
#include "reports/record/json.h"
#include "reports/sarif.h"
#include "tests/fuzzers/file_of.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using plumbline::Result;
  using plumbline::RunRecord;
  const bool lines = size > 0 && data[size - 1] == '\n';
  const FileOf file(data, size, lines ? ".jsonl" : ".json");
  const Result<RunRecord> record = plumbline::read_record(file.path());
  if (!record) {
    if (record.error().text().find(file.path()) != std::string::npos) return 0;
    std::fprintf(stderr, "an error without a place: %s\n", record.error().text().c_str());
    std::abort();
  }
  (void)plumbline::record_json(*record);
  (void)plumbline::junit_xml(*record, false);
  (void)plumbline::summary_markdown(*record);
  (void)plumbline::sarif_json(*record, "/nowhere");
  (void)plumbline::code_quality_json(*record, "/nowhere");
  (void)plumbline::report_html(*record);
  return 0;
}
