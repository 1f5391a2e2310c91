// SPDX-License-Identifier: MIT
// One table row per operation: its fields, tensors and words; the class below is the same for all.
#include "kernels/ops/row_operations.h"

#include <algorithm>
#include <array>

#include "kernels/manifest/bad_input.h"
#include "kernels/manifest/manifest.h"
#include "kernels/ops/tensor_formats.h"
#include "oracles/base/assert.h"
#include "oracles/reference/rows/oracle.h"
#include "oracles/stages/staged_rows.h"

#include <fmt/format.h>

namespace plumbline {
namespace {

// The number of columns is a divisor in f32.
constexpr std::int64_t kMostRows = std::int64_t{1} << 32, kMostColumns = std::int64_t{1} << 24;
constexpr std::int64_t kLargestStride = std::int64_t{1} << 32;
constexpr std::int64_t kOne = 0x3f800000, kUsualEpsilon = 0x3727c5ac;  // 1 and 1e-5 as f32 bits
constexpr std::array<std::string_view, 3> kOutputs = {"bf16", "f32", "f16"};
constexpr std::array<std::string_view, 3> kQuotients = {"reciprocal", "quotient", "div.full"};
constexpr std::array<std::string_view, 2> kExponentials = {"ex2.approx.ftz", "ex2.approx"};
constexpr std::array<std::string_view, 2> kStatistics = {"stored", "none"};
constexpr std::array<std::string_view, 4> kMeans = {"quotient", "div.approx", "reciprocal",
                                                    "reciprocal either"};
constexpr std::array<std::string_view, 2> kSubnormals = {"kept", "flushed"};
constexpr std::array<std::string_view, 3> kNormalized = {"f32", "bf16", "f16"};
constexpr std::array<std::string_view, 2> kRoots = {"rsqrt.approx", "1 / sqrt"};

constexpr auto kInteger = FieldKind::integer;
constexpr auto kReal = FieldKind::real;
constexpr auto kWord = FieldKind::word;
constexpr auto kInput = TensorRole::input;
constexpr auto kOutput = TensorRole::output;
using tensor_formats::kFloat;
constexpr auto& kStatistic = tensor_formats::kStored;

// clang-format off
constexpr Field kM{"m", kInteger, -1, 0, kMostRows, {}, "rows"};
constexpr Field kN{"n", kInteger, -1, 1, kMostColumns, {}, "columns"};
constexpr Field kOut{"out", kWord, 0, 0, 0, kOutputs, "format of the matrix that comes out"};
constexpr Field kScale{"scale", kReal, kOne, 0, 0, {}, "what the logits are multiplied by"};
constexpr Field kEps{"eps", kReal, kUsualEpsilon, 0, 0, {}, "added to the mean square"};
constexpr Field kLdx{"ldx", kInteger, 0, 0, kLargestStride, {}, "leading dimension of X; 0 is tight"};
constexpr Field kLdy{"ldy", kInteger, 0, 0, kLargestStride, {}, "leading dimension of Y; 0 is tight"};
constexpr Field kLddx{"lddx", kInteger, 0, 0, kLargestStride, {}, "leading dimension of dX; 0 is tight"};
constexpr Field kLddy{"lddy", kInteger, 0, 0, kLargestStride, {}, "leading dimension of dY; 0 is tight"};

constexpr Field kPlus{"gamma_plus", kReal, 0, 0, 0, {}, "added to gamma: 1 where weights are kept as what they are off 1, as Gemma's are"};
constexpr Field kStored{"statistics", kWord, 0, 0, 0, kStatistics, "whether the rows' mean and rstd are outputs as well"};

constexpr std::array kSoftmaxFields = {kM, kN, kOut, kScale, kLdx, kLdy};
constexpr std::array kSoftmaxBackwardFields = {kM, kN, kOut, kScale, kLdy, kLddy, kLddx};
constexpr std::array kNormFields = {kM, kN, kOut, kEps, kLdx, kLdy, kStored};
constexpr std::array kRmsnormFields = {kM, kN, kOut, kEps, kLdx, kLdy, kStored, kPlus};
constexpr std::array kNormBackwardFields = {kM, kN, kOut, kLdx, kLddy, kLddx};

constexpr TensorName kX{"x", kInput, "[m, n]", "bf16", kFloat}, kDy{"dy", kInput, "[m, n]", "bf16", kFloat},
    kGamma{"gamma", kInput, "[n]", "bf16", kFloat}, kBeta{"beta", kInput, "[n]", "bf16", kFloat},
    kMeanIn{"mean", kInput, "[m]: of the rows of X, as LayerNorm gives it", "f32", kStatistic},
    kRstdIn{"rstd", kInput, "[m]: as the norm gives it", "f32", kStatistic},
    kY{"y", kOutput, "[m, n]", "{out}", tensor_formats::kStored, "out"}, kDx{"dx", kOutput, "[m, n]", "{out}", tensor_formats::kStored, "out"},
    kMean{"mean", kOutput, "[m]; with statistics=stored", "f32", kStatistic}, kRstd{"rstd", kOutput, "[m]; with statistics=stored", "f32", kStatistic},
    kDgamma{"dgamma", kOutput, "[n]", "f32", tensor_formats::kStored}, kDbeta{"dbeta", kOutput, "[n]", "f32", tensor_formats::kStored};

constexpr std::array kSoftmaxTensors = {kX, kY};
constexpr std::array kSoftmaxBackwardTensors = {TensorName{"y", kInput, "[m, n]", "bf16", kFloat}, kDy, kDx};
constexpr std::array kRmsnormTensors = {kX, kGamma, kY, kRstd};
constexpr std::array kRmsnormBackwardTensors = {kX, kGamma, kRstdIn, kDy, kDx, kDgamma};
constexpr std::array kLayernormTensors = {kX, kGamma, kBeta, kY, kMean, kRstd};
constexpr std::array kLayernormBackwardTensors = {kX, kGamma, kMeanIn, kRstdIn, kDy, kDx, kDgamma, kDbeta};

constexpr Field kLanes{"lanes", kInteger, 0, 1, 65536, {}, "partial sums of a sum along a row, joined in pairs"};
constexpr Field kVector{"vector", kInteger, 1, 1, 64, {}, "neighboring columns that a partial sum takes at a time"};
constexpr Field kStripes{"stripes", kInteger, 0, 1, 65536, {}, "partial sums of a sum along a column, joined one after the other"};
constexpr Field kNormalize{"normalize", kWord, 0, 0, 0, kQuotients, "p times 1 / l, p / l rounded once, or div.full"};
constexpr Field kExponential{"exponential", kWord, 0, 0, 0, kExponentials, "whether p below 2^-126 becomes 0"};
constexpr Field kMeanOf{"mean", kWord, 0, 0, 0, kMeans, "a sum over n, rounded once, or div.approx; reciprocal: the sum times 1 / n, which is rounded to f32; reciprocal either: eps may be added by the same fma"};
constexpr Field kSmall{"subnormals", kWord, 0, 0, 0, kSubnormals, "of f32: flushed is nvcc's --use_fast_math"};
constexpr Field kRoot{"root", kWord, kNoDefault, 0, 0, kRoots, "how rstd is computed"};
constexpr Field kRounded{"normalized", kWord, 0, 0, 0, kNormalized, "what x rstd, or (x - mean) rstd, is rounded to before it meets gamma; f32: it is not, as it is f32 already"};

constexpr std::array kSoftmaxTerms = {kLanes, kVector, kExponential, kNormalize, kSmall};
constexpr std::array kSoftmaxBackwardTerms = {kLanes, kVector, kSmall};
constexpr std::array kNormTerms = {kLanes, kVector, kMeanOf, kRoot, kRounded, kSmall};
constexpr std::array kNormBackwardTerms = {kLanes, kVector, kStripes};

template <char matrix>
Result<std::int64_t> leading(const Problem& problem) {
  constexpr std::string_view kField = matrix == 'x' ? "ldx" : matrix == 'y' ? "ldy" : matrix == 'X' ? "lddx" : "lddy";
  const std::int64_t given = problem.integer(kField);
  return given != 0 ? given : problem.integer("n");
}

constexpr Derived kLeadingX{"ld_x", leading<'x'>, "leading dimension of X in effect"};
constexpr Derived kLeadingY{"ld_y", leading<'y'>, "leading dimension of Y in effect"};
constexpr Derived kLeadingDx{"ld_dx", leading<'X'>, "leading dimension of dX in effect"};
constexpr Derived kLeadingDy{"ld_dy", leading<'Y'>, "leading dimension of dY in effect"};
constexpr std::array kForwardDerived = {kLeadingX, kLeadingY};
constexpr std::array kSoftmaxBackwardDerived = {kLeadingY, kLeadingDy, kLeadingDx};
constexpr std::array kNormBackwardDerived = {kLeadingX, kLeadingDy, kLeadingDx};

constexpr std::string_view kSums = R"~(
All arithmetic is f32, and `oracles/bounds/contract/rows.h` says which operations are rounded; the terms say how sums are formed.
)~";

constexpr std::array<std::string_view, 1> kSoftmaxNames = {"softmax"};
constexpr std::array<std::string_view, 2> kSoftmaxBackwardNames = {
    "softmax backward", "softmax bwd"};
constexpr std::array<std::string_view, 1> kRmsnormNames = {"rms norm"};
constexpr std::array<std::string_view, 2> kRmsnormBackwardNames = {
    "rms norm backward", "rms norm bwd"};
constexpr std::array<std::string_view, 1> kLayernormNames = {"layer norm"};
constexpr std::array<std::string_view, 2> kLayernormBackwardNames = {
    "layer norm backward", "layer norm bwd"};
constexpr std::array<std::string_view, 1> kSoftmaxInOrder = {"x y"};
constexpr std::array<std::string_view, 1> kRmsnormInOrder = {"x gamma y"};
constexpr std::array<std::string_view, 1> kLayernormInOrder = {"x gamma beta y"};
constexpr std::array<std::string_view, 3> kDeepProblems = {
    "m=64 n=256", "m=64 n=1024", "m=16 n=4096"};

struct RowOperation {
  RowKind kind;
  std::string_view name, about;
  std::span<const Field> fields;
  std::span<const TensorName> tensors;
  std::span<const Derived> derived;
  std::span<const Field> terms;
  std::span<const std::string_view> usual_names, usual_tensors;
};

constexpr RowOperation kOperations[] = {
    {RowKind::softmax, "softmax", "Y = softmax(scale · X), row by row.\n",
     kSoftmaxFields, kSoftmaxTensors, kForwardDerived, kSoftmaxTerms, kSoftmaxNames, kSoftmaxInOrder},
    {RowKind::softmax_backward, "softmax_backward", "dX = scale · Y · (dY − Σ Y dY), row by row, with Y as the forward pass gave it.\n",
     kSoftmaxBackwardFields, kSoftmaxBackwardTensors, kSoftmaxBackwardDerived, kSoftmaxBackwardTerms, kSoftmaxBackwardNames, {}},
    {RowKind::rmsnorm, "rmsnorm", "Y = X · rstd · (gamma + gamma_plus) with rstd = 1 / √(mean of X² + eps), row by row.\n",
     kRmsnormFields, kRmsnormTensors, kForwardDerived, kNormTerms, kRmsnormNames, kRmsnormInOrder},
    {RowKind::rmsnorm_backward, "rmsnorm_backward",
     "The gradients of RMSNorm, with rstd as given: x̂ = X · rstd, w = dY · gamma, dX = rstd · (w − x̂ · mean of w x̂) row by row, and "
     "dgamma = Σ dY x̂ over the rows.\n",
     kNormBackwardFields, kRmsnormBackwardTensors, kNormBackwardDerived, kNormBackwardTerms, kRmsnormBackwardNames, {}},
    {RowKind::layernorm, "layernorm", "Y = (X − mean) · rstd · gamma + beta with rstd = 1 / √(mean of (X − mean)² + eps), row by row.\n",
     kNormFields, kLayernormTensors, kForwardDerived, kNormTerms, kLayernormNames, kLayernormInOrder},
    {RowKind::layernorm_backward, "layernorm_backward",
     "The gradients of LayerNorm, with mean and rstd as given: x̂ = (X − mean) · rstd, w = dY · gamma, "
     "dX = rstd · (w − mean of w − x̂ · mean of w x̂) row by row, and dgamma = Σ dY x̂, dbeta = Σ dY over the rows.\n",
     kNormBackwardFields, kLayernormBackwardTensors, kNormBackwardDerived, kNormBackwardTerms, kLayernormBackwardNames, {}},
};

// clang-format on

bool is_matrix(std::string_view name) {
  return name == "x" || name == "y" || name == "dx" || name == "dy";
}

// A matrix, a vector along the columns, or one along the rows.
Result<TensorLayout> layout_of(std::string_view name, const Problem& problem, FormatId format) {
  const std::int64_t m = problem.integer("m"), n = problem.integer("n");
  if (name == "mean" || name == "rstd") return dense_layout(format, {m});
  if (!is_matrix(name)) return dense_layout(format, {n});
  const std::string field = "ld" + std::string(name);
  const std::int64_t given = problem.integer(field), stride = given != 0 ? given : n;
  if (stride < n) {
    return bad_input(fmt::format("{}={} is shorter than a row of {} elements", field, stride, n),
                     fmt::format("use {}=0 for tight rows", field));
  }
  TensorLayout layout = dense_layout(format, {m, n});
  layout.strides[0] = stride;
  if (const Status usable = layout.check(); !usable) return usable.error();
  return layout;
}

// Many kernels of inference keep nothing for a backward pass.
bool is_there(const TensorName& tensor, const Problem& problem) {
  const bool statistic = tensor.role == kOutput && (tensor.name == "mean" || tensor.name == "rstd");
  return !statistic || problem.word("statistics") == "stored";
}

template <std::size_t count>
std::size_t index_of(const std::array<std::string_view, count>& words, std::string_view word) {
  const auto found = std::find(words.begin(), words.end(), word);
  PLUMB_ASSERT(found != words.end());
  return static_cast<std::size_t>(found - words.begin());
}

RowContract contract_of(const Problem& terms) {
  RowContract out;
  out.lanes = terms.integer("lanes");
  out.vector = terms.integer("vector");
  if (terms.has("stripes")) out.stripes = terms.integer("stripes");
  if (terms.has("exponential"))
    out.exponential =
        static_cast<RowExponential>(index_of(kExponentials, terms.word("exponential")));
  if (terms.has("normalize"))
    out.quotient = static_cast<RowQuotient>(index_of(kQuotients, terms.word("normalize")));
  if (terms.has("mean")) out.mean = static_cast<RowMean>(index_of(kMeans, terms.word("mean")));
  if (terms.has("normalized")) out.normalized = *format_by_name(terms.word("normalized"));
  if (terms.has("subnormals")) out.subnormals_flushed = terms.word("subnormals") == "flushed";
  if (terms.has("root")) out.root = static_cast<RowRoot>(index_of(kRoots, terms.word("root")));
  return out;
}

class Rows final : public Operation {
 public:
  explicit Rows(const RowOperation& row)
      : row_(row), about_(std::string(row.about) + std::string(kSums)) {
    for (const TensorName& tensor : row.tensors) {
      if (tensor.role == kInput && tensor.format != "f32") quantized_.push_back({tensor.name});
    }
  }

