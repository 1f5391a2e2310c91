// SPDX-License-Identifier: MIT
// The relations of softmax, the norms and their gradients: signs, doublings and rows elsewhere.
// The order of a sum is not promised, only that it is the same for rows that lie alike in memory.
#include <fmt/format.h>

#include <algorithm>

#include "harness/relations/magnitudes.h"
#include "harness/relations/related_problem.h"
#include "harness/relations/relation_families.h"
#include "kernels/manifest/manifest.h"

namespace plumbline {
namespace {

// The rest has an element for each column.
bool has_rows(const TensorSpec& spec) {
  return spec.layout.shape.size() == 2 || spec.name == "mean" || spec.name == "rstd";
}

// A kernel may take other loads, and add in another order, where rows are aligned otherwise.
bool rows_lie_alike(const CaseTensors& tensors) {
  constexpr std::int64_t kWidestLoad = 16;  // bytes
  return std::all_of(tensors.specs.begin(), tensors.specs.end(), [](const TensorSpec& spec) {
    const TensorLayout& layout = spec.layout;
    return layout.shape.size() != 2 ||
           layout.strides[0] * format(layout.format).storage_bytes() % kWidestLoad == 0;
  });
}

// Sums along the columns (dgamma, dbeta) do not follow: their order changes.
Related rows_elsewhere(Related run, const CaseTensors& tensors, const Source& row) {
  if (!run) return std::nullopt;
  for (const TensorSpec& spec : run->tensors.specs) {
    if (!has_rows(spec)) continue;
    const std::int64_t n = spec.layout.shape.size() == 2 ? spec.layout.shape[1] : 1;
    const Source source = [row, n](std::int64_t i) { return row(i / n) * n + i % n; };
    if (spec.role == TensorRole::output) run->outputs.push_back({spec.name, 1, source});
    if (spec.role != TensorRole::input) continue;
    if (!rearrange(*tensors.find(spec.name), *run->tensors.find(spec.name), source))
      return std::nullopt;
  }
  return run;
}

Related reversed_rows(const Case& test_case, const CaseTensors& tensors) {
  const std::int64_t m = test_case.problem.integer("m");
  if (m < 2 || !alike_everywhere(promises(test_case)) || !rows_lie_alike(tensors))
    return std::nullopt;
  return rows_elsewhere(same_problem(test_case, tensors), tensors, reversed(m, 1));
}

Related last_row(const Case& test_case, const CaseTensors& tensors) {
  const std::int64_t m = test_case.problem.integer("m");
  if (m < 2 || !alike_everywhere(promises(test_case)) || !rows_lie_alike(tensors))
    return std::nullopt;
  return rows_elsewhere(other_problem(test_case, tensors, {{"m", "1"}}), tensors,
                        [last = m - 1](std::int64_t) { return last; });
}

// fl(2x * scale / 2) is fl(x * scale): the two products are the same number.
Related doubled_logits(const Case& test_case, const CaseTensors& tensors) {
  const float scale = test_case.problem.real("scale");
  const Magnitudes of_scale = magnitudes(scale);
  if (!of_scale.finite || of_scale.least < -100) return std::nullopt;
  Related run = other_problem(test_case, tensors, {{"scale", real_field(scale / 2)}});
  if (!run || !multiply(tensors, run->tensors, 2, {"x"})) return std::nullopt;
  run->outputs = {{"y"}};
  return run;
}

// The last operations: one product, or one fma.
Related doubled_gamma(const Case& test_case, const CaseTensors& tensors) {
  RelatedRun run = same_problem(test_case, tensors);
  if (!multiply(tensors, run.tensors, 2, {"gamma", "beta"})) return std::nullopt;
  for (const TensorSpec& spec : run.tensors.specs) {
    if (spec.role == TensorRole::output)
      run.outputs.push_back({spec.name, spec.name == "y" ? 2.0 : 1.0});
  }
  return run;
}

// With something added to gamma, Y does not follow gamma.
Relation of_gamma_alone(Relation relation) {
  const auto made = relation.make;
  relation.make = [made](const Case& test_case, const CaseTensors& tensors) {
    const Problem& problem = test_case.problem;
    return problem.real("gamma_plus") == 0 ? made(test_case, tensors) : std::nullopt;
  };
  return relation;
}

// What doubling dY needs: no f32 result on the way is subnormal, but for the factor of the last
// product. What that makes of a subnormal number is so close to 0 that follows() does not ask.
constexpr int kLastFactor = 60;

Related with_doubled_dy(const Case& test_case, const CaseTensors& tensors) {
  RelatedRun run = same_problem(test_case, tensors);
  if (!multiply(tensors, run.tensors, 2, {"dy"})) return std::nullopt;
  for (const TensorSpec& spec : run.tensors.specs)
    if (spec.role == TensorRole::output) run.outputs.push_back({spec.name, 2});
  return run;
}

// g = sum of y dy and dy - g are multiples of their terms' units.
Related doubled_dy_of_softmax(const Case& test_case, const CaseTensors& tensors) {
  const Magnitudes dy = magnitudes(tensors, "dy"),
                   scale = magnitudes(test_case.problem.real("scale"));
  const Magnitudes terms = dy | magnitudes(tensors, "y") * dy;
  if (scale.most > kLastFactor || !sums_are_normal(terms, test_case.problem.integer("n")))
    return std::nullopt;
  return with_doubled_dy(test_case, tensors);
}

// xhat = fl(fl(x - mean) rstd) does not change; the rest is linear in dy. A mean of n terms is a
// multiple of their unit, divided by n. w - a cancels no deeper than the last bit of either, and
// a is not smaller than w / 2 then.
Related doubled_dy_of_norm(const Case& test_case, const CaseTensors& tensors) {
  const std::int64_t m = test_case.problem.integer("m"), n = test_case.problem.integer("n");
  const Magnitudes dy = magnitudes(tensors, "dy"), rstd = magnitudes(tensors, "rstd");
  Magnitudes centered = magnitudes(tensors, "x");
  if (tensors.find("mean")) {
    centered = centered | magnitudes(tensors, "mean");
    centered.least = centered.unit;
    ++centered.most;
  }
  const Magnitudes xhat = rounded(centered * rstd), w = dy * magnitudes(tensors, "gamma");
  Magnitudes means = w | w * xhat | w * xhat * xhat;
  means.unit = std::min(w.unit, (w * xhat).unit) - digits_of(n);
  const bool normal = sums_are_normal(means, n) && sums_are_normal(dy | dy * xhat, m) &&
                      w.least >= -100 && rstd.most <= kLastFactor;
  return normal ? with_doubled_dy(test_case, tensors) : std::nullopt;
}

constexpr std::string_view kNegatedDy = "negating dY negates every gradient";
constexpr std::string_view kDoubledDy = "doubling dY doubles every gradient";
constexpr std::string_view kNegatedGamma = "negating gamma negates dX alone";

std::vector<Relation> value_relations(std::string_view operation) {
  if (operation == "softmax")
    return {{"R3", "doubling X and halving scale changes nothing", doubled_logits}};
  if (operation == "softmax_backward")
    return {negating("R4", kNegatedDy, {"dy"}, {{"dx", -1}}),
            {"R5", kDoubledDy, doubled_dy_of_softmax}};
  if (operation == "rmsnorm")
    return {negating("R6", "negating X negates Y and keeps rstd", {"x"}, {{"y", -1}, {"rstd"}}),
            of_gamma_alone(negating("R7", "negating gamma negates Y and keeps rstd", {"gamma"},
                                    {{"y", -1}, {"rstd"}})),
            of_gamma_alone({"R8", "doubling gamma doubles Y and keeps rstd", doubled_gamma})};
  if (operation == "layernorm")
    return {negating("R6", "negating X and beta negates Y and mean and keeps rstd", {"x", "beta"},
                     {{"y", -1}, {"mean", -1}, {"rstd"}}),
            negating("R7", "negating gamma and beta negates Y and keeps mean and rstd",
                     {"gamma", "beta"}, {{"y", -1}, {"mean"}, {"rstd"}}),
            {"R8", "doubling gamma and beta doubles Y and keeps mean and rstd", doubled_gamma}};
  if (operation == "rmsnorm_backward")
    return {
        negating("R4", kNegatedDy, {"dy"}, {{"dx", -1}, {"dgamma", -1}}),
        {"R5", kDoubledDy, doubled_dy_of_norm},
        negating("R6", "negating X negates dgamma and keeps dX", {"x"}, {{"dx"}, {"dgamma", -1}}),
        negating("R7", kNegatedGamma, {"gamma"}, {{"dx", -1}, {"dgamma"}})};
  if (operation == "layernorm_backward")
    return {negating("R4", kNegatedDy, {"dy"}, {{"dx", -1}, {"dgamma", -1}, {"dbeta", -1}}),
            {"R5", kDoubledDy, doubled_dy_of_norm},
            negating("R6", "negating X and mean negates dgamma and keeps dX and dbeta",
                     {"x", "mean"}, {{"dx"}, {"dgamma", -1}, {"dbeta"}}),
            negating("R7", kNegatedGamma, {"gamma"}, {{"dx", -1}, {"dgamma"}, {"dbeta"}})};
  return {};
}

}  // namespace

std::vector<Relation> row_relations(std::string_view operation) {
  std::vector<Relation> relations = value_relations(operation);
  if (relations.empty()) return {};
  relations.push_back(
      {"R1", "reversing the rows of the inputs reverses those of the outputs", reversed_rows});
  relations.push_back({"R2", "a row is the same alone", last_row});
  return relations;
}

}  // namespace plumbline
