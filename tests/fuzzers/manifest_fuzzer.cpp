// SPDX-License-Identifier: MIT
// Any bytes as a kernel's manifest: the reader must give a manifest or an error with a place. One
// it accepts must answer for problems: domain, grid, parameters and tensors evaluate to values or
// errors, never crash.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "kernels/manifest/manifest.h"
#include "tests/fuzzers/file_of.h"

namespace {

using plumbline::Expression;
using plumbline::Manifest;
using plumbline::Problem;
using plumbline::Result;

// Every size that has to be given is `size`.
std::string problem_text(const Manifest& manifest, int size) {
  std::string text;
  for (const plumbline::Field& field : manifest.schema()) {
    if (plumbline::must_be_given(field))
      text += std::string(field.name) + "=" + std::to_string(size) + " ";
  }
  return text;
}

void use(const plumbline::KernelTensorMap& map, const Problem& problem) {
  if (map.strides.size() + 1 != map.dims.size() || map.box.size() != map.dims.size()) std::abort();
  for (const auto* list : {&map.dims, &map.strides, &map.box}) {
    for (const Expression& expression : *list) (void)expression.evaluate(problem);
  }
}

void use(const plumbline::KernelValue& value, const Manifest& manifest, const Problem& problem) {
  using Kind = plumbline::ValueType::Kind;
  if (value.type->kind == Kind::tensor_map) use(manifest.tensor_maps.at(value.name), problem);
  if (value.type->kind == Kind::integer) (void)value.expression.evaluate(problem);
  if (value.type->kind == Kind::real) (void)value.expression.evaluate_real(problem);
}

void use(const Manifest& manifest) {
  for (const int size : {0, 1, 129}) {
    const Result<Problem> problem =
        plumbline::parse_problem(manifest.schema(), problem_text(manifest, size));
    if (!problem) continue;
    (void)manifest.excluded(*problem);
    (void)manifest.tensors(*problem);
    (void)manifest.describe_contract(*problem, 90);
    for (const plumbline::KernelLaunch& launch : manifest.launches) {
      (void)manifest.entry(launch, *problem);
      for (const Expression& expression : launch.grid) (void)expression.evaluate(*problem);
      for (const Expression& expression : launch.block) (void)expression.evaluate(*problem);
      (void)launch.shared_bytes.evaluate(*problem);
      if (launch.when) (void)launch.when->evaluate(*problem);
      for (const auto& parameter : launch.parameters) {
        for (const auto& value : parameter.values) use(value, manifest, *problem);
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const FileOf file(data, size, ".toml");
  const Result<Manifest> manifest = plumbline::read_manifest(file.path());
  if (manifest) {
    use(*manifest);
  } else if (!manifest.error().where.starts_with(file.path())) {
    std::fprintf(stderr, "an error without a place: %s\n", manifest.error().text().c_str());
    std::abort();
  }
  return 0;
}
