// SPDX-License-Identifier: MIT
// The running bound against emulated kernels: never violated by one that keeps its contract, attained, exactly 0 where
// the arithmetic is exact, and violated by kernels that keep another contract.
#include "oracles/bounds/running_bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "oracles/bounds/accumulator_model.h"
#include "oracles/exact/gemm_sums.h"
#include "tests/oracles/bounds/bound_contracts.h"
#include "tests/oracles/bounds/dot_samples.h"

namespace plumbline {
namespace {

using testing::Data;
using testing::NamedContract;

struct Outcome {
  double error;  // |accumulator - exact|
  double bound;
  bool inside;
};

Outcome compare(float accumulator, const RunningBound& bound, const testing::DotSample& sample) {
  const Dyadic exact = exact_dot(sample.row.data(), sample.column.data(), static_cast<std::int64_t>(sample.row.size()));
  const Dyadic error = (Dyadic(static_cast<double>(accumulator)) - exact).abs();
  return {error.nearest_double(), bound.error, !(Dyadic(bound.error) < error)};
}

AccumulatorOptions shuffled_join(std::int64_t parts, Random& random) {
  AccumulatorOptions options;
  for (std::int64_t i = 0; i < parts; ++i) {
    options.join_order.insert(options.join_order.begin() + random.between(0, i), i);
  }
  return options;
}

std::int64_t nonempty_parts(const BoundModel& model, std::int64_t k) {
  const std::int64_t length = model.part_length(k);
  return (k + length - 1) / length;
}

TEST(RunningBound, HoldsForEveryContractAndIsAttained) {
  std::int64_t dots = 0, violations = 0;
  std::map<std::string, double> closest;
  for (const NamedContract& named : testing::bound_contracts()) {
    const BoundModel model = *bound_model(named.contract, named.sm, named.a, named.b);
    Random random(std::hash<std::string>{}(named.name));
    for (const Data data : testing::kAllData) {
      for (const std::int64_t k : {1, 5, 16, 33, 64, 200}) {
        const int count = k <= 16 ? 400 : k <= 64 ? 200 : 40;
        for (int repeat = 0; repeat < count; ++repeat) {
          const testing::DotSample sample = testing::dot_sample(data, named.a, named.b, k, random);
          const RunningBound bound = running_bound(model, sample.row.data(), sample.column.data(), k);
          ASSERT_TRUE(bound.classes.is_only(ResultClass::finite)) << named.name;
          const float got =
              run_accumulator(named.contract, named.sm, named.a, named.b, sample.row.data(), sample.column.data(), k,
                              shuffled_join(nonempty_parts(model, k), random))
                  .value;
          const Outcome outcome = compare(got, bound, sample);
          if (!outcome.inside) {
            ++violations;
            ADD_FAILURE() << named.name << " data " << static_cast<int>(data) << " k " << k << ": error "
                          << outcome.error << " bound " << outcome.bound;
            if (violations > 5) return;
          }
          if (outcome.bound > 0) closest[named.name] = std::max(closest[named.name], outcome.error / outcome.bound);
          ++dots;
        }
      }
    }
  }
  EXPECT_EQ(violations, 0);
  EXPECT_GE(dots, 200000);
  for (const auto& [name, share] : closest) {
    // Attained but for 2^-30 where products have few enough bits to be hit; products of two f32 come close; a join in
    // any order is bounded for the worst order, not for the one taken.
    const bool joined = name.find("split") != std::string::npos, f32 = name.find("f32") != std::string::npos;
    EXPECT_GT(share, joined ? 0.4 : f32 ? 0.98 : 1 - 0x1p-30) << name;
  }
}

}  // namespace
}  // namespace plumbline
