// SPDX-License-Identifier: MIT
// Weights by vectors against the scalar specification, and the survey's sums on any number of
// threads.
#include "oracles/reference/attention_backward/tile.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "oracles/reference/attention_backward/survey.h"
#include "tests/oracles/reference/attention_backward/samples.h"

namespace plumbline::testing {
namespace {

std::vector<std::int64_t> all_up_to(std::int64_t count, std::int64_t step = 1) {
  std::vector<std::int64_t> out;
  for (std::int64_t n = 0; n < count; n += step) out.push_back(n);
  return out;
}

AttentionBackwardContract contract_of(bool fp8) {
  AttentionBackwardContract contract;
  if (!fp8) return contract;
  contract.p = FormatId::e4m3;
  contract.p_shift = 8;
  contract.ds = FormatId::e5m2;
  return contract;
}

GradientSetup setup_of(GradientValues values, int variant) {
  GradientSetup setup;
  setup.values = values;
  setup.fp8 = variant % 2 == 1;
  if (variant == 3) setup.scales = {0.75f, 1.3f, 0.6f, 1.7f, 90.0f};
  if (variant == 5) setup.scales = {0x1p-30f, 1, 1, 1, 0x1p20f};
  setup.heads = setup.kv_heads = 1;
  setup.queries = 21;
  setup.keys = 37;
  setup.d = setup.dv = variant == 4 ? 64 : 16;
  setup.bias = variant == 2;
  setup.sink = variant == 5;
  setup.scale = 0.3f;
  if (variant != 0) setup.mask = {Causal::bottom_right, 20, -1};
  return setup;
}

constexpr int kVariants = 6;

// What vectors decide is what the specification decides: for the reference and for every kernel.
TEST(GradientTile, WeightsThatAreNotOpenAreCertain) {
  std::int64_t open = 0, pairs = 0;
  for (const GradientValues values : kGradientValues) {
    for (int variant = 0; variant < kVariants; ++variant) {
      const GradientSetup setup = setup_of(values, variant);
      const GradientCase example(setup);
      for (const int sm : {89, 90}) {
        const GradientOperands operands(example.problem, contract_of(setup.fp8), sm,
                                        gradient_groups(example.problem).front());
        const GradientWeights64 weights(operands);
        for (const WeightErrors errors : {WeightErrors::reference, WeightErrors::kernel}) {
          for (const bool p : {true, false}) {
            // Keys one apart are gathered, others lie side by side.
            const std::vector<std::int64_t> queries = all_up_to(setup.queries),
                                            keys = all_up_to(setup.keys, p ? 1 : 2);
            const GradientOutput output = p ? GradientOutput::dv : GradientOutput::dk;
            GradientTile tile(operands, weights, errors,
                              errors == WeightErrors::reference ? WantedWeights{}
                                                                : WantedWeights{.p = p, .g = !p});
            tile.fill(0, queries, keys);
            const std::vector<double>& found = p ? tile.p() : tile.g();
            std::set<std::pair<std::int64_t, std::int64_t>> left;
            for (const GradientTile::OpenPair& pair : tile.open())
              left.emplace(pair.row, pair.column);
            for (std::int64_t row = 0; row < setup.queries; ++row) {
              for (std::int64_t c = 0; c < static_cast<std::int64_t>(keys.size()); ++c) {
                const GradientTile::OpenPair pair{row, c, 0, 0};
                const double weight = found[static_cast<std::size_t>(row * tile.stride() + c)];
                if (!weights.visible(tile.place(pair))) {
                  ASSERT_EQ(weight, 0);
                  continue;
                }
                if (errors == WeightErrors::kernel) {
                  ++pairs;
                  open += left.contains({row, c});
                }
                const ReferenceWeight reference =
                    weights.reference(output, tile.place(pair), tile.products(pair));
                ASSERT_EQ(weight, reference.value);
                if (left.contains({row, c})) continue;
                ASSERT_EQ(reference.error, 0);
                if (errors == WeightErrors::reference) continue;
                const KernelWeight kernel =
                    weights.kernel(output, tile.place(pair), tile.products(pair));
                ASSERT_FALSE(kernel.may_overflow);
                ASSERT_EQ(static_cast<double>(kernel.low), weight)
                    << static_cast<int>(values) << " variant " << variant << " on sm_" << sm;
                ASSERT_EQ(static_cast<double>(kernel.high), weight);
              }
            }
          }
        }
      }
    }
  }
  EXPECT_LT(open, pairs / 5);
}

// Where logits and LSE are so small that ex2 is all the error there is.
TEST(GradientTile, KnowsTheErrorOfEx2) {
  GradientSetup setup;
  setup.heads = setup.kv_heads = 1;
  setup.queries = setup.keys = 256;
  setup.d = setup.dv = 8;
  setup.scale = 0.01f;
  GradientCase example(setup);
  for (std::int64_t i = 0; i < setup.queries; ++i)
    put(example.lse, i, 0x1p-10 * static_cast<double>(i));
  const GradientOperands operands(example.problem, {}, 90,
                                  gradient_groups(example.problem).front());
  const GradientWeights64 weights(operands);
  GradientTile tile(operands, weights, WeightErrors::kernel, {.p = true, .g = false});
  const std::vector<std::int64_t> all = all_up_to(setup.keys);
  tile.fill(0, all, all);
  std::set<std::pair<std::int64_t, std::int64_t>> left;
  for (const GradientTile::OpenPair& pair : tile.open()) left.emplace(pair.row, pair.column);
  std::int64_t ambiguous = 0;
  for (std::int64_t row = 0; row < setup.queries; ++row) {
    for (std::int64_t c = 0; c < setup.keys; ++c) {
      const GradientTile::OpenPair pair{row, c, 0, 0};
      const KernelWeight kernel =
          weights.kernel(GradientOutput::dv, tile.place(pair), tile.products(pair));
      if (kernel.low == kernel.high) continue;
      ++ambiguous;
      EXPECT_TRUE(left.contains({row, c})) << row << " " << c;
    }
  }
  EXPECT_GT(ambiguous, 5);
}

// The step that the a-priori bounds count too many stands for the roundings of f32 next to the
// sums. A chain of FMAs has no such step.
TEST(GradientTile, LeavesEverythingOpenWhereNothingCoversARounding) {
  const GradientCase example(setup_of(kGradientValues[0], 0));
  const std::vector<std::int64_t> queries = all_up_to(21), keys = all_up_to(37);
  const auto open = [&](Unit unit) {
    AttentionBackwardContract contract;
    contract.unit = unit;
    const GradientOperands operands(example.problem, contract, 90,
                                    gradient_groups(example.problem).front());
    const GradientWeights64 weights(operands);
    GradientTile tile(operands, weights, WeightErrors::kernel, {.p = true, .g = false});
    tile.fill(0, queries, keys);
    return std::ssize(tile.open());
  };
  EXPECT_LT(open(Unit::tensor_core), 21 * 37 / 5);
  EXPECT_EQ(open(Unit::fma_f32), 21 * 37);
}

TEST(GradientSurvey, IsTheSameOnAnyNumberOfThreads) {
  GradientSetup setup;
  setup.queries = 300;  // several tiles
  setup.keys = 700;
  setup.d = setup.dv = 8;
  setup.mask.causal = Causal::bottom_right;
  const GradientCase example(setup);
  const GradientOperands operands(example.problem, {}, 90,
                                  gradient_groups(example.problem).front());
  const GradientWeights64 weights(operands);
  const GradientSurvey one(operands, weights, 1), three(operands, weights, 3);
  for (const GradientOutput output : {GradientOutput::dq, GradientOutput::dk, GradientOutput::dv}) {
    for (std::int64_t line = 0; line < operands.lines(output); ++line) {
      for (std::int64_t x = 0; x < 8; ++x) {
        EXPECT_EQ(one.sum(output, line, x).hi, three.sum(output, line, x).hi);
        EXPECT_EQ(one.sum(output, line, x).bound, three.sum(output, line, x).bound);
      }
    }
  }
}

}  // namespace
}  // namespace plumbline::testing
