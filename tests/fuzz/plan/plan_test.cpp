// SPDX-License-Identifier: MIT
// The plan: enough cases, every pair of classes, the same every time, within the kernel's domain
// and the time budget.
#include "fuzz/plan/plan.h"

#include <fmt/format.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <set>

#include "fuzz/case/generator.h"
#include "fuzz/case/values.h"
#include "fuzz/plan/build_case.h"
#include "tests/fuzz/kernel_under_test.h"

namespace plumbline {
namespace {

const std::vector<Case>& quick_plan() {
  static const std::vector<Case> plan = plan_cases(gemm_kernel(), {Profile::quick, 1});
  return plan;
}

const Generator& generator() { return generator_of(*gemm_kernel().operation); }

TEST(Plan, QuickHasThreeHundredCasesAndDefaultThreeThousand) {
  EXPECT_GE(quick_plan().size(), 300u);
  EXPECT_LE(quick_plan().size(), 600u);
  EXPECT_GE(plan_cases(gemm_kernel(), {Profile::standard, 1}).size(), 3000u);
}

TEST(Plan, IsTheSameForTheSameSeedAndAnotherForAnother) {
  const auto texts = [](std::uint64_t seed) {
    std::vector<std::string> lines;
    for (const Case& test_case : plan_cases(gemm_kernel(), {Profile::quick, seed}))
      lines.push_back(test_case.text());
    return lines;
  };
  EXPECT_EQ(texts(1), texts(1));
  EXPECT_NE(texts(1), texts(2));
}

// A bias of f32 is loaded in vectors too.
TEST(Plan, EveryInputAloneMissesItsAlignment) {
  std::set<std::string> moved;
  for (const Case& test_case : quick_plan()) {
    const bool has_bias = test_case.problem.word("bias") != "none";
    const std::string_view tensor = test_case.problem.word("offset_in");
    if (test_case.problem.integer("offset") == 0 || (tensor == "bias" && !has_bias)) continue;
    moved.insert(std::string(tensor));
  }
  EXPECT_EQ(moved, (std::set<std::string>{"all", "a", "b", "bias", "c", "d"}));
}

TEST(Plan, NoCaseTwice) {
  std::set<std::string> texts;
  for (const Case& test_case : quick_plan())
    EXPECT_TRUE(texts.insert(test_case.text()).second) << test_case.text();
}

TEST(Plan, DesignedCasesComeFirstAndLargePopulationsLast) {
  std::vector<std::string> order;
  for (const Case& test_case : quick_plan()) {
    if (order.empty() || order.back() != test_case.origin) order.push_back(test_case.origin);
  }
  EXPECT_EQ(order, (std::vector<std::string>{"designed", "planned", "population"}));
  EXPECT_EQ(std::count_if(quick_plan().begin(), quick_plan().end(),
                          [](const Case& test_case) { return test_case.origin == "population"; }),
            4);
  EXPECT_GE(std::count_if(quick_plan().begin(), quick_plan().end(),
                          [](const Case& test_case) { return test_case.origin == "designed"; }),
            90);
}

TEST(Plan, LargePopulationsCountForClassesOfTheirGenerator) {
  const auto knows = [](std::span<const ClassInfo> classes, std::string_view name) {
    return std::any_of(classes.begin(), classes.end(),
                       [&](const ClassInfo& info) { return info.name == name; });
  };
  int operations = 0;
  for (const Operation* operation : all_operations()) {
    const Generator& generator = generator_of(*operation);
    const std::vector<DesignedCase> cases = generator.populations();
    operations += !cases.empty();
    for (const DesignedCase& one : cases) {
      EXPECT_TRUE(knows(generator.shape_classes(), one.shape_class)) << one.problem;
      EXPECT_TRUE(knows(generator.layout_classes(), one.layout_class)) << one.problem;
      EXPECT_EQ(one.value_class, "normal");
    }
  }
  EXPECT_EQ(operations, 4);  // GEMM, grouped GEMM, linear gradients, attention
}

// The words a case's features are recognized by in its problem.
std::vector<std::string> levels_of(const Case& test_case) {
  const Problem& problem = test_case.problem;
  const auto word_for = [](double number, std::initializer_list<double> listed) {
    const bool known = std::find(listed.begin(), listed.end(), number) != listed.end();
    return known ? fmt::format("{}", number) : std::string("drawn");
  };
  std::string beta = "beta " + word_for(problem.real("beta"), {0, 1, 2, -0.5});
  if (problem.word("c") == "always") beta += " always";
  return {"shape " + test_case.shape_class,
          "layout " + test_case.layout_class,
          "value " + test_case.recipe.value_class,
          "out " + std::string(problem.word("out")),
          "bias " + std::string(problem.word("bias")),
          "act " + std::string(problem.word("act")),
          "alpha " + word_for(problem.real("alpha"), {1, 0.97f, -1.5, 0, 1e-30f}),
          beta};
}

TEST(Plan, EveryTwoLevelsOfTwoFactorsMeet) {
  std::vector<std::set<std::string>> levels(8);
  std::set<std::pair<std::string, std::string>> met;
  for (const Case& test_case : quick_plan()) {
    if (test_case.origin != "planned") continue;
    const std::vector<std::string> row = levels_of(test_case);
    for (std::size_t i = 0; i < row.size(); ++i) {
      levels[i].insert(row[i]);
      for (std::size_t j = i + 1; j < row.size(); ++j) met.insert({row[i], row[j]});
    }
  }
  EXPECT_EQ(levels[0].size(), shape_classes(*gemm_kernel().operation).size());
  EXPECT_EQ(levels[1].size(), layout_classes(*gemm_kernel().operation).size());
  EXPECT_EQ(levels[2].size(), value_classes(*gemm_kernel().operation).size());
  EXPECT_EQ(levels[3].size(), 2u);
  EXPECT_EQ(levels[4].size(), 3u);
  EXPECT_EQ(levels[5].size(), 2u);
  EXPECT_EQ(levels[6].size(), 6u);
  EXPECT_EQ(levels[7].size(), 6u);
  for (std::size_t i = 0; i < levels.size(); ++i) {
    for (std::size_t j = i + 1; j < levels.size(); ++j) {
      for (const std::string& a : levels[i]) {
        for (const std::string& b : levels[j]) {
          const bool contradiction = a == "shape batched" && b == "layout absurd_strides";
          EXPECT_EQ(met.contains({a, b}), !contradiction) << a << " beside " << b;
        }
      }
    }
  }
}

TEST(Plan, EveryCaseIsInTheDomainAndHasTensors) {
  for (const Profile profile : {Profile::quick, Profile::standard}) {
    for (const Case& test_case : plan_cases(gemm_kernel(), {profile, 3})) {
      EXPECT_EQ(gemm_kernel().excluded(test_case.problem), std::nullopt) << test_case.text();
      EXPECT_TRUE(gemm_kernel().operation->tensors(test_case.problem, gemm_kernel()).ok())
          << test_case.text();
    }
  }
}

TEST(Plan, QuickFitsItsMinuteForAnySeed) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    double padded = 0, f32_outputs = 0;
    for (const Case& test_case : plan_cases(gemm_kernel(), {Profile::quick, seed})) {
      padded += generator().padded_work(test_case.problem, gemm_kernel());
      if (test_case.problem.word("out") == "f32")
        f32_outputs += gemm_kernel().operation->work(test_case.problem);
    }
    EXPECT_LT(padded, 8e9) << "seed " << seed;
    EXPECT_LT(f32_outputs, 3e8) << "seed " << seed;
  }
}

