// SPDX-License-Identifier: MIT
// The running bound under units that take scales of blocks of k: it holds for what the models of
// MMA-Sim give, is nearly attained, and vectors give the specification's bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>

#include "oracles/base/hash.h"
#include "oracles/bounds/accumulator/a_priori.h"
#include "oracles/bounds/accumulator/model.h"
#include "oracles/bounds/accumulator/running_bound.h"
#include "oracles/exact/block_scales.h"
#include "oracles/exact/dyadic.h"
#include "oracles/exact/gemm_block_sums.h"
#include "tests/oracles/bounds/accumulator/bound_contracts.h"
#include "tests/oracles/bounds/accumulator/dot_samples.h"

namespace plumbline {
namespace {

using testing::Data;
using testing::NamedContract;

enum class Sizes { alike, ordinary, wide };

constexpr Sizes kSizes[] = {Sizes::alike, Sizes::ordinary, Sizes::wide};

// A dot product with its scales.
struct Sample {
  testing::DotSample dot;
  FormatId scale_format;
  std::vector<float> a, b;
  std::int64_t k, depth;

  Sample(const NamedContract& named, Data data, Sizes sizes, FormatId scales, std::int64_t length,
         Random& random)
      : dot(testing::dot_sample(data, named.a, named.b, length, random)),
        scale_format(scales),
        k(length),
        depth(named.contract.scale_depth(named.a, named.b)) {
    for (std::int64_t p = 0; p < k; p += depth) {
      a.push_back(scale(sizes, random));
      b.push_back(scale(sizes, random));
    }
  }

  float scale(Sizes sizes, Random& random) const {
    if (sizes == Sizes::alike) return 1;
    if (scale_format == FormatId::ue8m0) {
      const int span = sizes == Sizes::ordinary ? 4 : 127;
      return std::ldexp(1.0f, static_cast<int>(random.between(-span, span)));
    }
    const std::uint64_t code =
        sizes == Sizes::ordinary ? random.between(0x30, 0x48) : random.below(0x7f);
    return static_cast<float>(to_double(format(scale_format), code));
  }

  std::vector<double> factors() const {
    std::vector<double> out;
    for (std::size_t block = 0; block < a.size(); ++block)
      out.push_back(scale_product(ScaleProducts::exact, a[block], b[block]));
    return out;
  }

  Dyadic exact() const {
    return exact_block_dot(dot.row.data(), dot.column.data(), k, depth, factors());
  }

  float emulated(const NamedContract& named) const {
    AccumulatorOptions options;
    options.scale_format = scale_format;
    options.scales_a = a;
    options.scales_b = b;
    return run_accumulator(named.contract, named.sm, named.a, named.b, dot.row.data(),
                           dot.column.data(), k, options)
        .value;
  }

  OperandScales scales(const BoundModel& model, const std::vector<float>& of_side) const {
    return {of_side.data(), 1, depth, format(scale_format).emin(), model.node.group};
  }

  BoundOperand row(const BoundModel& model) const { return {dot.row.data(), scales(model, a)}; }

  BoundOperand column(const BoundModel& model) const {
    return {dot.column.data(), scales(model, b)};
  }

