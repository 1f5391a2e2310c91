// SPDX-License-Identifier: MIT
// Millions of emulated dot products against the running bound, long ones included: not one may
// leave it. PLUMBLINE_OUTPUTS=n asks for n of every accumulator model, and for a tenth of that of
// every promotion and join over them; PLUMBLINE_THREADS=n takes other than two threads.
//
// Eight pairs of vectors give 64 dot products: drawing them costs more than adding them up. Pairs
// that were made for each other (cancelling ones) meet as well as strangers. The outputs are
// StagedSum's, which works on operands that are prepared once, and is the accumulator model bit for
// bit (tests/oracles/reference/staged_sum_test.cpp); the bounds are those that verdicts use. Where
// an output is not surely within its bound of the sum in double, exact arithmetic decides.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <string>
#include <vector>

#include "oracles/base/hash.h"
#include "oracles/bounds/running_bound.h"
#include "oracles/exact/gemm_sums.h"
#include "oracles/exact/parallel.h"
#include "oracles/reference/staged_sum.h"
#include "tests/oracles/bounds/bound_contracts.h"
#include "tests/oracles/bounds/dot_samples.h"

namespace plumbline {
namespace {

using testing::NamedContract;

struct Job {
  std::size_t contract;
  testing::Data data;
  std::int64_t k, blocks;
};

// Of a round of each contract.
struct Share {
  std::int64_t k, blocks;
};

constexpr Share kShares[] = {{7, 160}, {32, 96}, {130, 24}, {1024, 2}, {16384, 1}};
constexpr std::int64_t kDotsOfBlock = std::int64_t{kPanelLanes} * kPanelLanes;

std::int64_t from_environment(const char* name, std::int64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

std::vector<Job> jobs() {
  std::int64_t of_contract = 0;
  for (const Share& share : kShares)
    of_contract +=
        share.blocks * kDotsOfBlock * static_cast<std::int64_t>(std::size(testing::kAllData));
  const std::int64_t wanted = from_environment("PLUMBLINE_OUTPUTS", of_contract);
  const std::vector<NamedContract> contracts = testing::bound_contracts();
  std::vector<Job> all;
  for (std::size_t contract = 0; contract < contracts.size(); ++contract) {
    const bool one_chain = contracts[contract].contract.schedule == Schedule::sequential;
    const std::int64_t dots = std::max(one_chain ? wanted : wanted / 10, of_contract),
                       rounds = (dots + of_contract - 1) / of_contract;
    for (std::int64_t round = 0; round < rounds; ++round) {
      for (const testing::Data data : testing::kAllData)
        for (const Share& share : kShares) all.push_back({contract, data, share.k, share.blocks});
    }
  }
  return all;
}

// A contract with everything that does not depend on the data.
struct Prepared {
  NamedContract named;
  BoundModel model;
  StagedSum sum;

  explicit Prepared(const NamedContract& contract)
      : named(contract),
        model(*bound_model(contract.contract, contract.sm, contract.a, contract.b)),
        sum(contract.contract, contract.sm, contract.a, contract.b) {}
};

// Outputs beyond their bound, of all rows with all columns of some samples.
std::int64_t violations(const Prepared& kernel, testing::Data data, std::int64_t k,
                        Random& random) {
  std::vector<testing::DotSample> samples;
  std::vector<RealOperands> rows(kPanelLanes), columns(kPanelLanes);
  std::array<const float*, kPanelLanes> of_lanes{};
  for (std::size_t lane = 0; lane < kPanelLanes; ++lane) {
    samples.push_back(testing::dot_sample(data, kernel.named.a, kernel.named.b, k, random));
    for (const float x : samples[lane].row)
      rows[lane].append(static_cast<double>(x), format(kernel.named.a));
    for (const float x : samples[lane].column)
      columns[lane].append(static_cast<double>(x), format(kernel.named.b));
  }
  for (std::size_t lane = 0; lane < kPanelLanes; ++lane)
    of_lanes[lane] = samples[lane].column.data();
  PreparedPanel panel;
  panel.assign(of_lanes, k, kernel.model.b_minimum_exponent);
  std::int64_t count = 0;
  for (std::size_t i = 0; i < kPanelLanes; ++i) {
    PreparedVector row;
    row.assign(samples[i].row.data(), k, kernel.model.a_minimum_exponent);
    const RunningBounds bounds = running_bounds(kernel.model, row, panel);
    for (std::size_t j = 0; j < kPanelLanes; ++j) {
      const RunningBound& bound = bounds[j];
      const double got = kernel.sum(rows[i], columns[j], {}, {});
      if (!bound.classes.is_only(ResultClass::finite)) {
        ++count;
        continue;
      }
      const double apart = std::fabs(got - bound.sum) * (1 + 0x1p-50) + bound.sum_error;
      if (apart <= bound.error) continue;
      const Dyadic exact = exact_dot(samples[i].row.data(), samples[j].column.data(), k);
      count += Dyadic(bound.error) < (Dyadic(got) - exact).abs();
    }
  }
  return count;
}

TEST(RunningBoundDeep, HoldsOverMillionsOfDotProducts) {
  std::vector<Prepared> kernels;
  for (const NamedContract& named : testing::bound_contracts()) kernels.emplace_back(named);
  const std::vector<Job> all = jobs();
  std::vector<std::atomic<std::int64_t>> dots(kernels.size()), beyond(kernels.size());
  const auto threads = static_cast<int>(from_environment("PLUMBLINE_THREADS", 2));
  for_each_piece(static_cast<std::int64_t>(all.size()), threads, [&](std::int64_t number) {
    const Job& job = all[static_cast<std::size_t>(number)];
    const Prepared& kernel = kernels[job.contract];
    Random random = Random(fingerprint(kernel.named.name)).fork(static_cast<std::uint64_t>(number));
    for (std::int64_t block = 0; block < job.blocks; ++block) {
      beyond[job.contract] += violations(kernel, job.data, job.k, random);
      dots[job.contract] += kDotsOfBlock;
    }
  });
  for (std::size_t contract = 0; contract < kernels.size(); ++contract) {
    EXPECT_EQ(beyond[contract], 0) << kernels[contract].named.name << ", of " << dots[contract];
    EXPECT_GT(dots[contract], 160'000) << kernels[contract].named.name;
  }
}

}  // namespace
}  // namespace plumbline
