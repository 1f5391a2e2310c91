// SPDX-License-Identifier: MIT
// The generator of attention: sequences that lie where their word says, a plan that reaches every
// class and every pair of features, and shrinking that keeps heads and starts valid.
#include "fuzz/attention/generator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>

#include "fuzz/attention/lengths.h"
#include "fuzz/shrink/crop.h"
#include "fuzz/shrink/shrink.h"
#include "tests/fuzz/attention/attention_kernel.h"
#include "tests/fuzz/kernel_under_test.h"
#include "tests/fuzz/plan/generated_plan.h"

namespace plumbline {
namespace {

const Manifest& kernel() { return attention_kernel(); }

std::vector<std::int64_t> starts_of(const CaseTensors& tensors, std::string_view name) {
  const Tensor& tensor = *tensors.find(name);
  std::vector<std::int64_t> starts;
  for (std::int64_t i = 0; i < tensor.layout.count(); ++i)
    starts.push_back(static_cast<std::int64_t>(element_of(tensor, i)));
  return starts;
}

// How long each sequence is.
std::vector<std::int64_t> rows_of(const CaseTensors& tensors, std::string_view name) {
  std::vector<std::int64_t> rows = starts_of(tensors, name);
  std::adjacent_difference(rows.begin(), rows.end(), rows.begin());
  rows.erase(rows.begin());
  return rows;
}

constexpr std::array<std::string_view, 4> kWords = {"random", "gaps", "ones", "slack"};

TEST(AttentionLengths, SequencesFitTheirRows) {
  for (const std::string_view word : kWords) {
    for (std::int64_t batch = 1; batch <= 9; ++batch) {
      for (const std::int64_t queries : {0, 1, 2, 3, 17, 64}) {
        for (std::uint64_t seed = 0; seed < 10; ++seed) {
          const auto sequences =
              attention_lengths(word, batch, queries, 2 * queries + 1, Random(seed));
          ASSERT_EQ(static_cast<std::int64_t>(sequences.size()), batch);
          SequenceLengths sum;
          for (const auto& [query_rows, key_rows] : sequences) {
            EXPECT_GE(query_rows, 0);
            EXPECT_GE(key_rows, 0);
            sum.queries += query_rows;
            sum.keys += key_rows;
          }
          const std::int64_t most = batch * queries, most_keys = batch * (2 * queries + 1);
          if (word == "slack") {
            EXPECT_LT(sum.queries, std::max<std::int64_t>(1, most));
            EXPECT_LT(sum.keys, most_keys);
          } else {
            EXPECT_EQ(sum.queries, most);
            EXPECT_EQ(sum.keys, most_keys);
          }
        }
      }
    }
  }
}

TEST(AttentionLengths, WordsMeanWhatTheySay) {
  bool keys_alone = false, queries_alone = false, both = false, neither = false;
  bool many_keys = false, one_key = false;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    for (const auto& [queries, keys] : attention_lengths("gaps", 9, 20, 30, Random(seed))) {
      keys_alone |= queries == 0 && keys > 0;
      queries_alone |= queries > 0 && keys == 0;
      both |= queries > 0 && keys > 0;
      neither |= queries == 0 && keys == 0;
    }
    const auto ones = attention_lengths("ones", 5, 20, 30, Random(seed));
    EXPECT_EQ(std::count_if(ones.begin(), ones.end(),
                            [](const SequenceLengths& one) { return one.queries == 1; }),
              4);
    one_key |= ones.front().keys == 1;
    many_keys |= ones.front().keys > 10;
  }
  EXPECT_TRUE(keys_alone && queries_alone && both && neither);
  EXPECT_TRUE(many_keys && one_key);
}

TEST(AttentionGenerator, PlanReachesEveryClass) { check_plan(kernel()); }

TEST(AttentionGenerator, CasesAreTheSameEveryTime) { check_bits_repeat(kernel()); }

TEST(AttentionGenerator, DesignedCasesAreProblems) {
  check_designed(kernel());
  for (const DesignedCase& designed : generator_of(*kernel().operation).designed(kernel())) {
    EXPECT_TRUE(materialize(case_with(kernel(), designed.problem, designed.value_class)).ok())
        << designed.problem;
  }
}

// Parts of the keys: more than there are tiles, one, and as many as tiles.
TEST(AttentionGenerator, PartsOfKeysAreCutInEveryWay) {
  const Manifest& parted = *shipped_registry().find("attention_bf16_splitkv");
  check_plan(parted);
  check_designed(parted);
  int empty = 0, single = 0, uneven = 0;
  for (const Case& test_case : plan_cases(parted, {Profile::quick, 1})) {
    const std::int64_t parts = test_case.problem.integer("splits"),
                       tiles = (test_case.problem.integer("keys") + 63) / 64;
    single += parts == 1;
    empty += parts > tiles;
    uneven += parts < tiles && parts > 1 && tiles % parts != 0;
  }
  EXPECT_GT(single, 20);
  EXPECT_GT(empty, 20);
  EXPECT_GT(uneven, 20);
}

TEST(AttentionGenerator, QuickPlanStaysSmall) {
  double work = 0;
  std::int64_t longest = 0;
  for (const Case& test_case : plan_cases(kernel(), {Profile::quick, 1})) {
    work += kernel().operation->work(test_case.problem);
    longest = std::max(longest, test_case.problem.integer("keys"));
  }
  EXPECT_LT(work, 3e9);
  EXPECT_GE(longest, 700);
}

// No list says which windows, groups, caps and scales there are.
TEST(AttentionGenerator, NumbersComeFromTheirWholeRange) {
  std::set<std::int64_t> ends, groups, splits;
  int long_ones = 0, capped = 0, scaled = 0, heads = 0;
  // Long windows whose end is seen are one in a plan, so that ten of these are asked.
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    for (const Case& test_case :
         plan_cases(*shipped_registry().find("attention_bf16_splitkv"), {Profile::quick, seed})) {
      if (test_case.origin != "planned") continue;
      const Problem& problem = test_case.problem;
      for (const char* side : {"window_left", "window_right"}) {
        const std::int64_t window = problem.integer(side);
        if (seed <= 3) ends.insert(window);
        // Where its end can be seen.
        long_ones +=
            window >= 128 && window < std::max(problem.integer("keys"), problem.integer("queries"));
      }
      if (seed > 3) continue;
      const std::int64_t kv_heads = problem.integer("kv_heads");
      if (kv_heads > 1) groups.insert(problem.integer("heads") / kv_heads);
      heads += problem.integer("heads") > 34;
      splits.insert(problem.integer("splits"));
      capped += problem.real("softcap") > 30;
      scaled += problem.real("scale") > 1;
    }
  }
  EXPECT_GE(ends.size(), 60u);
  EXPECT_GE(long_ones, 5);
  EXPECT_GE(groups.size(), 8u);
  EXPECT_GE(heads, 3);
  EXPECT_GE(splits.size(), 25u);
  EXPECT_GE(capped, 10);
  EXPECT_GE(scaled, 10);
}

