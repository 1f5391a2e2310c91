// SPDX-License-Identifier: MIT
#include "oracles/stages/staged_swiglu.h"

#include <array>
#include <cmath>

#include "oracles/reference/gemm/sized_product.h"
#include "oracles/reference/swiglu/silu.h"
#include "oracles/stages/output_vectors.h"
#include "oracles/stages/staged_steps.h"
#include "oracles/stages/staged_sum.h"

namespace plumbline {
namespace {

enum class Step : std::uint8_t { quantize, gate_and_up, silu, h_rounding, down, output };

enum class Fault : std::uint8_t { none, bf16_gate, bf16_sums, h_cut, bf16_down, output_cut };

struct KnownFault {
  Fault fault;
  Step step;
  const char* words;
};

// clang-format off
constexpr std::array kFaults = {
    KnownFault{Fault::bf16_sums,  Step::gate_and_up, "accumulators rounded to bf16 after every instruction"},
    KnownFault{Fault::bf16_gate,  Step::silu,        "both sums are rounded to bf16 before silu"},
    KnownFault{Fault::h_cut,      Step::h_rounding,  "h is rounded toward zero instead of to nearest"},
    KnownFault{Fault::bf16_down,  Step::down,        "accumulators rounded to bf16 after every instruction"},
    KnownFault{Fault::output_cut, Step::output,      "rounded toward zero instead of to nearest"},
};

// clang-format on

// A matrix by rows.
struct Rows {
  RealOperands values;
  std::size_t width = 0;

  Rows(const std::vector<double>& numbers, std::size_t row, const Format& as) : width(row) {
    values.reserve(numbers.size());
    for (const double number : numbers) values.append(number, as);
  }

  Rows(const Tensor& tensor, const Format& as)
      : Rows(values_of(tensor), static_cast<std::size_t>(tensor.layout.shape[1]), as) {}

  RealSpan row(std::size_t i) const { return RealSpan(values).sub(i * width, width); }

  std::size_t count() const { return width == 0 ? 0 : values.values.size() / width; }
};

// As stored, or as it was.
struct Inputs {
  Rows x, gate, up, down;
};

class StagedSwiglu final : public StagedComputation {
 public:
  StagedSwiglu(const SwigluProblem& mlp, const SwigluContract& contract, int sm,
               const SwigluSources& sources)
      : contract_(contract),
        h_format_(mlp.h->layout.format),
        y_format_(mlp.output),
        tokens_(static_cast<std::size_t>(mlp.tokens())),
        hidden_(static_cast<std::size_t>(mlp.hidden())),
        d_out_(static_cast<std::size_t>(mlp.d_out())),
        gate_sum_(contract.product(), sm, mlp.x->layout.format, mlp.gate->layout.format),
        up_sum_(contract.product(), sm, mlp.x->layout.format, mlp.up->layout.format),
        down_sum_(contract.product(), sm, h_format_, mlp.down->layout.format),
        inputs_{inputs({mlp.x, mlp.gate, mlp.up, mlp.down}, mlp), inputs(sources, mlp)} {
    if (y_format_ == FormatId::f32) stages_.pop_back();
    for (const KnownFault& known : kFaults) {
      if (static_cast<std::size_t>(known.step) < stages_.size())
        faults_.push_back({static_cast<int>(known.step), known.words});
    }
  }

  const std::vector<Stage>& stages() const override { return stages_; }

  std::vector<std::string> outputs() const override { return {"h", "y"}; }

  const std::vector<StageFault>& faults() const override { return faults_; }

  StagedValues evaluate(StageSet low, int fault) const override {
    const Fault kind = fault < 0 ? Fault::none : kFaults[static_cast<std::size_t>(fault)].fault;
    const Inputs& in = inputs_[is_low(low, Step::quantize) ? 0 : 1];
    std::vector<double> h(tokens_ * hidden_), y(tokens_ * d_out_);
    const StagedSum::Low sums = sums_of(is_low(low, Step::gate_and_up), kind == Fault::bf16_sums),
                         down = sums_of(is_low(low, Step::down), kind == Fault::bf16_down);
    for (std::size_t i = 0; i < tokens_; ++i) {
      for (std::size_t j = 0; j < hidden_; ++j) {
        h[i * hidden_ + j] = hidden(gate_sum_.chain(in.x.row(i), in.gate.row(j), 0, sums),
                                    up_sum_.chain(in.x.row(i), in.up.row(j), 0, sums), low, kind);
      }
    }
    const Rows stored(h, hidden_, format(h_format_));
    for (std::size_t i = 0; i < tokens_; ++i) {
      for (std::size_t o = 0; o < d_out_; ++o) {
        const double sum = down_sum_.chain(stored.row(i), in.down.row(o), 0, down);
        y[i * d_out_ + o] = is_low(low, Step::output)
                                ? staged_rounding(y_format_, sum, cut_if(kind == Fault::output_cut))
                                : sum;
      }
    }
    return {std::move(h), std::move(y)};
  }