TEST(Plan, LargeShapesStayWithinWhatOneCaseMayCost) {
  for (const Case& test_case : plan_cases(gemm_kernel(), {Profile::standard, 1})) {
    const bool is_long = std::max({test_case.problem.integer("m"), test_case.problem.integer("n"),
                                   test_case.problem.integer("k")}) > 30000;
    EXPECT_LE(generator().padded_work(test_case.problem, gemm_kernel()), is_long ? 1.5e9 : 6e8)
        << test_case.text();
  }
}

// gemm_bf16, were it to take nothing else.
Manifest narrowed(std::string_view rule) {
  Manifest narrow = gemm_kernel();
  Result<Expression> condition =
      Expression::parse(rule, narrow.operation->schema(), "test:1:1", narrow.operation->derived());
  EXPECT_TRUE(condition.ok());
  narrow.domain.push_back({*condition, "multiples of 8"});
  return narrow;
}

// A kernel whose rows begin at multiples of 8 gets every tail all the same: its rows are padded.
TEST(Plan, RowsArePaddedIntoADomainBeforeSizesAreRounded) {
  const Manifest narrow = narrowed("ld_a % 8 == 0 && ld_b % 8 == 0");
  std::ptrdiff_t tails = 0, batches = 0;
  for (const Case& test_case : plan_cases(narrow, {Profile::quick, 1})) {
    EXPECT_EQ(narrow.excluded(test_case.problem), std::nullopt) << test_case.text();
    tails += test_case.problem.integer("k") % 8 != 0;
    batches += test_case.problem.integer("batch") > 1 && test_case.problem.integer("stride_b") == 0;
  }
  const auto unpadded = std::count_if(quick_plan().begin(), quick_plan().end(), [](const Case& c) {
    return c.problem.integer("k") % 8 != 0;
  });
  EXPECT_GE(tails, unpadded / 2);
  EXPECT_GT(batches, 0);
}

