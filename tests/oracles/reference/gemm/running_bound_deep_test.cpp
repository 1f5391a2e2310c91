// SPDX-License-Identifier: MIT
// Millions of emulated dot products against the running bound, long ones included: not one may
// leave it. PLUMBLINE_OUTPUTS=n asks for n of every accumulator model, and for a tenth of that of
// every promotion and join over them; PLUMBLINE_THREADS=n takes other than two threads.
//
// Eight pairs of vectors give 64 dot products: drawing them costs more than adding them up. Pairs
// that were made for each other (cancelling ones) meet as well as strangers. The outputs are
// StagedSum's, which works on operands that are prepared once, and is the accumulator model bit for
// bit (tests/oracles/stages/staged_sum_test.cpp); the bounds are those that verdicts use. Where
// an output is not surely within its bound of the sum in double, exact arithmetic decides.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <iterator>
#include <string>
#include <vector>

#include "oracles/base/hash.h"
#include "oracles/bounds/accumulator/running_bound.h"
#include "oracles/exact/dyadic.h"
#include "oracles/exact/gemm_sums.h"
#include "oracles/exact/parallel.h"
#include "oracles/stages/staged_sum.h"
#include "tests/oracles/bounds/accumulator/bound_contracts.h"
#include "tests/oracles/bounds/accumulator/dot_samples.h"

namespace plumbline {
namespace {

using testing::NamedContract;

// Those of the tests, and every other node that accumulates in f32 (`plumbline list models`).
std::vector<NamedContract> contracts() {
  using enum FormatId;
  std::vector<NamedContract> all = testing::bound_contracts();
  all.push_back({"hopper tf32", testing::tensor_core_contract(), 90, tf32, tf32});
  all.push_back({"rtx blackwell e4m3", testing::tensor_core_contract(), 120, e4m3, e4m3});
  return all;
}

struct Job {
  testing::Data data;
  std::int64_t k, blocks;
};

// Of a round.
struct Share {
  std::int64_t k, blocks;
};

constexpr Share kShares[] = {{7, 160}, {32, 96}, {130, 24}, {1024, 2}, {16384, 1}};
constexpr std::int64_t kDotsOfBlock = std::int64_t{kPanelLanes} * kPanelLanes;

std::int64_t from_environment(const char* name, std::int64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

std::vector<Job> jobs(const Contract& contract) {
  std::int64_t of_round = 0;
  for (const Share& share : kShares)
    of_round +=
        share.blocks * kDotsOfBlock * static_cast<std::int64_t>(std::size(testing::kAllData));
  const std::int64_t wanted = from_environment("PLUMBLINE_OUTPUTS", of_round),
                     own = contract.schedule == Schedule::sequential ? wanted : wanted / 10;
  std::vector<Job> all;
  for (std::int64_t dots = 0; dots == 0 || dots < own; dots += of_round) {
    for (const testing::Data data : testing::kAllData)
      for (const Share& share : kShares) all.push_back({data, share.k, share.blocks});
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
  std::array<BoundOperand, kPanelLanes> of_lanes{};
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

class RunningBoundDeep : public ::testing::TestWithParam<NamedContract> {};

TEST_P(RunningBoundDeep, HoldsOverMillionsOfDotProducts) {
  const Prepared kernel(GetParam());
  const std::vector<Job> all = jobs(kernel.named.contract);
  const auto threads = static_cast<int>(from_environment("PLUMBLINE_THREADS", 2));
  std::atomic<std::int64_t> dots = 0, beyond = 0;
  for_each_piece(static_cast<std::int64_t>(all.size()), threads, [&](std::int64_t number) {
    const Job& job = all[static_cast<std::size_t>(number)];
    Random random = Random(fingerprint(kernel.named.name)).fork(static_cast<std::uint64_t>(number));
    for (std::int64_t block = 0; block < job.blocks; ++block) {
      beyond += violations(kernel, job.data, job.k, random);
      dots += kDotsOfBlock;
    }
  });
  EXPECT_EQ(beyond, 0) << "of " << dots;
  EXPECT_GT(dots, 160'000);
}

INSTANTIATE_TEST_SUITE_P(Contracts, RunningBoundDeep, ::testing::ValuesIn(contracts()),
                         [](const auto& contract) {
                           std::string name = contract.param.name;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           std::erase(name, '.');
                           return name;
                         });

}  // namespace
}  // namespace plumbline
