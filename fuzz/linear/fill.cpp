// SPDX-License-Identifier: MIT
// The tensors of a linear layer's backward pass: two GEMMs share dy, so two GEMM patterns are
// drawn. w follows B of dx = dy * w and x follows B of dw = dy^T * x. dy can follow A of one of
// them only: of the one with the longer sums, where they go wrong first.
#include "fuzz/linear/fill.h"

#include <algorithm>

#include "fuzz/case/values.h"
#include "fuzz/gemm/shared_fill.h"
#include "oracles/base/assert.h"
#include "oracles/base/hash.h"

namespace plumbline {

namespace {

// The largest factor by which scales of channels may differ where sums stay exact: dx sums over
// them.
constexpr std::int64_t kExactSpread = 4;

struct Contexts {
  GemmContext dx, dw;
};

Contexts contexts_of(const Case& test_case, const CaseTensors& tensors) {
  const Problem& problem = test_case.problem;
  const std::int64_t m = problem.integer("m"), n = problem.integer("n"), k = problem.integer("k");
  const auto context_with = [&](std::string_view b, std::string_view output) {
    GemmContext context;
    context.a = &element_format(tensors, "dy");
    context.b = &element_format(tensors, b);
    context.c = context.bias = &format(FormatId::f32);  // there is neither
    context.f32_output = element_format(tensors, output).id == FormatId::f32;
    context.random = recipe_random(test_case.recipe);
    return context;
  };
  Contexts contexts = {context_with("w", "dx"), context_with("x", "dw")};
  contexts.dx.m = m, contexts.dx.n = k, contexts.dx.k = n;
  contexts.dw.m = n, contexts.dw.n = k, contexts.dw.k = m;
  // Here k says how far integers may reach, and what suits the longer sum suits both.
  if (test_case.recipe.value_class == "integers") {
    contexts.dx.k = contexts.dw.k = kExactSpread * std::max(m, n);
  }
  return contexts;
}

// Scales of channels: where a class is exact, its own stay so close that sums over them stay exact.
void fill_channel_scales(std::string_view value_class, const Random& random, CaseTensors& tensors) {
  const ValueClassInfo* info = find_value_class(value_class);
  PLUMB_ASSERT(info != nullptr);
  if (!info->exact_integers) return fill_scales("scale_w", value_class, random, tensors);
  const ElementStream stream(random, "scale_w");
  fill_vector(tensors.find("scale_w"), [&](std::int64_t channel) {
    Random of_channel = stream(At{0, 0, channel});
    return static_cast<double>(std::int64_t{1} << of_channel.between(0, 2));
  });
}

}  // namespace

void linear_fill(const Case& test_case, CaseTensors& tensors) {
  const std::string_view value_class = test_case.recipe.value_class;
  const Contexts contexts = contexts_of(test_case, tensors);
  const GemmPattern of_dx = gemm_pattern(value_class, contexts.dx);
  const GemmPattern of_dw = gemm_pattern(value_class, contexts.dw);
  const Random random = contexts.dx.random;
  const std::int64_t tokens = test_case.problem.integer("m");
  const std::int64_t features = test_case.problem.integer("n");
  Random either = random.fork(fingerprint("which gradient dy is made for"));
  const bool for_dw = tokens != features ? tokens > features : either.below(2) == 0;

  Tensor* dy = tensors.find("dy");
  const auto transposed = [&](const At& at) { return of_dw.a(At{0, at.column, at.row}); };
  fill_matrix(dy, for_dw ? std::function<double(const At&)>(transposed) : of_dx.a);
  fill_matrix(tensors.find("w"), of_dx.b);
  fill_matrix(tensors.find("x"), of_dw.b);
  for (const Placement& placement : of_dx.placements) {
    if (placement.tensor == "a" && !for_dw) place(dy, placement.at, placement.value);
    if (placement.tensor == "b") place(tensors.find("w"), placement.at, placement.value);
  }
  for (const Placement& placement : of_dw.placements) {
    const At at = placement.at;
    if (placement.tensor == "a" && for_dw) place(dy, {0, at.column, at.row}, placement.value);
    if (placement.tensor == "b") place(tensors.find("x"), at, placement.value);
  }

  fill_scales("scale_dy", value_class, random, tensors);
  fill_scales("scale_x", value_class, random, tensors);
  if (test_case.problem.word("scales") == "channel") {
    fill_channel_scales(value_class, random, tensors);
  } else {
    fill_scales("scale_w", value_class, random, tensors);
  }
}

}  // namespace plumbline
