// SPDX-License-Identifier: MIT
#include "oracles/bounds/contract/epilogue_steps.h"

namespace plumbline {
namespace {

using enum EpilogueStep;
using Factor = StepFactor;
using Addend = StepAddend;

// clang-format off
constexpr std::array kRows = {
    EpilogueStepRow{scale_a,  "scale_a",  "x = fl(x * scale_a)", Factor::scale_a},
    EpilogueStepRow{scale_b,  "scale_b",  "x = fl(x * scale_b)", Factor::scale_b},
    EpilogueStepRow{scale_ab, "scale_ab", "x = fl(x * fl(scale_a * scale_b))", Factor::scale_ab},
    EpilogueStepRow{alpha,    "alpha",    "x = fl(alpha * x)", Factor::alpha},
    EpilogueStepRow{beta_c,   "beta_c",   "x = fl(x + fl(beta * c))", Factor::none, Addend::beta_c},
    EpilogueStepRow{beta_c_fma, "beta_c fma", "x = fma(beta, c, x)",
                    Factor::none, Addend::beta_c, true},
    EpilogueStepRow{alpha_beta_c_fma, "alpha beta_c fma", "x = fma(alpha, x, fl(beta * c))",
                    Factor::alpha, Addend::beta_c, true},
    EpilogueStepRow{bias,     "bias",     "x = fl(x + bias)", Factor::none, Addend::bias},
    EpilogueStepRow{bias_fma, "bias fma", "x + bias fused with the product before it",
                    Factor::none, Addend::bias, true},
    EpilogueStepRow{relu, "relu", "x = x < 0 ? 0 : x, NaN stays",
                    Factor::none, Addend::none, false, Activation::relu},
    EpilogueStepRow{relu_max, "relu max", "x = max(x, 0), 0 of NaN",
                    Factor::none, Addend::none, false, Activation::relu},
    EpilogueStepRow{gelu_erff, "gelu erff", "x = gelu(x) by erff",
                    Factor::none, Addend::none, false, Activation::gelu},
    EpilogueStepRow{gelu_tanh_tanhf, "gelu_tanh tanhf", "x = gelu_tanh(x) by tanhf",
                    Factor::none, Addend::none, false, Activation::gelu_tanh},
    EpilogueStepRow{gelu_tanh_tanh_approx, "gelu_tanh tanh.approx",
                    "x = gelu_tanh(x) by tanh.approx",
                    Factor::none, Addend::none, false, Activation::gelu_tanh},
    EpilogueStepRow{gelu_tanh_expf, "gelu_tanh expf", "x = gelu_tanh(x) by expf",
                    Factor::none, Addend::none, false, Activation::gelu_tanh},
    EpilogueStepRow{gelu_tanh_ex2_approx, "gelu_tanh ex2.approx", "x = gelu_tanh(x) by ex2.approx",
                    Factor::none, Addend::none, false, Activation::gelu_tanh},
    EpilogueStepRow{silu_expf, "silu expf", "x = silu(x) by expf",
                    Factor::none, Addend::none, false, Activation::silu},
    EpilogueStepRow{silu_ex2_approx, "silu ex2.approx", "x = silu(x) by ex2.approx",
                    Factor::none, Addend::none, false, Activation::silu},
    EpilogueStepRow{silu_tanh_approx, "silu tanh.approx", "x = silu(x) by tanh.approx",
                    Factor::none, Addend::none, false, Activation::silu},
    EpilogueStepRow{scale_d,  "scale_d",  "x = fl(x * scale_d)", Factor::scale_d},
    EpilogueStepRow{zero_d,   "zero_d",   "x = fl(rint(x) + zero_d)", Factor::none, Addend::zero_d},
};
// clang-format on

constexpr bool is_in_order() {
  for (std::size_t row = 0; row < kRows.size(); ++row) {
    if (static_cast<std::size_t>(kRows[row].step) != row) return false;
  }
  return static_cast<std::size_t>(zero_d) + 1 == kRows.size();
}

static_assert(is_in_order(), "row_of() looks a step up by its number");

}  // namespace

constinit const std::array<EpilogueStepRow, 21> kEpilogueSteps = kRows;

}  // namespace plumbline
