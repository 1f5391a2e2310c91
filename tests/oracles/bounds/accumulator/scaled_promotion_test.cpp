// SPDX-License-Identifier: MIT
// Promotion by fma with a factor per interval: the running bound holds for emulated kernels and is
// attained, knows what infinite and NaN factors do, gives the same bits on vectors, and is left by
// kernels that take a wrong factor.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "oracles/base/hash.h"
#include "oracles/base/numbers.h"
#include "oracles/bounds/accumulator/a_priori.h"
#include "oracles/bounds/accumulator/model.h"
#include "oracles/exact/dyadic.h"
#include "oracles/exact/gemm_block_sums.h"
#include "tests/oracles/bounds/accumulator/bound_contracts.h"
#include "tests/oracles/bounds/accumulator/dot_samples.h"

namespace plumbline {
namespace {

using testing::Data;
using testing::NamedContract;

enum class Factors { powers, random, wide, tiny, special };

std::vector<double> draw_factors(Factors kind, std::int64_t count, Random& random) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = testing::bell(random);
    switch (kind) {
      case Factors::powers:
        out.push_back(std::ldexp(1.0f, static_cast<int>(random.between(-8, 8))));
        break;
      case Factors::random:
        out.push_back(random.below(8) == 0 ? 0.0f : static_cast<float>(x));
        break;
      case Factors::wide:
        out.push_back(static_cast<float>(std::ldexp(x, static_cast<int>(random.between(-60, 60)))));
        break;
      case Factors::tiny:  // results around the smallest f32 numbers
        out.push_back(
            static_cast<float>(std::ldexp(x, static_cast<int>(random.between(-149, -125)))));
        break;
      case Factors::special: {
        const float choices[] = {0.0f,          -0.0f,    kFloatInfinity, -kFloatInfinity,
                                 std::nanf(""), 0x1p127f, -0x1p120f,      1.0f,
                                 -2.5f,         0x1p-149f};
        out.push_back(choices[random.below(std::size(choices))]);
        break;
      }
    }
  }
  return out;
}

Dyadic exact_sum(const BoundModel& model, const testing::DotSample& sample,
                 const std::vector<double>& factors) {
  return exact_block_dot(sample.row.data(), sample.column.data(),
                         static_cast<std::int64_t>(sample.row.size()), model.interval, factors);
}

float emulated(const NamedContract& named, const testing::DotSample& sample,
               const std::vector<double>& factors) {
  AccumulatorOptions options;
  options.factors = factors;
  return run_accumulator(named.contract, named.sm, named.a, named.b, sample.row.data(),
                         sample.column.data(), static_cast<std::int64_t>(sample.row.size()),
                         options)
      .value;
}

RunningBound bound_of(const BoundModel& model, const testing::DotSample& sample,
                      const std::vector<double>& factors) {
  return running_bound(model, sample.row.data(), sample.column.data(),
                       static_cast<std::int64_t>(sample.row.size()), {factors.data(), nullptr});
}

bool inside(float got, const RunningBound& bound, const Dyadic& exact) {
  return !(Dyadic(bound.error) < (Dyadic(static_cast<double>(got)) - exact).abs());
}

TEST(ScaledPromotion, BoundHoldsForEveryContractAndIsAttained) {
  std::map<std::string, double> closest;
  std::int64_t dots = 0;
  for (const NamedContract& named : testing::scaled_contracts()) {
    const BoundModel model = *bound_model(named.contract, named.sm, named.a, named.b);
    ASSERT_TRUE(model.scaled);
    Random random(fingerprint(named.name));
    for (const Data data : testing::kAllData) {
      for (const Factors kind : {Factors::powers, Factors::random, Factors::wide, Factors::tiny}) {
        for (const std::int64_t k : {1, 16, 64, 200}) {
          for (int repeat = 0; repeat < (k <= 64 ? 60 : 20); ++repeat) {
            const testing::DotSample sample =
                testing::dot_sample(data, named.a, named.b, k, random);
            const std::vector<double> factors = draw_factors(kind, model.intervals(k), random);
            const RunningBound bound = bound_of(model, sample, factors);
            if (!bound.classes.is_only(ResultClass::finite)) continue;
            const Dyadic exact = exact_sum(model, sample, factors);
            const float got = emulated(named, sample, factors);
            ASSERT_TRUE(inside(got, bound, exact))
                << named.name << " data " << static_cast<int>(data) << " factors "
                << static_cast<int>(kind) << " k " << k << ": " << got << " bound " << bound.error;
            // The sum in double is as close as it says, and zero errors are said where they are.
            ASSERT_FALSE(Dyadic(bound.sum_error) < (Dyadic(bound.sum) - exact).abs());
            if (bound.error > 0) {
              const double share =
                  (Dyadic(static_cast<double>(got)) - exact).abs().nearest_double() / bound.error;
              closest[named.name] = std::max(closest[named.name], share);
            }
            ++dots;
          }
        }
      }
    }
  }
  EXPECT_GE(dots, 40000);
  for (const auto& [name, share] : closest) EXPECT_GT(share, 0.999) << name;
}