  std::string_view name() const override { return row_.name; }

  std::string_view about() const override { return about_; }

  std::span<const Field> schema() const override { return row_.fields; }

  std::span<const TensorName> tensor_names() const override { return row_.tensors; }

  std::span<const Derived> derived() const override { return row_.derived; }

  std::span<const Field> terms() const override { return row_.terms; }

  Result<std::vector<TensorSpec>> tensors(const Problem& problem,
                                          const Manifest& manifest) const override {
    std::vector<TensorSpec> specs;
    for (const TensorName& tensor : row_.tensors) {
      if (!is_there(tensor, problem)) continue;
      Result<TensorLayout> layout =
          layout_of(tensor.name, problem, manifest.tensor_format(tensor.name, problem));
      if (!layout) return layout.error();
      specs.push_back({std::string(tensor.name), tensor.role, *std::move(layout)});
    }
    return specs;
  }

  double work(const Problem& problem) const override {
    return static_cast<double>(problem.integer("m")) * static_cast<double>(problem.integer("n"));
  }

  std::unique_ptr<CaseOracle> oracle(const Problem& problem, const Manifest& manifest, int,
                                     const CaseTensors& tensors) const override {
    return std::make_unique<RowOracle>(rows_of(problem, manifest, tensors));
  }

  std::span<const Quantized> quantized() const override { return quantized_; }

