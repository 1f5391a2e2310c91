// SPDX-License-Identifier: MIT
// Any bytes as a safetensors file: the reader must give tensors or an error that names the file, and
// never allocates more than the file holds. What it accepts must write and read back as the same.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "harness/check/safetensors.h"

namespace {

[[noreturn]] void stop(const char* claim, const std::string& detail) {
  std::fprintf(stderr, "%s\n%s\n", claim, detail.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const std::string path = "/dev/shm/plumbline_fuzz_" + std::to_string(getpid()) + ".st";
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (!file) std::abort();
  std::fwrite(data, 1, size, file);
  std::fclose(file);
  const auto tensors = plumbline::read_safetensors(path);
  if (!tensors) {
    if (tensors.error().where != path) stop("an error without a file", tensors.error().text());
    return 0;
  }
  if (!plumbline::write_safetensors(path, *tensors)) return 0;
  const auto again = plumbline::read_safetensors(path);
  if (!again) stop("what was written cannot be read", again.error().text());
  if (again->tensors.size() != tensors->tensors.size() || again->metadata != tensors->metadata)
    stop("what was written reads back otherwise", path);
  std::remove(path.c_str());
  return 0;
}
