// SPDX-License-Identifier: MIT
// Any bytes as a record, the lines of a record, or a baseline: the readers must give one or an error
// that names the file. What is accepted can be written, read back, and turned into every report.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "reports/baseline.h"
#include "reports/html/html.h"
#include "reports/junit.h"
#include "reports/markdown.h"
#include "reports/record/json.h"
#include "reports/record/merge.h"
#include "reports/sarif.h"

namespace {

using plumbline::Result;
using plumbline::RunRecord;

[[noreturn]] void stop(const char* claim, const std::string& detail) {
  std::fprintf(stderr, "%s\n%s\n", claim, detail.c_str());
  std::abort();
}

std::string path_of(const char* extension) {
  return "/dev/shm/plumbline_fuzz_" + std::to_string(getpid()) + extension;
}

void write(const std::string& path, const void* data, std::size_t size) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (!file) std::abort();
  std::fwrite(data, 1, size, file);
  std::fclose(file);
}

void use(const RunRecord& record) {
  (void)plumbline::junit_xml(record, true);
  (void)plumbline::summary_markdown(record);
  (void)plumbline::sarif_json(record, "/");
  (void)plumbline::report_html(record, {});
  (void)plumbline::merge_records({{"one", record}});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const std::string whole = path_of(".json"), lines = path_of(".jsonl");
  for (const std::string& path : {whole, lines}) {
    write(path, data, size);
    const Result<RunRecord> record = plumbline::read_record(path);
    if (!record) {
      if (record.error().where != path) stop("an error without a file", record.error().text());
      continue;
    }
    use(*record);
    if (path == lines) continue;  // reports make it whole first
    const std::string text = plumbline::record_json(*record);
    write(path, text.data(), text.size());
    const Result<RunRecord> again = plumbline::read_record(path);
    if (!again) stop("what was written cannot be read", again.error().text());
    if (plumbline::record_json(*again) != text) stop("writing twice differs", text);
  }
  write(whole, data, size);
  const Result<plumbline::Baseline> baseline = plumbline::read_baseline(whole);
  if (!baseline && baseline.error().where.empty())
    stop("an error without a file", baseline.error().text());
  std::remove(whole.c_str());
  std::remove(lines.c_str());
  return 0;
}
