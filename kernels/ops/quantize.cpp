// SPDX-License-Identifier: MIT
#include "kernels/ops/quantize.h"

#include <algorithm>
#include <array>

#include "kernels/manifest/bad_input.h"
#include "kernels/manifest/manifest.h"
#include "kernels/ops/tensor_formats.h"
#include "oracles/base/assert.h"
#include "oracles/reference/quantize/oracle.h"
#include "oracles/stages/staged_quantize.h"

#include <fmt/format.h>

namespace plumbline {
namespace {

constexpr std::int64_t kLargestSize = std::int64_t{1} << 40;
constexpr std::array<std::string_view, 3> kInputs = {"f32", "bf16", "f16"};
constexpr std::array<std::string_view, 3> kCodes = {"e4m3", "e5m2", "s8"};
constexpr std::array<std::string_view, 3> kGroups = {"tensor", "row", "1x128"};

constexpr auto kInteger = FieldKind::integer;
constexpr auto kWord = FieldKind::word;

using tensor_formats::kF32;
using tensor_formats::kStored;

// clang-format off
constexpr std::array kSchema = {
    Field{"m",     kInteger, -1, 0, kLargestSize, {}, "rows of X"},
    Field{"n",     kInteger, -1, 0, kLargestSize, {}, "columns of X"},
    Field{"in",    kWord, 0, 0, 0, kInputs,           "format of X"},
    Field{"out",   kWord, 0, 0, 0, kCodes,            "format of the codes"},
    Field{"scale", kWord, 0, 0, 0, kGroups,           "one scale per tensor, per row, or per 128 columns of a row"},
    Field{"ldx",   kInteger, 0, 0, kLargestSize, {},  "leading dimension of X; 0 is tight"},
    Field{"ldq",   kInteger, 0, 0, kLargestSize, {},  "leading dimension of Q; 0 is tight"},
};

constexpr std::array kTensors = {
    TensorName{"x",     TensorRole::input,  "[m, n]", "{in}", kStored, "in"},
    TensorName{"q",     TensorRole::output, "[m, n]: the codes", "{out}", kCodes, "out"},
    TensorName{"scale", TensorRole::output, "[1], [m] or [m, blocks of n]", "f32", kF32},
    TensorName{"amax",  TensorRole::output, "the largest magnitudes; shaped as scale", "f32", kF32},
};

// clang-format on

std::int64_t leading(const Problem& problem, std::string_view field) {
  const std::int64_t given = problem.integer(field);
  return given != 0 ? given : problem.integer("n");
}

Result<std::int64_t> leading_x(const Problem& problem) { return leading(problem, "ldx"); }

Result<std::int64_t> leading_q(const Problem& problem) { return leading(problem, "ldq"); }

constexpr std::array kDerived = {
    Derived{"ld_x", leading_x, "leading dimension of X in effect"},
    Derived{"ld_q", leading_q, "leading dimension of Q in effect"},
};

Result<TensorLayout> matrix(const Problem& problem, std::string_view field, FormatId format) {
  const std::int64_t n = problem.integer("n"), stride = leading(problem, field);
  if (stride < n) {
    return bad_input(fmt::format("{}={} is shorter than a row of {} elements", field, stride, n),
                     fmt::format("use {}=0 for tight rows", field));
  }
  TensorLayout layout = dense_layout(format, {problem.integer("m"), n});
  layout.strides[0] = stride;
  if (const Status usable = layout.check(); !usable) return usable.error();
  return layout;
}

std::span<const Field> quantize_terms() {
  static const std::array kTerms = {Field{"rule", kWord, kNoDefault, 0, 0, quantize_rule_words(),
                                          "what is rounded to the code, each operation to f32"}};
  return kTerms;
}

constexpr std::string_view kAbout =
    R"~(8-bit codes Q of X, with one f32 scale per tensor, per row or per 128 columns of a row, so that X is about Q · scale:

- amax is the largest magnitude of the group; NaN if any element is NaN
- scale = amax == 0 ? 1 : max(fl(amax / limit), 2^-126), where limit is the largest finite code (127 for s8)
- q is the nearest code, ties to even and saturating, of what the contract's rule says; NaN becomes NaN, or 0 in s8

The rules: `"x / scale"`, `"x * (1 / scale)"`, `"x * (limit / amax)"`, every operation rounded to f32. All bits of all outputs follow.
)~";

constexpr std::array kQuantized = {Operation::Quantized{"x"}};

constexpr std::array<std::string_view, 1> kUsualNames = {"quant"};
constexpr std::array<std::string_view, 2> kUsualTensors = {"x q scale", "x q scale amax"};
constexpr std::array<std::string_view, 3> kDeepProblems = {"m=64 n=256", "m=64 n=1024",
                                                           "m=16 n=4096"};

class Quantize final : public Operation {
 public:
  std::string_view name() const override { return "quantize"; }

