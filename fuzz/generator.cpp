// SPDX-License-Identifier: MIT
// The generators there are: one row for each operation.
#include "fuzz/generator.h"

#include "fuzz/gemm_generator.h"
#include "oracles/base/assert.h"

namespace plumbline {

namespace {

constexpr auto kGenerators = {&gemm_generator};

}  // namespace

const Generator& generator_of(const Operation& operation) {
  for (const auto generator : kGenerators) {
    if (generator().operation() == operation.name()) return generator();
  }
  PLUMB_ASSERT(!"every operation needs a generator in fuzz/generator.cpp");
  return (*kGenerators.begin())();
}

std::vector<ClassInfo> shape_classes(const Operation& operation) {
  const auto classes = generator_of(operation).shape_classes();
  return {classes.begin(), classes.end()};
}

std::vector<ClassInfo> layout_classes(const Operation& operation) {
  const auto classes = generator_of(operation).layout_classes();
  return {classes.begin(), classes.end()};
}

}  // namespace plumbline