// A kernel that only takes multiples of 8 still gets its cases.
TEST(Plan, SizesAreRoundedIntoANarrowDomain) {
  const Manifest narrow =
      narrowed("m % 8 == 0 && n % 8 == 0 && k % 8 == 0 && ld_a % 8 == 0 && ld_b % 8 == 0");
  const std::vector<Case> cases = plan_cases(narrow, {Profile::quick, 1});
  EXPECT_GE(cases.size(), 300u);
  for (const Case& test_case : cases)
    EXPECT_EQ(narrow.excluded(test_case.problem), std::nullopt) << test_case.text();
}

TEST(Plan, AddingCasesMovesNoKeys) {
  // Shards go by key, and a key depends on the case alone, not on what else is planned.
  std::set<std::uint64_t> quick;
  for (const Case& test_case : quick_plan()) quick.insert(test_case.key());
  for (const Case& test_case : plan_cases(gemm_kernel(), {Profile::standard, 1})) {
    if (test_case.origin != "designed") break;
    EXPECT_TRUE(quick.contains(test_case.key())) << test_case.text();
  }
}

// Those of the shape classes are smaller by far.
TEST(Plan, EverySizeIsLongSomewhere) {
  const auto longest = [](Profile profile, std::string_view field) {
    std::int64_t most = 0;
    for (const Case& test_case : plan_cases(gemm_kernel(), {profile, 1}))
      most = std::max(most, test_case.problem.integer(field));
    return most;
  };
  EXPECT_GT(longest(Profile::quick, "m"), 65536);
  EXPECT_GT(longest(Profile::quick, "n"), 65536);
  EXPECT_GT(longest(Profile::quick, "k"), 8192);
  EXPECT_GT(longest(Profile::quick, "batch"), 512);
  EXPECT_GT(longest(Profile::standard, "k"), 65536);
  EXPECT_GT(longest(Profile::standard, "batch"), 1024);
}

// A mistake in the second tile of columns may only show in the second tile of rows.
TEST(Plan, EveryTwoSizesAreBeyondATileTogether) {
  for (const char* name : {"gemm_bf16", "gemm_w4a16_bf16", "gemm_grouped_bf16",
                           "rmsnorm_bf16_backward", "layernorm_bf16_backward"}) {
    const Manifest& kernel = *shipped_registry().find(name);
    const std::vector<Case> plan = plan_cases(kernel, {Profile::quick, 1});
    for (const auto& [first, first_tile] : kernel.tile) {
      for (const auto& [second, second_tile] : kernel.tile) {
        if (first >= second) continue;
        EXPECT_TRUE(std::ranges::any_of(plan,
                                        [&](const Case& one) {
                                          return one.problem.integer(first) > first_tile &&
                                                 one.problem.integer(second) > second_tile;
                                        }))
            << name << " " << first << " " << second;
      }
    }
  }
}

TEST(Plan, NumbersOfTheCodeBecomeSizes) {
  PlanOptions options{Profile::quick, 1, {5000, 300}};
  std::set<std::pair<std::string, std::int64_t>> met;
  for (const Case& test_case : plan_cases(gemm_kernel(), options)) {
    for (const char* field : {"m", "n", "k", "batch"})
      met.emplace(field, test_case.problem.integer(field));
  }
  for (const char* field : {"m", "n", "k"}) {
    for (const std::int64_t number : {5000, 300}) {
      EXPECT_TRUE(met.contains({field, number})) << field << " " << number;
      EXPECT_TRUE(met.contains({field, number + 1})) << field << " " << number + 1;
    }
  }
  options.code_sizes = {40, 128};  // the classes have those
  const std::size_t with = plan_cases(gemm_kernel(), options).size();
  EXPECT_LE(with, quick_plan().size() + 16);
}

