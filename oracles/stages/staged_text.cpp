// SPDX-License-Identifier: MIT
#include "oracles/stages/staged_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "oracles/base/assert.h"
#include "oracles/reference/text/definition.h"
#include "oracles/stages/staged_steps.h"
#include "oracles/stages/staged_sum.h"

namespace plumbline {
namespace {

using text::Expression;
using text::Op;
using text::Reduction;
using text::Truth;

constexpr std::size_t kMostSteps = 28;  // a StageSet has 32 bits

// A domain of doubles (evaluator.h) whose operations round to f32 in the steps that are low.
class StagedNumbers {
 public:
  using Value = double;

  // `faulty`: a step that is rounded to bf16; -1: none.
  StagedNumbers(const text::Arithmetic& arithmetic, const text::ProductSums* sums,
                std::vector<bool> low, int faulty)
      : arithmetic_(arithmetic), sums_(sums), low_of_(std::move(low)), faulty_(faulty) {}

  // The step that is computed from here on; what was computed before.
  int enter(int step) const { return std::exchange(step_, step); }

  double finished(int step, double value) const {
    return step == faulty_ ? exact_.round_to(FormatId::bf16, value) : value;
  }

  bool low() const { return step_ >= 0 && low_of_[static_cast<std::size_t>(step_)]; }

  double real(double x, double rest = 0) const { return f32_if(low(), x + rest); }

  double whole(std::int64_t k) const { return f32_if(low(), static_cast<double>(k)); }

  double input(double x) const { return x; }

  double used(const Expression&, double a) const { return a; }

  double sum(const Expression& node, std::span<const double> of) const {
    double out = node.negative[0] ? -of[0] : of[0];
    for (std::size_t i = 1; i < of.size(); ++i)
      out = f32_if(low(), node.negative[i] ? out - of[i] : out + of[i]);
    return out;
  }

  double product(const Expression&, std::span<const double> of) const {
    double out = of[0];
    for (std::size_t i = 1; i < of.size(); ++i) out = f32_if(low(), out * of[i]);
    return out;
  }

  double quotient(const Expression&, double a, double b) const { return f32_if(low(), a / b); }

  double function(const Expression& node, double x) const {
    return f32_if(low(), exact_.function(node, x));
  }

  double negate(const Expression&, double a) const { return -a; }

  double extreme(bool maximum, double a, double b) const { return exact_.extreme(maximum, a, b); }

  double chosen(const Expression&, std::size_t, double a) const { return a; }

  double either(const Truth& first, double a, double b) const { return first.holds ? a : b; }

  double round_to(FormatId to, double x) const { return low() ? exact_.round_to(to, x) : x; }

  Truth compare(text::Comparison op, double a, double b) const { return exact_.compare(op, a, b); }

  class Total {
   public:
    Total(const StagedNumbers& numbers, const Expression& node)
        : numbers_(numbers), kind_(static_cast<Reduction>(node.id)) {
      if (kind_ == Reduction::max) extreme_ = -std::numeric_limits<double>::infinity();
      if (kind_ == Reduction::min) extreme_ = std::numeric_limits<double>::infinity();
    }

    void add(double term, const Truth&) {
      if (kind_ == Reduction::sum) {
        terms_.push_back(term);
      } else {
        extreme_ = numbers_.extreme(kind_ == Reduction::max, extreme_, term);
      }
    }

    double value() const { return kind_ == Reduction::sum ? numbers_.total(terms_) : extreme_; }

   private:
    const StagedNumbers& numbers_;
    Reduction kind_;
    double extreme_ = 0;
    std::vector<double> terms_;
  };

  const text::ProductSum* product_sum(const Expression& sum) const {
    return low() && sums_ ? sums_->find(sum) : nullptr;
  }

  class Products {
   public:
    Products(const StagedNumbers&, const text::ProductSum& how) : how_(how) {}

    static double stored(double x) { return x; }

    void skip() { add(0, 0, {true}); }

    void add(double a, double b, const Truth&) {
      a_.append(a, format(how_.a));
      b_.append(b, format(how_.b));
    }

    double value() const {
      return StagedSum(how_.contract, how_.sm, how_.a, how_.b).chain(a_, b_, 0, {});
    }

   private:
    const text::ProductSum& how_;
    RealOperands a_, b_;
  };

 private:
  // Of lanes, each of which takes `vector` neighbors at a time.
  double total(const std::vector<double>& terms) const {
    if (!low()) {
      double out = 0;
      for (const double term : terms) out += term;
      return out;
    }
    const std::int64_t lanes = arithmetic_.any_order ? 1 : arithmetic_.lanes;
    std::vector<double> sums(static_cast<std::size_t>(lanes == 0 ? 32 : lanes));
    for (std::size_t i = 0; i < terms.size(); ++i) {
      double& sum = sums[i / static_cast<std::size_t>(arithmetic_.vector) % sums.size()];
      sum = f32_if(true, sum + terms[i]);
    }
    for (std::size_t count = sums.size(); count > 1; count = (count + 1) / 2) {
      const std::size_t half = (count + 1) / 2;
      for (std::size_t i = half; i < count; ++i)
        sums[i - half] = f32_if(true, sums[i - half] + sums[i]);
    }
    return sums[0];
  }

