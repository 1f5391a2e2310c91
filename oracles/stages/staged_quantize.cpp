// SPDX-License-Identifier: MIT
#include "oracles/stages/staged_quantize.h"

#include <array>

#include "oracles/stages/staged_steps.h"

namespace plumbline {
namespace {

enum class Step : std::uint8_t { quantize, scale, argument, output };

class StagedQuantize final : public StagedComputation {
 public:
  StagedQuantize(const QuantizeProblem& problem, const Tensor& source)
      : problem_(problem), before_(problem), maxima_{quantize_maxima(problem_), {}} {
    before_.x = &source;
    maxima_[1] = quantize_maxima(before_);
  }

  const std::vector<Stage>& stages() const override {
    static const std::vector<Stage> stages = {{"quantize inputs", StageKind::quantization},
                                              {"scale", StageKind::arithmetic},
                                              {"argument", StageKind::arithmetic},
                                              {"output", StageKind::output}};
    return stages;
  }

  std::vector<std::string> outputs() const override { return {"q", "scale", "amax"}; }

  const std::vector<StageFault>& faults() const override {
    static const std::vector<StageFault> faults = {
        {static_cast<int>(Step::scale), "the scale is rounded to bf16"},
        {static_cast<int>(Step::output), "rounded toward zero instead of to nearest"}};
    return faults;
  }

  // A code hangs on the element and on its group's largest one: at most twice the relative change.
  std::vector<double> condition(int output) const override {
    if (output != 0) return {};
    return std::vector<double>(static_cast<std::size_t>(problem_.m * problem_.n), 2);
  }

  StagedValues evaluate(StageSet low, int fault) const override {
    const auto is_low = [low](Step step) { return (low >> static_cast<int>(step) & 1) != 0; };
    const bool stored = is_low(Step::quantize);
    const QuantizeProblem& in = stored ? problem_ : before_;
    const std::vector<float>& maxima = maxima_[stored ? 0 : 1];
    const float limit = in.limit();
    std::vector<double> scales;
    for (const float amax : maxima) {
      double scale = amax == 0 ? 1 : static_cast<double>(amax) / static_cast<double>(limit);
      if (is_low(Step::scale)) scale = static_cast<double>(quantize_scale(amax, limit));
      scales.push_back(fault == 0 && is_low(Step::scale) ? staged_rounding(FormatId::bf16, scale)
                                                         : scale);
    }
    const EncodeOptions conversion{
        .rounding = fault == 1 ? Rounding::toward_zero : Rounding::nearest_even,
        .overflow = Overflow::saturate};
    std::vector<double> codes;
    for (std::int64_t i = 0; i < in.m; ++i) {
      for (std::int64_t j = 0; j < in.n; ++j) {
        const auto group = static_cast<std::size_t>(in.group_of(i, j));
        const float x = in.element(i, j);
        double value = static_cast<double>(x) / scales[group];
        if (is_low(Step::argument)) {
          value = static_cast<double>(quantize_argument(
              in.rule, x, static_cast<float>(scales[group]), maxima[group], limit));
        }
        codes.push_back(is_low(Step::output) ? staged_rounding(in.code, value, conversion) : value);
      }
    }
    return {std::move(codes), std::move(scales), {maxima.begin(), maxima.end()}};
  }

 private:
  QuantizeProblem problem_, before_;
  std::array<std::vector<float>, 2> maxima_;  // as stored, as it was
};

}  // namespace

std::unique_ptr<StagedComputation> staged_quantize(const QuantizeProblem& problem,
                                                   const Tensor& source) {
  return std::make_unique<StagedQuantize>(problem, source);
}

}  // namespace plumbline
