// SPDX-License-Identifier: MIT
// The relations of GEMM. Each edits logical elements of the inputs; layouts stay what they are.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/relations/magnitudes.h"
#include "harness/relations/related_problem.h"
#include "harness/relations/relation_families.h"
#include "kernels/manifest/manifest.h"

namespace plumbline {
namespace {

// The case as the relations see it.
struct Gemm {
  const Case& test_case;
  const Problem& problem;
  const Manifest& kernel;
  const Contract contract;
  const CaseTensors& tensors;

  Gemm(const Case& original, const CaseTensors& inputs)
      : test_case(original),
        problem(original.problem),
        kernel(*original.kernel),
        contract(kernel.contract(problem, "d")),
        tensors(inputs) {}

  std::int64_t size(std::string_view field) const { return problem.integer(field); }

  bool is(std::string_view field, std::string_view word) const {
    return problem.word(field) == word;
  }

  bool pure_product() const { return kernel.operation->has_pure_sums(problem, kernel); }

  // nullopt where the sums may be added in another order then.
  Related with_fields(const std::vector<FieldEdit>& edits) const {
    Related run = other_problem(test_case, tensors, edits);
    return run && same_order(test_case, run->test_case, "d") ? std::move(run) : std::nullopt;
  }

  // Scale tensors are matrices, not tiles.
  bool scales_in_rows() const { return !is("scale_layout", "128x4"); }