TEST(ScaledPromotion, IsExactWhereTheArithmeticMustBe) {
  for (const NamedContract& named : testing::scaled_contracts()) {
    const BoundModel model = *bound_model(named.contract, named.sm, named.a, named.b);
    Random random(3);
    const testing::DotSample sample =
        testing::dot_sample(Data::integers, named.a, named.b, 128, random);
    std::vector<double> factors;
    for (std::int64_t i = 0; i < model.intervals(128); ++i)
      factors.push_back(std::ldexp(i % 3 == 0 ? -3.0 : 1.0, static_cast<int>(i % 4)));
    const RunningBound bound = bound_of(model, sample, factors);
    EXPECT_EQ(bound.error, 0) << named.name;
    EXPECT_EQ(static_cast<double>(emulated(named, sample, factors)), bound.sum);
  }
}

TEST(ScaledPromotion, ClassesFollowFactorsThatAreNotFinite) {
  std::int64_t special = 0, open = 0, dots = 0;
  for (const NamedContract& named : testing::scaled_contracts()) {
    const BoundModel model = *bound_model(named.contract, named.sm, named.a, named.b);
    Random random(fingerprint(named.name));
    for (int repeat = 0; repeat < 800; ++repeat) {
      const std::int64_t k = random.between(1, 200);
      const testing::DotSample sample = testing::dot_sample(repeat % 3 == 0   ? Data::cancelling
                                                            : repeat % 3 == 1 ? Data::integers
                                                                              : Data::sparse,
                                                            named.a, named.b, k, random);
      const std::vector<double> factors =
          draw_factors(Factors::special, model.intervals(k), random);
      const RunningBound bound = bound_of(model, sample, factors);
      const float got = emulated(named, sample, factors);
      const ResultClass cls = std::isnan(got)      ? ResultClass::nan
                              : std::isfinite(got) ? ResultClass::finite
                              : got > 0            ? ResultClass::plus_infinity
                                                   : ResultClass::minus_infinity;
      ASSERT_TRUE(bound.classes.has(cls)) << named.name << " " << got << " repeat " << repeat;
      if (cls == ResultClass::finite) {
        ASSERT_TRUE(inside(got, bound, exact_sum(model, sample, factors))) << named.name;
      }
      special += cls == ResultClass::finite ? 0 : 1;
      open += bound.classes.is_only(cls) ? 0 : 1;
      ++dots;
    }
  }
  EXPECT_GT(special, dots / 2);
  EXPECT_LT(open, dots / 10);
}