  // With g and u the two sums of h = silu(g) u: |dh| <= |silu'(g) u| |dg| + |silu(g)| |du|, and y
  // adds up both what changes h and what changes W_down.
  std::vector<double> condition(int output) const override {
    const Inputs& in = inputs_[1];
    std::vector<double> condition;
    for (std::size_t i = 0; i < tokens_; ++i) {
      std::vector<double> h(hidden_), change(hidden_);
      for (std::size_t j = 0; j < hidden_; ++j) {
        const SizedProduct gate = sized_product(in.x.row(i).values, in.gate.row(j).values),
                           up = sized_product(in.x.row(i).values, in.up.row(j).values);
        h[j] = silu(gate.sum) * up.sum;
        change[j] = 2 * (std::fabs(silu_slope(gate.sum) * up.sum) * gate.size +
                         std::fabs(silu(gate.sum)) * up.size);
        if (output == 0) condition.push_back(condition_of(h[j], change[j]));
      }
      for (std::size_t o = 0; output == 1 && o < d_out_; ++o) {
        double y = 0, moved = 0;
        for (std::size_t j = 0; j < hidden_; ++j) {
          const double weight = in.down.row(o).values[j];
          y += h[j] * weight;
          moved += (std::fabs(h[j]) + change[j]) * std::fabs(weight);
        }
        condition.push_back(condition_of(y, moved));
      }
    }
    return condition;
  }

 private:
  bool is_low(StageSet low, Step step) const {
    return static_cast<std::size_t>(step) < stages_.size() &&
           (low >> static_cast<int>(step) & 1) != 0;
  }

  static double condition_of(double exact, double change) {
    return exact == 0 ? HUGE_VAL : change / std::fabs(exact);
  }

  static StagedSum::Low sums_of(bool low, bool in_bf16) {
    return {low, low, in_bf16 ? SumFault::bf16_accumulator : SumFault::none};
  }

  static EncodeOptions cut_if(bool cut) {
    return {.rounding = cut ? Rounding::toward_zero : Rounding::nearest_even};
  }

  static Inputs inputs(const SwigluSources& from, const SwigluProblem& mlp) {
    const auto as = [](const Tensor& stored) -> const Format& {
      return format(stored.layout.format);
    };
    return {Rows(*from.x, as(*mlp.x)), Rows(*from.gate, as(*mlp.gate)), Rows(*from.up, as(*mlp.up)),
            Rows(*from.down, as(*mlp.down))};
  }

  // One element of h from its two sums.
  double hidden(double gate, double up, StageSet low, Fault kind) const {
    double h;
    if (is_low(low, Step::silu)) {
      if (kind == Fault::bf16_gate) {
        gate = staged_rounding(FormatId::bf16, gate);
        up = staged_rounding(FormatId::bf16, up);
      }
      const float activated = nearest_silu(contract_.silu, static_cast<float>(gate));
      h = static_cast<double>(activated * static_cast<float>(up));
    } else {
      h = silu(gate) * up;
    }
    return is_low(low, Step::h_rounding)
               ? staged_rounding(h_format_, h, cut_if(kind == Fault::h_cut))
               : h;
  }

  SwigluContract contract_;
  FormatId h_format_, y_format_;
  std::size_t tokens_, hidden_, d_out_;
  StagedSum gate_sum_, up_sum_, down_sum_;
  std::array<Inputs, 2> inputs_;  // as stored, as they were
  std::vector<Stage> stages_ = {{"quantize inputs", StageKind::quantization},
                                {"gate and up", StageKind::arithmetic},
                                {"silu", StageKind::arithmetic},
                                {"h rounding", StageKind::mandated},
                                {"down", StageKind::arithmetic},
                                {"output", StageKind::output}};
  std::vector<StageFault> faults_;
};

}  // namespace

std::unique_ptr<StagedComputation> staged_swiglu(const SwigluProblem& mlp,
                                                 const SwigluContract& contract, int sm,
                                                 const SwigluSources& sources) {
  return std::make_unique<StagedSwiglu>(mlp, contract, sm, sources);
}

}  // namespace plumbline