// Q, K or V is nothing but zeros in 64 rows or in all, and some score or query no number.
TEST(AttentionValues, SpecialsStandAgainstZeros) {
  std::set<std::string> zeros, specials;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const CaseTensors tensors =
        filled(case_with(kernel(), "queries=70 keys=140 d=16", "zero_slices", seed));
    for (const char* name : {"q", "k", "v"}) {
      const Tensor& matrix = *tensors.find(name);
      std::int64_t zero = 0;
      for (std::int64_t i = 0; i < matrix.layout.count(); ++i) {
        const double element = element_of(matrix, i);
        zero += element == 0;
        if (!std::isfinite(element)) specials.insert(name);
      }
      if (zero >= 6 * 16) zeros.insert(name);
    }
  }
  EXPECT_EQ(zeros, (std::set<std::string>{"k", "q", "v"}));
  EXPECT_EQ(specials, (std::set<std::string>{"k", "q"}));
}

// Sizes and words that a kernel may handle apart.
TEST(AttentionGenerator, PlanHasEveryKindOfProblem) {
  std::map<std::string, int> seen;
  for (const Case& test_case : plan_cases(kernel(), {Profile::quick, 1})) {
    const Problem& problem = test_case.problem;
    const auto size = [&](std::string_view field) { return problem.integer(field); };
    const std::int64_t kv_heads = size("kv_heads") == 0 ? size("heads") : size("kv_heads");
    const std::int64_t dv = size("dv") == 0 ? size("d") : size("dv");
    const bool causal = problem.word("causal") != "none";
    ++seen["group " + std::to_string(size("heads") / kv_heads)];
    ++seen["d " + std::to_string(size("d"))];
    if (kv_heads > 1 && kv_heads < size("heads")) ++seen["grouped"];
    if (dv > size("d")) ++seen["dv wider"];
    if (dv < size("d")) ++seen["dv narrower"];
    if (causal && size("queries") > size("keys")) ++seen["causal, more queries"];
    if (causal && size("queries") < size("keys")) ++seen["causal, more keys"];
    if (causal && size("window_left") >= 0) ++seen["causal window"];
    if (!causal && size("window_left") >= 0 && size("window_right") >= 0) ++seen["window"];
    if (size("keys") % 64 == 1 && size("keys") > 64) ++seen["keys one past"];
    if (size("queries") == 1 && size("keys") > 200) ++seen["decode"];
    if (size("batch") > 1 && problem.word("kv") == "shared") ++seen["shared"];
    if (size("pad") % 8 != 0) ++seen["odd pad"];
    if (problem.real("softcap") != 0) ++seen["softcap"];
    if (size("keys") == 0) ++seen["no keys"];
    if (size("queries") == 0) ++seen["no queries"];
    for (const std::string_view field : {"lengths", "bias", "sink", "out", "layout"})
      ++seen[std::string(field) + "=" + std::string(problem.word(field))];
  }
  for (const std::string what : {"group 1",
                                 "group 2",
                                 "group 3",
                                 "group 4",
                                 "group 6",
                                 "d 8",
                                 "d 40",
                                 "d 64",
                                 "d 72",
                                 "d 104",
                                 "d 128",
                                 "d 192",
                                 "d 256",
                                 "grouped",
                                 "dv wider",
                                 "dv narrower",
                                 "causal, more queries",
                                 "causal, more keys",
                                 "causal window",
                                 "window",
                                 "keys one past",
                                 "decode",
                                 "shared",
                                 "odd pad",
                                 "softcap",
                                 "no keys",
                                 "no queries",
                                 "lengths=full",
                                 "lengths=random",
                                 "lengths=gaps",
                                 "lengths=ones",
                                 "lengths=slack",
                                 "bias=f32",
                                 "sink=f32",
                                 "out=f32",
                                 "layout=bsh",
                                 "layout=sbh"}) {
    EXPECT_GE(seen[what], 3) << what;
  }
}

