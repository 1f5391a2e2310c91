// SPDX-License-Identifier: MIT
// The fast arithmetic of contracts that leave nothing open: the bits of the specification, and of
// sums written out here where no contract has a word for the schedule.
#include "oracles/reference/gemm/tile_model.h"

#include <gtest/gtest.h>

#include <bit>

#include "oracles/reference/gemm/compare_bits.h"
#include "oracles/reference/gemm/oracle.h"
#include "tests/oracles/reference/gemm/fixture.h"

namespace plumbline {
namespace {

using testing::Gemm;
using testing::GemmSetup;
using testing::NamedContract;

GemmSetup setup_for(const NamedContract& promised, std::int64_t k) {
  GemmSetup setup;
  setup.m = 19;
  setup.n = 11;
  setup.k = k;
  setup.batch = 2;
  setup.a = promised.a;
  setup.b = promised.b;
  setup.output = FormatId::f32;
  if (promised.contract.promotion == Promotion::scaled_fma)
    setup.scale_a = ScaleBlock{1, promised.contract.interval};
  return setup;
}

// Every accumulator of the problem, by `model`.
template <typename Each>
void for_each_accumulator(const PreparedGemm& gemm, const GemmTileModel& model, const Each& each) {
  const GemmProblem& problem = gemm.problem;
  for (std::int64_t batch = 0; batch < problem.batch; ++batch) {
    for (std::int64_t i = 0; i < problem.m; i += GemmTileModel::kRows) {
      for (std::int64_t j = 0; j < problem.n; j += GemmTileModel::kColumns) {
        GemmTileModel::Accumulators sums;
        model.run({batch, i, j}, sums);
        for (std::int64_t r = 0; r < GemmTileModel::kRows; ++r) {
          for (std::int64_t c = 0; c < GemmTileModel::kColumns; ++c) {
            if (i + r < problem.m && j + c < problem.n)
              each(GemmPlace{batch, i + r, j + c}, sums[r][c]);
          }
        }
      }
    }
  }
}

std::vector<NamedContract> contracts() {
  using enum FormatId;
  const Contract mma = testing::tensor_core_contract(),
                 wgmma = testing::tensor_core_contract(Instruction::wgmma);
  Contract short_mma = mma;
  short_mma.instruction_k = 8;
  return {
      {"bf16 sm_80", mma, 80, bf16, bf16},
      {"f16 sm_90", mma, 90, f16, f16},
      {"f16 in f16 sm_80", testing::in_f16(mma), 80, f16, f16},
      {"fp8 in f16 sm_90", testing::in_f16(mma), 90, e4m3, e4m3},
      {"f16 in f16 promoted", testing::promoted(testing::in_f16(wgmma), 32), 90, f16, f16},
      {"bf16 sm_90 by m16n8k8", short_mma, 90, bf16, bf16},
      {"fp8 sm_89", mma, 89, e4m3, e5m2},
      {"fp8 sm_90", mma, 90, e4m3, e4m3},
      {"fp8 wgmma", wgmma, 90, e4m3, e4m3},
      {"promoted", testing::promoted(wgmma, 32), 90, e4m3, e4m3},
      {"promoted, not in whole instructions", testing::promoted(mma, 24), 80, bf16, bf16},
      {"scaled", testing::scaled(wgmma, 32), 90, e4m3, e4m3},
      {"split", testing::split(mma, 3, Join::f32_ordered), 80, bf16, bf16},
      {"split in blocks", testing::split(mma, 2, Join::f32_ordered, 32), 90, bf16, bf16},
      {"fma", testing::fma_contract(), 80, bf16, bf16},
      {"fma split", testing::split(testing::fma_contract(), 4, Join::f32_ordered), 80, f16, f16}};
}

TEST(TileModel, GivesTheBitsOfTheSpecification) {
  for (const NamedContract& promised : contracts()) {
    for (const std::int64_t k : {1, 16, 75, 131}) {
      const Gemm gemm(setup_for(promised, k));
      const PreparedGemm prepared(gemm.problem, promised.contract, promised.sm, 1);
      const std::optional<SumSchedule> schedule = fixed_schedule(promised.contract);
      ASSERT_TRUE(schedule) << promised.name;
      const auto model = GemmTileModel::make(prepared, *schedule);
      ASSERT_TRUE(model) << promised.name;
      std::int64_t compared = 0;
      for_each_accumulator(prepared, *model, [&](const GemmPlace& at, float sum) {
        AccumulatorOptions options;
        options.factors = prepared.factors(at);
        const float due = run_accumulator(promised.contract, promised.sm, promised.a, promised.b,
                                          prepared.row(at), prepared.column(at), k, options)
                              .value;
        ASSERT_EQ(std::bit_cast<std::uint32_t>(sum + 0.0f),
                  std::bit_cast<std::uint32_t>(due + 0.0f))
            << promised.name << " k=" << k << " at " << at.i << "," << at.j;
        ++compared;
      });
      EXPECT_EQ(compared, 2 * 19 * 11);
    }
  }
}

TEST(TileModel, ContractsThatLeaveSomethingOpenHaveNoSchedule) {
  const Contract mma = testing::tensor_core_contract();
  EXPECT_FALSE(fixed_schedule(testing::in_any_order(mma)));
  EXPECT_FALSE(fixed_schedule(testing::split(mma, 2, Join::f32_atomic)));
  EXPECT_FALSE(fixed_schedule(testing::split(mma, 2, Join::bf16)));
  EXPECT_FALSE(fixed_schedule(testing::split(mma, 2, Join::f32_any_order)));
  Contract flushed = mma;
  flushed.subnormals_flushed = true;
  EXPECT_FALSE(fixed_schedule(flushed));
}

// Blocks of k in turn to two accumulators, and four parts added from the last to the first.
TEST(TileModel, FindsSchedulesThatNoContractNames) {
  const NamedContract promised = testing::hopper_bf16();
  GemmSetup setup = setup_for(promised, 256);
  setup.m = setup.n = 24;
  const auto sum_over = [&](const PreparedGemm& gemm, const GemmPlace& at,
                            const std::vector<std::int64_t>& blocks) {
    std::vector<float> row, column;
    for (const std::int64_t block : blocks) {
      row.insert(row.end(), gemm.row(at) + block * 32, gemm.row(at) + block * 32 + 32);
      column.insert(column.end(), gemm.column(at) + block * 32, gemm.column(at) + block * 32 + 32);
    }
    return run_accumulator(promised.contract, 90, FormatId::bf16, FormatId::bf16, row.data(),
                           column.data(), std::ssize(row))
        .value;
  };

  struct Way {
    const char* words;
    std::vector<std::vector<std::int64_t>> groups;  // of blocks of 32, added in this order
  };

  const Way ways[] = {
      {"blocks of 32 of k in turn to 2 accumulators, added in order", {{0, 2, 4, 6}, {1, 3, 5, 7}}},
      {"split-K of 4, added from the last to the first", {{6, 7}, {4, 5}, {2, 3}, {0, 1}}},
      {"split-K of 4, added in order", {{0, 1}, {2, 3}, {4, 5}, {6, 7}}},
      {"a fresh accumulator every 64 of k, added in f32", {{0, 1}, {2, 3}, {4, 5}, {6, 7}}},
  };
  for (const Way& way : ways) {
    Gemm gemm(setup);
    const PreparedGemm prepared(gemm.problem, promised.contract, 90, 1);
    for (std::int64_t index = 0; index < gemm.problem.outputs(); ++index) {
      const GemmPlace at = prepared.place(index);
      float total = sum_over(prepared, at, way.groups[0]);
      for (std::size_t g = 1; g < way.groups.size(); ++g)
        total += sum_over(prepared, at, way.groups[g]);
      gemm.d.set_bits(index, std::bit_cast<std::uint32_t>(total));
    }
    std::vector<std::string> found;
    for (const auto& [schedule, model] :
         fitting_schedules(prepared, gemm.d, candidate_schedules(promised.contract, 256), 8, 1))
      found.push_back(schedule.words());
    EXPECT_TRUE(std::ranges::count(found, way.words) == 1)
        << way.words << " is not among " << ::testing::PrintToString(found);
    // And a kernel that does so under a contract that says otherwise fails.
    const OutputVerdict verdict =
        GemmOracle(gemm.problem, promised.contract, 90).judge(0, gemm.d, {});
    // Some may even be outside of its bound: then there is nothing to compare.
    if (verdict.failed == 0) {
      EXPECT_EQ(verdict.modeled, 2 * 24 * 24);
      EXPECT_GT(verdict.other_bits, 100);
    }
    const std::vector<ElementVerdict>& wrong =
        verdict.failed > 0 ? verdict.failures : verdict.others;
    ASSERT_FALSE(wrong.empty());
    EXPECT_NE(wrong[0].got, wrong[0].expected);
    const Explanation told =
        GemmOracle(gemm.problem, promised.contract, 90).explain(0, wrong[0].index, gemm.d);
    EXPECT_TRUE(std::ranges::count(told.faults.names, "products are added up in another way: " +
                                                          std::string(way.words)) == 1);
  }
}

TEST(TileModel, AnOutputOffByOneStepWithinItsBoundIsNotTheContractsArithmetic) {
  NamedContract promised{"fp8 sm_89", testing::tensor_core_contract(), 89, FormatId::e4m3,
                         FormatId::e4m3};
  Gemm gemm(setup_for(promised, 512));
  testing::kernel(promised).run(gemm);
  const auto judged = [&](const Contract& contract) {
    return GemmOracle(gemm.problem, contract, 89).judge(0, gemm.d, {});
  };
  EXPECT_EQ(judged(promised.contract).other_bits, 0);
  gemm.d.set_bits(7, gemm.d.bits(7) + (1 << 10));  // accumulators have 14 bits
  const OutputVerdict verdict = judged(promised.contract);
  EXPECT_EQ(verdict.failed, 0);
  EXPECT_EQ(verdict.other_bits, 1);
  ASSERT_EQ(verdict.others.size(), 1u);
  EXPECT_EQ(verdict.others[0].index, 7);
  Contract not_promised = promised.contract;
  not_promised.bits = false;
  EXPECT_EQ(judged(not_promised).modeled, 0);
}

// Nearly all outputs of a kernel that never promotes are within the bound of one that does.
TEST(TileModel, NoPromotionIsNotAPromotionEvery128) {
  const Contract wgmma = testing::tensor_core_contract(Instruction::wgmma);
  const NamedContract never{"fp8 wgmma", wgmma, 90, FormatId::e4m3, FormatId::e4m3};
  GemmSetup setup = setup_for(never, 2048);
  setup.output = FormatId::bf16;
  Gemm gemm(setup);
  testing::kernel(never).run(gemm);
  const OutputVerdict verdict =
      GemmOracle(gemm.problem, testing::promoted(wgmma, 128), 90).judge(0, gemm.d, {});
  EXPECT_GT(verdict.failed + verdict.other_bits, 0);
  EXPECT_LT(verdict.failed, 20);
}

}  // namespace
}  // namespace plumbline