  RunningBound bound(const BoundModel& model) const {
    return running_bound(model, row(model), column(model), k);
  }
};

std::vector<FormatId> scale_formats(const NamedContract& named) {
  std::vector<FormatId> formats{FormatId::ue8m0};
  if (named.contract.scale_depth(named.a, named.b) == 16) formats.push_back(FormatId::e4m3);
  return formats;
}

template <typename Visit>
void for_each_sample(const NamedContract& named, int repeats, const Visit& visit) {
  Random random(fingerprint(named.name));
  for (const FormatId scales : scale_formats(named)) {
    for (const Data data : testing::kAllData) {
      for (const Sizes sizes : kSizes) {
        for (const std::int64_t k : {1, 16, 64, 200}) {
          for (int repeat = 0; repeat < repeats; ++repeat)
            visit(Sample(named, data, sizes, scales, k, random));
        }
      }
    }
  }
}

TEST(BlockScale, BoundHoldsForEveryUnitAndIsNearlyAttained) {
  std::map<std::string, double> closest;
  std::int64_t dots = 0, overflows = 0;
  for (const NamedContract& named : testing::block_scaled_contracts()) {
    const BoundModel model = *bound_model(named.contract, named.sm, named.a, named.b);
    for_each_sample(named, 20, [&](const Sample& sample) {
      const RunningBound bound = sample.bound(model);
      const float got = sample.emulated(named);
      if (!std::isfinite(got)) {
        ++overflows;
        EXPECT_FALSE(bound.classes.is_only(ResultClass::finite)) << named.name;
        return;
      }
      EXPECT_TRUE(bound.classes.has(ResultClass::finite)) << named.name;
      const Dyadic exact = sample.exact(), off = (Dyadic(static_cast<double>(got)) - exact).abs();
      EXPECT_FALSE(Dyadic(bound.error) < off)
          << named.name << " k " << sample.k << ": " << got << " bound " << bound.error;
      EXPECT_FALSE(Dyadic(bound.sum_error) < (Dyadic(bound.sum) - exact).abs()) << named.name;
      if (bound.error > 0)
        closest[named.name] = std::max(closest[named.name], off.nearest_double() / bound.error);
      ++dots;
    });
    if (HasFailure()) return;
  }
  EXPECT_GE(dots, 20000);
  EXPECT_GE(overflows, 100);
  for (const NamedContract& named : testing::block_scaled_contracts()) {
    if (named.contract.order_is_open()) continue;
    EXPECT_GT(closest[named.name], 0.99) << named.name;
  }
}

// e2m1 with alike scales: nothing of 128 products is lost to 35 bits, nor to the 24 of the sum.
TEST(BlockScale, IsExactWhereTheArithmeticMustBe) {
  for (const NamedContract& named : testing::block_scaled_contracts()) {
    if (named.contract.order_is_open()) continue;
    const BoundModel model = *bound_model(named.contract, named.sm, named.a, named.b);
    Random random(3);
    const Sample sample(named, Data::integers, Sizes::alike, FormatId::ue8m0, 128, random);
    EXPECT_EQ(sample.bound(model).error, 0) << named.name;
    EXPECT_EQ(static_cast<double>(sample.emulated(named)), sample.bound(model).sum) << named.name;
  }
}

// A scale far above all others hides what its own products do not cancel: the alignment is the
// scale's, even where its products add up to 0.
TEST(BlockScale, SumsThatCancelAlignAllTheSame) {
  const NamedContract named = testing::block_scaled_contracts()[4];
  const BoundModel model = *bound_model(named.contract, named.sm, named.a, named.b);
  Random random(4);
  Sample sample(named, Data::sparse, Sizes::alike, FormatId::ue8m0, 64, random);
  sample.dot.row.assign(64, 0.0f);
  sample.dot.column.assign(64, 1.0f);
  sample.dot.row[0] = 1;
  sample.dot.row[1] = -1;
  sample.dot.row[16] = 1;
  sample.a[0] = 0x1p36f;
  EXPECT_EQ(sample.emulated(named), 0);
  EXPECT_EQ(sample.exact().nearest_double(), 1);
  EXPECT_GE(sample.bound(model).error, 1);
  sample.a[0] = 0x1p35f;
  EXPECT_EQ(sample.emulated(named), 1);
  EXPECT_EQ(sample.bound(model).error, 0);
  // However large the elements are.
  sample.dot.row[0] = 6;
  sample.dot.row[1] = -6;
  EXPECT_EQ(sample.emulated(named), 1);
  EXPECT_EQ(sample.bound(model).error, 0);
}

TEST(BlockScale, VectorsGiveTheSpecificationsBits) {
  std::int64_t compared = 0;
  for (const NamedContract& named : testing::block_scaled_contracts()) {
    const BoundModel model = *bound_model(named.contract, named.sm, named.a, named.b);
    Random random(7);
    for (const FormatId scales : scale_formats(named)) {
      for (const Sizes sizes : kSizes) {
        for (const std::int64_t k : {0, 1, 31, 64, 200}) {
          std::vector<Sample> dots;
          std::array<BoundOperand, kPanelLanes> rows{}, columns{};
          for (int lane = 0; lane < kPanelLanes; ++lane)
            dots.emplace_back(named, testing::kAllData[random.below(std::size(testing::kAllData))],
                              sizes, scales, k, random);
          for (std::size_t lane = 0; lane + 1 < kPanelLanes; ++lane) {  // the last one is empty
            rows[lane] = dots[lane].row(model);
            columns[lane] = dots[lane].column(model);
          }
          PreparedPanel row_panel, column_panel;
          row_panel.assign(rows, k, model.a_minimum_exponent);
          column_panel.assign(columns, k, model.b_minimum_exponent);
          PreparedVector first;
          first.assign(rows[0], k, model.a_minimum_exponent);
          const RunningBounds own = running_bounds(model, row_panel, column_panel),
                              shared = running_bounds(model, first, column_panel);
          for (std::size_t lane = 0; lane + 1 < kPanelLanes; ++lane) {
            for (const auto& [got, row] :
                 {std::pair{own[lane], rows[lane]}, std::pair{shared[lane], rows[0]}}) {
              const RunningBound want = running_bound(model, row, columns[lane], k);
              ASSERT_EQ(got.sum, want.sum) << named.name << " k " << k;
              ASSERT_EQ(got.sum_error, want.sum_error) << named.name;
              ASSERT_EQ(got.error, want.error) << named.name;
              ASSERT_EQ(got.lattice, want.lattice) << named.name;
              ASSERT_TRUE(got.classes == want.classes) << named.name;
              ++compared;
            }
          }
          EXPECT_EQ(own[kPanelLanes - 1].error, 0);
        }
      }
    }
  }
  EXPECT_GT(compared, 1000);
}

TEST(BlockScale, APrioriBoundCoversTheRunningBound) {
  std::int64_t exact = 0, dots = 0;
  for (const NamedContract& named : testing::block_scaled_contracts()) {
    const BoundModel model = *bound_model(named.contract, named.sm, named.a, named.b);
    for_each_sample(named, 3, [&](const Sample& sample) {
      const double least = std::ldexp(1.0, format(sample.scale_format).emin());
      const auto size = [&](const std::vector<float>& vector, const std::vector<float>& scales,
                            int minimum) {
        std::vector<VectorSize> parts;
        for (std::int64_t p = 0; p < sample.k; p += sample.depth)
          parts.push_back(
              vector_size(vector.data() + p, std::min(sample.depth, sample.k - p), minimum));
        return scaled_vector_size(parts, scales, least);
      };
      const VectorSize row = size(sample.dot.row, sample.a, model.a_minimum_exponent),
                       column = size(sample.dot.column, sample.b, model.b_minimum_exponent);
      const double magnitude = magnitude_bound(row, column);
      const APriori a_priori(model, sample.k);
      const RunningBound bound = sample.bound(model);
      if (!a_priori.cannot_overflow(magnitude)) return;
      ++dots;
      EXPECT_TRUE(bound.classes.is_only(ResultClass::finite)) << named.name;
      EXPECT_GE(a_priori.error(magnitude), bound.error) << named.name;
      if (!a_priori.surely_exact(magnitude, row.lowest * column.lowest)) return;
      ++exact;
      EXPECT_EQ(bound.error, 0) << named.name;
      EXPECT_EQ(static_cast<double>(sample.emulated(named)), bound.sum) << named.name;
    });
  }
  EXPECT_GT(dots, 2000);
  EXPECT_GT(exact, 500);
}

TEST(BlockScale, ContractsThatNoChipKeepsAreRefused) {
  using enum FormatId;
  const Contract mma = testing::block_scaled(testing::tensor_core_contract());
  const auto refusal = [](const Contract& contract, int sm, FormatId a, FormatId b) {
    const Status status = contract.check(sm, a, b);
    return status.ok() ? std::string("kept") : status.error().text();
  };
  EXPECT_EQ(refusal(mma, 120, e2m1, e2m1), "kept");
  EXPECT_EQ(refusal(mma, 90, e4m3, e4m3),
            "sm_90 has no mma.sync.block_scale for e4m3 with an f32 accumulator (choose another "
            "target or another unit)");
  EXPECT_EQ(refusal(mma, 120, bf16, bf16),
            "sm_120 has no mma.sync.block_scale for bf16 with an f32 accumulator (choose another "
            "target or another unit)");
  EXPECT_EQ(refusal(testing::promoted(mma, 96), 120, e2m1, e2m1),
            "an interval of 96 cuts instructions of 64 products into parts (use a multiple of 64)");
  EXPECT_EQ(refusal(testing::split(mma, 2, Join::f32_ordered), 120, e4m3, e4m3),
            "an interval of 0 cuts instructions of 32 products into parts (use a multiple of 32)");
  EXPECT_EQ(refusal(testing::scaled(mma, 32), 120, e4m3, e4m3),
            "scales are applied twice: by mma.sync.block_scale and by promotion \"scaled fma\" "
            "(keep the one the kernel does)");
}

}  // namespace
}  // namespace plumbline
