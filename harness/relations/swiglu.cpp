// SPDX-License-Identifier: MIT
// The relations of a SwiGLU MLP, h = silu(X w_gate^T) * (X w_up^T) and y = h w_down^T. silu is
// neither odd nor linear, so what is negated or doubled leaves the gate as it is.
#include <algorithm>

#include "harness/relations/magnitudes.h"
#include "harness/relations/related_problem.h"
#include "harness/relations/relation_families.h"
#include "kernels/manifest/manifest.h"
#include "oracles/formats/decode.h"

namespace plumbline {
namespace {

bool has_zero(const Tensor& tensor) {
  for (std::int64_t i = 0; i < tensor.layout.count(); ++i)
    if (to_double(format(tensor.layout.format), tensor.bits(i)) == 0) return true;
  return false;
}

// u doubles, as its products are normal numbers, and s = silu(g) stays; so h = fl(s u) doubles
// unless it is close to 0 or to an end of its format. Where all of the first h is seen not to be, y
// is a sum of doubled products.
Related doubled_up(const Case& test_case, const CaseTensors& tensors) {
  constexpr int kCloseToZero = -50;
  const Problem& problem = test_case.problem;
  const Magnitudes up = magnitudes(tensors, "w_up"), h = magnitudes(tensors, "h");
  if (!up.normal || !sums_are_normal(magnitudes(tensors, "x") * up, problem.integer("d")))
    return std::nullopt;
  RelatedRun run = same_problem(test_case, tensors);
  if (!multiply(tensors, run.tensors, 2, {"w_up"})) return std::nullopt;
  run.outputs = {{"h", 2}};
  const Format& h_format = format(tensors.find("h")->layout.format);
  const bool all_double = h.least > std::max(kCloseToZero, h_format.emin()) &&
                          h.most < h_format.emax() - 1 && !has_zero(*tensors.find("h"));
  const Magnitudes terms = h * magnitudes(tensors, "w_down");
  if (all_double && sums_are_normal(terms, problem.integer("hidden")))
    run.outputs.push_back({"y", 2});
  return run;
}

// Dimensions that are not summed are reversed: the sums stay what they are, elsewhere.
Related reversed_tokens(const Case& test_case, const CaseTensors& tensors) {
  const Problem& problem = test_case.problem;
  const std::int64_t tokens = problem.integer("tokens");
  if (!alike_everywhere(promises(test_case)) || tokens < 2) return std::nullopt;
  RelatedRun run = same_problem(test_case, tensors);
  const auto along = [&](std::string_view width) {
    return reversed(tokens, problem.integer(width));
  };
  if (!rearrange(*tensors.find("x"), *run.tensors.find("x"), along("d"))) return std::nullopt;
  run.outputs = {{"h", 1, along("hidden")}, {"y", 1, along("d_out")}};
  return run;
}

// y adds what is reversed, so it does not follow.
Related reversed_hidden(const Case& test_case, const CaseTensors& tensors) {
  const Problem& problem = test_case.problem;
  const std::int64_t hidden = problem.integer("hidden"), d = problem.integer("d");
  if (!alike_everywhere(promises(test_case)) || hidden < 2) return std::nullopt;
  RelatedRun run = same_problem(test_case, tensors);
  for (const std::string_view weights : {"w_gate", "w_up"}) {
    if (!rearrange(*tensors.find(weights), *run.tensors.find(weights), reversed(hidden, d)))
      return std::nullopt;
  }
  run.outputs = {{"h", 1, reversed(hidden, 1)}};
  return run;
}

Related reversed_outputs(const Case& test_case, const CaseTensors& tensors) {
  const Problem& problem = test_case.problem;
  const std::int64_t d_out = problem.integer("d_out"), hidden = problem.integer("hidden");
  if (!alike_everywhere(promises(test_case)) || d_out < 2) return std::nullopt;
  RelatedRun run = same_problem(test_case, tensors);
  if (!rearrange(*tensors.find("w_down"), *run.tensors.find("w_down"), reversed(d_out, hidden)))
    return std::nullopt;
  run.outputs = {{"h"}, {"y", 1, reversed(d_out, 1)}};
  return run;
}

}  // namespace

std::vector<Relation> swiglu_relations(std::string_view operation) {
  if (operation != "swiglu_mlp") return {};
  return {
      negating("M1", "negating w_up negates h and y", {"w_up"}, {{"h", -1}, {"y", -1}}),
      negating("M2", "negating X and w_gate negates h and y", {"x", "w_gate"},
               {{"h", -1}, {"y", -1}}),
      negating("M3", "negating w_down negates y and keeps h", {"w_down"}, {{"h"}, {"y", -1}}),
      {"M4", "doubling w_up doubles h and y", doubled_up},
      {"M5", "reversing the rows of X reverses those of h and y", reversed_tokens},
      {"M6", "reversing the rows of w_gate and w_up reverses the columns of h", reversed_hidden},
      {"M7", "reversing the rows of w_down reverses the columns of y", reversed_outputs},
  };
}

}  // namespace plumbline
