// SPDX-License-Identifier: MIT
// Low stages are the models the bounds are about, bit for bit; exact stages are exact sums.
#include "oracles/stages/staged_sum.h"
#include "oracles/exact/dyadic.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "oracles/bounds/accumulator/model.h"
#include "oracles/exact/gemm_sums.h"
#include "tests/oracles/bounds/accumulator/bound_contracts.h"
#include "tests/oracles/bounds/accumulator/dot_samples.h"

namespace plumbline {
namespace {

using testing::Data;
using testing::NamedContract;

RealOperands operands(const std::vector<float>& values, FormatId as) {
  RealOperands out;
  for (const float value : values) out.append(double{value}, format(as));
  return out;
}

std::vector<float> drawn(Data data, FormatId id, std::int64_t k, Random random) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < k; ++i)
    values.push_back(testing::stored(id, testing::draw(data, id, random)));
  return values;
}

std::vector<NamedContract> all_contracts() {
  std::vector<NamedContract> all = testing::bound_contracts();
  for (const NamedContract& scaled : testing::scaled_contracts()) all.push_back(scaled);
  return all;
}

TEST(StagedSum, BothStagesLowAreTheAccumulatorModelBitForBit) {
  int compared = 0;
  for (const NamedContract& named : all_contracts()) {
    const StagedSum sum(named.contract, named.sm, named.a, named.b);
    for (const Data data : testing::kAllData) {
      for (const std::int64_t k : {1, 7, 33, 100, 200}) {
        const Random random(static_cast<std::uint64_t>(k) * 31 + static_cast<std::uint64_t>(data));
        const std::vector<float> row = drawn(data, named.a, k, random.fork(1)),
                                 column = drawn(data, named.b, k, random.fork(2));
        AccumulatorOptions options;
        std::vector<double> factors;
        if (named.contract.promotion == Promotion::scaled_fma) {
          Random scale = random.fork(3);
          for (std::int64_t p = 0; p < k; p += named.contract.interval) {
            options.factors.push_back(static_cast<float>(testing::bell(scale)));
            factors.push_back(double{options.factors.back()});
          }
        }
        const float expected = run_accumulator(named.contract, named.sm, named.a, named.b,
                                               row.data(), column.data(), k, options)
                                   .value;
        const double got = sum(operands(row, named.a), operands(column, named.b), factors, {});
        ASSERT_EQ(std::bit_cast<std::uint32_t>(expected + 0.0f),
                  std::bit_cast<std::uint32_t>(static_cast<float>(got) + 0.0f))
            << named.name << " data " << static_cast<int>(data) << " k " << k;
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 700);
}

TEST(StagedSum, BothStagesExactAreTheExactSum) {
  for (const NamedContract& named : testing::bound_contracts()) {
    const StagedSum sum(named.contract, named.sm, named.a, named.b);
    const Random random(5);
    const std::vector<float> row = drawn(Data::normal, named.a, 500, random.fork(1)),
                             column = drawn(Data::normal, named.b, 500, random.fork(2));
    double magnitude = 0;
    for (std::size_t p = 0; p < row.size(); ++p)
      magnitude += std::fabs(double{row[p]} * double{column[p]});
    const double exact = exact_dot(row.data(), column.data(), 500).nearest_double();
    const double got = sum(operands(row, named.a), operands(column, named.b), {},
                           {.accumulate = false, .join = false});
    EXPECT_NEAR(got, exact, 1e-13 * magnitude) << named.name;
  }
}

TEST(StagedSum, OneExactStageLeavesTheOtherItsError) {
  const Contract contract =
      testing::promoted(testing::tensor_core_contract(Instruction::wgmma), 64);
  const StagedSum sum(contract, 90, FormatId::e4m3, FormatId::e4m3);
  const Random random(6);
  const std::vector<float> row = drawn(Data::normal, FormatId::e4m3, 1000, random.fork(1)),
                           column = drawn(Data::normal, FormatId::e4m3, 1000, random.fork(2));
  const RealOperands a = operands(row, FormatId::e4m3), b = operands(column, FormatId::e4m3);
  const double exact = sum(a, b, {}, {false, false}), low = sum(a, b, {}, {true, true});
  const double accumulate = sum(a, b, {}, {true, false}), join = sum(a, b, {}, {false, true});
  EXPECT_NE(accumulate, exact);
  // Accumulators of 14 bits cost more than 15 additions of 24.
  EXPECT_LT(std::fabs(join - exact), 16 * 0x1p-24 * 1000);
  EXPECT_NEAR(low - exact, (accumulate - exact) + (join - exact), 0x1p-16);
}

TEST(StagedSum, FmaRoundsOnce) {
  Random random(7);
  for (int i = 0; i < 100000; ++i) {
    const auto f = [&] {
      return static_cast<float>(testing::bell(random) *
                                std::ldexp(1.0, static_cast<int>(random.between(-20, 20))));
    };
    const float a = f(), b = f();
    // Near cancellation too.
    const float c = i % 2 == 0 ? f() : -a * b * (1 + static_cast<float>(i % 7) * 0x1p-23f);
    ASSERT_EQ(f32_fma(double{a}, double{b}, double{c}), std::fma(a, b, c));
  }
  // Just below a tie, by less than a double shows: rounding there first would make it one.
  const double a = 0x1p-24 + 0x1p-47, b = 1 - 0x1p-23, c = 1 + 0x1p-23;
  EXPECT_EQ(double{f32_fma(a, b, c)}, c);
}

TEST(StagedSum, EveryFaultItListsChangesSums) {
  for (const NamedContract& named : all_contracts()) {
    const StagedSum sum(named.contract, named.sm, named.a, named.b);
    const bool scaled = named.contract.promotion == Promotion::scaled_fma;
    for (const SumFault fault : sum.faults(scaled)) {
      int changed = 0;
      for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const Random random(seed);
        const RealOperands a = operands(drawn(Data::normal, named.a, 400, random.fork(1)), named.a),
                           b = operands(drawn(Data::normal, named.b, 400, random.fork(2)), named.b);
        changed += sum(a, b, {}, {true, true, fault}) != sum(a, b, {}, {});
      }
      EXPECT_GT(changed, 0) << named.name << ": " << words_of(fault);
    }
  }
}

}  // namespace
}  // namespace plumbline
