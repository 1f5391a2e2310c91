// SPDX-License-Identifier: MIT
// Any bytes as a safetensors file: the reader must give tensors that lie within their storage, or
// an error that names the file; what it accepts is written and read back alike.
#include <cstdio>
#include <cstdlib>

#include "harness/check/safetensors.h"
#include "tests/fuzzers/file_of.h"

namespace {

using plumbline::NamedTensors;
using plumbline::Result;

[[noreturn]] void stop(const char* claim, const std::string& detail) {
  std::fprintf(stderr, "%s: %s\n", claim, detail.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const FileOf file(data, size, ".safetensors");
  const Result<NamedTensors> read = plumbline::read_safetensors(file.path());
  if (!read) {
    if (!read.error().where.starts_with(file.path())) stop("no place", read.error().text());
    return 0;
  }
  for (const auto& [name, tensor] : read->tensors) {
    if (static_cast<std::int64_t>(tensor.storage.size()) != tensor.layout.storage_bytes())
      stop("storage of another size", name);
  }
  if (!plumbline::write_safetensors(file.path(), *read)) return 0;
  const Result<NamedTensors> again = plumbline::read_safetensors(file.path());
  if (!again) stop("what was written cannot be read", again.error().text());
  if (again->tensors.size() != read->tensors.size() || again->metadata != read->metadata)
    stop("it reads back as another", file.path());
  for (const auto& [name, tensor] : read->tensors) {
    const plumbline::Tensor* other = again->find(name);
    if (other == nullptr || other->storage != tensor.storage) stop("other bits", name);
  }
  return 0;
}
