// SPDX-License-Identifier: MIT
#include "oracles/stages/staged_gemm.h"

#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "oracles/base/assert.h"
#include "oracles/formats/encode.h"

namespace plumbline {
namespace {

enum class Step : std::uint8_t { quantize, accumulate, join, scales, epilogue, output };

constexpr int kSteps = 6;

class StagedGemm final : public StagedComputation {
 public:
  StagedGemm(const GemmProblem& problem, const Contract& contract, int sm, const Tensor& source_a,
             const Tensor& source_b)
      : gemm_(problem, contract, sm, 1),
        sum_(contract, sm, problem.a->layout.format, problem.b->layout.format),
        without_activation_(contract, without_activation(gemm_.scalars), problem.output) {
    add_stage(Step::quantize, {"quantize inputs", StageKind::quantization});
    if (sum_.accumulates()) add_stage(Step::accumulate, {"accumulate", StageKind::arithmetic});
    if (sum_.joins()) {
      add_stage(Step::join, {contract.schedule == Schedule::promote ? "promote" : "join",
                             StageKind::arithmetic});
    }
    if (has_factors()) add_stage(Step::scales, {"scale products", StageKind::mandated});
    if (!gemm_.epilogue.is_identity() || integers_become_real())
      add_stage(Step::epilogue, {"epilogue", StageKind::arithmetic});
    // What is stored as f32 is the last f32 step as it is.
    if (problem.output != FormatId::f32) add_stage(Step::output, {"output", StageKind::output});
    list_faults();
    const GemmOperands sources = decode_operands(source_a, source_b, 1);
    prepare(gemm_.operands, sources, GemmSide::a);
    prepare(gemm_.operands, sources, GemmSide::b);
  }

  const std::vector<Stage>& stages() const override { return stages_; }

  std::vector<std::string> outputs() const override { return {"d"}; }

  const std::vector<StageFault>& faults() const override { return faults_; }

  StagedValues evaluate(StageSet low, int fault) const override {
    const std::int64_t count = gemm_.problem.outputs();
    std::vector<double> values(static_cast<std::size_t>(count));
    for (std::int64_t index = 0; index < count; ++index)
      values[static_cast<std::size_t>(index)] = element(gemm_.place(index), low, fault);
    return {std::move(values)};
  }

  std::vector<double> condition(int output) const override {
    PLUMB_ASSERT(output == 0);
    const std::int64_t count = gemm_.problem.outputs();
    std::vector<double> condition(static_cast<std::size_t>(count));
    for (std::int64_t index = 0; index < count; ++index) {
      const GemmPlace at = gemm_.place(index);
      const EpilogueOperands operands = gemm_.epilogue_operands(at);
      const auto real = [&](double y) {
        const TwoDoubles value = without_activation_.real({y, 0}, operands);
        return value.hi + value.lo;
      };
      const double slope = real(1) - real(0), exact = element(at, 0, -1);
      condition[static_cast<std::size_t>(index)] = 2 * std::fabs(slope * magnitude(at) / exact);
    }
    return condition;
  }

 private:
  // What a fault does: to the sums, or to the steps after them.
  struct FaultKind {
    Step step;
    SumFault sum = SumFault::none;
    bool factors_in_bf16 = false;
    std::optional<EncodeOptions> conversion{};
  };

  static EpilogueScalars without_activation(EpilogueScalars scalars) {
    scalars.activation = Activation::none;
    return scalars;
  }

  // Scales along k are factors of promoted sums.
  bool has_factors() const { return gemm_.model && gemm_.model->scaled; }

  bool integers_become_real() const {
    return gemm_.contract.unit == Unit::int32 && gemm_.problem.output != FormatId::s32;
  }

  void add_stage(Step step, Stage stage) {
    stage_of_[static_cast<std::size_t>(step)] = static_cast<int>(stages_.size());
    stages_.push_back(std::move(stage));
  }

  bool has(Step step, StageSet low) const {
    const int stage = stage_of_[static_cast<std::size_t>(step)];
    return stage >= 0 && (low >> stage & 1) != 0;
  }

  void add_fault(FaultKind kind, std::string words) {
    faults_.push_back({stage_of_[static_cast<std::size_t>(kind.step)], std::move(words)});
    fault_kinds_.push_back(std::move(kind));
  }

  void list_faults() {
    for (const SumFault fault : sum_.faults(has_factors()))
      add_fault({is_of_join(fault) ? Step::join : Step::accumulate, fault}, words_of(fault));
    if (gemm_.scalars.has_scale_a || gemm_.scalars.has_scale_b)
      add_fault({.step = Step::epilogue, .factors_in_bf16 = true}, "scales rounded to bf16");
    if (gemm_.problem.output != FormatId::f32 &&
        gemm_.contract.output.rounding == Rounding::nearest_even &&
        gemm_.problem.output != FormatId::s32) {
      EncodeOptions options = gemm_.contract.output;
      options.rounding = Rounding::toward_zero;
      add_fault({.step = Step::output, .conversion = options},
                "rounded toward zero instead of to nearest");
    }
  }

