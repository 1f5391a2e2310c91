// SPDX-License-Identifier: MIT
// Schedule::any: its bound holds for sums in random orders, over random accumulators, joined in
// random trees; it is zero where every order is exact.
#include "oracles/bounds/accumulator/any_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <vector>

#include "oracles/base/random.h"
#include "oracles/bounds/accumulator/a_priori.h"
#include "oracles/bounds/accumulator/model.h"
#include "oracles/exact/dyadic.h"
#include "oracles/formats/encode.h"
#include "oracles/models/generation.h"

namespace plumbline {
namespace {

struct Summing {
  const char* name;
  Unit unit;
  Instruction instruction;
  int sm;
  FormatId format;
};

constexpr Summing kUnits[] = {
    {"bf16 on sm_80", Unit::tensor_core, Instruction::mma_sync, 80, FormatId::bf16},
    {"bf16 on sm_90", Unit::tensor_core, Instruction::mma_sync, 90, FormatId::bf16},
    {"e4m3 on sm_89", Unit::tensor_core, Instruction::mma_sync, 89, FormatId::e4m3},
    {"e4m3 on sm_90", Unit::tensor_core, Instruction::mma_sync, 90, FormatId::e4m3},
    {"e5m2 by wgmma", Unit::tensor_core, Instruction::wgmma, 90, FormatId::e5m2},
    {"fma", Unit::fma_f32, Instruction::mma_sync, 80, FormatId::bf16},
};

BoundModel model_of(const Summing& unit, std::int64_t parts) {
  Contract contract;
  contract.unit = unit.unit;
  contract.instruction = unit.instruction;
  contract.schedule = Schedule::any;
  contract.parts = parts;
  return *bound_model(contract, unit.sm, unit.format, unit.format);
}

struct Vectors {
  std::vector<float> a, b;
};

// Numbers of the format over a range of binades.
Vectors vectors(const Format& f, std::size_t k, int binades, Random& random) {
  Vectors v;
  const auto draw = [&] {
    const double size = std::ldexp(
        1 + random.unit(), -static_cast<int>(random.below(static_cast<std::uint64_t>(binades))));
    return static_cast<float>(to_double(f, encode(f, random.below(2) == 0 ? size : -size)));
  };
  for (std::size_t p = 0; p < k; ++p) {
    v.a.push_back(draw());
    v.b.push_back(draw());
  }
  return v;
}

// A sum as some kernel may do it: products shuffled and dealt to `parts` accumulators, which are
// added to each other in a random tree.
float some_sum(const Summing& unit, const Vectors& v, std::size_t parts, Random& random) {
  std::vector<std::size_t> order(v.a.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  const Format& f = format(unit.format);
  const auto model =
      unit.unit == Unit::tensor_core
          ? dot_model(unit.sm, unit.instruction, unit.format, unit.format, FormatId::f32)
          : std::nullopt;
  std::vector<float> sums;
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t begin = order.size() * part / parts, end = order.size() * (part + 1) / parts;
    float sum = 0;
    if (!model) {
      for (std::size_t p = begin; p < end; ++p) sum = std::fma(v.a[order[p]], v.b[order[p]], sum);
    } else {
      const auto length = static_cast<std::size_t>(
          model->node.products * (model->chaining == Chaining::hopper_fp8 ? 2 : 1));
      for (std::size_t base = begin; base < end; base += length) {
        std::vector<std::uint32_t> x, y;
        for (std::size_t p = base; p < std::min(end, base + length); ++p) {
          x.push_back(static_cast<std::uint32_t>(encode(f, static_cast<double>(v.a[order[p]]))));
          y.push_back(static_cast<std::uint32_t>(encode(f, static_cast<double>(v.b[order[p]]))));
        }
        sum = std::bit_cast<float>(dot(*model, f, f, std::span<const std::uint32_t>(x), y,
                                       std::bit_cast<std::uint32_t>(sum)));
      }
    }
    sums.push_back(sum);
  }
  while (sums.size() > 1) {
    const std::size_t i = random.below(sums.size());
    std::swap(sums[i], sums.back());
    const float last = sums.back();
    sums.pop_back();
    sums[random.below(sums.size())] += last;
  }
  return sums[0];
}

double exact_error(const Vectors& v, float got) {
  Dyadic error(static_cast<double>(got));
  for (std::size_t p = 0; p < v.a.size(); ++p)
    error = error - Dyadic(static_cast<double>(v.a[p]) * static_cast<double>(v.b[p]));
  return std::fabs(error.nearest_double());
}

TEST(AnyOrder, HoldsForRandomOrdersGroupsAndTrees) {
  Random random(11);
  double worst = 0;
  for (const Summing& unit : kUnits) {
    for (int draw = 0; draw < 300; ++draw) {
      const std::size_t k = 1 + random.below(200),
                        parts = 1 + random.below(std::min<std::size_t>(k, 6));
      const Vectors v = vectors(format(unit.format), k, draw % 2 == 0 ? 2 : 9, random);
      const auto length = static_cast<std::int64_t>(k);
      const BoundModel model = model_of(unit, draw % 3 == 0 ? 6 : 0);
      // Without a limit there may be an accumulator per step, not more.
      const std::size_t most = model.parts > 0 ? parts : 1 + random.below((k + 31) / 32);
      const RunningBound bound = running_bound(model, v.a.data(), v.b.data(), length);
      EXPECT_TRUE(bound.classes.is_only(ResultClass::finite));
      const double error = exact_error(v, some_sum(unit, v, most, random));
      ASSERT_LE(error, bound.error) << unit.name << " k=" << k << " accumulators=" << most;
      if (bound.error > 0) worst = std::max(worst, error / bound.error);
      // Nor is the cheap bound smaller than an error.
      const VectorSize x = vector_size(v.a.data(), length, model.a_minimum_exponent),
                       y = vector_size(v.b.data(), length, model.b_minimum_exponent);
      EXPECT_LE(bound.error, APriori(model, length).error(magnitude_bound(x, y)) * (1 + 0x1p-20));
    }
  }
  EXPECT_GT(worst, 0.1);  // and it is no empty claim
}

// One product of 1, and many that are lost to it: all but a bit of a unit each, in sequence.
TEST(AnyOrder, IsNearlyAttained) {
  for (const Summing& unit : kUnits) {
    const BoundModel model = model_of(unit, 1);
    const bool bytes = format(unit.format).storage_bits == 8;
    if (bytes && model.node.fraction_bits > 20) continue;  // no FP8 product is that small
    const double lost = model.fma ? 0x1p-24 : std::ldexp(1.0, -model.node.fraction_bits);
    Vectors v{std::vector<float>(400, 1.75f * 0x1p-6f),
              std::vector<float>(400, static_cast<float>(lost * 0x1p5))};
    v.a[0] = v.b[0] = 1;
    Contract contract;
    contract.unit = unit.unit;
    contract.instruction = unit.instruction;
    const float got =
        run_accumulator(contract, unit.sm, unit.format, unit.format, v.a.data(), v.b.data(), 400)
            .value;
    const double bound = running_bound(model, v.a.data(), v.b.data(), 400).error;
    EXPECT_LE(exact_error(v, got), bound) << unit.name;
    EXPECT_GT(exact_error(v, got), 0.4 * bound) << unit.name;
  }
}

TEST(AnyOrder, IsZeroWhereEveryOrderIsExact) {
  Random random(3);
  Vectors v;
  for (int p = 0; p < 128; ++p) {
    v.a.push_back(static_cast<float>(random.below(9)) - 4);
    v.b.push_back(static_cast<float>(random.below(9)) - 4);
  }
  for (const Summing& unit : kUnits) {
    const RunningBound bound = running_bound(model_of(unit, 0), v.a.data(), v.b.data(), 128);
    EXPECT_EQ(bound.error, 0) << unit.name;
    EXPECT_EQ(bound.sum_error, 0);
  }
  v.b[5] = 0x1p-20f;
  for (const Summing& unit : kUnits) {
    if (unit.format != FormatId::bf16) continue;  // 2^-20 is no FP8 number
    EXPECT_GT(running_bound(model_of(unit, 0), v.a.data(), v.b.data(), 128).error, 0);
  }
}

TEST(AnyOrder, ASequenceIsOneOfTheOrders) {
  Random random(5);
  for (const Summing& unit : kUnits) {
    const Vectors v = vectors(format(unit.format), 300, 4, random);
    BoundModel sequence = model_of(unit, 1);
    sequence.schedule = Schedule::sequential;
    const double any = running_bound(model_of(unit, 0), v.a.data(), v.b.data(), 300).error;
    EXPECT_GE(any, running_bound(sequence, v.a.data(), v.b.data(), 300).error) << unit.name;
    EXPECT_GE(any, running_bound(model_of(unit, 2), v.a.data(), v.b.data(), 300).error);
  }
}

TEST(AnyOrder, LanesGiveTheSameBits) {
  Random random(9);
  const BoundModel model = model_of(kUnits[0], 0);
  std::vector<Vectors> all;
  std::array<BoundOperand, kPanelLanes> columns{};
  for (std::size_t lane = 0; lane < kPanelLanes; ++lane)
    all.push_back(vectors(format(FormatId::bf16), 77, 5, random));
  for (std::size_t lane = 0; lane < kPanelLanes; ++lane) columns[lane] = all[lane].b.data();
  PreparedVector row;
  PreparedPanel panel;
  row.assign(all[0].a.data(), 77, model.a_minimum_exponent);
  panel.assign(columns, 77, model.b_minimum_exponent);
  const RunningBounds lanes = running_bounds(model, row, panel);
  for (std::size_t lane = 0; lane < kPanelLanes; ++lane) {
    const RunningBound one = running_bound(model, all[0].a.data(), columns[lane], 77);
    EXPECT_EQ(lanes[lane].error, one.error);
    EXPECT_EQ(lanes[lane].sum, one.sum);
  }
}

TEST(AnyOrder, SumsThatMayOverflowMayBeAnything) {
  const std::vector<float> a(4, 0x1p64f), b = {0x1p63f, 0x1p63f, -0x1p63f, -0x1p63f};
  const RunningBound bound = running_bound(model_of(kUnits[1], 0), a.data(), b.data(), 4);
  for (const auto possible : {ResultClass::finite, ResultClass::plus_infinity,
                              ResultClass::minus_infinity, ResultClass::nan})
    EXPECT_TRUE(bound.classes.has(possible));
}

}  // namespace
}  // namespace plumbline
