// SPDX-License-Identifier: MIT
// Millions of emulated dot products against the running bound, long ones included: not one may
// leave it. PLUMBLINE_OUTPUTS=n asks for n of every contract.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>

#include "oracles/base/hash.h"
#include "oracles/bounds/accumulator_model.h"
#include "oracles/bounds/running_bound.h"
#include "oracles/exact/gemm_sums.h"
#include "oracles/exact/parallel.h"
#include "tests/oracles/bounds/bound_contracts.h"
#include "tests/oracles/bounds/dot_samples.h"

namespace plumbline {
namespace {

struct Job {
  testing::NamedContract contract;
  testing::Data data;
  std::int64_t k, dots;
};

struct Share {
  std::int64_t k, dots;
};

constexpr Share kShares[] = {{7, 10000}, {32, 6000}, {130, 1500}, {1024, 100}, {16384, 3}};

std::vector<Job> jobs() {
  std::int64_t of_contract = 0;
  for (const Share& share : kShares)
    of_contract += share.dots * static_cast<std::int64_t>(std::size(testing::kAllData));
  const char* wanted = std::getenv("PLUMBLINE_OUTPUTS");
  const std::int64_t rounds = wanted ? (std::atoll(wanted) + of_contract - 1) / of_contract : 1;
  std::vector<Job> all;
  for (const testing::NamedContract& contract : testing::bound_contracts()) {
    for (std::int64_t round = 0; round < rounds; ++round) {
      for (const testing::Data data : testing::kAllData)
        for (const Share& share : kShares) all.push_back({contract, data, share.k, share.dots});
    }
  }
  return all;
}

TEST(RunningBoundDeep, HoldsOverMillionsOfDotProducts) {
  const std::vector<Job> all = jobs();
  std::atomic<std::int64_t> dots = 0, violations = 0;
  for_each_piece(static_cast<std::int64_t>(all.size()), 2, [&](std::int64_t number) {
    const Job& job = all[static_cast<std::size_t>(number)];
    const BoundModel model =
        *bound_model(job.contract.contract, job.contract.sm, job.contract.a, job.contract.b);
    Random random = Random(fingerprint(job.contract.name)).fork(static_cast<std::uint64_t>(number));
    for (std::int64_t dot = 0; dot < job.dots; ++dot) {
      const testing::DotSample sample =
          testing::dot_sample(job.data, job.contract.a, job.contract.b, job.k, random);
      const float* row = sample.row.data();
      const float* column = sample.column.data();
      const float got = run_accumulator(job.contract.contract, job.contract.sm, job.contract.a,
                                        job.contract.b, row, column, job.k)
                            .value;
      const RunningBound bound = running_bound(model, row, column, job.k);
      const Dyadic error = (Dyadic(static_cast<double>(got)) - exact_dot(row, column, job.k)).abs();
      if (Dyadic(bound.error) < error || !bound.classes.is_only(ResultClass::finite)) ++violations;
      ++dots;
    }
  });
  EXPECT_EQ(violations, 0);
  EXPECT_GT(dots, 2'500'000);
}

}  // namespace
}  // namespace plumbline