  // All strides follow from the sizes.
  bool tight() const {
    constexpr std::array<std::string_view, 8> kStrides = {
        "lda", "ldb", "ldc", "ldd", "stride_a", "stride_b", "stride_c", "stride_d"};
    return std::all_of(kStrides.begin(), kStrides.end(),
                       [&](std::string_view f) { return problem.is_default(f); });
  }
};

void copy(const Tensor* from, Tensor* to) {
  if (from && to) rearrange(*from, *to, [](std::int64_t i) { return i; });
}

Related negated_a(const Case& test_case, const CaseTensors& tensors) {
  const Gemm gemm{test_case, tensors};
  if (!odd(gemm.contract, tensors.find("d")->layout.format)) return std::nullopt;
  if (!gemm.pure_product()) return std::nullopt;
  RelatedRun run = same_problem(test_case, tensors);
  if (!negate(tensors, run.tensors, {"a"})) return std::nullopt;
  run.outputs = {{"d", -1}};
  return run;
}

// Nothing on the way is subnormal or infinite (magnitudes.h), with the epilogue's factors or
// without, so the power of two commutes with every rounding. A subnormal element would not move
// when it is doubled: it is aligned as the smallest normal number is.
Related doubled_a(const Case& test_case, const CaseTensors& tensors) {
  const Gemm gemm{test_case, tensors};
  if (!gemm.pure_product() || gemm.contract.dequantize_b) return std::nullopt;
  if (gemm.contract.block_scale) return std::nullopt;  // scales align, not elements of A
  const Magnitudes a = magnitudes(tensors, "a");
  Magnitudes sums = a * magnitudes(tensors, "b");
  for (const std::string_view scale : {"scale_a", "scale_b", "scale_d"})
    sums = sums | sums * magnitudes(tensors, scale);
  sums = sums | sums * magnitudes(gemm.problem.real("alpha"));
  if (!a.normal || !sums_are_normal(sums, gemm.size("k"), gemm.contract.accumulator))
    return std::nullopt;
  RelatedRun run = same_problem(test_case, tensors);
  if (!multiply(tensors, run.tensors, 2, {"a"})) return std::nullopt;
  run.outputs = {{"d", 2}};
  return run;
}

Related reversed_rows(const Case& test_case, const CaseTensors& tensors) {
  const Gemm gemm{test_case, tensors};
  const std::int64_t m = gemm.size("m"), n = gemm.size("n"), k = gemm.size("k");
  if (!alike_everywhere(gemm.contract) || m < 2) return std::nullopt;
  RelatedRun run = same_problem(test_case, tensors);
  const auto reverse = [&](std::string_view name, std::int64_t inner) {
    const Tensor* from = tensors.find(name);
    return !from || rearrange(*from, *run.tensors.find(name), reversed(m, inner));
  };
  if (!gemm.scales_in_rows() || !reverse("a", k) || !reverse("c", n)) return std::nullopt;
  if (gemm.is("bias", "row")) reverse("bias", 1);
  const Tensor* scale = tensors.find("scale_a");
  if (scale && scale->layout.shape[0] == m) reverse("scale_a", scale->layout.count() / m);
  run.outputs = {{"d", 1, reversed(m, n)}};
  return run;
}

// Zeros at the end of k belong to steps of their own, or fill the last one: a sum that is complete
// does not change.
Related longer_k(const Case& test_case, const CaseTensors& tensors) {
  constexpr std::int64_t kMore = 128;
  const Gemm gemm{test_case, tensors};
  const std::int64_t n = gemm.size("n"), k = gemm.size("k"), longer = k + kMore;
  if (gemm.contract.schedule == Schedule::split_k || !gemm.tight() || !gemm.scales_in_rows())
    return std::nullopt;
  if (gemm.size("zero_a") != 0 || gemm.size("zero_b") != 0) return std::nullopt;
  Related run = gemm.with_fields({{"k", fmt::format("{}", longer)}});
  if (!run) return std::nullopt;
  const Tensor &a = *tensors.find("a"), &b = *tensors.find("b");
  Tensor &a2 = *run->tensors.find("a"), &b2 = *run->tensors.find("b");
  for (std::int64_t i = 0; i < a.layout.count(); ++i)
    a2.set_bits(i / k * longer + i % k, a.bits(i));
  for (std::int64_t i = 0; i < b.layout.count(); ++i) {
    const std::int64_t matrix = i / n / k, row = i / n % k;
    b2.set_bits((matrix * longer + row) * n + i % n, b.bits(i));
  }
  for (const std::string_view name : {"scale_a", "scale_b"}) {
    const Tensor* scale = tensors.find(name);
    Tensor* scale2 = run->tensors.find(name);
    if (!scale || !scale2) continue;
    fill(*scale2, 1);
    const bool along_k =
        name == "scale_a" && scale->layout.shape.size() == 2;  // [m, blocks]: rows get longer
    const std::int64_t row = along_k ? scale->layout.shape[1] : 1,
                       row2 = along_k ? scale2->layout.shape[1] : 1;
    for (std::int64_t i = 0; i < scale->layout.count(); ++i)
      scale2->set_bits(i / row * row2 + i % row, scale->bits(i));
  }
  run->outputs = {{"d"}};
  return run;
}

// D^T = B^T A^T: the same products in the same order.
Related transposed(const Case& test_case, const CaseTensors& tensors) {
  const Gemm gemm{test_case, tensors};
  const Problem& p = gemm.problem;
  if (!gemm.tight() || !gemm.is("c", "auto") || p.real("beta") != 0 || gemm.size("batch") != 1)
    return std::nullopt;
  if (gemm.contract.dequantize_b) return std::nullopt;  // of A nothing is
  // Two roundings, one for each scale, would come in the other order.
  const auto rounds_separately = [&](std::string_view scale, std::string_view per_vector) {
    return gemm.is(scale, "tensor") || gemm.is(scale, per_vector);
  };
  const auto& steps = gemm.contract.epilogue;
  if (rounds_separately("scale_a", "row") && rounds_separately("scale_b", "column") &&
      std::find(steps.begin(), steps.end(), EpilogueStep::scale_ab) == steps.end()) {
    return std::nullopt;
  }
  const auto swapped = [](std::string_view word) {
    return std::string(word == "row" ? "column" : word == "column" ? "row" : word);
  };
  const std::string_view layout = p.word("layout");
  const std::string turned{layout[1] == 't' ? 'n' : 't', layout[0] == 't' ? 'n' : 't'};
  Related run = gemm.with_fields({{"m", fmt::format("{}", gemm.size("n"))},
                                  {"n", fmt::format("{}", gemm.size("m"))},
                                  {"layout", turned},
                                  {"a", std::string(p.word("b"))},
                                  {"b", std::string(p.word("a"))},
                                  {"bias", swapped(p.word("bias"))},
                                  {"scale_a", swapped(p.word("scale_b"))},
                                  {"scale_b", swapped(p.word("scale_a"))},
                                  {"zero_a", fmt::format("{}", gemm.size("zero_b"))},
                                  {"zero_b", fmt::format("{}", gemm.size("zero_a"))}});
  if (!run) return std::nullopt;
  const auto turn = [&](std::string_view from, std::string_view to) {
    const Tensor& matrix = *tensors.find(from);
    const std::int64_t rows = matrix.layout.shape[1], columns = matrix.layout.shape[2];
    rearrange(matrix, *run->tensors.find(to),
              [=](std::int64_t i) { return i % rows * columns + i / rows; });
  };
  turn("a", "b");
  turn("b", "a");
  for (const auto& [from, to] : {std::pair{"scale_a", "scale_b"}, {"scale_b", "scale_a"}})
    copy(tensors.find(from), run->tensors.find(to));
  const std::int64_t m = gemm.size("m"), n = gemm.size("n");
  run->outputs = {{"d", 1, [m, n](std::int64_t i) { return i % m * n + i / m; }}};
  return run;
}

// A scale of 1 for every row multiplies by 1, which is exact, but for numbers that count as 0.
Related unit_scales(const Case& test_case, const CaseTensors& tensors) {
  const Gemm gemm{test_case, tensors};
  if (!gemm.is("scale_a", "none") || !gemm.is("scale_b", "none")) return std::nullopt;
  if (gemm.contract.subnormals_flushed) return std::nullopt;
  Related run = gemm.with_fields({{"scale_a", "row"}, {"scale_b", "column"}});
  if (!run) return std::nullopt;
  for (const std::string_view name : {"scale_a", "scale_b"}) fill(*run->tensors.find(name), 1);
  run->outputs = {{"d"}};
  return run;
}

// The first matrix of a batch, alone.
Related one_of_the_batch(const Case& test_case, const CaseTensors& tensors) {
  const Gemm gemm{test_case, tensors};
  if (gemm.size("batch") < 2) return std::nullopt;
  Related run = gemm.with_fields({{"batch", "1"}});
  if (!run) return std::nullopt;
  for (std::size_t i = 0; i < run->tensors.tensors.size(); ++i) {
    const Tensor* all = tensors.find(run->tensors.specs[i].name);
    if (run->tensors.specs[i].role == TensorRole::input) copy(all, &run->tensors.tensors[i]);
  }
  run->outputs = {{"d"}};
  return run;
}

}  // namespace

std::vector<Relation> gemm_relations(std::string_view operation) {
  if (operation != "gemm") return {};
  return {
      {"G1", "negating A negates every output", negated_a},
      {"G2", "doubling A doubles every output", doubled_a},
      {"G3", "reversing the rows of A reverses the rows of D", reversed_rows},
      {"G4", "zeros appended along k change nothing", longer_k},
      {"G7", "D transposed is B transposed times A transposed", transposed},
      {"G8", "scales of 1 change nothing", unit_scales},
      {"G9", "a matrix of a batch is the same alone", one_of_the_batch},
  };
}

}  // namespace plumbline
