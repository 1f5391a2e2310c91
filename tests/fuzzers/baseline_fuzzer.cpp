// SPDX-License-Identifier: MIT
// Any bytes as a baseline: the reader must give rows that are written and read back alike, or an
// error that names the file.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "reports/baseline.h"
#include "tests/fuzzers/file_of.h"

namespace {

[[noreturn]] void stop(const char* claim, const std::string& detail) {
  std::fprintf(stderr, "%s: %s\n", claim, detail.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using plumbline::Baseline;
  using plumbline::Result;
  const FileOf file(data, size, ".json");
  const Result<Baseline> read = plumbline::read_baseline(file.path());
  if (!read) {
    if (read.error().text().find(file.path()) == std::string::npos)
      stop("an error without a place", read.error().text());
    return 0;
  }
  const std::string written = plumbline::baseline_json(*read);
  const FileOf copy(reinterpret_cast<const unsigned char*>(written.data()), written.size(),
                    ".again.json");
  const Result<Baseline> again = plumbline::read_baseline(copy.path());
  if (!again) stop("what was written cannot be read", again.error().text() + "\n" + written);
  if (plumbline::baseline_json(*again) != written) stop("writing twice differs", written);
  return 0;
}
