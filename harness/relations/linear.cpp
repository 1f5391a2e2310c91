// SPDX-License-Identifier: MIT
// The relations of a linear layer's gradients, dX = dY W, dW = dY^T X, db = the column sums of dY.
// Each is a GEMM with a contract of its own, and an output follows where its contract promises it.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/relations/magnitudes.h"
#include "harness/relations/related_problem.h"
#include "harness/relations/relation_families.h"
#include "kernels/manifest/manifest.h"

namespace plumbline {
namespace {

struct Linear {
  const Case& test_case;
  const CaseTensors& tensors;
  std::int64_t m = size("m"), n = size("n"), k = size("k");

  std::int64_t size(std::string_view field) const { return test_case.problem.integer(field); }

  Contract contract(std::string_view output) const {
    return test_case.kernel->contract(test_case.problem, output);
  }

  bool odd(std::string_view output) const {
    return plumbline::odd(contract(output), tensors.find(output)->layout.format);
  }

  bool alike(std::string_view output) const { return alike_everywhere(contract(output)); }
};

// Keeps those outputs that `follows` says yes to; nullopt where none is left.
template <typename Follows>
Related only(RelatedRun run, std::vector<Follow> outputs, const Follows& follows) {
  std::erase_if(outputs, [&](const Follow& output) { return !follows(output); });
  if (outputs.empty()) return std::nullopt;
  run.outputs = std::move(outputs);
  return run;
}

// Every product of an output has one factor of the input, or none.
Related negated(const Case& test_case, const CaseTensors& tensors, std::string_view input,
                std::vector<Follow> outputs) {
  const Linear linear{test_case, tensors};
  RelatedRun run = same_problem(test_case, tensors);
  if (!negate(tensors, run.tensors, {input})) return std::nullopt;
  return only(std::move(run), std::move(outputs), [&](const Follow& output) {
    return output.factor == 1 || linear.odd(output.output);
  });
}

Related negated_dy(const Case& test_case, const CaseTensors& tensors) {
  return negated(test_case, tensors, "dy", {{"dx", -1}, {"dw", -1}, {"db", -1}});
}

Related negated_x(const Case& test_case, const CaseTensors& tensors) {
  return negated(test_case, tensors, "x", {{"dx"}, {"dw", -1}, {"db"}});
}

// s8 weights become bf16 by one rounding, which is odd.
Related negated_w(const Case& test_case, const CaseTensors& tensors) {
  return negated(test_case, tensors, "w", {{"dx", -1}, {"dw"}, {"db"}});
}

// As for GEMM: nothing on the way is subnormal or infinite. db adds the elements themselves, and
// the weights that s8 become are rounded products.
Related doubled_dy(const Case& test_case, const CaseTensors& tensors) {
  const Linear linear{test_case, tensors};
  const Magnitudes dy = magnitudes(tensors, "dy");
  if (!dy.normal) return std::nullopt;
  RelatedRun run = same_problem(test_case, tensors);
  if (!multiply(tensors, run.tensors, 2, {"dy"})) return std::nullopt;
  return only(std::move(run), {{"dx", 2}, {"dw", 2}, {"db", 2}}, [&](const Follow& output) {
    const auto stays_normal = [&](const Magnitudes& terms, std::string_view scale,
                                  std::int64_t count) {
      const Magnitudes sums = terms | terms * magnitudes(tensors, "scale_dy");
      return sums_are_normal(sums | sums * magnitudes(tensors, scale), count,
                             linear.contract(output.output).accumulator);
    };
    if (output.output == "dx")
      return stays_normal(dy * magnitudes(tensors, "w"), "scale_w", linear.n);
    if (output.output == "dw")
      return stays_normal(dy * magnitudes(tensors, "x"), "scale_x", linear.m);
    return stays_normal(dy, "", linear.m);
  });
}

// A dimension that is not summed is reversed: the sums stay what they are, elsewhere.
struct Reversal {
  std::string_view input;
  std::int64_t length, inner;
};

Related reversed_along(const Case& test_case, const CaseTensors& tensors,
                       const std::vector<Reversal>& inputs, std::vector<Follow> outputs) {
  const Linear linear{test_case, tensors};
  RelatedRun run = same_problem(test_case, tensors);
  for (const auto& [input, length, inner] : inputs) {
    const Tensor* before = tensors.find(input);
    if (length < 2) return std::nullopt;
    if (before && !rearrange(*before, *run.tensors.find(input), reversed(length, inner)))
      return std::nullopt;
  }
  return only(std::move(run), std::move(outputs),
              [&](const Follow& output) { return linear.alike(output.output); });
}

Related reversed_tokens(const Case& test_case, const CaseTensors& tensors) {
  const Linear linear{test_case, tensors};
  const auto [m, n, k] = std::array{linear.m, linear.n, linear.k};
  return reversed_along(test_case, tensors, {{"dy", m, n}, {"x", m, k}},
                        {{"dx", 1, reversed(m, k)}});
}

Related reversed_inputs(const Case& test_case, const CaseTensors& tensors) {
  const Linear linear{test_case, tensors};
  const std::int64_t k = linear.k;
  return reversed_along(test_case, tensors, {{"x", k, 1}, {"w", k, 1}},
                        {{"dx", 1, reversed(k, 1)}, {"dw", 1, reversed(k, 1)}, {"db"}});
}

Related reversed_outputs(const Case& test_case, const CaseTensors& tensors) {
  const Linear linear{test_case, tensors};
  const std::int64_t n = linear.n, k = linear.k;
  std::vector<Reversal> inputs = {{"dy", n, 1}, {"w", n, k}};
  if (test_case.problem.word("scales") == "channel") inputs.push_back({"scale_w", n, 1});
  return reversed_along(test_case, tensors, inputs,
                        {{"dw", 1, reversed(n, k)}, {"db", 1, reversed(n, 1)}});
}

}  // namespace

std::vector<Relation> linear_backward_relations(std::string_view operation) {
  if (operation != "linear_backward") return {};
  return {
      {"D1", "negating dY negates dX, dW and db", negated_dy},
      {"D2", "doubling dY doubles dX, dW and db", doubled_dy},
      {"D3", "negating X negates dW alone", negated_x},
      {"D4", "negating W negates dX alone", negated_w},
      {"D5", "reversing the rows of dY and X reverses those of dX", reversed_tokens},
      {"D6", "reversing the columns of X and W reverses those of dX and dW", reversed_inputs},
      {"D7", "reversing the columns of dY and the rows of W reverses dW and db", reversed_outputs},
  };
}

}  // namespace plumbline
