// SPDX-License-Identifier: MIT
// All stages low are a kernel that the oracle accepts; with inputs as stored and all else exact
// they are the MPFR definition.
#include "oracles/stages/staged_attention_backward.h"

#include <gtest/gtest.h>

#include <cmath>

#include "oracles/reference/attention_backward/definition.h"
#include "oracles/reference/attention_backward/oracle.h"
#include "oracles/stages/attribution.h"
#include "tests/oracles/reference/attention_backward/samples.h"
#include "tests/oracles/reference/condition_samples.h"

namespace plumbline {
namespace {

using testing::GradientCase;
using testing::GradientSetup;

using Number = RealOf<128>;

// The stored tensors are their own sources.
std::unique_ptr<StagedComputation> staged(const GradientCase& example,
                                          const AttentionBackwardContract& contract, int sm) {
  return staged_attention_backward(example.problem, contract, sm,
                                   {&example.q, &example.k, &example.v}, example.d_o);
}

std::vector<GradientSetup> setups() {
  std::vector<GradientSetup> all(7);
  all[0].sink = true;
  all[1].mask.causal = Causal::bottom_right;
  all[1].keys = 30;
  all[2].heads = 4;
  all[2].kv_heads = 2;
  all[2].batch = 2;
  all[2].output = FormatId::f32;
  all[3].softcap = 4;
  all[3].bias = true;
  all[4].queries = 20;
  all[4].keys = 150;
  all[4].output = FormatId::f32;
  all[5].fp8 = all[6].fp8 = true;
  all[5].scales = {0.75f, 1.3f, 0.6f, 1.7f, 90.0f};
  all[5].softcap = 3;
  all[6].output = FormatId::f32;
  return all;
}

AttentionBackwardContract contract_of(const GradientSetup& setup) {
  AttentionBackwardContract contract;
  if (!setup.fp8) return contract;
  contract.p = FormatId::e4m3;
  contract.p_shift = 8;
  contract.ds = FormatId::e5m2;
  return contract;
}

TEST(StagedAttentionBackward, AllStagesLowKeepTheContract) {
  for (const GradientSetup& setup : setups()) {
    for (const bool atomic : {false, true}) {
      AttentionBackwardContract contract = contract_of(setup);
      contract.atomic_dq = atomic;
      const GradientCase example(setup);
      const auto computation = staged(example, contract, 90);
      const StagedValues low = computation->evaluate(computation->all_stages());
      const AttentionBackwardOracle oracle(example.problem, contract, 90);
      for (int output = 0; output < 3; ++output) {
        Tensor stored = example.output(output);
        for (std::int64_t n = 0; n < stored.layout.count(); ++n)
          testing::put(stored, n,
                       low[static_cast<std::size_t>(output)][static_cast<std::size_t>(n)]);
        const OutputVerdict verdict = oracle.judge(output, stored, {});
        EXPECT_EQ(verdict.failed, 0) << "output " << output << " keys " << setup.keys;
        EXPECT_GT(verdict.nonzero, 0);
      }
    }
  }
}

TEST(StagedAttentionBackward, ExactStagesOnStoredInputsAreTheDefinition) {
  for (const GradientSetup& setup : setups()) {
    const GradientCase example(setup);
    const auto computation = staged(example, contract_of(setup), 90);
    const StagedValues exact =
        computation->evaluate(computation->stages_of(StageKind::quantization));
    std::size_t compared = 0;
    for (const auto& places : gradient_groups(example.problem)) {
      const GradientGroup group = gradient_group(example.problem, places);
      std::vector<std::vector<GradientRow<Number>>> rows;
      for (const GradientHead& head : group.heads) {
        rows.emplace_back();
        for (std::int64_t i = 0; i < head.head.queries; ++i)
          rows.back().push_back(stored_row<Number>(head, i));
      }
      const HeadPlace& place = places.front();
      const std::int64_t j = setup.keys / 2;
      const KeyGradients<Number> due = defined_key_gradients<Number>(group, rows, j, nullptr);
      const auto row =
          static_cast<std::size_t>((place.batch * setup.kv_heads + place.kv_head) * setup.keys + j);
      for (std::size_t x = 0; x < due.dk.size(); ++x)
        EXPECT_NEAR(exact[1][row * due.dk.size() + x], static_cast<double>(due.dk[x]), 1e-11);
      for (std::size_t x = 0; x < due.dv.size(); ++x)
        EXPECT_NEAR(exact[2][row * due.dv.size() + x], static_cast<double>(due.dv[x]), 1e-11);
      const std::vector<Number> dq = defined_dq<Number>(group.heads[0], rows[0][3], 3, nullptr);
      const auto query =
          static_cast<std::size_t>((place.batch * setup.heads + place.head) * setup.queries + 3);
      for (std::size_t x = 0; x < dq.size(); ++x)
        EXPECT_NEAR(exact[0][query * dq.size() + x], static_cast<double>(dq[x]), 1e-11);
      ++compared;
    }
    EXPECT_GT(compared, 0u);
  }
}

TEST(StagedAttentionBackward, ExactInputsHaveExactOAndLse) {
  for (const bool fp8 : {false, true}) {
    GradientSetup setup;
    setup.fp8 = fp8;
    if (fp8) setup.scales = {0.75f, 1.25f, 0.5f, 1.5f, 96};  // products that f32 holds
    const GradientCase example(setup);
    const testing::SampleScales& scales = example.scales;
    const auto unscaled = [](const Tensor& stored, float scale) {
      return testing::perturbed(stored, 0, 0, static_cast<double>(scale));
    };
    const Tensor q = unscaled(example.q, scales.q), k = unscaled(example.k, scales.k),
                 v = unscaled(example.v, scales.v), d_o = unscaled(example.d_o, scales.d_o);
    const auto computation =
        staged_attention_backward(example.problem, contract_of(setup), 90, {&q, &k, &v}, d_o);
    const StagedValues exact = computation->evaluate(0);
    const std::vector<HeadPlace> places = gradient_groups(example.problem).front();
    const GradientGroup group = gradient_group(example.problem, places);
    const std::vector<Number> dq =
        defined_dq<Number>(group.heads[0], exact_row<Number>(group.heads[0], 5), 5, nullptr);
    for (std::size_t x = 0; x < dq.size(); ++x)
      EXPECT_NEAR(exact[0][5 * dq.size() + x], static_cast<double>(dq[x]), 1e-11);
  }
}

TEST(StagedAttentionBackward, RoundingOfWeightsIsMostOfTheError) {
  GradientSetup setup;
  setup.heads = 1;
  setup.queries = setup.keys = 48;
  setup.output = FormatId::f32;
  const GradientCase example(setup);
  const auto computation = staged(example, {}, 90);
  StagedEvaluations evaluations(*computation);
  for (int output = 0; output < 3; ++output) {
    const Attribution got =
        attribute(evaluations, output, {.base = computation->stages_of(StageKind::quantization)});
    const auto stage = static_cast<std::size_t>(output == 2 ? GradientStep::p_rounding
                                                            : GradientStep::ds_rounding);
    EXPECT_GT(got.stages[stage].share, 0.99);
    EXPECT_NEAR(got.root_sum_square, 1, 0.1);
    // About the error of a bf16 rounding, 0.166 % (docs/propagation.md).
    EXPECT_NEAR(got.error, 0.00166, 0.0004);
  }
}

TEST(StagedAttentionBackward, EveryFaultIsRecognizedAsItself) {
  GradientSetup setup;
  setup.output = FormatId::bf16;
  const GradientCase example(setup);
  const auto computation = staged(example, {}, 90);
  for (int fault = 0; fault < static_cast<int>(computation->faults().size()); ++fault) {
    // dV does not see dS, dQ and dK do not see P's rounding.
    const int output = computation->faults()[static_cast<std::size_t>(fault)].stage ==
                               static_cast<int>(GradientStep::p_rounding)
                           ? 2
                           : 0;
    const StagedValues seen = computation->evaluate(computation->all_stages(), fault);
    const FaultFit fit = best_fault(*computation, output, seen[static_cast<std::size_t>(output)]);
    EXPECT_EQ(fit.fault, fault) << computation->faults()[static_cast<std::size_t>(fault)].words;
  }
}

TEST(StagedAttentionBackward, ConditionNumbersBoundWhatSmallChangesDo) {
  constexpr double kChange = 0x1p-16;
  for (GradientSetup setup : setups()) {
    if (setup.fp8) setup.scales = {0.75f, 1.25f, 0.5f, 1.5f, 96};  // products that f32 holds
    const GradientCase example(setup);
    const testing::SampleScales& scales = example.scales;
    const auto use = [&](double change, const auto& read) {
      const Tensor q = testing::perturbed(example.q, change, 1, scales.q),
                   k = testing::perturbed(example.k, change, 2, scales.k),
                   v = testing::perturbed(example.v, change, 3, scales.v),
                   d_o = testing::perturbed(example.d_o, change, 4, scales.d_o);
      read(*staged_attention_backward(example.problem, contract_of(setup), 90, {&q, &k, &v}, d_o));
    };
    StagedValues exact, condition, moved;
    use(0, [&](const StagedComputation& computation) {
      exact = computation.evaluate(0);
      for (const int output : {0, 1, 2}) condition.push_back(computation.condition(output));
    });
    use(kChange, [&](const StagedComputation& changed) { moved = changed.evaluate(0); });
    for (std::size_t output = 0; output < 3; ++output) {
      const double largest =
          testing::share_of_condition(exact[output], moved[output], condition[output], kChange);
      EXPECT_LE(largest, 1.01) << "output " << output << " keys " << setup.keys;
      EXPECT_GT(largest, 0.02) << "output " << output;  // not far from what happens
    }
  }
}

}  // namespace
}  // namespace plumbline
