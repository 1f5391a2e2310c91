// SPDX-License-Identifier: MIT
// The verdict on attention's gradients: no kernel that keeps its contract fails, however it uses
// the room that the contract leaves, and simple faults are seen.
#include "oracles/reference/attention_backward/oracle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <span>

#include "tests/oracles/reference/attention_backward/samples.h"

namespace plumbline::testing {
namespace {

const Tensor& gradient_of(const Gradients& gradients, int output) {
  return output == 0 ? gradients.dq : output == 1 ? gradients.dk : gradients.dv;
}

OutputVerdict verdict_on(const GradientCase& example, const GradientModel& model,
                         const Gradients& gradients, int output, const JudgeOptions& options = {}) {
  return AttentionBackwardOracle(example.problem, model.contract, model.sm)
      .judge(output, gradient_of(gradients, output), options);
}

AttentionBackwardContract fp8_contract() {
  AttentionBackwardContract contract;
  contract.p = FormatId::e4m3;
  contract.p_shift = 8;
  contract.ds = FormatId::e5m2;
  return contract;
}

constexpr SampleScales kScales = {0.75f, 1.3f, 0.6f, 1.7f, 90.0f};

TEST(AttentionBackwardOracle, PassesEveryKernelThatKeepsTheContract) {
  std::int64_t judged = 0;
  for (const GradientValues values : kGradientValues) {
    for (int variant = 0; variant < 6; ++variant) {
      GradientSetup setup;
      setup.values = values;
      setup.seed = 100 + static_cast<std::uint64_t>(variant);
      setup.output = variant % 2 == 0 ? FormatId::f32 : FormatId::bf16;
      setup.queries = 20 + variant;
      setup.keys = 30 + 3 * variant;
      setup.d = variant == 3 ? 64 : 16;
      setup.dv = variant == 4 ? 40 : 16;
      if (variant == 1) setup.mask.causal = Causal::bottom_right;
      if (variant == 2) setup.mask = {Causal::top_left, 5, -1};
      if (variant == 3) setup.softcap = 3;
      if (variant == 4) setup.bias = setup.sink = true;
      if (variant == 5) {
        setup.query_lengths = {7, 0, 18};
        setup.key_lengths = {9, 4, 21};
        setup.slack = 2;
      }
      const GradientCase example(setup);
      GradientModel model;
      model.sm = variant % 3 == 0 ? 80 : 90;
      model.seed = 7 * setup.seed;
      model.extreme = variant % 2 == 1;
      model.contract.atomic_dq = variant == 2;
      model.contract.tile = 16;
      const Gradients gradients = model_gradients(example, model);
      for (int output = 0; output < 3; ++output) {
        const OutputVerdict verdict = verdict_on(example, model, gradients, output);
        EXPECT_EQ(verdict.failed, 0)
            << static_cast<int>(values) << " variant " << variant << " output " << output;
        EXPECT_EQ(verdict.disagreements, 0)
            << static_cast<int>(values) << " variant " << variant << " output " << output;
        EXPECT_EQ(verdict.compared + verdict.open, verdict.elements);
        EXPECT_EQ(verdict.unresolved, 0);
        judged += verdict.compared;
        if (std::getenv("PLUMB_FIGURES")) {
          printf(
              "%d %d %d: %ld judged %ld bounded %ld exact %ld undecided, worst share %.3g, "
              "worst %.3g ulp, median bound %.3g ulp\n",
              static_cast<int>(values), variant, output, verdict.compared, verdict.bounded,
              verdict.exact_required, verdict.undecided, verdict.worst_share, verdict.worst_ulp,
              verdict.median_bound_ulp);
        }
      }
    }
  }
  EXPECT_GT(judged, 50000);
}

// Narrow formats: weights become 0 or saturate, and every matrix has a scale.
TEST(AttentionBackwardOracle, PassesEveryFp8KernelThatKeepsTheContract) {
  for (const GradientValues values : kGradientValues) {
    for (int variant = 0; variant < 6; ++variant) {
      GradientSetup setup;
      setup.fp8 = true;
      setup.values = values;
      setup.seed = 300 + static_cast<std::uint64_t>(variant);
      setup.output = variant % 2 == 0 ? FormatId::f32 : FormatId::bf16;
      setup.queries = 30 + variant;  // an instruction takes 32 of them
      setup.keys = 30 + 7 * variant;
      setup.d = 8;
      setup.dv = variant == 4 ? 24 : 8;
      setup.scales = variant == 0 ? SampleScales() : kScales;
      if (variant == 1) setup.mask.causal = Causal::bottom_right;
      if (variant == 2) setup.softcap = 3;
      if (variant == 3) setup.scales.ds = 0x1.2p20f;   // saturates
      if (variant == 4) setup.scales.ds = 0x1.2p-16f;  // nothing is left
      if (variant == 5) setup.bias = setup.sink = true;
      const GradientCase example(setup);
      GradientModel model;
      model.contract = fp8_contract();
      model.sm = variant % 2 == 0 ? 89 : 90;
      model.seed = 7 * setup.seed;
      model.extreme = variant % 2 == 1;
      const Gradients gradients = model_gradients(example, model);
      for (int output = 0; output < 3; ++output) {
        const OutputVerdict verdict = verdict_on(example, model, gradients, output);
        EXPECT_EQ(verdict.failed, 0)
            << static_cast<int>(values) << " variant " << variant << " output " << output;
        EXPECT_EQ(verdict.disagreements, 0)
            << static_cast<int>(values) << " variant " << variant << " output " << output;
        EXPECT_EQ(verdict.compared + verdict.open, verdict.elements);
        EXPECT_EQ(verdict.unresolved, 0);
      }
    }
  }
}

// What a badly chosen scale does to dS is known to the bit: all of it at the largest number, or 0.
TEST(AttentionBackwardOracle, SaturatedAndVanishedWeightsLeaveOneOutput) {
  for (const float ds_scale : {0x1.2p29f, 0x1.2p-29f}) {
    GradientSetup setup;
    setup.fp8 = true;
    setup.output = FormatId::f32;
    setup.scales = kScales;
    setup.scales.ds = ds_scale;
    const GradientCase example(setup);
    GradientModel model;
    model.contract = fp8_contract();
    const Gradients gradients = model_gradients(example, model);
    const AttentionBackwardOracle oracle(example.problem, model.contract, model.sm);
    for (const int output : {0, 1}) {
      const Tensor& got = gradient_of(gradients, output);
      for (std::int64_t index = 0; index < got.layout.count(); index += 101) {
        const ElementVerdict verdict = oracle.element(output, index, got.bits(index));
        EXPECT_TRUE(verdict.pass);
        EXPECT_EQ(verdict.low, verdict.high);
        EXPECT_EQ(verdict.exact == 0, ds_scale < 1);
        EXPECT_FALSE(oracle.element(output, index, got.bits(index) + 1).pass);
      }
    }
  }
}

// Every fault on a problem where it matters, and the outputs it must be seen in.
struct Planted {
  Mistake mistake;
  int outputs;           // bit o: in output o
  const char* sentence;  // what explain() must name first; null: nothing
};

constexpr int kDq = 1, kDk = 2, kDv = 4;

// clang-format off
constexpr Planted kPlanted[] = {
    {Mistake::no_delta,            kDq | kDk,       "delta (the row sums of dO * O) was not subtracted"},
    {Mistake::delta_of_other_row,  kDq | kDk,       nullptr},
    {Mistake::no_scale_on_dq,      kDq,             "the scale was not applied to the gradient"},
    {Mistake::no_scale_on_dk,      kDk,             "the scale was not applied to the gradient"},
    {Mistake::extra_ln2,           kDq,             "an extra factor ln 2 was applied"},
    {Mistake::no_softcap_slope,    kDq | kDk,       "the derivative of the softcap, 1 - tanh^2, was left out"},
    {Mistake::one_head_of_group,   kDk | kDv,       "only the first of the query heads that share it was counted"},
    {Mistake::causal_other_way,    kDq | kDk | kDv, "the causal mask was aligned to the other corner"},
    {Mistake::diagonal_one_right,  kDq | kDk | kDv, "the causal mask let every query see one key too many"},
    {Mistake::diagonal_one_left,   kDq | kDk | kDv, "the causal mask hid every query's last key"},
    {Mistake::window_one_wider,    kDq | kDk | kDv, "the window was one key too wide on the left"},
    {Mistake::last_query_missing,  kDk | kDv,       "the last query is missing"},
    {Mistake::last_key_missing,    kDq | kDk | kDv, "the last key is missing"},
    {Mistake::narrow_v,            kDq | kDk,       "dO . v took the first 8 of 16 columns only"},
    {Mistake::p_not_rounded,       kDv,             nullptr},
    {Mistake::ds_not_rounded,      kDq | kDk,       nullptr},
    {Mistake::truncated_ds,        kDq | kDk,       nullptr},
    {Mistake::d_o_of_next_row,     kDv,             "dO was read from the next row"},
    {Mistake::score_in_bf16,       kDq | kDk | kDv, nullptr},
    {Mistake::scale_in_bf16,       kDq | kDk | kDv, nullptr},
    {Mistake::lse_in_bf16,         kDq | kDk | kDv, nullptr},
    {Mistake::output_truncated,    kDq | kDk | kDv, nullptr},
};

// Of kernels in FP8 with scales.
constexpr Planted kPlantedFp8[] = {
    {Mistake::no_delta,                kDq | kDk,       "delta (the row sums of dO * O) was not subtracted"},
    {Mistake::delta_without_scale,     kDq | kDk,       "delta lacks do_scale"},
    {Mistake::dp_without_scales,       kDq | kDk,       "dO . v lacks its scales"},
    {Mistake::ds_scale_not_taken_back, kDq | kDk,       "ds_scale was not taken back"},
    {Mistake::q_and_k_scale_swapped,   kDq,             "q_scale was taken for k_scale"},
    {Mistake::q_and_k_scale_swapped,   kDk,             "k_scale was taken for q_scale"},
    {Mistake::no_do_scale_on_dv,       kDv,             "do_scale was not applied to dV"},
    {Mistake::p_shift_not_taken_back,  kDv,             "the shift of P was not taken back"},
    {Mistake::p_without_shift,         kDv,             nullptr},
    {Mistake::truncated_ds,            kDq | kDk,       nullptr},
    {Mistake::last_query_missing,      kDk | kDv,       "the last query is missing"},
    {Mistake::lse_in_bf16,             kDq | kDk | kDv, nullptr},
};

// clang-format on

void see_planted_faults(std::span<const Planted> faults, bool fp8) {
  for (const Planted& planted : faults) {
    for (const FormatId stored : {FormatId::bf16, FormatId::f32}) {
      GradientSetup setup;
      setup.fp8 = fp8;
      if (fp8) setup.scales = kScales;
      setup.output = stored;
      setup.queries = 33;
      setup.keys = 37;
      setup.d = setup.dv = 16;
      setup.scale = 0.3f;
      const auto is = [&](Mistake one) { return planted.mistake == one; };
      if (is(Mistake::no_softcap_slope)) setup.softcap = 2;
      if (is(Mistake::causal_other_way) || is(Mistake::diagonal_one_right) ||
          is(Mistake::diagonal_one_left))
        setup.mask.causal = Causal::bottom_right;
      if (is(Mistake::window_one_wider)) setup.mask = {Causal::bottom_right, 6, -1};
      if (is(Mistake::output_truncated) && stored == FormatId::f32) continue;
      const GradientCase example(setup);
      GradientModel model;
      if (fp8) model.contract = fp8_contract();
      model.mistake = planted.mistake;
      const Gradients gradients = model_gradients(example, model);
      for (int output = 0; output < 3; ++output) {
        if ((planted.outputs >> output & 1) == 0) continue;
        const OutputVerdict verdict = verdict_on(example, model, gradients, output);
        EXPECT_GT(verdict.failed, 0) << static_cast<int>(planted.mistake) << " output " << output;
        EXPECT_EQ(verdict.disagreements, 0);
        if (std::getenv("PLUMB_FIGURES")) {
          printf(
              "mistake %d, %s: output %d, %.1f %% fail\n", static_cast<int>(planted.mistake),
              stored == FormatId::bf16 ? "bf16" : "f32", output,
              100.0 * static_cast<double>(verdict.failed) / static_cast<double>(verdict.elements));
        }
        if (verdict.failed == 0 || stored == FormatId::f32) continue;
        const AttentionBackwardOracle oracle(example.problem, model.contract, model.sm);
        const Explanation explanation =
            oracle.explain(output, verdict.failures.front().index, gradient_of(gradients, output));
        EXPECT_GE(explanation.lines.size(), 4u);
        if (planted.sentence == nullptr) continue;
        const bool named =
            std::find(explanation.faults.names.begin(), explanation.faults.names.end(),
                      planted.sentence) != explanation.faults.names.end();
        EXPECT_TRUE(named) << planted.sentence << ", output " << output << ": "
                           << explanation.lines.back();
      }
    }
  }
}

TEST(AttentionBackwardOracle, SeesEveryPlantedFaultAndNamesMost) {
  see_planted_faults(kPlanted, false);
}

// What a kernel gives that computes another problem or keeps another contract.
std::string told(GradientSetup setup, int output,
                 const std::function<void(GradientCase&, GradientModel&)>& change) {
  setup.queries = 33;
  setup.keys = 37;
  setup.d = setup.dv = 16;
  GradientCase example(setup);
  const AttentionBackwardProblem right = example.problem;
  GradientModel promised;
  if (setup.fp8) promised.contract = fp8_contract();
  GradientModel model = promised;
  change(example, model);
  const Gradients gradients = model_gradients(example, model);
  example.problem = right;
  const OutputVerdict verdict = verdict_on(example, promised, gradients, output);
  EXPECT_GT(verdict.failed, 0);
  if (verdict.failed == 0) return "passed";
  const AttentionBackwardOracle oracle(right, promised.contract, promised.sm);
  const Explanation said =
      oracle.explain(output, verdict.failures.front().index, gradient_of(gradients, output));
  return said.faults.names.empty() ? "nothing" : said.faults.names[0];
}

TEST(AttentionBackwardOracle, NamesMissingMasksAndOtherFormats) {
  GradientSetup setup;
  setup.mask.causal = Causal::bottom_right;
  for (const int output : {0, 1, 2}) {
    EXPECT_EQ(told(setup, output,
                   [](GradientCase& x, GradientModel&) {
                     x.problem.attention.mask.causal = Causal::none;
                   }),
              "the causal mask was not applied");
  }
  setup.mask.causal = Causal::none;
  setup.fp8 = true;
  setup.scales = kScales;
  EXPECT_EQ(told(setup, 2, [](GradientCase&, GradientModel& m) { m.contract.p = FormatId::e5m2; }),
            "P was rounded to e5m2 instead of e4m3");
  EXPECT_EQ(told(setup, 0, [](GradientCase&, GradientModel& m) { m.contract.ds = FormatId::e4m3; }),
            "dS was rounded to e4m3 instead of e5m2");
}

// A fault that is tried, no bias at all, would make P infinite there.
TEST(AttentionBackwardOracle, ExplainsRowsThatABiasHidesWhole) {
  GradientSetup setup;
  setup.bias = true;
  GradientCase example(setup);
  for (std::int64_t n = 0; n < example.bias.layout.count(); ++n) put(example.bias, n, -1e10);
  example.restore_forward();
  GradientModel model;
  model.contract.natural_difference = true;
  Gradients gradients = model_gradients(example, model);
  EXPECT_EQ(verdict_on(example, model, gradients, 2).failed, 0);
  gradients.dv.set_bits(0, 0x7f80);
  const OutputVerdict verdict = verdict_on(example, model, gradients, 2);
  ASSERT_EQ(verdict.failed, 1);
  const AttentionBackwardOracle oracle(example.problem, model.contract, model.sm);
  EXPECT_GE(oracle.explain(2, verdict.failures.front().index, gradients.dv).lines.size(), 4u);
}

TEST(AttentionBackwardOracle, SeesEveryPlantedFaultOfFp8KernelsAndNamesMost) {
  see_planted_faults(kPlantedFp8, true);
}

// Theory: sums whose terms are all exact leave one admissible output.
TEST(AttentionBackwardOracle, DemandsBitsWhereTheArithmeticIsExact) {
  struct Exact {
    GradientValues values;
    int outputs;
  };

  constexpr Exact kExact[] = {{GradientValues::zero_do, kDq | kDk | kDv},
                              {GradientValues::equal_v, kDq | kDk},
                              {GradientValues::zero_q, kDk}};
  for (const Exact& exact : kExact) {
    GradientSetup setup;
    setup.values = exact.values;
    const GradientCase example(setup);
    const Gradients gradients = model_gradients(example, {});
    for (int output = 0; output < 3; ++output) {
      if ((exact.outputs >> output & 1) == 0) continue;
      Tensor got = gradient_of(gradients, output);
      const AttentionBackwardOracle oracle(example.problem, {}, 90);
      for (std::int64_t index = 0; index < got.layout.count(); index += 97) {
        const ElementVerdict verdict = oracle.element(output, index, got.bits(index));
        EXPECT_TRUE(verdict.pass);
        EXPECT_EQ(verdict.exact, 0);
        EXPECT_EQ(verdict.low, verdict.high);
        EXPECT_FALSE(oracle.element(output, index, 1).pass);  // the smallest number that is not 0
      }
    }
  }
}

TEST(AttentionBackwardOracle, RowsThatSeeNoKeyAndKeysThatNoRowSeesGetZeros) {
  GradientSetup setup;
  setup.queries = 20;
  setup.keys = 12;
  setup.mask = {Causal::bottom_right, 2, -1};  // the first 8 queries see nothing
  const GradientCase example(setup);
  const Gradients gradients = model_gradients(example, {});
  const AttentionBackwardOracle oracle(example.problem, {}, 90);
  EXPECT_EQ(oracle.judge(0, gradients.dq, {}).failed, 0);
  Tensor wrong = gradients.dq;
  EXPECT_EQ(wrong.bits(5), 0u);
  wrong.set_bits(5, 0x7fc0);
  EXPECT_EQ(oracle.judge(0, wrong, {}).class_mismatches, 1);
  EXPECT_TRUE(oracle.element(0, 5, 0x8000).pass);  // -0 is a zero
}

// Weights of 2^(10^11), which no format has: every output of a kernel passes, and the definition is
// not asked, since it has no number for it.
TEST(AttentionBackwardOracle, LetsAnythingPassWhereWeightsOverflow) {
  GradientSetup setup;
  setup.queries = 6;
  setup.keys = 5;
  GradientCase example(setup);
  for (std::int64_t row = 0; row < example.lse.layout.count(); ++row) put(example.lse, row, -1e11);
  for (Tensor* tensor : {&example.v, &example.o, &example.d_o}) {
    for (std::int64_t p = 0; p < tensor->layout.count(); ++p) put(*tensor, p, 0);
  }
  const AttentionBackwardOracle oracle(example.problem, {}, 90);
  for (int output = 0; output < 3; ++output) {
    for (const std::uint64_t code : {0x0000u, 0x7fc0u, 0x7f80u}) {
      Tensor got = example.output(output);
      for (std::int64_t p = 0; p < got.layout.count(); ++p) got.set_bits(p, code);
      JudgeOptions options;
      EXPECT_EQ(oracle.judge(output, got, options).failed, 0) << output << " " << code;
      options.mpfr_bits = 200;
      EXPECT_EQ(oracle.judge(output, got, options).failed, 0) << output << " " << code;
    }
  }
}

// The same verdict by MPFR throughout, from a sample, and on any number of threads.
TEST(AttentionBackwardOracle, AgreesWithTheDefinitionAndWithItself) {
  for (const Mistake mistake : {Mistake::none, Mistake::scale_in_bf16}) {
    GradientSetup setup;
    setup.output = FormatId::f32;
    setup.queries = 70;
    setup.keys = 40;
    setup.scale = 0.3f;
    setup.d = setup.dv = 16;
    const GradientCase example(setup);
    GradientModel model;
    model.mistake = mistake;
    const Gradients gradients = model_gradients(example, model);
    for (int output = 0; output < 3; ++output) {
      const OutputVerdict plain = verdict_on(example, model, gradients, output);
      JudgeOptions options;
      options.mpfr_bits = 200;
      const OutputVerdict defined = verdict_on(example, model, gradients, output, options);
      EXPECT_EQ(plain.failed, defined.failed);
      EXPECT_EQ(defined.refereed, defined.elements);
      options = {};
      options.threads = 3;
      const OutputVerdict threaded = verdict_on(example, model, gradients, output, options);
      EXPECT_EQ(plain.failed, threaded.failed);
      EXPECT_EQ(plain.worst.index, threaded.worst.index);
      EXPECT_EQ(plain.worst_share, threaded.worst_share);
      EXPECT_EQ(plain.histogram, threaded.histogram);
      options.max_bounded = 100;
      const OutputVerdict sampled = verdict_on(example, model, gradients, output, options);
      EXPECT_LE(sampled.failed, plain.failed);
      EXPECT_LE(sampled.compared, sampled.elements);
      EXPECT_EQ(sampled.failed > 0, mistake != Mistake::none);
    }
  }
}

}  // namespace
}  // namespace plumbline::testing
