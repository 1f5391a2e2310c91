// SPDX-License-Identifier: MIT
// The generator of grouped GEMM: group sizes that add up and are what their word says, and a plan
// that reaches every class.
#include "fuzz/grouped/generator.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "fuzz/grouped/routing.h"
#include "fuzz/shrink/crop.h"
#include "fuzz/shrink/shrink.h"
#include "tests/fuzz/plan/generated_plan.h"

namespace plumbline {
namespace {

constexpr std::string_view kText = R"(
computes   = "grouped_gemm"
summary    = "a kernel of the tests"
source     = "grouped.cu"
targets    = [90]
entry      = "grouped"
parameters = ["ptr a", "ptr b", "ptr group_sizes", "ptr scale_a", "ptr scale_b", "ptr d",
              "s32 m", "s32 n", "s32 k", "s32 groups"]

[problem]
routing = ["even", "random", "gaps", "ones", "single"]
layout  = ["nn", "nt"]
out     = ["bf16", "f32"]
scale_a = ["none", "tensor", "row"]
scale_b = ["none", "tensor"]

[launch]
grid   = ['groups', 1, 1]
block  = [128]
shared = 0

[formats]
a = "bf16"
b = "bf16"
d = "{out}"

[tile]
m = 64
n = 64
k = 32

[contract]
unit     = "mma.sync"
schedule = "sequential"
epilogue = ["scale_a", "scale_b"]
)";

const Manifest& kernel() {
  static const Manifest manifest = manifest_of(kText, "grouped");
  return manifest;
}

std::vector<std::int64_t> sizes_of(const CaseTensors& tensors) {
  const Tensor& tensor = *tensors.find("group_sizes");
  std::vector<std::int64_t> sizes;
  for (std::int64_t i = 0; i < tensor.layout.count(); ++i) {
    sizes.push_back(static_cast<std::int64_t>(element_of(tensor, i)));
  }
  return sizes;
}

std::int64_t sum_of(const std::vector<std::int64_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
}

constexpr std::array<std::string_view, 5> kWords = {"even", "random", "gaps", "ones", "single"};

TEST(GroupedRouting, SizesAddUpForAllRowsAndGroups) {
  for (const std::string_view word : kWords) {
    for (std::int64_t groups = 1; groups <= 17; ++groups) {
      for (const std::int64_t m : {0, 1, 2, 3, 7, 16, 17, 64, 133, 1000}) {
        for (std::uint64_t seed = 0; seed < 10; ++seed) {
          const auto sizes = grouped_sizes(word, m, groups, Random(seed));
          ASSERT_EQ(static_cast<std::int64_t>(sizes.size()), groups);
          EXPECT_EQ(sum_of(sizes), m) << word << " " << groups;
          EXPECT_GE(*std::min_element(sizes.begin(), sizes.end()), 0) << word;
        }
      }
    }
  }
}

TEST(GroupedRouting, WordsMeanWhatTheySay) {
  using Sizes = std::vector<std::int64_t>;
  EXPECT_EQ(grouped_sizes("even", 11, 4, Random(1)), (Sizes{3, 3, 3, 2}));
  EXPECT_EQ(grouped_sizes("ones", 11, 4, Random(1)), (Sizes{1, 1, 1, 8}));
  EXPECT_EQ(grouped_sizes("ones", 2, 4, Random(1)), (Sizes{1, 1, 0, 0}));
  EXPECT_EQ(grouped_sizes("ones", 4, 4, Random(1)), (Sizes{1, 1, 1, 1}));
  std::set<Sizes> single, random;
  std::set<std::size_t> busy_groups;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Sizes alone = grouped_sizes("single", 11, 4, Random(seed));
    EXPECT_EQ(*std::max_element(alone.begin(), alone.end()), 11);
    single.insert(alone);
    random.insert(grouped_sizes("random", 100, 4, Random(seed)));
    const Sizes gaps = grouped_sizes("gaps", 200, 9, Random(seed));
    EXPECT_EQ(gaps.front(), 0);
    EXPECT_EQ(gaps.back(), 0);
    busy_groups.insert(static_cast<std::size_t>(9 - std::count(gaps.begin(), gaps.end(), 0)));
  }
  EXPECT_EQ(single.size(), 4u);
  EXPECT_GE(random.size(), 50u);
  EXPECT_GE(busy_groups.size(), 3u);
}

TEST(GroupedGenerator, PlanReachesEveryClass) { check_plan(kernel()); }

TEST(GroupedGenerator, CasesAreTheSameEveryTime) { check_bits_repeat(kernel()); }

TEST(GroupedGenerator, DesignedCasesAreProblems) { check_designed(kernel()); }