// Every two fragments of different features, and every fragment with every value class, meet.
TEST(AttentionGenerator, FeaturesMeetPairByPair) {
  const Generator& generator = generator_of(*kernel().operation);
  const std::vector<Feature> features = generator.features(kernel());
  std::set<std::string> words;
  for (const Feature& feature : features) {
    words.insert(feature.name);
    EXPECT_GE(feature.fragments.size(), 2u);
  }
  EXPECT_EQ(words, (std::set<std::string>{"causal", "lengths", "out", "scale", "sink", "softcap",
                                          "window_left"}));
  std::set<std::string> met;
  for (const Case& test_case : plan_cases(kernel(), {Profile::quick, 1})) {
    const std::string mask = std::string(test_case.problem.word("causal"));
    const std::string lengths = std::string(test_case.problem.word("lengths"));
    const bool biased = test_case.problem.word("bias") == "f32";
    met.insert(mask + lengths + (biased ? "bias" : ""));
    met.insert(lengths + test_case.recipe.value_class);
    met.insert(mask + test_case.recipe.value_class);
    if (biased) met.insert("bias" + test_case.recipe.value_class);
  }
  for (const std::string mask : {"none", "bottom_right", "top_left"}) {
    for (const std::string lengths : {"full", "fullbias", "random", "gaps", "ones", "slack"})
      EXPECT_TRUE(met.contains(mask + lengths)) << mask << " " << lengths;
  }
  for (const std::string_view value : generator.value_classes()) {
    for (const std::string with :
         {"none", "bottom_right", "top_left", "full", "bias", "random", "gaps", "ones", "slack"}) {
      EXPECT_TRUE(met.contains(with + std::string(value))) << with << " " << value;
    }
  }
}

