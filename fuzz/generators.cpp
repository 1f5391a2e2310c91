// SPDX-License-Identifier: MIT
// The generators there are: one row for each operation that is built in, and one for each text.
#include "fuzz/attention/generator.h"
#include "fuzz/case/generator.h"
#include "fuzz/gemm/generator.h"
#include "fuzz/grouped/generator.h"
#include "fuzz/linear/generator.h"
#include "fuzz/quantize/generator.h"
#include "fuzz/rows/generator.h"
#include "fuzz/swiglu/generator.h"
#include "fuzz/text/generator.h"
#include "oracles/base/assert.h"

namespace plumbline {
namespace {

constexpr auto kGenerators = {&attention_generator, &attention_backward_generator,
                              &gemm_generator,      &grouped_generator,
                              &layernorm_generator, &layernorm_backward_generator,
                              &linear_generator,    &quantize_generator,
                              &rmsnorm_generator,   &rmsnorm_backward_generator,
                              &softmax_generator,   &softmax_backward_generator,
                              &swiglu_generator};

}  // namespace

const Generator& generator_of(const Operation& operation) {
  if (const TextOperation* text = as_text(operation)) return text_generator(*text);
  for (const auto generator : kGenerators) {
    if (generator().operation() == operation.name()) return generator();
  }
  PLUMB_ASSERT(!"every operation needs a generator in fuzz/generators.cpp");
  return (*kGenerators.begin())();
}

}  // namespace plumbline
