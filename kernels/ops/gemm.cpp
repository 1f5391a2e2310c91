// SPDX-License-Identifier: MIT
// The GEMM operation as tables: fields, tensors, derived names; and the way from a problem to its
// oracle.
#include "kernels/ops/gemm.h"

#include "kernels/manifest/manifest.h"
#include "kernels/ops/gemm_layout.h"
#include "kernels/ops/gemm_quantize.h"
#include "kernels/ops/tensor_formats.h"
#include "oracles/base/assert.h"
#include "oracles/bounds/contract/describe.h"
#include "oracles/reference/gemm/gemm.h"
#include "oracles/reference/gemm/oracle.h"
#include "oracles/reference/gemm/scales.h"
#include "oracles/stages/staged_gemm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace plumbline {
namespace {

constexpr std::int64_t kLargestSize = std::int64_t{1} << 40;
constexpr std::int64_t kLargestStride = std::int64_t{1} << 62;
constexpr std::int64_t kOne = 0x3f800000;  // 1 as f32
constexpr std::int64_t kMustBeGiven = -1;

constexpr std::array<std::string_view, 4> kLayouts = {"nn", "nt", "tn", "tt"};
constexpr std::array<std::string_view, 7> kOperands = {"bf16", "f16", "e4m3", "e5m2",
                                                       "s8",   "u8",  "e2m1"};
constexpr std::array<std::string_view, 6> kOutputs = {"bf16", "f32", "f16", "s32", "e4m3", "s8"};
// Those, and what only a kernel with one format of D has.
constexpr std::array<std::string_view, 7> kGemmOutput = {"bf16", "f32",  "f16", "s32",
                                                         "e4m3", "e5m2", "s8"};
constexpr std::array<std::string_view, 6> kScalesOfA = {"none",  "tensor", "row",
                                                        "1x128", "1x32",   "1x16"};
constexpr std::array<std::string_view, 6> kScalesOfB = {"none",    "tensor", "column",
                                                        "128x128", "32x1",   "16x1"};
constexpr std::array<std::string_view, 3> kScaleLayouts = {"row_major", "k_major", "128x4"};
constexpr std::array<std::string_view, 2> kScalesOfD = {"none", "tensor"};
constexpr std::array<std::string_view, 3> kBiases = {"none", "row", "column"};
constexpr std::array<std::string_view, 5> kActivations = {"none", "relu", "gelu", "gelu_tanh",
                                                          "silu"};
constexpr std::array<std::string_view, 2> kPresences = {"auto", "always"};

constexpr auto kInteger = FieldKind::integer;
constexpr auto kReal = FieldKind::real;
constexpr auto kWord = FieldKind::word;

using tensor_formats::kF32;
using tensor_formats::kFactor;
using tensor_formats::kScale;
using tensor_formats::kStored;

// clang-format off
constexpr std::array kSchema = {
    Field{"m",        kInteger, kMustBeGiven, 0, kLargestSize, {}, "rows of A and D"},
    Field{"n",        kInteger, kMustBeGiven, 0, kLargestSize, {}, "columns of B and D"},
    Field{"k",        kInteger, kMustBeGiven, 0, kLargestSize, {}, "columns of A, rows of B"},
    Field{"batch",    kInteger, 1, 0, kLargestSize, {},   "independent products"},
    Field{"layout",   kWord, 0, 0, 0, kLayouts,           "how A and B are stored; t is transposed"},
    Field{"out",      kWord, 0, 0, 0, kOutputs,           "format of C and D"},
    Field{"bias",     kWord, 0, 0, 0, kBiases,            "one f32 per row or per column of D"},
    Field{"act",      kWord, 0, 0, 0, kActivations,       "activation"},
    Field{"alpha",    kReal, kOne, 0, 0, {},              "factor of the product"},
    Field{"beta",     kReal, 0, 0, 0, {},                 "factor of C; 0 means that C is not read"},
    Field{"c",        kWord, 0, 0, 0, kPresences,         "always: pass C although beta is 0"},
    Field{"lda",      kInteger, 0, 0, kLargestStride, {}, "leading dimension of A; 0 is tight"},
    Field{"ldb",      kInteger, 0, 0, kLargestStride, {}, "leading dimension of B; 0 is tight"},
    Field{"ldc",      kInteger, 0, 0, kLargestStride, {}, "leading dimension of C; 0 is tight"},
    Field{"ldd",      kInteger, 0, 0, kLargestStride, {}, "leading dimension of D; 0 is tight"},
    Field{"stride_a", kInteger, -1, -1, kLargestStride, {}, "batch stride of A in elements; -1 is tight, 0 shares A"},
    Field{"stride_b", kInteger, -1, -1, kLargestStride, {}, "batch stride of B in elements; -1 is tight, 0 shares B"},
    Field{"stride_c", kInteger, -1, -1, kLargestStride, {}, "batch stride of C in elements; -1 is tight, 0 shares C"},
    Field{"stride_d", kInteger, -1, -1, kLargestStride, {}, "batch stride of D in elements; -1 is tight"},
    Field{"a",        kWord, 0, 0, 0, kOperands,          "format of A"},
    Field{"b",        kWord, 0, 0, 0, kOperands,          "format of B"},
    Field{"scale_a",  kWord, 0, 0, 0, kScalesOfA,         "scales of A: one, per row, or per block of 1 x 128, 1 x 32 or 1 x 16"},
    Field{"scale_b",  kWord, 0, 0, 0, kScalesOfB,         "scales of B: one, per column, or per block (k x n)"},
    Field{"scale_d",  kWord, 0, 0, 0, kScalesOfD,         "factor before the conversion to the output format"},
    Field{"zero_a",   kInteger, 0, -255, 255, {},         "zero point of A: the product is of a - zero_a"},
    Field{"zero_b",   kInteger, 0, -255, 255, {},         "zero point of B"},
    Field{"zero_d",   kInteger, 0, -255, 255, {},         "zero point of D, added before its conversion"},
    Field{"splits",   kInteger, 1, 1, 64, {},             "parts that k is split into"},
    Field{"scale_layout", kWord, 0, 0, 0, kScaleLayouts,  "how scales of blocks of k are stored: those of A [m, blocks] and of B [blocks, n]; k_major: of B [n, blocks]; 128x4: of both in tiles of 128 rows or columns and 4 blocks, as cuBLAS takes them"},
};

constexpr std::array kTensors = {
    TensorName{"a",    TensorRole::input,  "[batch, m, k]", "", kFactor, "a"},
    TensorName{"b",    TensorRole::input,  "[batch, k, n]", "", kFactor, "b"},
    TensorName{"c",    TensorRole::input,  "[batch, m, n]; when beta is not 0, or c=always", "", kGemmOutput, "", false, "", "d"},
    TensorName{"bias", TensorRole::input,  "[m] for bias=row, [n] for bias=column", "f32", kStored},
    TensorName{"scale_a", TensorRole::input, "[1], [m] or [m, blocks of k]", "f32", kScale},
    TensorName{"scale_b", TensorRole::input, "[1], [n] or [blocks of k, n or blocks of n]", "f32", kScale},
    TensorName{"scale_d", TensorRole::input, "[1]", "f32", kF32},
    TensorName{"d",    TensorRole::output, "[batch, m, n]", "", kGemmOutput, "out"},
};

// clang-format on

template <GemmMatrix kMatrix>
Result<std::int64_t> leading_dimension(const Problem& problem) {
  return gemm_leading_dimension(problem, kMatrix);
}

template <GemmMatrix kMatrix>
Result<std::int64_t> batch_stride(const Problem& problem) {
  return gemm_batch_stride(problem, kMatrix);
}

Result<std::int64_t> has_c(const Problem& problem) { return std::int64_t{gemm_has_c(problem)}; }

constexpr std::array kDerived = {
    Derived{"ld_a", leading_dimension<GemmMatrix::a>, "leading dimension of A in effect"},
    Derived{"ld_b", leading_dimension<GemmMatrix::b>, "leading dimension of B in effect"},
    Derived{"ld_c", leading_dimension<GemmMatrix::c>, "leading dimension of C in effect"},
    Derived{"ld_d", leading_dimension<GemmMatrix::d>, "leading dimension of D in effect"},
    Derived{"batch_stride_a", batch_stride<GemmMatrix::a>, "batch stride of A in effect"},
    Derived{"batch_stride_b", batch_stride<GemmMatrix::b>, "batch stride of B in effect"},
    Derived{"batch_stride_c", batch_stride<GemmMatrix::c>, "batch stride of C in effect"},
    Derived{"batch_stride_d", batch_stride<GemmMatrix::d>, "batch stride of D in effect"},
    Derived{"has_c", has_c, "1 when the kernel is given C"},
};

BiasKind bias_kind(const Problem& problem) {
  const std::string_view word = problem.word("bias");
  return word == "row"      ? BiasKind::per_row
         : word == "column" ? BiasKind::per_column
                            : BiasKind::none;
}

TensorLayout bias_layout(const Problem& problem, FormatId format) {
  return {.format = format,
          .shape = {problem.integer(bias_kind(problem) == BiasKind::per_row ? "m" : "n")},
          .strides = {1}};
}

constexpr std::array<Operation::Factors, 1> kFactors = {Operation::Factors{"d", "a", "b"}};

constexpr std::string_view kAbout =
    R"~(D = act(alpha · A · B + beta · C + bias), over a batch. The activations: relu(x) = max(x, 0); gelu(x) = x (1 + erf(x / √2)) / 2;
gelu_tanh(x) = x (1 + tanh(√(2 / π) (x + 0.044715 x³))) / 2; silu(x) = x / (1 + e^-x). For the last three the contract's epilogue says how they
are computed.

With quantized operands the product is of (a - zero_a) and (b - zero_b), times the scales of A and B; scale_d and zero_d come before the
conversion to an 8-bit D. Scales of tensors, rows and columns belong to the epilogue; scales of blocks of k are applied where the contract
promotes a partial sum, or by the instruction where the unit has `.block_scale`. Where the contract dequantizes B, its scales and zero point are applied before the product. Scales are shared by all
matrices of a batch.

Errors of a problem, for every kernel: a leading dimension shorter than the stored row, outputs of different batch elements that overlap,
sizes whose storage 63 bits cannot count.

Reals are written as the shortest decimal that reads back to the same f32 (`0.1`, `-0`, `inf`); a NaN as its bits (`0x7fc00000`), and any
f32 may be given as bits. `m=65 n=8 k=33 layout=nt out=f32` is a whole problem.
)~";