TEST(GroupedGenerator, EveryCaseHasGroupsThatAddUp) {
  std::set<std::string> words;
  bool empty_group = false, one_row = false, more_groups_than_rows = false;
  for (const Case& test_case : plan_cases(kernel(), {Profile::quick, 1})) {
    const std::vector<std::int64_t> sizes = sizes_of(filled(test_case));
    const std::int64_t m = test_case.problem.integer("m");
    EXPECT_EQ(sum_of(sizes), m) << test_case.text();
    words.insert(std::string(test_case.problem.word("routing")));
    const auto has = [&](std::int64_t size) {
      return std::find(sizes.begin(), sizes.end(), size) != sizes.end();
    };
    empty_group |= m > 0 && has(0);
    one_row |= has(1);
    more_groups_than_rows |= m > 0 && static_cast<std::int64_t>(sizes.size()) > m;
  }
  EXPECT_EQ(words.size(), kWords.size());
  EXPECT_TRUE(empty_group && one_row && more_groups_than_rows);
}

TEST(GroupedGenerator, GroupsHaveMatricesAndScalesOfTheirOwn) {
  for (const std::string value : {"normal", "integers", "cancelling", "positive"}) {
    const CaseTensors tensors =
        filled(case_with(kernel(), "m=20 n=9 k=24 groups=4 scale_a=row scale_b=tensor", value, 3));
    const Tensor &b = *tensors.find("b"), &scale_b = *tensors.find("scale_b");
    std::set<std::vector<double>> matrices;
    std::set<double> scales;
    for (std::int64_t group = 0; group < 4; ++group) {
      std::vector<double> matrix;
      for (std::int64_t i = 0; i < 9 * 24; ++i) matrix.push_back(element_of(b, group * 9 * 24 + i));
      matrices.insert(matrix);
      scales.insert(element_of(scale_b, group));
    }
    EXPECT_EQ(matrices.size(), 4u) << value;
    EXPECT_GE(scales.size(), 3u) << value;
  }
}

TEST(GroupedGenerator, StoredOrientationDoesNotChangeBits) {
  const auto bits = [](const std::string& layout) {
    return bits_of(case_with(kernel(), "m=20 n=9 k=24 groups=4 layout=" + layout, "normal", 3));
  };
  EXPECT_EQ(bits("nn"), bits("nt"));
}

TEST(GroupedGenerator, FewerRowsAreRoutedAgain) {
  const Case test_case = case_with(kernel(), "m=20 n=9 k=24 groups=4 routing=gaps", "normal", 3);
  const std::optional<Case> fewer = remove_slices(test_case, {{"m", 13, 7}});
  ASSERT_TRUE(fewer.has_value());
  EXPECT_EQ(sum_of(sizes_of(filled(*fewer))), 13);
}

// With literal group sizes only rows that no group counts could go, and there are none; columns go.
TEST(GroupedGenerator, LiteralCasesKeepTheirRows) {
  const Result<Case> frozen =
      freeze(case_with(kernel(), "m=20 n=9 k=24 groups=4 routing=gaps", "normal", 3));
  ASSERT_TRUE(frozen.ok());
  const std::optional<Case> fewer = remove_slices(*frozen, {{"m", 13, 7}});
  if (fewer) {
    EXPECT_FALSE(materialize(*fewer).ok());
  }
  const std::optional<Case> narrower = remove_slices(*frozen, {{"n", 0, 4}, {"k", 3, 5}});
  ASSERT_TRUE(narrower.has_value());
  const CaseTensors before = filled(*frozen), after = filled(*narrower);
  EXPECT_EQ(element_of(*before.find("b"), (1 * 24 + 8) * 9 + 4),
            element_of(*after.find("b"), (1 * 19 + 3) * 5 + 0));
}

// What is left of a case when all that fails is a group without rows before one with some.
TEST(GroupedGenerator, ShrinksToTheFewestGroupsAndTheSimplestWords) {
  const Case start = case_with(kernel(),
                               "m=77 n=40 k=64 groups=7 routing=gaps layout=nt scale_a=row "
                               "scale_b=tensor out=f32",
                               "normal", 3);
  const auto fails = [](const Case& test_case) {
    const Result<CaseTensors> tensors = materialize(test_case);
    if (!tensors) return false;
    const std::vector<std::int64_t> sizes = sizes_of(*tensors);
    return sizes.front() == 0 && sum_of(sizes) > 0;
  };
  ASSERT_TRUE(fails(start));
  const Problem smallest = shrink(start, fails, 500).smallest.problem;
  EXPECT_EQ(smallest.text(), "m=1 n=1 k=1 groups=2 out=f32") << smallest.text();
}

}  // namespace
}  // namespace plumbline
