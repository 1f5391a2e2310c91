// SPDX-License-Identifier: MIT
// The tensors of a GEMM from the pattern of its value class.
#include "fuzz/gemm/fill.h"

#include <limits>

#include "fuzz/gemm/shared_fill.h"

namespace plumbline {

namespace {

GemmContext context_of(const Case& test_case, const CaseTensors& tensors) {
  const Problem& problem = test_case.problem;
  GemmContext context;
  context.m = problem.integer("m");
  context.n = problem.integer("n");
  context.k = problem.integer("k");
  context.batch = problem.integer("batch");
  context.a = &element_format(tensors, "a");
  context.b = &element_format(tensors, "b");
  context.c = &element_format(tensors, "c");
  context.bias = &element_format(tensors, "bias");
  context.f32_output = element_format(tensors, "d").id == FormatId::f32;
  context.random = recipe_random(test_case.recipe);
  return context;
}

}  // namespace

void gemm_fill(const Case& test_case, CaseTensors& tensors) {
  const GemmContext context = context_of(test_case, tensors);
  const GemmPattern pattern = gemm_pattern(test_case.recipe.value_class, context);
  const bool reads_c = test_case.problem.real("beta") != 0;
  fill_matrix(tensors.find("a"), pattern.a);
  fill_matrix(tensors.find("b"), pattern.b);
  fill_vector(tensors.find("bias"), pattern.bias);
  for (const std::string_view scale : {"scale_a", "scale_b", "scale_d"}) {
    fill_scales(scale, test_case.recipe.value_class, context.random, tensors);
  }
  const auto unread = [](const At&) { return std::numeric_limits<double>::quiet_NaN(); };
  fill_matrix(tensors.find("c"), reads_c ? pattern.c : unread);
  for (const Placement& placement : pattern.placements) {
    if (placement.tensor == "c" && !reads_c) continue;
    place(tensors.find(placement.tensor), placement.at, placement.value);
  }
}

}  // namespace plumbline
