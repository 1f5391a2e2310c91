// SPDX-License-Identifier: MIT
// Three GEMMs: dx = dy * w, dw = dy^T * x, db = ones * dy. The scales of quantized operands
// multiply each sum; weights in s8 with a scale per output channel become bf16 first, because the
// channel is the summed dimension of dx.
#include "kernels/ops/linear_backward.h"

#include <fmt/format.h>

#include <array>

#include "kernels/manifest/manifest.h"
#include "kernels/ops/gemm_quantize.h"
#include "kernels/ops/tensor_formats.h"
#include "oracles/base/assert.h"
#include "oracles/formats/encode.h"
#include "oracles/reference/gemm/joined_oracle.h"
#include "oracles/reference/gemm/matrix_operand.h"
#include "oracles/reference/gemm/scales.h"
#include "oracles/stages/staged_gemm.h"
#include "oracles/stages/staged_join.h"

namespace plumbline {
namespace {

constexpr std::int64_t kLargestSize = std::int64_t{1} << 40;
constexpr std::array<std::string_view, 2> kOutputs = {"bf16", "f32"};
constexpr std::array<std::string_view, 3> kScales = {"none", "tensor", "channel"};

constexpr auto kInteger = FieldKind::integer;
constexpr auto kWord = FieldKind::word;

using tensor_formats::kF32;
using tensor_formats::kFactor;
using tensor_formats::kStored;

// clang-format off
constexpr std::array kSchema = {
    Field{"m",      kInteger, -1, 0, kLargestSize, {}, "rows of x and dy: tokens"},
    Field{"n",      kInteger, -1, 0, kLargestSize, {}, "output features: columns of dy, rows of w"},
    Field{"k",      kInteger, -1, 0, kLargestSize, {}, "input features: columns of x and w"},
    Field{"out",    kWord, 0, 0, 0, kOutputs,          "format of dx and dw"},
    Field{"scales", kWord, 0, 0, 0, kScales,           "tensor: one each of dy, x and w; channel: one per row of w, which becomes bf16"},
};

constexpr std::array kTensors = {
    TensorName{"dy",       TensorRole::input,  "[m, n]", "", kFactor},
    TensorName{"x",        TensorRole::input,  "[m, k]", "", kFactor},
    TensorName{"w",        TensorRole::input,  "[n, k]", "", kFactor},
    TensorName{"scale_dy", TensorRole::input,  "[1]", "f32", kF32},
    TensorName{"scale_x",  TensorRole::input,  "[1]", "f32", kF32},
    TensorName{"scale_w",  TensorRole::input,  "[1], or [n] for scales=channel", "f32", kF32},
    TensorName{"dx",       TensorRole::output, "[m, k]", "{out}", kStored, "out"},
    TensorName{"dw",       TensorRole::output, "[n, k]", "{out}", kStored, "out"},
    TensorName{"db",       TensorRole::output, "[n]", "f32", kStored},
};
// clang-format on

constexpr std::array kFactors = {Operation::Factors{"dx", "dy", "w"},
                                 Operation::Factors{"dw", "dy", "x"},
                                 Operation::Factors{"db", "dy", "dy"}};

Tensor ones(FormatId id, std::int64_t count) {
  Tensor tensor(dense_layout(id, {1, 1, count}));
  const std::uint64_t one = encode(format(id), 1.0);
  for (std::int64_t i = 0; i < count; ++i) tensor.set_bits(i, one);
  return tensor;
}

constexpr std::string_view kAbout =
    R"~(The gradients of y = x · w^T + bias for a given dy: dx = dy · w, dw = dy^T · x, db = the column sums of dy. Each is judged as a GEMM against
its own contract (`[contract.db]`); in contracts `scale_a` stands for the scale of dy, `scale_b` for that of w or x.

With `scales=channel`, w holds s8 weights with a scale per row; they become bf16(fl(w · scale)) before they are multiplied, and that rounding
belongs to the function.
)~";

constexpr std::array<std::string_view, 3> kGradients = {"dx", "dw", "db"};

constexpr std::array kQuantized = {Operation::Quantized{"dy", "scale_dy"},
                                   Operation::Quantized{"x", "scale_x"},
                                   Operation::Quantized{"w", "scale_w"}};

constexpr std::array<std::string_view, 2> kUsualNames = {"linear backward", "linear bwd"};
constexpr std::array<std::string_view, 3> kDeepProblems = {"m=64 n=48 k=32", "m=256 n=64 k=64",
                                                           "m=1024 n=32 k=32"};

class LinearBackward final : public Operation {
 public:
  std::string_view name() const override { return "linear_backward"; }

  std::string_view about() const override { return kAbout; }

  std::span<const Field> schema() const override { return kSchema; }

  std::span<const TensorName> tensor_names() const override { return kTensors; }

  std::span<const Factors> factors() const override { return kFactors; }

  std::vector<DotProducts> dot_products(std::int64_t count, std::int64_t depth) const override {
    return {{"dx", "dy", "w", fmt::format("m={0} n={1} k={0}", count, depth)},
            {"dw", "dy", "x", fmt::format("m={1} n={0} k={0}", count, depth), true}};
  }

  FormatId factor_format(FormatId stored) const override {
    return stored == FormatId::s8 ? FormatId::bf16 : stored;
  }