constexpr std::array kQuantized = {Operation::Quantized{"a", "scale_a"},
                                   Operation::Quantized{"b", "scale_b"}};

constexpr std::array<std::string_view, 2> kUsualNames = {"gemm", "matmul"};
constexpr std::array<std::string_view, 3> kUsualTensors = {"a b d", "a b bias d", "a b c bias d"};
constexpr std::array<std::string_view, 3> kDeepProblems = {"m=64 n=64 k=1024", "m=64 n=64 k=256",
                                                           "m=32 n=32 k=4096"};

class Gemm final : public Operation {
 public:
  std::string_view name() const override { return "gemm"; }

  std::string_view about() const override { return kAbout; }

  std::span<const Field> schema() const override { return kSchema; }

  std::span<const TensorName> tensor_names() const override { return kTensors; }

  std::span<const Derived> derived() const override { return kDerived; }

  std::span<const Factors> factors() const override { return kFactors; }

  std::vector<DotProducts> dot_products(std::int64_t count, std::int64_t depth) const override {
    return {{"d", "a", "b", fmt::format("m={0} n={0} k={1}", count, depth)}};
  }

  Result<std::vector<TensorSpec>> tensors(const Problem& problem,
                                          const Manifest& manifest) const override {
    std::vector<TensorSpec> specs;
    const auto format_of = [&](std::string_view tensor) {
      return manifest.tensor_format(tensor, problem);
    };
    const auto add = [&](std::string_view tensor, TensorRole role, GemmMatrix matrix) -> Status {
      Result<TensorLayout> layout = gemm_matrix_layout(problem, matrix, format_of(tensor));
      if (!layout) return layout.error();
      specs.push_back({std::string(tensor), role, *std::move(layout)});
      return {};
    };
    if (Status added = add("a", TensorRole::input, GemmMatrix::a); !added) return added.error();
    if (Status added = add("b", TensorRole::input, GemmMatrix::b); !added) return added.error();
    if (gemm_has_c(problem)) {
      if (Status added = add("c", TensorRole::input, GemmMatrix::c); !added) return added.error();
    }
    if (bias_kind(problem) != BiasKind::none) {
      specs.push_back({"bias", TensorRole::input, bias_layout(problem, format_of("bias"))});
    }
    for (const std::string_view scale : {"scale_a", "scale_b", "scale_d"}) {
      if (problem.word(scale) == "none") continue;
      Result<TensorLayout> layout = gemm_scale_layout(problem, scale, format_of(scale));
      if (!layout) return layout.error();
      specs.push_back({std::string(scale), TensorRole::input, *std::move(layout)});
    }
    if (Status added = add("d", TensorRole::output, GemmMatrix::d); !added) return added.error();
    return specs;
  }

