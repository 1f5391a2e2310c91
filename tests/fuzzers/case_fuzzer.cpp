// SPDX-License-Identifier: MIT
// Any bytes as a case file, for the shipped kernels: the reader must give a case or an error with a
// place. What it accepts must write and read back as the same case, and materialize, or say why
// not.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "fuzz/case_file/corpus.h"
#include "tests/folders.h"

namespace {

using plumbline::CaseFile;
using plumbline::Registry;
using plumbline::Result;

[[noreturn]] void stop(const char* claim, const std::string& detail) {
  std::fprintf(stderr, "%s\n%s\n", claim, detail.c_str());
  std::abort();
}

const Registry& registry() {
  static const Registry opened = [] {
    Result<Registry> result = Registry::open(PLUMBLINE_SOURCE_DIR "/kernels");
    if (!result) stop("the shipped kernels cannot be read", result.error().text());
    return std::move(*result);
  }();
  return opened;
}

// Cases that a test machine can hold; larger ones are refused by materialize() on their own
// account.
constexpr double kMostBytes = 1 << 24;

bool is_small(const plumbline::Case& test_case) {
  const auto specs = test_case.kernel->tensors(test_case.problem);
  if (!specs) return false;
  double bytes = 0;
  for (const auto& spec : *specs) bytes += static_cast<double>(spec.layout.storage_bytes());
  return bytes < kMostBytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<CaseFile> file = plumbline::parse_case(text, "x.case", registry());
  if (!file) {
    if (!file.error().where.starts_with("x.case:"))
      stop("an error without a place", file.error().text());
    return 0;
  }
  const std::string written = plumbline::write_case(*file);
  const Result<CaseFile> again = plumbline::parse_case(written, "x.case", registry());
  if (!again) stop("what was written cannot be read", again.error().text() + "\n" + written);
  if (plumbline::write_case(*again) != written) stop("writing twice differs", written);
  if (is_small(file->test_case)) (void)plumbline::materialize(file->test_case);
  return 0;
}
