// SPDX-License-Identifier: MIT
// Forms against kernels that conform: every value that one computes must lie where forms say.
#include "oracles/reference/text/forms.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "tests/oracles/reference/text/conforming_kernel.h"

namespace plumbline::text {
namespace {

constexpr const char* kTexts[] = {
    "operation softmax(x[m, n]) -> y[m, n]\n"
    "  e[i, j] = exp(x[i, j] - max[k] x[i, k])\n  y[i, j] = e[i, j] / sum[k] e[i, k]\n",
    "operation rmsnorm(x[m, n], gamma[n], eps = 1e-6) -> y[m, n]\n"
    "  rstd[i] = rsqrt((sum[j] x[i, j]^2) / n + eps)\n  y[i, j] = x[i, j] * rstd[i] * gamma[j]\n",
    "operation layernorm(x[m, n], gamma[n], beta[n], eps = 1e-5) -> y[m, n]\n"
    "  mean[i] = (sum[j] x[i, j]) / n\n  away[i, j] = x[i, j] - mean[i]\n"
    "  rstd[i] = rsqrt((sum[j] away[i, j]^2) / n + eps)\n"
    "  y[i, j] = away[i, j] * rstd[i] * gamma[j] + beta[j]\n",
    "operation silu_and_mul(x[m, 2 n]) -> y[m, n]\n  y[i, j] = silu(x[i, j]) * x[i, n + j]\n",
    "operation gelu_of(x[m, n]) -> y[m, n]\n  y[i, j] = gelu(x[i, j]) - tanh(x[i, j])\n",
    "operation entropy(x[m, n]) -> y[m]\n  big[i] = max[j] x[i, j]\n"
    "  y[i] = big[i] + log(sum[j] exp(x[i, j] - big[i])) - (sum[j] x[i, j]) / n\n",
    "operation quantized(x[m, n]) -> y[m, n]\n"
    "  scale[i] = max((max[j] abs(x[i, j])) / 448, 1e-12)\n"
    "  y[i, j] = e4m3(clamp(x[i, j] / scale[i], -448, 448)) * scale[i]\n",
    "operation turned(x[m, n], a[m, n]) -> y[m, n]\n"
    "  y[i, j] = x[i, j] * cos(a[i, j]) - a[i, j] * sin(x[i, j])\n",
    "operation product(a[m, n], b[n, m]) -> y[m, m]\n  y[i, j] = sum[k] (a[i, k] * b[k, j])\n",
    "operation scaled(x[m, n], a[m, n], b[m, n], c[m, n]) -> y[m, n]\n"
    "  y[i, j] = x[i, j] * a[i, j] * b[i, j] * c[i, j] / (a[i, j] + 1)\n",
    "operation moment(v[m, n], g[m, n]) -> y[m, n]\n"
    "  y[i, j] = 0.999 * v[i, j] + (1 - 0.999) * g[i, j]^2\n",
    "operation powers(x[m, n], a[m, n]) -> y[m, n]\n  y[i, j] = x[i, j]^2 * a[i, j] * 3\n",
    "operation polynomial(x[m, n], a[m, n]) -> y[m, n]\n"
    "  t[i, j] = x[i, j] * a[i, j]\n  y[i, j] = t[i, j] + t[i, j] * (1 - t[i, j]) - a[i, j]\n",
};

void check_kernels(const Arithmetic& arithmetic, std::uint64_t seeds) {
  for (const char* text : kTexts) {
    for (const Data& data : kData) {
      for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        const TextProblem problem(text, {3, 5 + static_cast<std::int64_t>(seed % 3) * 20},
                                  data.element, seed);
        check_conforming(problem, arithmetic, 6,
                         fmt::format("{}{} seed {}", text, data.name, seed));
      }
    }
  }
}

TEST(TextForms, ConformingKernelsLieWithin) {
  for (const Functions functions : {Functions::fast, Functions::approx, Functions::precise}) {
    for (const bool flushed : {false, true})
      check_kernels({.functions = functions, .flushed = flushed}, 12);
  }
}

// Of an infinite number everything is known, also where it was computed.
TEST(TextForms, ConditionsOnInfinitiesAreDecided) {
  const std::pair<const char*, double> kConditions[] = {
      {"abs(x[i, 0]) < 1", 4},     {"abs(x[i, 0]) == 0", 4}, {"x[i, 0] * 2 > 3", 1},
      {"1 / x[i, 0] < 1", 1},      {"x[i, 0]^2 <= 5", 4},    {"exp(x[i, 0]) > 7", 1},
      {"log(0 * x[i, 1]) < -5", 1}};
  for (const auto& [condition, due] : kConditions) {
    const TextProblem problem(
        "operation f(x[m, n]) -> y[m]\n  y[i] = where(" + std::string(condition) + ", 1, 4)\n",
        {1, 2}, [](std::int64_t i, Random&) { return i == 0 ? kInfinity : 1; });
    const std::vector<Form> forms = problem.over(Forms({}));
    EXPECT_EQ(forms[0].value, due) << condition;
    EXPECT_EQ(forms[0].reach(), 0) << condition;
    EXPECT_FALSE(forms[0].special) << condition;
  }
}

TEST(TextForms, ConformingKernelsThatAddInAnyOrderLieWithin) {
  check_kernels({.any_order = true}, 12);
}

TEST(TextForms, AgreeWithTheDefinition) {
  for (const char* text : kTexts) {
    for (const Data& data : kData) {
      const TextProblem problem(text, {3, 9}, data.element);
      check_definition(problem, fmt::format("{}{}", text, data.name));
    }
  }
}

// The widest of all outputs, in units of 2^-24 of the exact value.
double widest(const char* text, const Data& data, const Arithmetic& arithmetic) {
  const TextProblem problem(text, {3, 64}, data.element);
  double most = 0;
  for (const Form& one : problem.over(Forms(arithmetic)))
    most = std::max(most, one.special ? kInfinity : one.reach() / std::fabs(one.value) * 0x1p24);
  return most;
}

TEST(TextForms, AreNotMuchWiderThanKernels) {
  EXPECT_LE(widest(kTexts[0], kData[0], {}), 60);                                 // softmax
  EXPECT_LE(widest(kTexts[1], kData[0], {}), 20);                                 // rmsnorm
  EXPECT_LE(widest(kTexts[3], kData[0], {.functions = Functions::precise}), 40);  // silu_and_mul
}

TEST(TextForms, AnErrorThatTwoUsesShareCancels) {
  const auto reach = [](const char* text) {
    return TextProblem(text, {1, 1}, [](std::int64_t, Random&) { return 0.3; })
        .over(Forms({}))[0]
        .reach();
  };
  const double shared = reach(
      "operation shared(x[m, n]) -> y[m, n]\n"
      "  t[i, j] = exp(exp(x[i, j]))\n  y[i, j] = (t[i, j] + 1) - t[i, j]\n");
  const double apart = reach(
      "operation apart(x[m, n]) -> y[m, n]\n"
      "  t[i, j] = exp(exp(x[i, j]))\n  u[i, j] = exp(exp(x[i, j]))\n"
      "  y[i, j] = (t[i, j] + 1) - u[i, j]\n");
  EXPECT_LT(shared, apart / 4);
}

// 1 + erf(-92) is 0 exactly, and 2^-22 to a kernel: what it loses below the normal numbers, a later
// factor makes larger.
TEST(TextForms, AFactorOfZeroThatErrsIsLostBetweenOthers) {
  const TextProblem problem(
      "operation f(x[m, n]) -> y[m]\n"
      "  y[i] = 0.5 * x[i, 0] * (1 + erf(x[i, 0])) * x[i, 1]\n",
      {200, 2}, [](std::int64_t i, Random& random) {
        return i % 2 == 0 ? -92 - random.unit() : std::ldexp(1 + random.unit(), -127);
      });
  for (const bool flushed : {false, true})
    check_conforming(problem, {.flushed = flushed}, 50, flushed ? "flushed" : "kept");
}

TEST(TextForms, ExactStepsAreSingleNumbers) {
  const TextProblem problem(
      "operation exact(x[m, n]) -> y[m]\n"
      "  y[i] = (sum[j] x[i, j]^2) * 0.125 + max[j] abs(x[i, j])\n",
      {4, 40}, kData[2].element);
  for (const Form& one : problem.over(Forms({}))) EXPECT_TRUE(ranged(one).range.is_point());
}

TEST(TextForms, FastDivisionByAPowerOfTwoIsNotExact) {
  const TextProblem problem("operation halved(x[m, n]) -> y[m, n]\n  y[i, j] = x[i, j] / 2\n",
                            {1, 1}, [](std::int64_t, Random&) { return 3.0; });
  EXPECT_FALSE(ranged(problem.over(Forms({}))[0]).range.is_point());
  const Arithmetic precise{.functions = Functions::precise};
  EXPECT_TRUE(ranged(problem.over(Forms(precise))[0]).range.is_point());
}

// Triton 3.9 compiles x / 210 and z / 210 to one div.full(1, 210) and two products.
TEST(TextForms, QuotientsMayShareAReciprocal) {
  for (const double error : {0x1p-22, -0x1p-22}) {
    auto reciprocal = static_cast<float>(1.0 / 210 * (1 + error));
    if (std::fabs(reciprocal * 210.0 - 1) > 0x1p-22)
      reciprocal = std::nextafter(reciprocal, 1 / 210.0f);
    for (int i = 0; i < 1000; ++i) {
      const float x = 1 + static_cast<float>(i) / 1000;
      const TextProblem problem("operation part(x[m, n]) -> y[m, n]\n  y[i, j] = x[i, j] / 210\n",
                                {1, 1}, [=](std::int64_t, Random&) { return x; });
      const auto range = ranged(problem.over(Forms({}))[0]).range;
      const double stored = x * reciprocal;
      EXPECT_TRUE(range.low <= stored && stored <= range.high) << x;
    }
  }
}

// exp(9.5) - 13000 is 359.7268, to within some hundredths.
TEST(TextForms, AClampKeepsItsEnds) {
  for (const char* sign : {"", "-"}) {
    const std::string text = fmt::format(
        "operation f(x[m, n]) -> y[m, n]\n"
        "  y[i, j] = {}clamp(exp(x[i, j]) - 13000, -448, 359.73)\n",
        sign);
    const TextProblem problem(text.c_str(), {1, 1}, [](std::int64_t, Random&) { return 9.5; });
    const auto range = ranged(problem.over(Forms({}))[0]).range;
    const bool turned = *sign != 0;
    EXPECT_LE(turned ? -range.low : range.high, 359.73F);
    EXPECT_LT(turned ? -range.high : range.low, 359.72F);
  }
}

// Whatever the order: a kernel that gives a number there does not conform.
TEST(TextForms, ASumWithInfinitiesOfBothSignsIsNothingButNan) {
  const TextProblem problem(
      "operation f(x[m, n]) -> y[m]\n  y[i] = exp(x[i, 0] - max[j] x[i, j]) + sum[j] x[i, j]\n",
      {2, 3}, [](std::int64_t i, Random&) {
        constexpr double kInf = std::numeric_limits<double>::infinity();
        const double values[] = {kInf, 1, 2, kInf, -kInf, 3};
        return values[i];
      });
  for (const Form& one : problem.over(Forms({}))) {
    EXPECT_TRUE(ranged(one).range.nan);
    EXPECT_FALSE(ranged(one).range.has_numbers());
  }
}

// A kernel passes NaN over, or keeps it; no other maximum is due, and what NaN and numbers agree on
// is no choice.
TEST(TextForms, AMaximumWithNanIsThatOfTheNumbersOrNan) {
  const TextProblem problem(
      "operation scale(x[m, n]) -> y[m]\n"
      "  most[i] = max[j] abs(x[i, j])\n  y[i] = where(most[i] == 0, 1, most[i] / 4)\n",
      {1, 4}, [](std::int64_t i, Random&) {
        constexpr double kValues[] = {-8, 2, std::numeric_limits<double>::quiet_NaN(), 4};
        return kValues[i];
      });
  const auto range = ranged(problem.over(Forms({.functions = Functions::precise}))[0]).range;
  EXPECT_TRUE(range.nan);
  EXPECT_NEAR(range.low, 2, 1e-6);
  EXPECT_NEAR(range.high, 2, 1e-6);
}

// Division to nearest: a quotient that f32 holds is that one, and another one has half an ulp.
TEST(TextForms, PreciseQuotientsRoundOnce) {
  const auto range = [](double x) {
    const TextProblem problem("operation third(x[m, n]) -> y[m, n]\n  y[i, j] = x[i, j] / 3\n",
                              {1, 1}, [=](std::int64_t, Random&) { return x; });
    return ranged(problem.over(Forms({.functions = Functions::precise}))[0]).range;
  };
  EXPECT_TRUE(range(7.5).is_point());
  EXPECT_EQ(range(7.5).low, 2.5);
  EXPECT_TRUE(range(7).is_point());
  EXPECT_EQ(range(7).low, static_cast<double>(7.0f / 3.0f));
}

// A bias or C that is in the accumulators first: what is added to something large loses more.
TEST(TextForms, ASumMayBeginWithWhatIsAddedToIt) {
  int beyond = 0;  // values that a kernel which begins with zero cannot have
  for (const char* value : {"4e6 * c[i] + sum[j] x[i, j]", "max((sum[j] x[i, j]) - 4e6 * c[i], 0)",
                            "4e6 * c[i] + sum[j if j < 3] x[i, j]"}) {
    for (const bool any : {false, true}) {
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const TextProblem problem(
            fmt::format("operation f(x[m, n], c[m]) -> y[m]\n  y[i] = {}\n", value), {4, 90},
            kData[0].element, seed);
        Arithmetic arithmetic{.any_order = any};
        const std::vector<Form> with_zero = problem.over(Forms(arithmetic));
        arithmetic.begins_with_addend = true;
        const std::vector<Form> forms = problem.over(Forms(arithmetic));
        const std::vector<float> kernel = problem.over(Drawn(arithmetic, seed));
        for (std::size_t i = 0; i < kernel.size(); ++i) {
          EXPECT_TRUE(ranged(forms[i]).range.contains(kernel[i])) << value << " seed " << seed;
          beyond += !ranged(with_zero[i]).range.contains(kernel[i]);
        }
      }
    }
  }
  EXPECT_GT(beyond, 20);
}

}  // namespace
}  // namespace plumbline::text