TEST(ScaledPromotion, VectorsGiveTheSpecificationsBits) {
  for (const NamedContract& named : testing::scaled_contracts()) {
    const BoundModel model = *bound_model(named.contract, named.sm, named.a, named.b);
    Random random(7);
    for (const Factors kind : {Factors::random, Factors::wide, Factors::tiny, Factors::special}) {
      for (const std::int64_t k : {0, 1, 31, 64, 200}) {
        std::vector<testing::DotSample> dots;
        std::array<BoundOperand, kPanelLanes> rows{}, columns{};
        for (int lane = 0; lane < kPanelLanes; ++lane)
          dots.push_back(
              testing::dot_sample(testing::kAllData[random.below(std::size(testing::kAllData))],
                                  named.a, named.b, k, random));
        std::vector<double> panel(static_cast<std::size_t>(model.intervals(k)) * kPanelLanes);
        std::vector<std::vector<double>> factors;
        for (std::size_t lane = 0; lane < kPanelLanes; ++lane) {
          rows[lane] = dots[lane].row.data();
          columns[lane] = dots[lane].column.data();
          factors.push_back(draw_factors(kind, model.intervals(k), random));
          for (std::size_t i = 0; i < factors[lane].size(); ++i)
            panel[i * kPanelLanes + lane] = factors[lane][i];
        }
        PreparedPanel row_panel, column_panel;
        row_panel.assign(rows, k, model.a_minimum_exponent);
        column_panel.assign(columns, k, model.b_minimum_exponent);
        const RunningBounds got = running_bounds(model, row_panel, column_panel, panel.data());
        for (std::size_t lane = 0; lane < kPanelLanes; ++lane) {
          const RunningBound want = bound_of(model, dots[lane], factors[lane]);
          ASSERT_EQ(got[lane].sum, want.sum) << named.name << " k " << k;
          ASSERT_EQ(got[lane].sum_error, want.sum_error) << named.name;
          ASSERT_EQ(got[lane].error, want.error) << named.name;
          ASSERT_EQ(got[lane].lattice, want.lattice) << named.name;
          ASSERT_TRUE(got[lane].classes == want.classes) << named.name;
        }
      }
    }
  }
}

// The ways in which kernels multiply p by two scales and add the product to s.
float with_scales(int way, float p, float a, float b, float s) {
  if (way >= 4) std::swap(a, b);
  switch (way) {
    case 0:
      return std::fma(p, a * b, s);
    case 1: {
      const float factor = a * b, product = p * factor;
      return s + product;
    }
    case 2:
    case 4: {
      const float product = p * a;
      return std::fma(product, b, s);
    }
    default: {
      const float first = p * a, product = first * b;
      return s + product;
    }
  }
}

constexpr int kWays = 6;

TEST(ScaledPromotion, AnyStepsBetweenScalesAreWithinTheirBound) {
  std::int64_t dots = 0, beyond_fma = 0, open = 0;
  double closest = 0;
  for (NamedContract named : testing::scaled_contracts()) {
    if (named.contract.schedule != Schedule::promote || named.contract.unit == Unit::int32)
      continue;
    const BoundModel fma = *bound_model(named.contract, named.sm, named.a, named.b);
    named.contract.promotion = Promotion::scaled;
    BoundModel model = *bound_model(named.contract, named.sm, named.a, named.b);
    ASSERT_TRUE(model.any_scaling.has_value());
    Contract chain = named.contract;
    chain.schedule = Schedule::sequential;
    chain.promotion = Promotion::add;
    Random random(fingerprint(named.name));
    for (const Factors kind :
         {Factors::random, Factors::wide, Factors::tiny, Factors::powers, Factors::special}) {
      for (int repeat = 0; repeat < 200; ++repeat) {
        const std::int64_t k = random.between(1, 200);
        const testing::DotSample sample =
            testing::dot_sample(testing::kAllData[random.below(std::size(testing::kAllData))],
                                named.a, named.b, k, random);
        const std::vector<double> a = draw_factors(kind, model.intervals(k), random),
                                  b = draw_factors(kind, model.intervals(k), random);
        std::vector<double> factors;
        model.any_scaling = 0;
        for (std::size_t i = 0; i < a.size(); ++i) {
          factors.push_back(
              static_cast<double>(static_cast<float>(a[i]) * static_cast<float>(b[i])));
          for (const double scale : {std::fabs(a[i]), std::fabs(b[i])})
            if (std::isfinite(scale)) model.any_scaling = std::max(*model.any_scaling, scale);
        }
        const RunningBound bound = bound_of(model, sample, factors);
        const Dyadic exact = exact_sum(model, sample, factors);
        open += bound.classes.is_only(ResultClass::finite) ? 0 : 1;
        for (int way = 0; way < kWays; ++way) {
          float got = 0;
          for (std::size_t i = 0; i < a.size(); ++i) {
            const std::int64_t begin = static_cast<std::int64_t>(i) * model.interval;
            const float p =
                run_accumulator(chain, named.sm, named.a, named.b, sample.row.data() + begin,
                                sample.column.data() + begin, std::min(model.interval, k - begin))
                    .value;
            got = with_scales(way, p, static_cast<float>(a[i]), static_cast<float>(b[i]), got);
          }
          const ResultClass cls = std::isnan(got)      ? ResultClass::nan
                                  : std::isfinite(got) ? ResultClass::finite
                                  : got > 0            ? ResultClass::plus_infinity
                                                       : ResultClass::minus_infinity;
          ASSERT_TRUE(bound.classes.has(cls)) << named.name << " way " << way << " factors "
                                              << static_cast<int>(kind) << ": " << got;
          if (cls != ResultClass::finite) continue;
          ASSERT_TRUE(inside(got, bound, exact))
              << named.name << " way " << way << " factors " << static_cast<int>(kind) << " k " << k
              << ": " << got << " bound " << bound.error;
          beyond_fma += inside(got, bound_of(fma, sample, factors), exact) ? 0 : 1;
          if (bound.error > 0)
            closest = std::max(
                closest,
                (Dyadic(static_cast<double>(got)) - exact).abs().nearest_double() / bound.error);
          ++dots;
        }
      }
    }
  }
  EXPECT_GT(dots, 20000);
  EXPECT_GT(beyond_fma, 100);
  EXPECT_GT(closest, 0.3);
  EXPECT_LT(open, dots / kWays / 3);
}

