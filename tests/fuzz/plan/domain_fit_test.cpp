// SPDX-License-Identifier: MIT
// Domains that ask for certain sizes get them; those that nothing satisfies are told, not searched
// for ever; no planned case needs a large machine.
#include "fuzz/plan/domain_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "fuzz/case/generator.h"
#include "fuzz/case/memory.h"
#include "fuzz/plan/build_case.h"
#include "fuzz/plan/plan.h"
#include "tests/fuzz/kernel_under_test.h"

namespace plumbline {
namespace {

// gemm_bf16, were it to take nothing else.
Manifest narrowed(std::string_view rule) {
  Manifest narrow = gemm_kernel();
  Result<Expression> condition =
      Expression::parse(rule, narrow.operation->schema(), "test:1:1", narrow.operation->derived());
  PLUMB_ASSERT(condition.ok());
  narrow.domain.push_back({*condition, "so it is built"});
  return narrow;
}

std::vector<Case> quick(const Manifest& kernel) {
  std::vector<Case> cases = plan_cases(kernel, {Profile::quick, 1});
  for (const Case& test_case : cases)
    EXPECT_EQ(kernel.excluded(test_case.problem), std::nullopt) << test_case.text();
  return cases;
}

TEST(Domain, SizesThatItNamesAreTaken) {
  for (const char* rule :
       {"n == 768 && k == 512", "m == 7", "k == 4 * 80", "k % 16 == 0 && k >= 256 && n >= 1024",
        "m == 512 && k % 16 == 0", "m <= 16 && n > 100 && 600 < k", "k / 64 == 5",
        "ceil_div(n, 128) >= 3 && k % 32 == 8", "m == 1 || (m == 64 && n == 256)"}) {
    const Manifest narrow = narrowed(rule);
    EXPECT_GE(quick(narrow).size(), 250u) << rule;
  }
}

TEST(Domain, BoundsAndWhatIsBeyondThemAreMet) {
  std::set<std::int64_t> widths, depths;
  for (const Case& test_case : quick(narrowed("k >= 256 && n >= 1024"))) {
    widths.insert(test_case.problem.integer("n"));
    depths.insert(test_case.problem.integer("k"));
  }
  EXPECT_TRUE(widths.contains(1024) && widths.contains(1025));
  EXPECT_TRUE(depths.contains(256) && depths.contains(257));
  EXPECT_GE(widths.size(), 30u);
  EXPECT_GE(depths.size(), 30u);
}

// Fewer cases where each is large, and rows of A few.
TEST(Domain, LargeSizesCostAPlanNoMoreThanOthers) {
  const Manifest narrow = narrowed("n == 4096 && k == 4096");
  const Generator& generator = generator_of(*narrow.operation);
  double work = 0;
  const std::vector<Case> cases = quick(narrow);
  for (const Case& test_case : cases) work += generator.padded_work(test_case.problem, narrow);
  EXPECT_GE(cases.size(), 5u);
  EXPECT_LE(work, 320 * 0.8e8 + 4 * 128 * 4096. * 4096.);
}

TEST(Domain, PaddingSurvivesOtherSizes) {
  int padded_rows = 0, gaps = 0, side_by_side = 0, absurd = 0;
  for (const Case& test_case : quick(narrowed("n == 192 && k == 320"))) {
    const Problem& problem = test_case.problem;
    const std::int64_t ldd = problem.integer("ldd"), stride = problem.integer("stride_d");
    padded_rows += problem.integer("m") > 1 && ldd > 192 && ldd < 300;
    gaps += test_case.layout_class == "batch_gaps" && stride > problem.integer("m") * 192;
    side_by_side += test_case.layout_class == "interleaved" && stride == 192 &&
                    ldd == 192 * problem.integer("batch");
    absurd += ldd > 100000000;
  }
  EXPECT_GE(padded_rows, 20);
  EXPECT_GE(gaps, 5);
  EXPECT_GE(side_by_side, 5);
  EXPECT_GE(absurd, 1);
}

// Of every pair of features some case is left, though each case breaks a rule or two.
TEST(Domain, ARuleBetweenWordsLeavesOtherFeaturesAlone) {
  Manifest narrow = narrowed("out != \"f32\" || bias == \"none\"");
  narrow.domain.push_back(narrowed("out != \"f32\" || act == \"none\"").domain.back());
  int outputs = 0, alphas = 0, betas = 0, offsets = 0;
  for (const Case& test_case : quick(narrow)) {
    if (test_case.origin != "planned" || test_case.problem.word("out") != "f32") continue;
    ++outputs;
    alphas += !test_case.problem.is_default("alpha");
    betas += !test_case.problem.is_default("beta");
    offsets += !test_case.problem.is_default("offset");
  }
  EXPECT_GE(outputs, 80);
  EXPECT_GE(alphas, outputs / 4);
  EXPECT_GE(betas, outputs / 2);
  EXPECT_GE(offsets, outputs / 8);
}

TEST(Domain, IntegerOutputsHaveZeroPoints) {
  const Manifest* kernel = shipped_registry().find("gemm_s8");
  ASSERT_NE(kernel, nullptr);
  int designed = 0, planned = 0;
  for (const Case& test_case : plan_cases(*kernel, {Profile::quick, 1})) {
    const Problem& problem = test_case.problem;
    if (problem.word("out") != "s32" || problem.integer("zero_b") == 0) continue;
    designed += test_case.origin == "designed";
    planned += test_case.origin == "planned";
  }
  EXPECT_GE(designed, 2);
  EXPECT_GE(planned, 10);
}

// Sizes that no rule speaks of keep their tails.
TEST(Domain, OnlySizesThatARuleRefusesAreRounded) {
  std::ptrdiff_t tails = 0, planned = 0;
  for (const Case& test_case : quick(narrowed("k % 8 == 0 && n % 8 == 0"))) {
    if (test_case.origin != "planned") continue;
    ++planned;
    tails += test_case.problem.integer("m") % 8 != 0;
  }
  EXPECT_GE(tails, planned / 2);
}

// One rule with everything in it is as many rules as it has parts.
TEST(Domain, EverySizeMovesOnlyByThePartOfARuleThatNamesIt) {
  Manifest narrow = *shipped_registry().find("attention_bf16_forward");
  Result<Expression> condition =
      Expression::parse("keys % 64 == 0 && d == 64 && dv == 0 && batch > 0",
                        narrow.operation->schema(), "test:1:1", narrow.operation->derived());
  ASSERT_TRUE(condition.ok());
  narrow.domain.push_back({*condition, "so it is built"});
  std::ptrdiff_t tails = 0, single = 0, usual = 0;
  const auto is_single = [](const Case& test_case) {
    return test_case.origin == "planned" && test_case.problem.integer("batch") == 1;
  };
  for (const Case& test_case : quick(*shipped_registry().find("attention_bf16_forward")))
    usual += is_single(test_case);
  std::set<std::int64_t> batches;
  const std::vector<Case> cases = quick(narrow);
  for (const Case& test_case : cases) {
    EXPECT_EQ(test_case.problem.integer("d"), 64) << test_case.text();
    tails += test_case.problem.integer("queries") % 64 != 0;
    single += is_single(test_case);
    batches.insert(test_case.problem.integer("batch"));
  }
  const auto all = static_cast<std::ptrdiff_t>(cases.size());
  EXPECT_GE(all, 250);
  EXPECT_GE(tails, all * 3 / 4);
  EXPECT_GE(single, usual * 3 / 4);
  EXPECT_TRUE(batches.contains(2) && batches.contains(3) && !batches.contains(64));
}

// Multiples of 16 along k cost n no more than the multiple of 8 that it needs.
TEST(Domain, EverySizeIsRoundedToItsOwnMultiple) {
  std::ptrdiff_t odd = 0, all = 0;
  for (const Case& test_case : quick(narrowed("k % 64 == 0 && n % 8 == 0"))) {
    if (test_case.origin != "planned") continue;
    ++all;
    odd += test_case.problem.integer("n") % 64 != 0;
  }
  EXPECT_GE(odd, all / 2);
}

TEST(Domain, DesignedCasesAreFittedToIt) {
  const auto designed = [](const Manifest& kernel) {
    std::ptrdiff_t count = 0;
    std::set<std::string> texts;
    for (const Case& test_case : quick(kernel)) {
      if (test_case.origin != "designed") continue;
      ++count;
      texts.insert(test_case.problem.text() + " value=" + test_case.recipe.value_class);
    }
    EXPECT_GE(texts.size(), static_cast<std::size_t>(count) - 3);
    return count;
  };
  const std::ptrdiff_t all = designed(gemm_kernel());
  EXPECT_GE(designed(narrowed("k % 8 == 0 && n % 8 == 0")), all * 3 / 4);
  EXPECT_GE(designed(narrowed("k % 8 == 0 && ld_a % 8 == 0 && ld_b % 8 == 0")), all * 3 / 4);
}

// What a case is about stays: a whole tile, its padding, its features.
TEST(Domain, AFittedCaseIsStillWhatItWasDesignedFor) {
  const auto fitted = [](const Manifest& narrow, const std::string& problem,
                         const std::string& shape) {
    const auto built = fit_designed(narrow, {problem, "integers", shape, "nn", ""}, Random(1));
    return built ? built->problem.text() : "";
  };
  const Manifest eights = narrowed("k % 8 == 0 && n % 8 == 0");
  EXPECT_EQ(fitted(eights, "m=17 n=9 k=33 out=f32", "k_tail"), "m=17 n=16 k=40 out=f32");
  EXPECT_EQ(fitted(eights, "m=17 n=9 k=33 lda=41", "k_tail"), "m=17 n=16 k=40 lda=48");
  EXPECT_EQ(fitted(eights, "m=17 n=127 k=8", "tile_minus_1"), "")
      << "a whole tile would be another";
  EXPECT_EQ(fitted(eights, "m=17 n=0 k=33", "empty_n"), "m=17 n=0 k=40");
  EXPECT_EQ(fitted(eights, "m=1 n=1 k=1", "one"), "");
  EXPECT_EQ(fitted(eights, "m=17 n=17 k=17", "square"), "m=24 n=24 k=24");
  const Manifest plain = narrowed("bias == \"none\"");
  EXPECT_EQ(fitted(plain, "m=17 n=9 k=33 bias=row", "k_tail"), "") << "without bias it is another";
}

TEST(Domain, ARuleThatNothingSatisfiesIsNamed) {
  Manifest narrow = narrowed("k % 8 == 0");
  narrow.domain.push_back(narrowed("m == 7 && m == 5").domain.back());
  EXPECT_EQ(plan_cases(narrow, {Profile::quick, 1}).size(), 0u);
  const std::string words = domain_refusals(narrow);
  EXPECT_NE(words.find("\"m == 7 && m == 5\""), words.npos) << words;
  EXPECT_NE(words.find("100 were refused"), words.npos) << words;
}

TEST(Domain, ASearchGoesOnWhereNothingSatisfiesIt) {
  const Manifest narrow = narrowed("m == 7 && m == 5");
  for (std::uint64_t seed = 0; seed < 5; ++seed)
    EXPECT_NE(narrow.excluded(random_case(narrow, seed).problem), std::nullopt);
}

TEST(Memory, NoQuickCaseOfAShippedKernelTakesAGibibyte) {
  for (const Manifest& kernel : shipped_registry().all()) {
    for (const Case& test_case : plan_cases(kernel, {Profile::quick, 1}))
      EXPECT_LE(memory_of(*kernel.tensors(test_case.problem)), 0x1p30) << test_case.text();
  }
}

// The columns of a transposed B are what is short where rows are long.
TEST(Memory, HugeStridesFollowTheLayoutThatAKernelHas) {
  for (const std::string_view layout : {"nn", "nt", "tn", "tt"}) {
    std::set<std::string> huge;
    Manifest one_layout = gemm_kernel();
    auto schema = std::make_shared<KernelSchema>(*one_layout.operation);
    for (const char* field : {"lda", "ldb", "ldd"}) schema->free(field);
    schema->allow("layout", {layout});
    one_layout.own_schema = schema;
    for (const Case& test_case : plan_cases(one_layout, {Profile::quick, 1})) {
      EXPECT_LE(memory_of(*one_layout.tensors(test_case.problem)), 0x1p30) << test_case.text();
      for (const char* field : {"lda", "ldb", "ldd"}) {
        if (test_case.origin == "designed" && test_case.problem.integer(field) == 123456789)
          huge.insert(field);
      }
    }
    EXPECT_EQ(huge, (std::set<std::string>{"lda", "ldb", "ldd"})) << layout;
  }
}

TEST(Memory, ADesignedCaseThatTakesTooMuchIsNone) {
  const auto built = [](const std::string& problem) {
    const DesignedCase designed{problem, "integers", "tiny", "absurd_strides", ""};
    return build_designed(gemm_kernel(), designed, Random(1)).has_value();
  };
  EXPECT_TRUE(built("m=20 n=12 k=1 ldb=123456789"));
  EXPECT_TRUE(built("m=20 n=12 k=1 layout=nt ldb=123456789"));  // kept in pieces
  EXPECT_FALSE(built("m=20 n=100000 k=1 layout=nt ldb=1000000"));
}

}  // namespace
}  // namespace plumbline
