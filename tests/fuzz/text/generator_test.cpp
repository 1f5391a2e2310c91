// SPDX-License-Identifier: MIT
// The generator of operations that a text says: for texts of every kind, plans that reach every
// class and stay small, sizes that rules between them take, and inputs that are what the text says
// of their values.
#include "fuzz/text/generator.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>

#include "fuzz/case/far_apart.h"
#include "fuzz/rows/values.h"
#include "fuzz/shrink/crop.h"
#include "fuzz/shrink/shrink.h"
#include "tests/fuzz/plan/generated_plan.h"

namespace plumbline {
namespace {

// A kernel that computes what the text says; `sections` are those of its manifest that matter here.
Manifest kernel_of(const std::string& text, const std::string& sections) {
  const std::string name = text.substr(10, text.find('(') - 10);
  const std::string base = testing::TempDir() + fmt::format("plumbline_{}_{}", getpid(), name);
  std::ofstream(base + ".op") << text;
  const Result<Manifest> manifest = parse_manifest(
      fmt::format("computes = \"{}.op\"\nsummary = \"a kernel of the tests\"\n"
                  "source = \"{}.cu\"\ntargets = [80]\nentry = \"entry\"\nparameters = []\n{}\n"
                  "[launch]\ngrid = ['1']\nblock = [128]\n",
                  std::filesystem::path(base).filename().string(), name, sections),
      base + ".toml");
  std::filesystem::remove(base + ".op");
  if (!manifest) ADD_FAILURE() << manifest.error().text();
  PLUMB_ASSERT(manifest.ok());
  return *manifest;
}

std::string rule(const std::string& condition) {
  return fmt::format("[[domain]]\nrequire = '{}'\nreason = \"so it is built\"\n", condition);
}

const Manifest& norm() {
  static const Manifest kernel = kernel_of(
      "operation add_norm(x[m, n], residual[m, n] inout, gamma[n], beta[n] = 0, eps = 1e-6)"
      " -> y[m, n]\n"
      "  residual[i, j] = x[i, j] + residual[i, j]\n"
      "  rstd[i] = rsqrt((sum[j] residual'[i, j]^2) / n + eps)\n"
      "  y[i, j] = residual'[i, j] * rstd[i] * gamma[j] + beta[j]\n",
      "[problem]\nout = [\"bf16\", \"f32\"]\n"
      "free = [\"eps\", \"pad_x\", \"pad_residual\", \"pad_y\", \"offset\"]\n"
      "[formats]\nx = \"bf16\"\nresidual = \"bf16\"\ngamma = \"f32\"\nbeta = \"f32\"\n"
      "y = \"{out}\"\n[tile]\nn = 256\n");
  return kernel;
}

const Manifest& gather() {
  static const Manifest kernel = kernel_of(
      "operation gather(table[v, n], row[t]: s32 in 0 .. v or -1, gain[t] in 0.3 .. 7)"
      " -> y[t, n]\n"
      "  y[i, j] = where(row[i] < 0, 0, table[max(row[i], 0), j] * gain[i])\n",
      "[problem]\nfree = [\"pad_table\", \"pad_y\"]\n"
      "[formats]\ntable = \"f16\"\ngain = \"bf16\"\ny = \"f16\"\n" +
          rule("ld_table % 8 == 0 && ld_y % 8 == 0"));
  return kernel;
}

const Manifest& turn() {
  static const Manifest kernel = kernel_of(
      "operation turn(q[t, heads, d] inout, angle[positions, rot]: f32,"
      " position[t]: s32 in 0 .. positions)\n"
      "  q[i, h, c] = q[i, h, c] * cos(angle[position[i], c]) for c < rot\n"
      "  q[i, h, rot + c] = q[i, h, rot + c] for c < d - rot\n",
      "[problem]\nfree = [\"pad_q\", \"pad_angle\", \"offset\"]\n[formats]\nq = \"bf16\"\n" +
          rule("rot % 2 == 0 && rot <= d"));
  return kernel;
}

const Manifest& grouped() {
  static const Manifest kernel = kernel_of(
      "operation grouped(x[b, c, p], w[c], groups: int = 1, flag: int = 0) -> y[b, c, p]\n"
      "  mean[i, g] = (sum[k < c // groups, q < p] x[i, g * (c // groups) + k, q]) / p"
      " for g < groups\n"
      "  y[i, k, q] = x[i, k, q] - where(flag == 1, mean[i, k // (c // groups)] * w[k], 0)\n",
      "[problem]\nfree = [\"groups\", \"flag\", \"pad_x\", \"pad_y\"]\n"
      "[formats]\nx = \"f32\"\nw = \"f32\"\ny = \"f32\"\n" +
          rule("groups >= 1") + rule("c % groups == 0") + rule("flag >= 0 && flag <= 1"));
  return kernel;
}

const Manifest& flat() {
  static const Manifest kernel =
      kernel_of("operation gelu_of(x[n]) -> y[n]\n  y[i] = gelu(x[i])\n",
                "[problem]\nfree = [\"offset\"]\n[formats]\nx = \"e4m3\"\ny = \"f32\"\n");
  return kernel;
}

const Manifest& product() {
  static const Manifest kernel = kernel_of(
      "operation product(a[m, k], b[k, n]) -> d[m, n]\n  d[i, j] = sum[l] (a[i, l] * b[l, j])\n",
      "[problem]\nfree = [\"pad_a\", \"pad_b\", \"pad_d\"]\n"
      "[formats]\na = \"bf16\"\nb = \"bf16\"\nd = \"f32\"\n[tile]\nm = 64\nn = 64\nk = 32\n" +
          rule("ld_a % 8 == 0 && ld_b % 8 == 0 && ld_d % 8 == 0"));
  return kernel;
}

std::int64_t size_in(const Case& test_case, std::string_view name) {
  return test_case.problem.integer(name);
}

struct Kernel {
  const char* name;
  const Manifest& (*kernel)();
};

class TextGenerators : public ::testing::TestWithParam<Kernel> {};

TEST_P(TextGenerators, PlanReachesEveryClass) { check_plan(GetParam().kernel()); }

TEST_P(TextGenerators, CasesAreTheSameEveryTime) { check_bits_repeat(GetParam().kernel()); }

TEST_P(TextGenerators, DesignedCasesAreProblems) { check_designed(GetParam().kernel()); }

TEST_P(TextGenerators, PaddingDoesNotChangeBits) {
  const Manifest& kernel = GetParam().kernel();
  const TextOperation& operation = *as_text(*kernel.operation);
  std::string sizes, pads;
  for (const std::string& size : operation.sizes()) sizes += " " + size + "=8";
  for (const std::string& pad : operation.pads()) pads += " " + pad + "=8";
  const auto bits = [&](const std::string& problem) {
    return bits_of(case_with(kernel, problem, "normal", 3));
  };
  EXPECT_EQ(bits(sizes), bits(sizes + pads));
}

INSTANTIATE_TEST_SUITE_P(Texts, TextGenerators,
                         ::testing::Values(Kernel{"norm", norm}, Kernel{"gather", gather},
                                           Kernel{"turn", turn}, Kernel{"grouped", grouped},
                                           Kernel{"flat", flat}, Kernel{"product", product}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(TextGenerator, ATextMayBeCalledLikeABuiltInOperation) {
  const Manifest kernel =
      kernel_of("operation softmax(x[a, b]) -> y[a, b]\n  y[i, j] = x[i, j] * 2\n",
                "[formats]\nx = \"f32\"\ny = \"f32\"\n");
  EXPECT_EQ(kernel.operation->name(), "softmax.op");
  EXPECT_EQ(generator_of(*kernel.operation).shrink_fields().sizes.front(), "a");
  EXPECT_EQ(&generator_of(*kernel.operation), &generator_of(*kernel.operation));
}

TEST(TextGenerator, AnInputMayHaveASingleValue) {
  const Manifest kernel = kernel_of(
      "operation single(x[m] in 0.65625 .. 0.65625, z[m] in 0 .. 0) -> y[m]\n"
      "  y[i] = x[i] + z[i]\n",
      "[formats]\nx = \"f32\"\nz = \"f32\"\ny = \"f32\"\n");
  const std::vector<Case> plan = plan_cases(kernel, {Profile::quick, 1});
  ASSERT_GT(plan.size(), 100u);
  const Result<CaseTensors> tensors = materialize(plan.front());
  ASSERT_TRUE(tensors.ok());
  EXPECT_EQ(tensors->find("x")->bits(0), 0x3f280000u);
  EXPECT_EQ(tensors->find("z")->bits(0), 0u);
}

// No size and no scalar leaves a value, or only some do.
TEST(TextGenerator, ValuesThatAreNoneAreNoProblem) {
  const auto cases_of = [](const std::string& values) {
    const Manifest kernel =
        kernel_of("operation none(x[m] in " + values + ") -> y[m]\n  y[i] = x[i]\n",
                  "[formats]\nx = \"f32\"\ny = \"f32\"\n");
    std::size_t filled = 0;
    for (const Case& one : plan_cases(kernel, {Profile::quick, 1})) {
      EXPECT_TRUE(materialize(one).ok()) << one.text();
      filled += size_in(one, "m") > 0 ? 1 : 0;
    }
    return filled;
  };
  EXPECT_EQ(cases_of("m + 1 .. m"), 0u);
  EXPECT_GT(cases_of("3 .. m"), 100u);
}

TEST(TextGenerator, RulesBetweenSizesLeaveMostCases) {
  int less = 0, equal = 0;
  for (const Case& test_case : plan_cases(turn(), {Profile::quick, 1})) {
    less += size_in(test_case, "rot") < size_in(test_case, "d");
    equal += size_in(test_case, "rot") == size_in(test_case, "d");
  }
  EXPECT_GE(less, 80);
  EXPECT_GE(equal, 10);
}

TEST(TextGenerator, RulesWithScalarsLeaveMostCases) {
  std::set<std::int64_t> groups;
  int uneven = 0;
  for (const Case& test_case : plan_cases(grouped(), {Profile::quick, 1})) {
    groups.insert(size_in(test_case, "groups"));
    uneven += size_in(test_case, "groups") > 1 &&
              size_in(test_case, "c") / size_in(test_case, "groups") > 1;
  }
  EXPECT_GE(groups.size(), 12u);
  EXPECT_TRUE(groups.contains(2) && groups.contains(4) && *groups.rbegin() > 1000);
  EXPECT_GE(uneven, 20);
}

// Integers that are no sizes: any number, of either sign, and those that the code names.
TEST(TextGenerator, IntegersReachFarAndBelowZero) {
  const Manifest kernel = kernel_of(
      "operation local(x[m, n], window: int = -1) -> y[m, n]\n"
      "  y[i, j] = sum[k <= j if window < 0 or j - k < window] x[i, k]\n",
      "[problem]\nfree = [\"window\"]\n[formats]\nx = \"bf16\"\ny = \"f32\"\n");
  std::set<std::int64_t> windows;
  PlanOptions options{Profile::quick, 1};
  options.code_sizes = {64};
  for (const Case& one : plan_cases(kernel, options)) windows.insert(size_in(one, "window"));
  EXPECT_TRUE(windows.contains(64) && windows.contains(65));
  EXPECT_LT(*windows.begin(), -1);
  EXPECT_GT(*windows.rbegin(), 1000);
}

TEST(TextGenerator, WhatNoSizeMakesShortIsNotPlanned) {
  const Manifest kernel =
      kernel_of("operation endless(x[m]) -> y[m]\n  y[i] = sum[k < 1000000000] x[i]\n",
                "[formats]\nx = \"f32\"\ny = \"f32\"\n");
  for (const Case& one : plan_cases(kernel, {Profile::quick, 1})) EXPECT_EQ(size_in(one, "m"), 0);
}

// Rounded strides leave the sizes their tails.
TEST(TextGenerator, RulesOnStridesLeaveSizesAlone) {
  int tails = 0;
  for (const Case& test_case : plan_cases(product(), {Profile::quick, 1}))
    tails += size_in(test_case, "n") % 8 != 0 && size_in(test_case, "k") % 8 != 0;
  EXPECT_GE(tails, 100);
}

TEST(TextGenerator, SizesComeNearToTheTiles) {
  std::map<std::string, std::set<std::int64_t>> rest;
  int wide = 0;
  for (const Case& test_case : plan_cases(norm(), {Profile::quick, 1})) {
    if (test_case.origin != "planned") continue;
    rest[test_case.shape_class].insert(size_in(test_case, "n") % 256);
    wide += test_case.shape_class == "long" && size_in(test_case, "n") > 3000;
  }
  EXPECT_EQ(rest["tile_minus_1"], std::set<std::int64_t>{255});
  EXPECT_EQ(rest["tile"], std::set<std::int64_t>{0});
  EXPECT_EQ(rest["tile_plus_1"], std::set<std::int64_t>{1});
  EXPECT_GE(wide, 10);
}

TEST(TextGenerator, DesignedCasesReachTheFarAndTheLong) {
  bool far = false, longest = false, no_rows = false;
  for (const DesignedCase& designed : generator_of(*norm().operation).designed(norm())) {
    const Problem problem = *parse_problem(norm().schema(), designed.problem);
    far |= problem.integer("pad_x") == kFarApart && problem.integer("pad_y") == kFarApart;
    longest |= problem.integer("n") == 65573;
    no_rows |= problem.integer("m") == 0;
  }
  EXPECT_TRUE(far && longest && no_rows);
}

// A sum over a row for each of its elements costs the square, but not a cumulative one.
TEST(TextGenerator, WorkCountsTermsAndNotElementsAlone) {
  const Manifest kernel =
      kernel_of("operation filter(x[m, n]) -> y[m, n]\n  y[i, j] = sum[l <= j] x[i, j - l]\n",
                "[formats]\nx = \"f32\"\ny = \"f32\"\n");
  const Generator& generator = generator_of(*kernel.operation);
  const auto work = [&](const std::string& sizes) {
    return generator.padded_work(*parse_problem(kernel.schema(), sizes), kernel);
  };
  EXPECT_NEAR(work("m=4 n=4096") / work("m=4 n=2048"), 4, 0.1);
  for (const Case& test_case : plan_cases(kernel, {Profile::quick, 1}))
    EXPECT_LT(generator.padded_work(test_case.problem, kernel), 3e8) << test_case.text();
}

TEST(TextGenerator, CumulativeSumsHaveLongRows) {
  const Manifest kernel =
      kernel_of("operation running(x[m, n]) -> y[m, n]\n  y[i, j] = sum[l <= j] x[i, l]\n",
                "[formats]\nx = \"f32\"\ny = \"f32\"\n[tile]\nn = 1024\n");
  const auto work = [&](const std::string& sizes) {
    return kernel.operation->work(*parse_problem(kernel.schema(), sizes));
  };
  EXPECT_NEAR(work("m=4 n=4096") / work("m=4 n=2048"), 2, 0.1);
  bool past_tile = false;
  for (const Case& test_case : plan_cases(kernel, {Profile::quick, 1}))
    past_tile |= test_case.problem.integer("n") == 1025;
  EXPECT_TRUE(past_tile);
}

// One that is the same for all of a row is computed once for it.
TEST(TextGenerator, WorkCountsWhatARowSharesOnce) {
  const Manifest kernel = kernel_of(
      "operation probabilities(x[m, n]) -> y[m, n]\n"
      "  y[i, j] = exp(x[i, j] - max[k] x[i, k]) / sum[k] exp(x[i, k] - max[l] x[i, l])\n",
      "[formats]\nx = \"f32\"\ny = \"f32\"\n");
  const auto work = [&](const std::string& sizes) {
    return generator_of(*kernel.operation)
        .padded_work(*parse_problem(kernel.schema(), sizes), kernel);
  };
  EXPECT_NEAR(work("m=4 n=4096") / work("m=4 n=2048"), 2, 0.1);
}

TEST(TextGenerator, ScalarsLeaveOutWhatTheDomainRefuses) {
  std::map<std::string, std::vector<std::string>> fragments;
  for (const Feature& feature : generator_of(*grouped().operation).features(grouped()))
    fragments[feature.name] = feature.fragments;
  EXPECT_EQ(fragments["flag"], (std::vector<std::string>{"flag=0", "flag=1"}));
  EXPECT_EQ(fragments["groups"],
            (std::vector<std::string>{"groups=1", "groups=2", "groups=4", "groups=*"}));
  for (const Feature& feature : generator_of(*norm().operation).features(norm())) {
    if (feature.name != "eps") continue;
    EXPECT_EQ(feature.fragments.front(), "eps=1e-06");
    ASSERT_TRUE(feature.spread.has_value());
    EXPECT_FALSE(feature.spread->either_sign) << "below 0 the root has no value";
  }
}

TEST(TextGenerator, IntegersAreOfTheirRangeWithItsEnds) {
  const CaseTensors tensors = filled(case_with(gather(), "v=11 n=8 t=400", "normal"));
  std::set<double> seen;
  for (std::int64_t i = 0; i < 400; ++i) seen.insert(element_of(*tensors.find("row"), i));
  EXPECT_EQ(seen.size(), 12u);
  EXPECT_EQ(*seen.begin(), -1);
  EXPECT_EQ(*seen.rbegin(), 10);
  for (std::int64_t i = 0; i < 400; ++i) {
    const double gain = element_of(*tensors.find("gain"), i);
    EXPECT_TRUE(gain >= 0.3 && gain <= 7) << "also when 0.3 is rounded to bf16: " << gain;
  }
}

// Sums of one sign, as large as they get: a kernel that adds integers in f32 must not pass.
TEST(TextGenerator, IntegersFollowTheValueClass) {
  const Manifest kernel =
      kernel_of("operation sums(a[m, n]: s8 in -128 .. 128) -> y[m]\n  y[i] = sum[j] a[i, j]\n",
                "[formats]\na = \"s8\"\ny = \"f32\"\n");
  const auto sums = [&](const std::string& value_class) {
    const CaseTensors tensors = filled(case_with(kernel, "m=8 n=400", value_class));
    std::vector<double> out(8);
    for (std::int64_t i = 0; i < 3200; ++i)
      out[static_cast<std::size_t>(i / 400)] += element_of(*tensors.find("a"), i);
    return out;
  };
  for (const double sum : sums("positive")) EXPECT_GT(sum, 400 * 50);
  for (const double sum : sums("large")) EXPECT_GT(std::fabs(sum), 400 * 126);
  for (const double sum : sums("ones")) EXPECT_EQ(sum, 400);
}

// An index into nothing cannot be.
TEST(TextGenerator, EmptyTablesHaveNoReaders) {
  int empty = 0;
  for (const Case& test_case : plan_cases(gather(), {Profile::quick, 1})) {
    if (size_in(test_case, "v") != 0) continue;
    const CaseTensors tensors = filled(test_case);
    for (std::int64_t i = 0; i < size_in(test_case, "t"); ++i)
      EXPECT_EQ(element_of(*tensors.find("row"), i), -1);
    ++empty;
  }
  EXPECT_GE(empty, 5);
  for (const Case& test_case : plan_cases(turn(), {Profile::quick, 1}))
    EXPECT_TRUE(size_in(test_case, "positions") > 0 || size_in(test_case, "t") == 0);
}

// Of special values also alone, since in all tensors they mask each other.
TEST(TextGenerator, EveryTensorHasTheClass) {
  int both = 0, x_alone = 0, residual_alone = 0;
  for (std::uint64_t seed = 1; seed <= 32; ++seed) {
    Case one = case_with(norm(), "m=24 n=40", "specials");
    one.recipe.seed = seed;
    const CaseTensors tensors = filled(one);
    const auto has_class = [&](const char* name) {
      int nans = 0, hidden = 0;
      for (std::int64_t i = 0; i < 24; ++i) {
        int infinite = 0;
        for (std::int64_t j = 0; j < 40; ++j) {
          const double value = element_of(*tensors.find(name), i * 40 + j);
          nans += std::isnan(value);
          infinite += std::isinf(value);
        }
        hidden += infinite == 40;
      }
      EXPECT_TRUE((nans > 3 && hidden == 3) || (nans == 0 && hidden == 0)) << name;
      return nans > 0;
    };
    const bool x = has_class("x"), residual = has_class("residual");
    both += x && residual;
    x_alone += x && !residual;
    residual_alone += residual && !x;
  }
  EXPECT_GE(both, 8);
  EXPECT_GE(x_alone, 1);
  EXPECT_GE(residual_alone, 1);
}

// One tensor has them and the other not, in some cases, and then there are rows of numbers that are
// small and yet not subnormal: a kernel that makes 0 of results below 1e-30 differs.
TEST(TextGenerator, SmallNumbersMeetOrdinaryOnes) {
  int small = 0;
  for (std::uint64_t seed = 1; seed <= 32; ++seed) {
    Case one = case_with(norm(), "m=24 n=40", "subnormal");
    one.recipe.seed = seed;
    const CaseTensors tensors = filled(one);
    for (std::int64_t i = 0; i < 24 * 40; ++i) {
      const double product =
          std::fabs(element_of(*tensors.find("x"), i) * element_of(*tensors.find("residual"), i));
      small += product > 0x1p-120 && product < 1e-30;
    }
  }
  EXPECT_GT(small, 200);
}

TEST(TextGenerator, EveryTensorHasAStreamOfItsOwn) {
  // Parameters are about what they do nothing as.
  const CaseTensors plain = filled(case_with(norm(), "m=2 n=4000", "normal"));
  double gamma = 0, beta = 0, product = 0;
  for (std::int64_t j = 0; j < 4000; ++j) {
    gamma += element_of(*plain.find("gamma"), j) / 4000;
    beta += element_of(*plain.find("beta"), j) / 4000;
    product += element_of(*plain.find("x"), j) * element_of(*plain.find("residual"), j) / 4000;
  }
  EXPECT_NEAR(gamma, 1, 0.05);
  EXPECT_NEAR(beta, 0, 0.1);
  EXPECT_NEAR(product, 0, 0.1);
}

// The classes were made for the exponents of bf16: e4m3 and f16 have no such numbers.
TEST(TextGenerator, NarrowFormatsKeepTheirClasses) {
  for (const std::string_view values : generator_of(*flat().operation).value_classes()) {
    const CaseTensors tensors = filled(case_with(flat(), "n=2000", std::string(values)));
    int special = 0, zeros = 0;
    std::set<double> seen;
    for (std::int64_t i = 0; i < 2000; ++i) {
      const double value = element_of(*tensors.find("x"), i);
      special += !std::isfinite(value);
      zeros += value == 0;
      if (std::isfinite(value)) seen.insert(std::fabs(value));
    }
    EXPECT_EQ(special > 0, values == "specials") << values;
    if (values == "large") {
      EXPECT_GE(*seen.rbegin(), 128) << values;
      EXPECT_EQ(zeros, 0);
    }
    if (values == "wide") {
      EXPECT_GE(seen.size(), 60u);
      EXPECT_LE(zeros, 100);
    }
  }
}

TEST(TextGenerator, IndicesStayWithinTheRowsThatACutLeaves) {
  Result<Case> frozen = freeze(case_with(gather(), "v=9 n=8 t=200", "normal"));
  ASSERT_TRUE(frozen.ok());
  const std::optional<Case> smaller = remove_slices(*frozen, {{"v", 2, 3}});
  ASSERT_TRUE(smaller.has_value());
  EXPECT_TRUE(materialize(*smaller).ok());
  const Tensor &before = *find_literal(frozen->literals, "row"),
               &after = *find_literal(smaller->literals, "row");
  for (std::int64_t i = 0; i < 200; ++i)
    EXPECT_EQ(element_of(after, i), std::min(element_of(before, i), 5.0));
}

// Every case fails: shrinking goes as far as it may.
TEST(TextGenerator, ShrinkingStaysWithinWhatTheTextAllows) {
  int outside = 0;
  const auto fails = [&](const Case& one) {
    const CaseTensors tensors = filled(one);
    const Tensor &rows = *tensors.find("row"), &gains = *tensors.find("gain");
    for (std::int64_t i = 0; i < rows.layout.count(); ++i) {
      const double row = element_of(rows, i), gain = element_of(gains, i);
      const bool allowed = row >= -1 && row < size_in(one, "v") && gain >= 0.3 && gain <= 7;
      outside += allowed ? 0 : 1;
    }
    return size_in(one, "t") > 0;
  };
  const ShrinkResult result =
      shrink(case_with(gather(), "v=9 n=8 t=20", "normal"), fails, 1000, {});
  EXPECT_EQ(outside, 0);
  ASSERT_FALSE(result.smallest.literals.empty());
  EXPECT_EQ(element_of(*find_literal(result.smallest.literals, "gain"), 0), 1);
}

}  // namespace
}  // namespace plumbline
