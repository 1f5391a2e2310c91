// SPDX-License-Identifier: MIT
// Any bytes as a kernel's manifest: the reader must give a manifest or an error with a place. One
// it accepts must answer for problems: domain, grid, parameters and tensors evaluate to values or
// errors, never crash.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "kernels/manifest.h"

namespace {

using plumbline::Expression;
using plumbline::Manifest;
using plumbline::Problem;
using plumbline::Result;

void use(const Manifest& manifest) {
  const auto text = {"m=1 n=1 k=1", "m=0 n=0 k=0 batch=0",
                     "m=129 n=7 k=4097 layout=tt out=f32 bias=row beta=2"};
  for (const char* fields : text) {
    const Result<Problem> problem = plumbline::parse_problem(manifest.schema(), fields);
    if (!problem) continue;
    (void)manifest.excluded(*problem);
    (void)manifest.entry(*problem);
    (void)manifest.operation->tensors(*problem, manifest);
    for (const Expression& expression : manifest.grid) (void)expression.evaluate(*problem);
    for (const Expression& expression : manifest.block) (void)expression.evaluate(*problem);
    (void)manifest.shared_bytes.evaluate(*problem);
    for (const auto& parameter : manifest.parameters) {
      if (parameter.kind == plumbline::KernelParameter::Kind::pointer) continue;
      if (parameter.kind == plumbline::KernelParameter::Kind::f32) continue;
      (void)parameter.expression.evaluate(*problem);
    }
  }
}

// Manifests are read from files; this one lives in memory where /dev/shm does.
const std::string& path() {
  static const std::string name = "/dev/shm/plumbline_fuzz_" + std::to_string(getpid()) + ".toml";
  return name;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  std::FILE* file = std::fopen(path().c_str(), "wb");
  if (!file) std::abort();
  std::fwrite(data, 1, size, file);
  std::fclose(file);
  const Result<Manifest> manifest = plumbline::read_manifest(path());
  std::remove(path().c_str());
  if (manifest) {
    use(*manifest);
  } else if (!manifest.error().where.starts_with(path())) {
    std::fprintf(stderr, "an error without a place: %s\n", manifest.error().text().c_str());
    std::abort();
  }
  return 0;
}