  std::uint64_t relations_one_in() const override { return 4; }

  bool has_scaled_operands() const override { return true; }

  bool has_pure_sums(const Problem& problem, const Manifest& manifest) const override {
    return manifest.contract(problem, "d").unit != Unit::int32 && problem.word("bias") == "none" &&
           problem.word("act") == "none" && problem.real("beta") == 0 &&
           problem.integer("zero_a") == 0 && problem.integer("zero_b") == 0 &&
           problem.integer("zero_d") == 0;
  }

  double work(const Problem& problem) const override {
    double work = 1;
    for (const std::string_view size : {"batch", "m", "n", "k"})
      work *= static_cast<double>(problem.integer(size));
    return work;
  }

  std::unique_ptr<CaseOracle> oracle(const Problem& problem, const Manifest& manifest, int sm,
                                     const CaseTensors& tensors) const override {
    const Contract contract = manifest.contract(problem, "d");
    return std::make_unique<GemmOracle>(gemm_problem(problem, tensors, contract), contract, sm);
  }

  std::span<const Quantized> quantized() const override { return kQuantized; }

  Usual usual() const override { return {kUsualNames, kUsualTensors, kDeepProblems}; }

  void quantize(const Problem& problem, const CaseTensors& sources,
                CaseTensors& tensors) const override {
    quantize_operand(problem, GemmSide::a, sources, tensors);
    quantize_operand(problem, GemmSide::b, sources, tensors);
  }

