// SPDX-License-Identifier: MIT
#include "kernels/ops/swiglu_mlp.h"

#include <algorithm>
#include <array>

#include "kernels/manifest/manifest.h"
#include "kernels/ops/tensor_formats.h"
#include "oracles/base/assert.h"
#include "oracles/bounds/contract/describe.h"
#include "oracles/reference/swiglu/oracle.h"
#include "oracles/stages/staged_swiglu.h"

namespace plumbline {
namespace {

constexpr std::int64_t kLargestSize = std::int64_t{1} << 40;
constexpr std::array<std::string_view, 2> kOutputs = {"bf16", "f32"};
constexpr std::array<std::string_view, 2> kWeights = {"nk", "kn"};
constexpr std::array<std::string_view, 4> kUnits = {"mma.sync", "wgmma", "tcgen05", "fma.f32"};
constexpr std::array<std::string_view, 2> kSiluForms = {"g / (1 + e)", "g * (1 / (1 + e))"};

constexpr auto kInteger = FieldKind::integer;
constexpr auto kWord = FieldKind::word;

using tensor_formats::kFloat;
using tensor_formats::kRealFactor;
using tensor_formats::kStored;

// clang-format off
constexpr std::array kSchema = {
    Field{"tokens",  kInteger, -1, 0, kLargestSize, {}, "rows of X, h and y"},
    Field{"d",       kInteger, -1, 0, kLargestSize, {}, "columns of X"},
    Field{"hidden",  kInteger, -1, 0, kLargestSize, {}, "columns of h"},
    Field{"d_out",   kInteger, -1, 0, kLargestSize, {}, "columns of y"},
    Field{"weights", kWord, 0, 0, 0, kWeights,          "nk: stored as [outputs, inputs]; kn: as [inputs, outputs]"},
    Field{"pad",     kInteger, 0, 0, kLargestSize, {},  "elements after each row of the matrices"},
    Field{"out",     kWord, 0, 0, 0, kOutputs,          "format of y"},
};

constexpr std::array kTerms = {
    Field{"unit", kWord, kNoDefault, 0, 0, kUnits,     "what adds products, as for GEMM"},
    Field{"silu", kWord, kNoDefault, 0, 0, kSiluForms, "how silu(g) comes from e = ex2(fl(-g fl(log2 e))), each operation rounded to f32"},
};

constexpr std::array kTensors = {
    TensorName{"x",      TensorRole::input,  "[tokens, d]", "", kRealFactor},
    TensorName{"w_gate", TensorRole::input,  "[hidden, d]", "", kRealFactor},
    TensorName{"w_up",   TensorRole::input,  "[hidden, d]", "", kRealFactor},
    TensorName{"w_down", TensorRole::input,  "[d_out, hidden]", "", kRealFactor},
    TensorName{"h",      TensorRole::output, "[tokens, hidden]", "", kFloat},
    TensorName{"y",      TensorRole::output, "[tokens, d_out]", "{out}", kStored, "out"},
};

// clang-format on

// A matrix [rows, columns] in memory, by rows or by columns.
struct Stored {
  std::int64_t rows = 0, columns = 0;
  bool by_columns = false;

