// SPDX-License-Identifier: MIT
// Bounds of sums whose first factors are known only to within something: the running bound where
// they are known, and never violated where a kernel picks any factors of the ranges.
#include "oracles/bounds/uncertain_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "oracles/base/random.h"
#include "oracles/bounds/accumulator/model.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"

namespace plumbline {
namespace {

struct Model {
  Contract contract;
  int sm;
};

std::vector<Model> models() {
  Contract mma, fma, atomics;
  fma.unit = Unit::fma_f32;
  atomics.schedule = Schedule::split_k;
  atomics.interval = 16;
  atomics.parts = 4;
  atomics.join = Join::f32_atomic;
  return {{mma, 80}, {mma, 90}, {fma, 90}, {atomics, 90}};
}

float as_bf16(double x) {
  return static_cast<float>(to_double(format(FormatId::bf16), encode(format(FormatId::bf16), x)));
}

// The next bf16 number above.
float next(float x) {
  std::uint64_t out = 0;
  const Format& bf16 = format(FormatId::bf16);
  next_up(bf16, encode(bf16, static_cast<double>(x)), out);
  return static_cast<float>(to_double(bf16, out));
}

TEST(UncertainSum, IsTheRunningBoundWhereFactorsAreKnown) {
  Random random(11);
  for (const Model& one : models()) {
    const BoundModel model = *bound_model(one.contract, one.sm, FormatId::bf16, FormatId::bf16);
    for (int n = 0; n < 200; ++n) {
      const std::int64_t k = random.between(0, 64), width = random.between(1, 8);
      const bool integers = n % 2 == 0;
      const auto draw = [&] {
        const double x =
            integers ? static_cast<double>(random.between(-9, 9))
                     : std::ldexp(random.unit() - 0.5, static_cast<int>(random.between(-20, 3)));
        return as_bf16(x);
      };
      std::vector<float> row, rows;
      std::vector<UncertainFactor> factors;
      for (std::int64_t p = 0; p < k; ++p) {
        row.push_back(draw());
        factors.push_back(
            UncertainFactor::of(format(FormatId::bf16), row.back(), row.back(), row.back()));
        for (std::int64_t x = 0; x < width; ++x) rows.push_back(draw());
      }
      const RunningBounds got =
          uncertain_sums(model, factors, PreparedColumns(rows.data(), k, width, -126), 0);
      for (std::int64_t x = 0; x < width; ++x) {
        std::vector<float> column;
        for (std::int64_t p = 0; p < k; ++p)
          column.push_back(rows[static_cast<std::size_t>(p * width + x)]);
        const RunningBound expected = running_bound(model, row.data(), column.data(), k);
        const RunningBound& bound = got[static_cast<std::size_t>(x)];
        EXPECT_EQ(bound.sum, expected.sum);
        EXPECT_NEAR(bound.error, expected.error, 0x1p-30 * expected.error);
        EXPECT_EQ(bound.lattice, expected.lattice);
        EXPECT_EQ(bound.error == 0, expected.error == 0);
      }
    }
  }
}

TEST(UncertainSum, HoldsForAllFactorsThatAKernelPicks) {
  Random random(12);
  double worst = 0;
  for (const Model& one : models()) {
    const BoundModel model = *bound_model(one.contract, one.sm, FormatId::bf16, FormatId::bf16);
    for (int n = 0; n < 400; ++n) {
      const std::int64_t k = random.between(1, 64);
      std::vector<float> row, column;
      std::vector<UncertainFactor> factors;
      double exact = 0;  // 16-bit products of like sizes: exact
      const bool like = n % 2 == 0;
      for (std::int64_t p = 0; p < k; ++p) {
        const int exponent = static_cast<int>(like ? random.between(-2, 0) : random.between(-9, 3));
        const float reference =
            random.below(8) == 0 ? 0.0f : as_bf16(std::ldexp(random.unit() - 0.25, exponent));
        float low = reference, high = reference;
        if (random.below(4) == 0) high = next(high);
        if (random.below(16) == 0) low = high = next(next(high));
        if (random.below(64) == 0) low = std::min(low, -0.25f);
        factors.push_back(UncertainFactor::of(format(FormatId::bf16), reference, low, high));
        row.push_back(random.below(2) == 0 ? low : high);
        column.push_back(as_bf16(random.unit() - 0.5));
        exact += static_cast<double>(reference) * static_cast<double>(column.back());
      }
      const RunningBound bound =
          uncertain_sums(model, factors, PreparedColumns(column.data(), k, 1, -126), 0)[0];
      const float got = run_accumulator(one.contract, one.sm, FormatId::bf16, FormatId::bf16,
                                        row.data(), column.data(), k)
                            .value;
      const double off = std::fabs(static_cast<double>(got) - exact);
      EXPECT_LE(off, bound.error * (1 + 0x1p-40) + 0x1p-60);
      if (bound.error > 0) worst = std::max(worst, off / bound.error);
    }
  }
  EXPECT_GT(worst, 0.5);
}

}  // namespace
}  // namespace plumbline