// A domain that rounds sizes moves them no further than it has to.
TEST(Plan, NumbersOfTheCodeAreFittedToADomain) {
  const Manifest narrow = narrowed("k % 16 == 0");
  bool met = false;
  for (const Case& test_case : plan_cases(narrow, {Profile::quick, 1, {5000}}))
    met = met || test_case.problem.integer("k") == 5008;
  EXPECT_TRUE(met);
}

// Lists of a few numbers leave out all others.
TEST(Plan, FactorsComeFromTheirWholeRange) {
  std::set<float> betas;
  int small = 0, listed = 0, drawn = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    for (const Case& test_case : plan_cases(gemm_kernel(), {Profile::quick, seed})) {
      if (test_case.origin != "planned") continue;
      const float beta = test_case.problem.real("beta");
      if (beta == 0) continue;
      const bool known = beta == 1 || beta == 2 || beta == -0.5f;
      listed += known;
      drawn += !known;
      small += !known && std::abs(beta) < 1e-3f;
      if (!known) betas.insert(beta);
      EXPECT_LE(std::abs(beta), 1024);
      EXPECT_GE(std::abs(beta), 0x1p-20f);
    }
  }
  EXPECT_GE(drawn, listed / 5);
  EXPECT_LE(drawn, listed / 2);
  EXPECT_GE(small, drawn / 6);
  EXPECT_GE(betas.size(), static_cast<std::size_t>(drawn) * 9 / 10);
}

TEST(Plan, ThreeFeaturesMeetBeyondTheQuickProfile) {
  std::set<std::string> met;
  for (const Case& test_case : plan_cases(gemm_kernel(), {Profile::standard, 1})) {
    if (test_case.origin != "planned") continue;
    const std::vector<std::string> levels = levels_of(test_case);
    const Problem& problem = test_case.problem;
    met.insert(levels[6] + levels[7] + std::to_string(problem.integer("offset")) +
               std::string(problem.word("offset_in")));
  }
  EXPECT_EQ(met.size(), 6u * 6 * 8);  // alphas, betas, offsets
}

TEST(RandomCase, DependsOnTheSeedAlone) {
  std::set<std::string> texts;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Case once = random_case(gemm_kernel(), seed), again = random_case(gemm_kernel(), seed);
    EXPECT_EQ(once.text(), again.text());
    EXPECT_EQ(once.origin, "fuzz");
    EXPECT_EQ(gemm_kernel().excluded(once.problem), std::nullopt);
    texts.insert(once.text());
  }
  EXPECT_GE(texts.size(), 195u);
}

TEST(RandomCase, ReachesEveryClass) {
  std::set<std::string> shapes, layouts, values;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    const Case drawn = random_case(gemm_kernel(), seed);
    shapes.insert(drawn.shape_class);
    layouts.insert(drawn.layout_class);
    values.insert(drawn.recipe.value_class);
  }
  EXPECT_EQ(shapes.size(), shape_classes(*gemm_kernel().operation).size());
  EXPECT_EQ(layouts.size(), layout_classes(*gemm_kernel().operation).size());
  EXPECT_EQ(values.size(), value_classes(*gemm_kernel().operation).size());
}

TEST(Classes, EveryClassHasANameAndAPurpose) {
  std::set<std::string_view> names;
  for (const ValueClassInfo& info : value_classes(*gemm_kernel().operation)) {
    EXPECT_TRUE(names.insert(info.name).second);
    EXPECT_GE(info.purpose.size(), 20u) << info.name;
    EXPECT_EQ(find_value_class(info.name)->name, info.name);
  }
  EXPECT_EQ(find_value_class("literal"), nullptr);
  for (const ClassInfo& info : shape_classes(*gemm_kernel().operation))
    EXPECT_GE(info.purpose.size(), 15u) << info.name;
  for (const ClassInfo& info : layout_classes(*gemm_kernel().operation))
    EXPECT_GE(info.purpose.size(), 15u) << info.name;
  EXPECT_EQ(generator().value_classes().size(), value_classes(*gemm_kernel().operation).size());
}

}  // namespace
}  // namespace plumbline
