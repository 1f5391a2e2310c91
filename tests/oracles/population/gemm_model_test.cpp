// SPDX-License-Identifier: MIT
// The model of a GEMM is the kernel that keeps its contract, bit for bit; and beside it tests of
// many errors find faults that no bound on a single error and no test among columns can see.
#include "oracles/population/gemm_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/oracles/population/envelope_fixture.h"

namespace plumbline {
namespace {

using testing::EnvelopeFixture;
using testing::GemmSetup;
using testing::NamedContract;

std::vector<NamedContract> modelled_contracts() {
  std::vector<NamedContract> all;
  for (const NamedContract& named : testing::bound_contracts()) {
    if (!no_model_because(named.contract)) all.push_back(named);
  }
  return all;
}

void expect_model_is_kernel(const NamedContract& named, GemmSetup setup) {
  setup.a = named.a;
  setup.b = named.b;
  testing::Gemm gemm(setup);
  testing::kernel(named).run(gemm);
  const GemmOracle oracle(gemm.problem, named.contract, named.sm);
  const GemmModel model(oracle.gemm(), {{0, 3, 8}, {9, 1}});
  const std::vector<std::uint64_t> outputs = model.outputs(2);
  std::size_t at = 0;
  for (const std::int64_t i : model.rectangle().rows) {
    for (const std::int64_t j : model.rectangle().columns)
      EXPECT_EQ(outputs[at++], gemm.d.bits(i * setup.n + j)) << named.name << ' ' << i << ' ' << j;
  }
}

TEST(GemmModel, IsTheKernelThatKeepsItsContract) {
  for (const NamedContract& named : modelled_contracts()) {
    expect_model_is_kernel(named, {.k = 200, .output = FormatId::f32, .alpha = 0.3f});
    expect_model_is_kernel(named, {.k = 33,
                                   .bias = BiasKind::per_row,
                                   .relu = true,
                                   .scale_a = kVectorScale,
                                   .scale_b = kVectorScale});
  }
  for (const NamedContract& named : testing::scaled_contracts()) {
    const ScaleBlock of_a{1, named.contract.interval}, of_b{3, 2 * named.contract.interval};
    expect_model_is_kernel(named,
                           {.k = 200, .output = FormatId::f32, .scale_a = of_a, .scale_b = of_b});
  }
}

TEST(GemmModel, TilesAddUpToTheExactResult) {
  const auto expect_sum = [](const NamedContract& named, GemmSetup setup) {
    const EnvelopeFixture made(named, setup);
    std::vector<double> sums(made.exact.size());
    for (std::int64_t begin = 0; begin < setup.k; begin += 48) {
      const std::vector<double> tile =
          made.model.contributions(begin, std::min(setup.k, begin + 48), 1);
      for (std::size_t at = 0; at < sums.size(); ++at) sums[at] += tile[at];
    }
    for (std::size_t at = 0; at < sums.size(); ++at) {
      const double size = std::fabs(made.exact[at]) + 100;
      EXPECT_NEAR(sums[at], made.exact[at], 0x1p-40 * size) << named.name;
    }
  };
  expect_sum(testing::hopper_bf16(),
             {.k = 200, .output = FormatId::f32, .alpha = -0.7f, .scale_a = kVectorScale});
  const NamedContract scaled = testing::scaled_contracts().front();
  expect_sum(scaled, {.k = 200,
                      .output = FormatId::f32,
                      .scale_a = ScaleBlock{1, scaled.contract.interval},
                      .scale_b = ScaleBlock{3, 2 * scaled.contract.interval}});
}

TEST(GemmModel, AContractThatLeavesTheOrderOpenHasNone) {
  Contract contract = testing::tensor_core_contract();
  EXPECT_FALSE(no_model_because(contract).has_value());
  EXPECT_TRUE(no_model_because(testing::in_any_order(contract)).has_value());
  contract.unit = Unit::int32;
  EXPECT_TRUE(no_model_because(contract).has_value());
}

// A kernel of FP8 accumulators with 14 bits, promoted to f32: bounds are many times the error that
// is typical, so that there is room for faults.
NamedContract promoted_bytes() {
  return {"hopper e4m3 wgmma promoted",
          testing::promoted(testing::tensor_core_contract(Instruction::wgmma), 128), 90,
          FormatId::e4m3, FormatId::e4m3};
}

GemmSetup setup(FormatId output, std::uint64_t seed = 1) {
  GemmSetup setup{.m = 64, .n = 64, .k = 4096, .output = output, .seed = seed};
  if (output == FormatId::bf16) setup.m = setup.n = 96, setup.k = 2048;
  return setup;
}

// Nothing but the tests beside the model sees it, and it is what they say; on other inputs, too.
void expect_found(FormatId output, EnvelopeTest test,
                  const std::function<void(EnvelopeFixture&, std::uint64_t seed)>& plant) {
  std::optional<Suspicion> first;
  for (const std::uint64_t seed : {1, 2}) {
    EnvelopeFixture made(promoted_bytes(), setup(output, seed));
    plant(made, seed);
    EXPECT_EQ(made.failed(), 0);
    EXPECT_GT(sign_symmetry(made.errors()).chance, kUnbelievable);
    EXPECT_GT(rank_position(made.errors()).chance, kUnbelievable);
    const EnvelopeResult result = made.envelope(128);
    ASSERT_FALSE(result.suspicions.empty());
    EXPECT_EQ(result.suspicions.front().test, test) << result.suspicions.front().words;
    if (!first) first = result.suspicions.front();
    EXPECT_TRUE(first->same_as(result.suspicions.front()));
  }
}

TEST(GemmModel, ATileWithAFactorIsFoundBesideIt) {
  expect_found(FormatId::f32, EnvelopeTest::tile_profile, [](EnvelopeFixture& made, std::uint64_t) {
    const std::vector<double> tile = made.model.contributions(1024, 1152, 1);
    made.store([&](std::size_t at, double d, double) { return d + 0x1p-12 * tile[at]; });
  });
}

TEST(GemmModel, ErrorsThreeTimesAsLargeAreFoundBesideIt) {
  expect_found(FormatId::f32, EnvelopeTest::rms, [](EnvelopeFixture& made, std::uint64_t) {
    made.store([](std::size_t, double d, double y) { return y + 3 * (d - y); });
  });
}

// Eleven bits first, then eight.
TEST(GemmModel, OutputsRoundedTwiceAreFoundBesideIt) {
  expect_found(FormatId::bf16, EnvelopeTest::flips, [](EnvelopeFixture& made, std::uint64_t seed) {
    GemmSetup same_inputs = setup(FormatId::bf16, seed);
    same_inputs.output = FormatId::f32;
    const EnvelopeFixture wide(promoted_bytes(), same_inputs);
    const std::vector<std::uint64_t> sums = wide.model.outputs(1);
    made.store([&](std::size_t at, double, double) {
      const Format& half = format(FormatId::f16);
      return to_double(half, encode(half, to_double(wide.output(), sums[at])));
    });
  });
}

TEST(GemmModel, ALeanTowardZeroIsFoundBesideIt) {
  expect_found(FormatId::f32, EnvelopeTest::bias, [](EnvelopeFixture& made, std::uint64_t) {
    made.store([](std::size_t, double d, double y) { return d - std::copysign(0.005, y); });
  });
}

TEST(GemmModel, TheModelItselfIsNotSuspect) {
  for (const FormatId output : {FormatId::f32, FormatId::bf16}) {
    EnvelopeFixture made(promoted_bytes(), setup(output));
    made.store([](std::size_t, double d, double) { return d; });
    EXPECT_EQ(made.failed(), 0);
    EXPECT_TRUE(made.envelope(128).suspicions.empty());
  }
}

}  // namespace
}  // namespace plumbline