  std::unique_ptr<StagedComputation> staged(const Problem& problem, const Manifest& manifest,
                                            int sm, const CaseTensors& tensors,
                                            const CaseTensors& sources) const override {
    const Contract contract = manifest.contract(problem, "d");
    return staged_gemm(gemm_problem(problem, tensors, contract), contract, sm, *sources.find("a"),
                       *sources.find("b"));
  }

  // Every kind of scale and activation that the kernel has, and zero points where it has any, for
  // every pair of operand formats.
  Status check_terms(const Problem&, const Manifest& manifest) const override {
    Problem problem(manifest.schema());
    Status possible;
    const auto for_each_word = [&](std::string_view name, const auto& visit) {
      const std::span<const Field> schema = manifest.schema();
      const Field& field = *std::ranges::find(schema, name, &Field::name);
      for (const std::string_view word : field.choices) {
        if (!possible) return;
        problem.set_word(name, word);
        visit();
      }
    };
    for_each_word("a", [&] {
      for_each_word("b", [&] {
        for_each_word("scale_a", [&] {
          for_each_word("scale_b", [&] {
            for_each_word("act", [&] { possible = check_problem(problem, manifest); });
          });
        });
      });
    });
    return possible;
  }

 private:
  // Of tensors without elements.
  static Status check_problem(const Problem& problem, const Manifest& manifest) {
    GemmProblem gemm;
    std::array<Tensor, 4> tensors;
    const auto given = [&](std::string_view name, Tensor& tensor) {
      tensor.layout.format = manifest.tensor_format(name, problem);
      return &tensor;
    };
    gemm.a = given("a", tensors[0]);
    gemm.b = given("b", tensors[1]);
    if (problem.word("scale_a") != "none") gemm.scale_a = given("scale_a", tensors[2]);
    if (problem.word("scale_b") != "none") gemm.scale_b = given("scale_b", tensors[3]);
    gemm.scale_a_block = gemm_scale_block(problem, "scale_a");
    gemm.scale_b_block = gemm_scale_block(problem, "scale_b");
    gemm.activation = *activation(problem.word("act"));
    for (const Field& field : manifest.schema()) {
      if (!field.fixed && field.name == "zero_a") gemm.zero_a = 1;
      if (!field.fixed && field.name == "zero_b") gemm.zero_b = 1;
    }
    return check_gemm(gemm, manifest.promised.contract);
  }

  static GemmProblem gemm_problem(const Problem& problem, const CaseTensors& tensors,
                                  const Contract& contract) {
    GemmProblem gemm;
    gemm.m = problem.integer("m");
    gemm.n = problem.integer("n");
    gemm.k = problem.integer("k");
    gemm.batch = problem.integer("batch");
    gemm.a = tensors.find("a");
    gemm.b = tensors.find("b");
    // With beta 0 a C that is there must have no effect: only explanations of failures look at it.
    gemm.c = tensors.find("c");
    gemm.bias = tensors.find("bias");
    gemm.alpha = problem.real("alpha");
    gemm.beta = problem.real("beta");
    gemm.bias_kind = bias_kind(problem);
    gemm.activation = *activation(problem.word("act"));
    gemm.scale_a = tensors.find("scale_a");
    gemm.scale_b = tensors.find("scale_b");
    gemm.scale_d = tensors.find("scale_d");
    gemm.scale_a_block = gemm_scale_block(problem, "scale_a");
    gemm.scale_b_block = gemm_scale_block(problem, "scale_b");
    gemm.zero_a = problem.integer("zero_a");
    gemm.zero_b = problem.integer("zero_b");
    gemm.zero_d = problem.integer("zero_d");
    gemm.scale_products = scale_products(contract);
    const Tensor* d = tensors.find("d");
    PLUMB_ASSERT(gemm.a && gemm.b && d);
    gemm.output = d->layout.format;
    return contract.dequantize_b ? with_dequantized_b(gemm, *contract.dequantize_b) : gemm;
  }
};

}  // namespace

const Operation& gemm_operation() {
  static const Gemm operation;
  return operation;
}

}  // namespace plumbline