TEST(AttentionGenerator, RowsOfNoSequenceAreNan) {
  const CaseTensors tensors = filled(
      case_with(kernel(), "batch=3 heads=2 queries=9 keys=12 d=16 lengths=slack", "normal", 3));
  const std::int64_t used = starts_of(tensors, "query_starts").back();
  const Tensor& q = *tensors.find("q");
  ASSERT_LT(used, 27);
  for (std::int64_t row = 0; row < 27; ++row)
    EXPECT_EQ(std::isnan(element_of(q, (27 + row) * 16)), row >= used) << row;
}

TEST(AttentionGenerator, LayoutDoesNotChangeBits) {
  const std::string sizes = "batch=2 heads=4 kv_heads=2 queries=9 keys=12 d=16 ";
  for (const std::string_view value : generator_of(*kernel().operation).value_classes()) {
    const auto bits = [&](const std::string& rest) {
      return bits_of(case_with(kernel(), sizes + rest, std::string(value), 3));
    };
    EXPECT_EQ(bits("layout=bhs"), bits("layout=sbh pad=5 out=f32 softcap=2")) << value;
    EXPECT_NE(bits("layout=bhs"), bits_of(case_with(kernel(), sizes, std::string(value), 4)) *
                                      (value == "ones" ? 0 : 1))
        << value;
  }
}

TEST(AttentionGenerator, SharedKeysAreEqualForTheWholeBatch) {
  for (const std::string_view value : generator_of(*kernel().operation).value_classes()) {
    const CaseTensors tensors =
        filled(case_with(kernel(), "batch=3 queries=4 keys=5 d=8 kv=shared", std::string(value)));
    const Tensor& k = *tensors.find("k");
    EXPECT_EQ(k.layout.storage_elements(), 40);
    for (std::int64_t i = 0; i < 40; ++i) EXPECT_EQ(k.bits(i), k.bits(i + 80));
  }
}

TEST(AttentionGenerator, CroppedSequencesKeepTheirRows) {
  const std::string sizes = "batch=3 heads=2 queries=10 keys=12 d=16 lengths=random";
  const Result<Case> frozen = freeze(case_with(kernel(), sizes, "normal", 3));
  ASSERT_TRUE(frozen.ok());
  const CaseTensors before = filled(*frozen);
  const std::vector<std::int64_t> starts = starts_of(before, "query_starts");

  const std::optional<Case> shorter = remove_slices(*frozen, {{"queries", 7, 3}});
  ASSERT_TRUE(shorter.has_value());
  const CaseTensors last_gone = filled(*shorter);
  for (std::size_t i = 0; i < starts.size(); ++i)
    EXPECT_EQ(starts_of(last_gone, "query_starts")[i], std::min<std::int64_t>(starts[i], 21));
  EXPECT_EQ(element_of(*before.find("q"), (30 + 20) * 16 + 5),
            element_of(*last_gone.find("q"), (21 + 20) * 16 + 5));

  const std::optional<Case> later = remove_slices(*frozen, {{"queries", 0, 3}});
  ASSERT_TRUE(later.has_value());
  const CaseTensors first_gone = filled(*later);
  for (std::size_t i = 1; i < starts.size(); ++i)
    EXPECT_EQ(starts_of(first_gone, "query_starts")[i], std::max<std::int64_t>(starts[i] - 9, 0));
  EXPECT_EQ(element_of(*before.find("q"), (30 + 20) * 16 + 5),
            element_of(*first_gone.find("q"), (21 + 11) * 16 + 5));

  const std::optional<Case> fewer = remove_slices(*frozen, {{"batch", 2, 1}});
  ASSERT_TRUE(fewer.has_value());
  EXPECT_EQ(rows_of(filled(*fewer), "key_starts").size(), 2u);
  EXPECT_FALSE(remove_slices(*frozen, {{"d", 10, 6}}).has_value());
  EXPECT_TRUE(remove_slices(*frozen, {{"d", 8, 8}}).has_value());
}