  // Rows of A or columns of B as stored, and as they were: in units of their scale.
  void prepare(const GemmOperands& stored, const GemmOperands& sources, GemmSide side) {
    const GemmProblem& problem = gemm_.problem;
    const bool of_a = side == GemmSide::a;
    const Format& element = format((of_a ? problem.a : problem.b)->layout.format);
    const std::vector<float>& codes = of_a ? stored.a : stored.b;
    const std::vector<float>& values = of_a ? sources.a : sources.b;
    PLUMB_ASSERT(codes.size() == values.size());
    RealOperands& low = operands_[of_a ? 0 : 1];
    RealOperands& exact = operands_[of_a ? 2 : 3];
    const std::int64_t vectors = of_a ? problem.m : problem.n, k = problem.k;
    low.reserve(codes.size());
    exact.reserve(codes.size());
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const auto vector = static_cast<std::int64_t>(i) / k % vectors;
      const std::int64_t p = static_cast<std::int64_t>(i) % k;
      const auto code = static_cast<double>(codes[i]),
                 unrounded = static_cast<double>(values[i]) /
                             static_cast<double>(*scale_at(problem, side, vector, p));
      if (gemm_.contract.block_scale) {  // the products are of operands with their scales along k
        const BoundOperand operand =
            of_a ? gemm_.row_operand({0, vector, 0}) : gemm_.column_operand({0, 0, vector});
        const auto scale = static_cast<double>(operand.scales.at(p));
        const Format& of_scale = gemm_.scale_format();
        low.append_scaled(code, element, scale, of_scale, gemm_.model->node);
        exact.append_scaled(unrounded, element, scale, of_scale, gemm_.model->node);
      } else {
        low.append(code, element);
        exact.append(unrounded, element);
      }
    }
  }

  RealSpan vector(const GemmPlace& at, GemmSide side, bool low) const {
    const GemmOperands& shape = gemm_.operands;
    const bool of_a = side == GemmSide::a;
    const std::int64_t batch = (of_a ? shape.batch_a : shape.batch_b) == 1 ? 0 : at.batch;
    const std::int64_t row = of_a ? batch * shape.m + at.i : batch * shape.n + at.j;
    const RealSpan all(operands_[(low ? 0 : 2) + (of_a ? 0 : 1)]);
    return all.sub(static_cast<std::size_t>(row * shape.k), static_cast<std::size_t>(shape.k));
  }

  std::vector<double> factors(const GemmPlace& at, bool low) const {
    std::vector<double> factors;
    if (!has_factors()) return factors;
    const BlockScales& scales = *gemm_.scales;
    for (std::int64_t block = 0; block < scales.blocks; ++block) {
      const double a = static_cast<double>(
                       scales.a[static_cast<std::size_t>(block * scales.m + at.i)]),
                   b = static_cast<double>(
                       scales.b[static_cast<std::size_t>(block * scales.n + at.j)]);
      factors.push_back(low ? scales.factor(at.i, at.j, block) : a * b);
    }
    return factors;
  }

  double element(const GemmPlace& at, StageSet low, int fault) const {
    FaultKind kind{Step::quantize};
    if (fault >= 0) kind = fault_kinds_[static_cast<std::size_t>(fault)];
    const bool quantized = has(Step::quantize, low);
    const RealSpan row = vector(at, GemmSide::a, quantized),
                   column = vector(at, GemmSide::b, quantized);
    const double sum = sum_(row, column, factors(at, has(Step::scales, low)),
                            {has(Step::accumulate, low), has(Step::join, low), kind.sum});
    EpilogueOperands operands = gemm_.epilogue_operands(at);
    double value;
    if (has(Step::epilogue, low)) {
      if (kind.factors_in_bf16) {
        for (float* scale : {&operands.scale_a, &operands.scale_b}) {
          *scale = static_cast<float>(converted(FormatId::bf16, static_cast<double>(*scale), {}));
        }
      }
      value = static_cast<double>(gemm_.epilogue.value(static_cast<float>(sum), operands));
    } else {
      const TwoDoubles real = gemm_.epilogue.real({sum, 0}, operands);
      value = real.hi + real.lo;
    }
    if (!has(Step::output, low)) return value;
    return converted(gemm_.problem.output, value, kind.conversion.value_or(gemm_.contract.output));
  }

  static double converted(FormatId to, double value, const EncodeOptions& options) {
    return to_double(format(to), encode(format(to), value, options));
  }

  // The sum of the products' magnitudes, scales along k included.
  double magnitude(const GemmPlace& at) const {
    const RealSpan row = vector(at, GemmSide::a, false), column = vector(at, GemmSide::b, false);
    const std::vector<double> scales = factors(at, false);
    double sum = 0;
    for (std::size_t p = 0; p < row.size(); ++p) {
      const double factor =
          scales.empty() ? 1 : scales[p / static_cast<std::size_t>(gemm_.scales->depth)];
      sum += std::fabs(row.values[p] * column.values[p] * factor);
    }
    return sum;
  }

  PreparedGemm gemm_;
  StagedSum sum_;
  Epilogue without_activation_;
  std::vector<Stage> stages_;
  std::array<int, kSteps> stage_of_{-1, -1, -1, -1, -1, -1};
  std::vector<StageFault> faults_;
  std::vector<FaultKind> fault_kinds_;
  std::array<RealOperands, 4> operands_;  // A and B as stored, A and B as they were
};

}  // namespace

std::unique_ptr<StagedComputation> staged_gemm(const GemmProblem& problem, const Contract& contract,
                                               int sm, const Tensor& source_a,
                                               const Tensor& source_b) {
  return std::make_unique<StagedGemm>(problem, contract, sm, source_a, source_b);
}

}  // namespace plumbline
