// SPDX-License-Identifier: MIT
// A search remembers what is new, varies it into cases the kernel accepts, and forgets what the
// others show as well.
#include "fuzz/plan/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "fuzz/plan/plan.h"
#include "tests/fuzz/kernel_under_test.h"

namespace plumbline {
namespace {

using Reached = std::vector<std::uint32_t>;

Case case_with(const Manifest& kernel, const std::string& value_class, std::uint64_t seed) {
  Case c = random_case(kernel, seed);
  c.recipe.value_class = value_class;
  c.shape_class = "tile";
  return c;
}

TEST(Search, RemembersWhatIsNew) {
  const Manifest& kernel = gemm_kernel();
  Search search(kernel);
  EXPECT_TRUE(search.learn(case_with(kernel, "normal", 1), 0.5, Reached{1, 2}));
  EXPECT_FALSE(search.learn(case_with(kernel, "normal", 2), 0.5, Reached{1, 2}));
  EXPECT_FALSE(search.learn(case_with(kernel, "normal", 3), 0.51, Reached{1}));
  EXPECT_TRUE(search.learn(case_with(kernel, "normal", 4), 0.6, Reached{1}));     // a larger share
  EXPECT_TRUE(search.learn(case_with(kernel, "normal", 5), 0.1, Reached{3}));     // other code
  EXPECT_TRUE(search.learn(case_with(kernel, "cancelling", 6), 0.1, Reached{}));  // another cell
  EXPECT_EQ(search.remembered().size(), 4u);
  EXPECT_EQ(search.reached(), 3u);
  EXPECT_EQ(search.cells(), 2u);
}

TEST(Search, TriesCasesTheKernelAccepts) {
  const Manifest& kernel = gemm_kernel();
  Search search(kernel);
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    search.learn(random_case(kernel, seed), 0.1 * static_cast<double>(seed), Reached{});
  std::set<std::string> texts;
  for (std::uint64_t seed = 100; seed < 400; ++seed) {
    const Case next = search.next(seed);
    EXPECT_FALSE(kernel.excluded(next.problem)) << next.text();
    const auto specs = kernel.tensors(next.problem);
    ASSERT_TRUE(specs) << next.text();
    std::int64_t bytes = 0;
    for (const TensorSpec& spec : *specs) bytes += spec.layout.storage_bytes();
    EXPECT_LE(bytes, 1 << 26) << next.text();
    EXPECT_EQ(next.text(), search.next(seed).text());
    texts.insert(next.text());
  }
  EXPECT_GT(texts.size(), 270u);  // a variation may change nothing
}

// Every way of varying shows up: the same problem with other bits, and neighbors of it.
TEST(Search, VariesOneThingAtATime) {
  const Manifest& kernel = gemm_kernel();
  const Case from = random_case(kernel, 7);
  int same_problem = 0, one_size = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Case near = varied(from, Random(seed));
    same_problem += near.problem == from.problem;
    int different = 0;
    for (const Field& field : near.problem.schema()) {
      if (field.kind == FieldKind::integer)
        different += near.problem.integer(field.name) != from.problem.integer(field.name);
    }
    one_size += different == 1;
  }
  EXPECT_GT(same_problem, 60);
  EXPECT_GT(one_size, 20);
}

TEST(Search, MinimizedCasesShowAsMuch) {
  const Manifest& kernel = gemm_kernel();
  std::vector<Shown> shown;
  for (std::uint32_t i = 0; i < 10; ++i)
    shown.push_back({case_with(kernel, "normal", i), 0.1 * (i + 1), Reached{i / 5}});
  const std::vector<Case> fewer = minimized(shown);
  EXPECT_EQ(fewer.size(), 2u);
  Search all(kernel), some(kernel);
  for (const Shown& one : shown) all.learn(one.test_case, one.share, one.reached);
  double largest = 0;
  for (const Case& kept : fewer) {
    for (const Shown& one : shown) {
      if (one.test_case.text() != kept.text()) continue;
      some.learn(kept, one.share, one.reached);
      largest = std::max(largest, one.share);
    }
  }
  EXPECT_EQ(some.reached(), all.reached());
  EXPECT_DOUBLE_EQ(largest, 1.0);
}

}  // namespace
}  // namespace plumbline