  std::int64_t leading(std::int64_t pad) const { return (by_columns ? rows : columns) + pad; }
};

Stored stored(std::string_view tensor, const Problem& problem) {
  const std::int64_t tokens = problem.integer("tokens"), d = problem.integer("d"),
                     hidden = problem.integer("hidden"), d_out = problem.integer("d_out");
  const bool by_columns = problem.word("weights") == "kn";
  if (tensor == "x") return {tokens, d};
  if (tensor == "h") return {tokens, hidden};
  if (tensor == "y") return {tokens, d_out};
  if (tensor == "w_down") return {d_out, hidden, by_columns};
  return {hidden, d, by_columns};
}

Result<TensorLayout> layout_of(std::string_view tensor, const Problem& problem, FormatId format) {
  const Stored matrix = stored(tensor, problem);
  const std::int64_t leading = matrix.leading(problem.integer("pad"));
  TensorLayout layout;
  layout.format = format;
  layout.shape = {matrix.rows, matrix.columns};
  layout.strides = matrix.by_columns ? std::vector{std::int64_t{1}, leading}
                                     : std::vector{leading, std::int64_t{1}};
  if (const Status usable = layout.check(); !usable) return usable.error();
  return layout;
}

template <char tensor>
Result<std::int64_t> leading(const Problem& problem) {
  constexpr std::string_view kName = tensor == 'x'   ? "x"
                                     : tensor == 'w' ? "w_gate"
                                     : tensor == 'd' ? "w_down"
                                     : tensor == 'h' ? "h"
                                                     : "y";
  return stored(kName, problem).leading(problem.integer("pad"));
}

// clang-format off
constexpr std::array kDerived = {
    Derived{"ld_x",    leading<'x'>, "leading dimension of X"},
    Derived{"ld_w",    leading<'w'>, "leading dimension of w_gate and w_up"},
    Derived{"ld_down", leading<'d'>, "leading dimension of w_down"},
    Derived{"ld_h",    leading<'h'>, "leading dimension of h"},
    Derived{"ld_y",    leading<'y'>, "leading dimension of y"},
};
// clang-format on

constexpr std::string_view kAbout =
    R"~(The MLP of a transformer block: h = silu(X · w_gateᵀ) ⊙ (X · w_upᵀ) and y = h · w_downᵀ, with silu(g) = g / (1 + exp(-g)). Training keeps h,
so it is an output, and judged: from the bounds of its two sums through the steps of `oracles/bounds/contract/swiglu.h`, which says what is rounded and
what becomes of infinities and NaN. y is judged as an exact GEMM of the h that the kernel stored: an h that is admissible, though not the
nearest, is no error of y, and one that is wrong is reported once. So y cannot be judged without h.
)~";

constexpr std::array kQuantized = {Operation::Quantized{"x"}, Operation::Quantized{"w_gate"},
                                   Operation::Quantized{"w_up"}, Operation::Quantized{"w_down"}};

constexpr std::array kFollows = {Operation::Follows{"y", "h"}};

SwigluContract contract_of(const Problem& terms) {
  const ContractUnit unit = *contract_unit(terms.word("unit"));
  const auto form = std::find(kSiluForms.begin(), kSiluForms.end(), terms.word("silu"));
  PLUMB_ASSERT(form != kSiluForms.end());
  return {unit.unit, unit.instruction, static_cast<SiluForm>(form - kSiluForms.begin())};
}

constexpr std::array<std::string_view, 1> kUsualNames = {"swiglu"};
constexpr std::array<std::string_view, 3> kDeepProblems = {"tokens=64 d=64 hidden=128 d_out=64",
                                                           "tokens=64 d=128 hidden=256 d_out=128",
                                                           "tokens=16 d=64 hidden=512 d_out=64"};

class SwigluMlp final : public Operation {
 public:
  std::string_view name() const override { return "swiglu_mlp"; }

  std::string_view about() const override { return kAbout; }

  std::span<const Field> schema() const override { return kSchema; }

  std::span<const TensorName> tensor_names() const override { return kTensors; }

  std::span<const Derived> derived() const override { return kDerived; }

  std::span<const Field> terms() const override { return kTerms; }

  std::span<const Follows> follows() const override { return kFollows; }

  Status check_terms(const Problem& terms, const Manifest& manifest) const override {
    const Problem any(manifest.schema());
    const auto format_of = [&](std::string_view tensor) {
      return manifest.tensor_format(tensor, any);
    };
    const Contract product = contract_of(terms).product();
    for (const int target : manifest.targets) {
      for (const auto& [a, b] : {std::pair{"x", "w_gate"}, {"x", "w_up"}, {"h", "w_down"}}) {
        if (const Status possible = product.check(target, format_of(a), format_of(b)); !possible)
          return possible;
      }
    }
    return {};
  }

  Result<std::vector<TensorSpec>> tensors(const Problem& problem,
                                          const Manifest& manifest) const override {
    std::vector<TensorSpec> specs;
    for (const TensorName& tensor : kTensors) {
      Result<TensorLayout> layout =
          layout_of(tensor.name, problem, manifest.tensor_format(tensor.name, problem));
      if (!layout) return layout.error();
      specs.push_back({std::string(tensor.name), tensor.role, *std::move(layout)});
    }
    return specs;
  }

  double work(const Problem& problem) const override {
    const auto size = [&](std::string_view field) {
      return static_cast<double>(problem.integer(field));
    };
    return size("tokens") * size("hidden") * (2 * size("d") + size("d_out"));
  }

  std::unique_ptr<CaseOracle> oracle(const Problem&, const Manifest& manifest, int sm,
                                     const CaseTensors& tensors) const override {
    return std::make_unique<SwigluOracle>(mlp_of(tensors), contract_of(manifest.terms), sm);
  }

  std::span<const Quantized> quantized() const override { return kQuantized; }

  Usual usual() const override { return {kUsualNames, {}, kDeepProblems}; }

  std::unique_ptr<StagedComputation> staged(const Problem&, const Manifest& manifest, int sm,
                                            const CaseTensors& tensors,
                                            const CaseTensors& sources) const override {
    return staged_swiglu(
        mlp_of(tensors), contract_of(manifest.terms), sm,
        {sources.find("x"), sources.find("w_gate"), sources.find("w_up"), sources.find("w_down")});
  }

 private:
  static SwigluProblem mlp_of(const CaseTensors& tensors) {
    SwigluProblem mlp;
    mlp.x = tensors.find("x");
    mlp.gate = tensors.find("w_gate");
    mlp.up = tensors.find("w_up");
    mlp.down = tensors.find("w_down");
    mlp.h = tensors.find("h");
    mlp.output = tensors.find("y")->layout.format;
    return mlp;
  }
};

}  // namespace

const Operation& swiglu_mlp_operation() {
  static const SwigluMlp operation;
  return operation;
}

}  // namespace plumbline
