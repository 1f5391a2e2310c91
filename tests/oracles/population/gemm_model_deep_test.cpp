// SPDX-License-Identifier: MIT
// Tests of errors beside a model's, many times: silent about kernels that add in another admissible
// order, and as sure of a tile's factor as docs/detection.md publishes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "tests/oracles/population/envelope_fixture.h"

namespace plumbline {
namespace {

using testing::EnvelopeFixture;
using testing::GemmSetup;
using testing::NamedContract;

// Parts of k joined in an order of the output's own, where the model joins them in increasing
// order.
double in_another_order(const EnvelopeFixture& made, std::size_t at, Random& random) {
  const PreparedGemm& gemm = made.oracle.gemm();
  const GemmPlace place = gemm.place(static_cast<std::int64_t>(at));
  AccumulatorOptions options;
  for (std::int64_t part = 0; part < gemm.contract.parts; ++part)
    options.join_order.push_back(part);
  for (std::size_t i = options.join_order.size(); i > 1; --i)
    std::swap(options.join_order[i - 1], options.join_order[random.below(i)]);
  return static_cast<double>(run_accumulator(gemm.contract, gemm.sm,
                                             made.gemm.problem.a->layout.format,
                                             made.gemm.problem.b->layout.format, gemm.row(place),
                                             gemm.column(place), made.gemm.problem.k, options)
                                 .value);
}

TEST(GemmModelDeep, AnotherAdmissibleOrderIsNeverSuspect) {
  using enum FormatId;
  const Contract mma = testing::tensor_core_contract(),
                 wgmma = testing::tensor_core_contract(Instruction::wgmma);
  const NamedContract kernels[] = {
      {"bf16", testing::split(mma, 8, Join::f32_any_order, 16), 90, bf16, bf16},
      {"bf16 Ampere", testing::split(mma, 4, Join::f32_atomic, 16), 80, bf16, bf16},
      {"e4m3", testing::split(mma, 8, Join::f32_any_order, 32), 90, e4m3, e4m3},
      {"e4m3 wgmma", testing::split(wgmma, 4, Join::f32_any_order, 32), 90, e4m3, e5m2},
      {"bf16 joins", testing::split(mma, 4, Join::bf16, 16), 90, bf16, bf16},
  };
  int other = 0, cases = 0;
  for (const NamedContract& named : kernels) {
    for (std::uint64_t seed = 0; seed < 42; ++seed) {
      const FormatId output = seed % 3 == 2 ? bf16 : f32;
      EnvelopeFixture made(named,
                           {.m = 64, .n = 64, .k = 256, .output = output, .seed = 100 + seed});
      Random random(seed);
      made.store(
          [&](std::size_t at, double, double) { return in_another_order(made, at, random); });
      EXPECT_EQ(made.failed(), 0);
      const std::vector<std::uint64_t> modelled = made.model.outputs(1);
      for (std::size_t at = 0; at < modelled.size(); ++at)
        other += modelled[at] != made.gemm.d.bits(static_cast<std::int64_t>(at));
      const EnvelopeResult result = made.envelope(32);
      EXPECT_TRUE(result.suspicions.empty())
          << named.name << ' ' << seed << ' ' << result.suspicions.front().words;
      ++cases;
    }
  }
  EXPECT_GE(cases, 200);
  EXPECT_GT(other, 100'000);  // they are other executions indeed
}

// e4m3 on Hopper's wgmma, promoted every 128: a tile in the middle with a factor, on as many
// outputs as a case compares.
TEST(GemmModelDeep, PowerOfTheTileProfileIsWhatIsPublished) {
  const NamedContract named{
      "e4m3", testing::promoted(testing::tensor_core_contract(Instruction::wgmma), 128), 90,
      FormatId::e4m3, FormatId::e4m3};

  struct Row {
    int exponent;
    double sigmas[3];  // published, by length
  };

  constexpr std::int64_t kLengths[] = {1024, 4096, 16384};
  // clang-format off
  const Row rows[] = {
      {7,  {1800, 960, 476}},
      {12, {49, 26, 12.5}},
  };
  // clang-format on
  for (std::size_t i = 0; i < std::size(kLengths); ++i) {
    const std::int64_t k = kLengths[i];
    EnvelopeFixture made(named, {.m = 64, .n = 128, .k = k, .output = FormatId::f32, .seed = 9});
    const std::int64_t begin = k / 2;
    const std::vector<double> tile = made.model.contributions(begin, begin + 128, 1);
    for (const Row& row : rows) {
      made.store([&](std::size_t at, double d, double) {
        return d + std::ldexp(tile[at], -row.exponent);
      });
      const EnvelopeResult result = made.envelope(128);
      double sigmas = 0;
      for (const Suspicion& one : result.suspicions) {
        if (one.test == EnvelopeTest::tile_profile && one.tile_begin == begin) sigmas = one.sigmas;
      }
      fmt::print(
          "a tile times 1 + 2^-{:<2}  k = {:5}: {:5.1f} standard errors, {} of {} outputs "
          "beyond their bound\n",
          row.exponent, k, sigmas, made.failed(), made.exact.size());
      EXPECT_GE(sigmas, 0.9 * row.sigmas[i]) << row.exponent << " k=" << k;
    }
  }
}

}  // namespace
}  // namespace plumbline