  std::string_view about() const override { return kAbout; }

  std::span<const Field> schema() const override { return kSchema; }

  std::span<const TensorName> tensor_names() const override { return kTensors; }

  std::span<const Derived> derived() const override { return kDerived; }

  std::span<const Field> terms() const override { return quantize_terms(); }

  Result<std::vector<TensorSpec>> tensors(const Problem& problem,
                                          const Manifest& manifest) const override {
    Result<TensorLayout> x = matrix(problem, "ldx", manifest.tensor_format("x", problem));
    if (!x) return x.error();
    Result<TensorLayout> q = matrix(problem, "ldq", manifest.tensor_format("q", problem));
    if (!q) return q.error();
    const std::int64_t m = problem.integer("m"), n = problem.integer("n");
    const std::string_view group = problem.word("scale");
    const std::vector<std::int64_t> shape = group == "tensor" ? std::vector<std::int64_t>{1}
                                            : group == "row"  ? std::vector<std::int64_t>{m}
                                                              : std::vector{m, (n + 127) / 128};
    const TensorLayout scale = dense_layout(FormatId::f32, shape);
    return std::vector<TensorSpec>{{"x", TensorRole::input, *std::move(x)},
                                   {"q", TensorRole::output, *std::move(q)},
                                   {"scale", TensorRole::output, scale},
                                   {"amax", TensorRole::output, scale}};
  }

  double work(const Problem& problem) const override {
    return static_cast<double>(problem.integer("m")) * static_cast<double>(problem.integer("n"));
  }

  std::unique_ptr<CaseOracle> oracle(const Problem& problem, const Manifest& manifest, int,
                                     const CaseTensors& tensors) const override {
    return std::make_unique<QuantizeOracle>(problem_of(problem, manifest, tensors));
  }

  std::span<const Quantized> quantized() const override { return kQuantized; }

  Usual usual() const override { return {kUsualNames, kUsualTensors, kDeepProblems}; }

  std::unique_ptr<StagedComputation> staged(const Problem& problem, const Manifest& manifest, int,
                                            const CaseTensors& tensors,
                                            const CaseTensors& sources) const override {
    return staged_quantize(problem_of(problem, manifest, tensors), *sources.find("x"));
  }

 private:
  static QuantizeProblem problem_of(const Problem& problem, const Manifest& manifest,
                                    const CaseTensors& tensors) {
    QuantizeProblem quantize;
    quantize.m = problem.integer("m");
    quantize.n = problem.integer("n");
    quantize.x = tensors.find("x");
    quantize.code = tensors.find("q")->layout.format;
    const std::string_view group = problem.word("scale");
    quantize.group = group == "tensor" ? ScaleGroup::tensor
                     : group == "row"  ? ScaleGroup::row
                                       : ScaleGroup::block_of_128;
    const auto words = quantize_rule_words();
    quantize.rule = static_cast<QuantizeRule>(
        std::find(words.begin(), words.end(), manifest.terms.word("rule")) - words.begin());
    return quantize;
  }
};

}  // namespace

const Operation& quantize_operation() {
  static const Quantize operation;
  return operation;
}

}  // namespace plumbline