  // Of gradients that are sums over the rows.
  std::string_view sum_length(std::string_view output) const override {
    return output == "dgamma" || output == "dbeta" ? "m" : "";
  }

  Usual usual() const override { return {row_.usual_names, row_.usual_tensors, kDeepProblems}; }

  std::unique_ptr<StagedComputation> staged(const Problem& problem, const Manifest& manifest, int,
                                            const CaseTensors& tensors,
                                            const CaseTensors& sources) const override {
    return staged_rows(rows_of(problem, manifest, tensors), rows_of(problem, manifest, sources));
  }

 private:
  RowProblem rows_of(const Problem& problem, const Manifest& manifest,
                     const CaseTensors& tensors) const {
    RowProblem rows;
    rows.kind = row_.kind;
    rows.m = problem.integer("m");
    rows.n = problem.integer("n");
    if (problem.has("scale")) rows.scale = problem.real("scale");
    if (problem.has("eps")) rows.eps = problem.real("eps");
    if (problem.has("gamma_plus")) rows.gamma_plus = problem.real("gamma_plus");
    rows.contract = contract_of(manifest.terms);
    const auto input = [&](std::string_view name) -> const Tensor* {
      const auto found = std::find_if(row_.tensors.begin(), row_.tensors.end(),
                                      [&](const TensorName& one) { return one.name == name; });
      return found == row_.tensors.end() || found->role != kInput ? nullptr : tensors.find(name);
    };
    rows.x = input(row_.kind == RowKind::softmax_backward ? "y" : "x");
    rows.dy = input("dy");
    rows.gamma = input("gamma");
    rows.beta = input("beta");
    rows.mean = input("mean");
    rows.rstd = input("rstd");
    for (const TensorName& tensor : row_.tensors) {
      if (tensor.role != kOutput || !is_there(tensor, problem)) continue;
      rows.outputs.push_back(tensors.find(tensor.name));
      rows.output_names.push_back(tensor.name);
    }
    return rows;
  }

  const RowOperation& row_;
  std::string about_;
  std::vector<Quantized> quantized_;  // what is not f32 already
};

template <RowKind kind>
const Operation& operation() {
  static const Rows rows(kOperations[static_cast<std::size_t>(kind)]);
  return rows;
}

}  // namespace

const Operation& softmax_operation() { return operation<RowKind::softmax>(); }

const Operation& softmax_backward_operation() { return operation<RowKind::softmax_backward>(); }

const Operation& rmsnorm_operation() { return operation<RowKind::rmsnorm>(); }

const Operation& rmsnorm_backward_operation() { return operation<RowKind::rmsnorm_backward>(); }

const Operation& layernorm_operation() { return operation<RowKind::layernorm>(); }

const Operation& layernorm_backward_operation() { return operation<RowKind::layernorm_backward>(); }

}  // namespace plumbline