  Result<std::vector<TensorSpec>> tensors(const Problem& problem,
                                          const Manifest& manifest) const override {
    const std::int64_t m = problem.integer("m"), n = problem.integer("n"), k = problem.integer("k");
    const std::string_view scales = problem.word("scales");
    std::vector<TensorSpec> specs;
    Status usable;
    const auto add = [&](std::string_view tensor, TensorRole role,
                         std::vector<std::int64_t> shape) {
      TensorLayout layout = dense_layout(manifest.tensor_format(tensor, problem), std::move(shape));
      if (usable) usable = layout.check();
      specs.push_back({std::string(tensor), role, std::move(layout)});
    };
    add("dy", TensorRole::input, {m, n});
    add("x", TensorRole::input, {m, k});
    add("w", TensorRole::input, {n, k});
    if (scales == "tensor") {
      for (const std::string_view scale : {"scale_dy", "scale_x", "scale_w"})
        add(scale, TensorRole::input, {1});
    }
    if (scales == "channel") add("scale_w", TensorRole::input, {n});
    add("dx", TensorRole::output, {m, k});
    add("dw", TensorRole::output, {n, k});
    add("db", TensorRole::output, {n});
    if (!usable) return usable.error();
    return specs;
  }

  double work(const Problem& problem) const override {
    double work = 2;
    for (const std::string_view size : {"m", "n", "k"})
      work *= static_cast<double>(problem.integer(size));
    return work;
  }

  std::unique_ptr<CaseOracle> oracle(const Problem& problem, const Manifest& manifest, int sm,
                                     const CaseTensors& tensors) const override {
    auto joined = std::make_unique<JoinedOracle>(
        std::vector<std::string>(kGradients.begin(), kGradients.end()));
    const std::array gemms =
        gemms_of(problem, tensors, [&](Tensor t) { return joined->keep(std::move(t)); });
    for (std::size_t output = 0; output < gemms.size(); ++output) {
      joined->add(static_cast<int>(output), "", gemms[output],
                  manifest.contract(problem, kGradients[output]), sm);
    }
    return joined;
  }

  std::span<const Quantized> quantized() const override { return kQuantized; }

  std::string_view sum_length(std::string_view output) const override {
    return output == "dx" ? "n" : "m";
  }

  Usual usual() const override { return {kUsualNames, {}, kDeepProblems}; }

  void quantize(const Problem& problem, const CaseTensors& sources,
                CaseTensors& tensors) const override {
    const bool per_channel = problem.word("scales") == "channel";
    const std::int64_t k = problem.integer("k");
    for (const Quantized& input : kQuantized) {
      const bool by_row = per_channel && input.tensor == "w";
      quantize_tensor(*sources.find(input.tensor), *tensors.find(input.tensor),
                      tensors.find(input.scale),
                      [&](std::int64_t element) { return by_row ? element / k : 0; });
    }
  }

  std::unique_ptr<StagedComputation> staged(const Problem& problem, const Manifest& manifest,
                                            int sm, const CaseTensors& tensors,
                                            const CaseTensors& sources) const override {
    auto joined = std::make_unique<StagedJoin>();
    const auto keep = [&](Tensor t) { return joined->keep(std::move(t)); };
    const std::array stored = gemms_of(problem, tensors, keep);
    const std::array before = gemms_of(problem, sources, keep);
    for (std::size_t output = 0; output < stored.size(); ++output) {
      joined->add(std::string(kGradients[output]),
                  staged_gemm(stored[output], manifest.contract(problem, kGradients[output]), sm,
                              *before[output].a, *before[output].b));
    }
    return joined;
  }

 private:
  // The products that dx, dw and db are. What is not a tensor of the case goes through `keep`.
  template <typename Keep>
  static std::array<GemmProblem, 3> gemms_of(const Problem& problem, const CaseTensors& tensors,
                                             const Keep& keep) {
    const std::int64_t m = problem.integer("m"), n = problem.integer("n"), k = problem.integer("k");
    const Tensor &dy = *tensors.find("dy"), &x = *tensors.find("x"), &w = *tensors.find("w");

    GemmProblem dx;
    dx.m = m, dx.n = k, dx.k = n;
    dx.a = keep(as_operand(dy, false));
    dx.b = keep(as_operand(w, false));
    dx.scale_a = tensors.find("scale_dy");
    dx.output = tensors.find("dx")->layout.format;
    if (w.layout.format == FormatId::s8) {
      dx.scale_b = tensors.find("scale_w");
      dx.scale_b_block = {0, 1};  // a scale per row of w
      dx = with_dequantized_b(dx, FormatId::bf16);
    } else if (problem.word("scales") != "channel") {
      dx.scale_b = tensors.find("scale_w");
    }

    GemmProblem dw;
    dw.m = n, dw.n = k, dw.k = m;
    dw.a = keep(as_operand(dy, true));
    dw.b = keep(as_operand(x, false));
    dw.scale_a = tensors.find("scale_dy");
    dw.scale_b = tensors.find("scale_x");
    dw.output = tensors.find("dw")->layout.format;

    GemmProblem db;
    db.m = 1, db.n = n, db.k = m;
    db.a = keep(ones(dy.layout.format, m));
    db.b = keep(as_operand(dy, false));
    db.scale_a = tensors.find("scale_dy");
    db.output = FormatId::f32;
    return {dx, dw, db};
  }
};

}  // namespace

const Operation& linear_backward_operation() {
  static const LinearBackward operation;
  return operation;
}

}  // namespace plumbline