// Groups stay groups: heads remain a multiple of those of K and V.
TEST(AttentionGenerator, ShrinksToTheFewestGroupedHeads) {
  const Case start = case_with(
      kernel(),
      "batch=2 heads=12 kv_heads=3 queries=40 keys=70 d=72 dv=40 layout=sbh pad=5 bias=f32 "
      "sink=f32 causal=top_left window_left=16 softcap=30 scale=0.3 kv=shared",
      "one_hot", 3);
  const auto fails = [](const Case& test_case) {
    const Problem& problem = test_case.problem;
    const std::int64_t kv_heads = problem.integer("kv_heads");
    return kv_heads > 1 && kv_heads < problem.integer("heads") && problem.integer("keys") >= 9;
  };
  ASSERT_TRUE(fails(start));
  const ShrinkResult result = shrink(start, fails, 800);
  EXPECT_EQ(result.smallest.problem.text(), "heads=4 kv_heads=2 queries=1 keys=9 d=8 dv=8");
}

// A fault that needs a sequence with queries and no keys, and another one before it.
TEST(AttentionGenerator, ShrinksPackedSequences) {
  const auto fails = [](const Case& test_case) {
    if (test_case.problem.word("lengths") == "full") return false;
    const Result<CaseTensors> tensors = materialize(test_case);
    if (!tensors) return false;
    const auto queries = rows_of(*tensors, "query_starts"), keys = rows_of(*tensors, "key_starts");
    for (std::size_t i = 1; i < queries.size(); ++i) {
      if (queries[i] > 0 && keys[i] == 0) return true;
    }
    return false;
  };
  Case start;
  for (std::uint64_t seed = 1; seed == 1 || !fails(start); ++seed) {
    ASSERT_LT(seed, 50u);
    start = case_with(kernel(),
                      "batch=6 heads=2 queries=20 keys=30 d=64 lengths=gaps causal=bottom_right",
                      "normal", seed);
  }
  const Problem smallest = shrink(start, fails, 800).smallest.problem;
  EXPECT_LE(smallest.integer("batch"), 3) << smallest.text();
  EXPECT_EQ(smallest.integer("heads"), 1) << smallest.text();
  EXPECT_EQ(smallest.integer("queries"), 1) << smallest.text();
  EXPECT_LE(smallest.integer("keys"), 1) << smallest.text();
  EXPECT_EQ(smallest.integer("d"), 8) << smallest.text();
}

// A kernel of one width gets designed cases in that.
TEST(AttentionGenerator, OneWidthHasItsDesignedCases) {
  const auto designed = [](const Manifest& manifest) {
    const std::vector<Case> plan = plan_cases(manifest, {Profile::quick, 1});
    return std::count_if(plan.begin(), plan.end(),
                         [](const Case& one) { return one.origin == "designed"; });
  };
  Manifest one_width = attention_kernel();
  Result<Expression> condition = Expression::parse("d == 64", one_width.operation->schema(),
                                                   "test:1:1", one_width.operation->derived());
  ASSERT_TRUE(condition.ok());
  one_width.domain.push_back({*condition, "so it is built"});
  EXPECT_GE(designed(one_width), designed(attention_kernel()) * 3 / 4);
}

}  // namespace
}  // namespace plumbline
