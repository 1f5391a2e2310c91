// SPDX-License-Identifier: MIT
// The tensors of a grouped GEMM: A by the pattern of one matrix, B by that of a batch with one
// matrix per group, and group sizes by the routing.
#include "fuzz/grouped/fill.h"

#include "fuzz/gemm/shared_fill.h"
#include "fuzz/grouped/routing.h"
#include "oracles/base/hash.h"

namespace plumbline {

namespace {

GemmContext context_of(const Case& test_case, const CaseTensors& tensors) {
  const Problem& problem = test_case.problem;
  GemmContext context;
  context.m = problem.integer("m");
  context.n = problem.integer("n");
  context.k = problem.integer("k");
  context.batch = problem.integer("groups");
  context.a = &element_format(tensors, "a");
  context.b = &element_format(tensors, "b");
  context.c = context.bias = &format(FormatId::f32);  // there is neither
  context.f32_output = element_format(tensors, "d").id == FormatId::f32;
  context.random = recipe_random(test_case.recipe);
  return context;
}

}  // namespace

void grouped_fill(const Case& test_case, CaseTensors& tensors) {
  const Problem& problem = test_case.problem;
  const GemmContext context = context_of(test_case, tensors);
  const GemmPattern pattern = gemm_pattern(test_case.recipe.value_class, context);
  fill_matrix(tensors.find("a"), pattern.a);
  fill_matrix(tensors.find("b"), pattern.b);
  for (const Placement& placement : pattern.placements) {
    place(tensors.find(placement.tensor), placement.at, placement.value);
  }
  for (const std::string_view scale : {"scale_a", "scale_b"}) {
    fill_scales(scale, test_case.recipe.value_class, context.random, tensors);
  }
  const std::vector<std::int64_t> sizes =
      grouped_sizes(problem.word("routing"), context.m, context.batch,
                    context.random.fork(fingerprint("group_sizes")));
  fill_vector(tensors.find("group_sizes"), [&](std::int64_t group) {
    return static_cast<double>(sizes[static_cast<std::size_t>(group)]);
  });
}

}  // namespace plumbline