TEST(ScaledPromotion, IsLeftByKernelsWithWrongFactors) {
  for (const NamedContract& named : testing::scaled_contracts()) {
    const BoundModel model = *bound_model(named.contract, named.sm, named.a, named.b);
    Random random(9);
    int outside = 0;
    for (int repeat = 0; repeat < 100; ++repeat) {
      const testing::DotSample sample =
          testing::dot_sample(Data::normal, named.a, named.b, 192, random);
      std::vector<double> factors = draw_factors(Factors::powers, model.intervals(192), random);
      const RunningBound bound = bound_of(model, sample, factors);
      const Dyadic exact = exact_sum(model, sample, factors);
      factors[0] *= 1 + 0x1p-7;
      outside += inside(emulated(named, sample, factors), bound, exact) ? 0 : 1;
    }
    EXPECT_GT(outside, 50) << named.name;
  }
}

TEST(ScaledPromotion, APrioriBoundCoversTheRunningBound) {
  for (const NamedContract& named : testing::scaled_contracts()) {
    const BoundModel model = *bound_model(named.contract, named.sm, named.a, named.b);
    Random random(5);
    for (const Data data : testing::kAllData) {
      for (const Factors kind : {Factors::random, Factors::wide, Factors::tiny}) {
        const std::int64_t k = 200;
        const testing::DotSample sample = testing::dot_sample(data, named.a, named.b, k, random);
        const std::vector<double> factors = draw_factors(kind, model.intervals(k), random);
        const std::vector<float> scales(factors.begin(), factors.end()), ones(factors.size(), 1.0f);
        std::vector<VectorSize> rows, columns;
        double largest = 0;
        for (std::size_t i = 0; i < factors.size(); ++i) {
          const auto begin = static_cast<std::int64_t>(i) * model.interval;
          const std::int64_t count = std::min(model.interval, k - begin);
          rows.push_back(vector_size(sample.row.data() + begin, count, model.a_minimum_exponent));
          columns.push_back(
              vector_size(sample.column.data() + begin, count, model.b_minimum_exponent));
          largest = std::max(largest, std::fabs(factors[i]));
        }
        const double magnitude =
            magnitude_bound(scaled_vector_size(rows, scales), scaled_vector_size(columns, ones));
        const APriori a_priori(model, k);
        const RunningBound bound = bound_of(model, sample, factors);
        if (!bound.classes.is_only(ResultClass::finite)) continue;
        EXPECT_GE(a_priori.error(magnitude, largest), bound.error) << named.name;
        EXPECT_FALSE(a_priori.surely_exact(magnitude, 1));
      }
    }
  }
}

}  // namespace
}  // namespace plumbline