  text::Arithmetic arithmetic_;
  const text::ProductSums* sums_;
  std::vector<bool> low_of_;  // by step
  int faulty_;
  text::Definition<double> exact_;
  mutable int step_ = -1;
};

bool rounds(const text::StepTensor& step) {
  return std::ranges::all_of(
      step.pieces, [](const text::Piece& piece) { return piece.value->op == Op::round_to; });
}

class StagedTextComputation final : public StagedComputation {
 public:
  explicit StagedTextComputation(StagedText text) : text_(std::move(text)) {
    const text::Program& program = text_.instance.program();
    stages_.push_back({"quantize inputs", StageKind::quantization});
    // In the order of their lines: outputs are declared first.
    std::vector<int> order;
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      if (program.steps[i].type == text::Type::real) order.push_back(static_cast<int>(i));
    }
    std::ranges::sort(order, {}, [&](int i) {
      return program.steps[static_cast<std::size_t>(i)].pieces.front().place.line;
    });
    for (const int i : order) {
      const text::StepTensor& step = program.steps[static_cast<std::size_t>(i)];
      stage_of_[i] = static_cast<int>(stages_.size());
      faults_.push_back({static_cast<int>(stages_.size()), "the step is rounded to bf16"});
      stages_.push_back({step.name, rounds(step) ? StageKind::mandated : StageKind::arithmetic});
    }
    output_ = static_cast<int>(stages_.size());
    faults_.push_back({output_, "rounded toward zero instead of to nearest"});
    stages_.push_back({"output", StageKind::output});
    sums_ = text::ProductSums(text_.instance, text_.arithmetic.products, text_.arithmetic.flushed);
  }

  const std::vector<Stage>& stages() const override { return stages_; }

  std::vector<std::string> outputs() const override {
    std::vector<std::string> names;
    for (const text::TextOracle::Output& output : text_.outputs) names.push_back(output.name);
    return names;
  }

  const std::vector<StageFault>& faults() const override { return faults_; }

  std::vector<double> condition(int) const override { return {}; }

  StagedValues evaluate(StageSet low, int fault) const override {
    const auto is_low = [low](int stage) { return (low >> stage & 1) != 0; };
    std::vector<bool> steps(text_.instance.program().steps.size());
    for (const auto& [step, stage] : stage_of_)
      steps[static_cast<std::size_t>(step)] = is_low(stage);
    const int faulty = fault < 0 ? -1 : faults_[static_cast<std::size_t>(fault)].stage;
    const EncodeOptions conversion{.rounding = faulty == output_ ? Rounding::toward_zero
                                                                 : Rounding::nearest_even};
    int faulty_step = -1;
    for (const auto& [step, stage] : stage_of_) {
      if (stage == faulty && is_low(stage)) faulty_step = step;
    }
    text::Evaluator<StagedNumbers> evaluator(
        text_.instance, is_low(0) ? text_.stored : text_.sources,
        StagedNumbers(text_.arithmetic, &sums_, std::move(steps), faulty_step));
    StagedValues values;
    for (const text::TextOracle::Output& output : text_.outputs) {
      std::vector<double>& of = values.emplace_back();
      const bool integer =
          text_.instance.program().steps[static_cast<std::size_t>(output.step)].type ==
          text::Type::integer;
      for (std::int64_t i = 0; i < text_.instance.step_elements(output.step); ++i) {
        if (integer) {
          of.push_back(static_cast<double>(evaluator.integer_element(output.step, i)));
          continue;
        }
        const double value = evaluator.kept_element(output.step, i);
        of.push_back(is_low(output_) ? staged_rounding(output.format, value, conversion) : value);
      }
    }
    return values;
  }

 private:
  StagedText text_;
  std::vector<Stage> stages_;
  std::vector<StageFault> faults_;
  std::map<int, int> stage_of_;  // by step
  int output_ = 0;
  text::ProductSums sums_;
};

}  // namespace

bool has_stages(const text::Program& program) {
  return static_cast<std::size_t>(std::ranges::count(program.steps, text::Type::real,
                                                     &text::StepTensor::type)) <= kMostSteps;
}

std::unique_ptr<StagedComputation> staged_text(StagedText text) {
  PLUMB_ASSERT(has_stages(text.instance.program()));
  return std::make_unique<StagedTextComputation>(std::move(text));
}

}  // namespace plumbline
