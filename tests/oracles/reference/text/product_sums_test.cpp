// SPDX-License-Identifier: MIT
// Sums on tensor cores: which sums of a text they are, and that what units compute lies where forms
// say.
#include "oracles/reference/text/product_sums.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "tests/oracles/reference/text/conforming_kernel.h"

namespace plumbline::text {
namespace {

using testing::FamilyUnit;
using testing::kFamilyUnits;

constexpr const char* kMatrix =
    "operation product(a[m, k], b[k, n]) -> d[m, n]\n"
    "  d[i, j] = sum[l] (a[i, l] * b[l, j])\n";

// Factors that the kernel rounds: those near a tie may be one or the other.
constexpr const char* kRounded =
    "operation weighted(a[m, k], b[k, n]) -> d[m, n]\n"
    "  p[i, l] = bf16(exp(3 * a[i, l]))\n"
    "  d[i, j] = sum[l] (p[i, l] * b[l, j])\n";

constexpr const char* kMasked =
    "operation lower(a[m, k], b[k, n]) -> d[m, n]\n"
    "  d[i, j] = 0.5 * (sum[l if l % 3 != i % 3] (a[i, l] * b[l, j])) + 1\n";

// Two indices: the text does not say in which order a kernel takes them.
constexpr const char* kTwoIndices =
    "operation convolved(a[m, 3, k], b[3, k, n]) -> d[m, n]\n"
    "  d[i, j] = sum[t < 3, l] (a[i, t, l] * max(b[t, l, j], 0))\n";

Arithmetic arithmetic_of(const FamilyUnit& unit) {
  return {.products = {{Unit::tensor_core, unit.contract.instruction}, 0, unit.sm}};
}

std::shared_ptr<const ProductSums> sums_of(const TextProblem& problem, const Arithmetic& arithmetic,
                                           FormatId stored) {
  return std::make_shared<ProductSums>(problem.instance().program(), arithmetic.products,
                                       arithmetic.flushed,
                                       [=](int) { return std::optional(stored); });
}

struct Width {
  double bound = 0, error = 0;  // the largest bound, and the largest error of a kernel
};

Width check(const char* text, const FamilyUnit& unit, std::int64_t k, const Data& data,
            std::uint64_t seed) {
  const TextProblem problem(text, {3, k, 4}, data.element, seed, unit.format);
  const Arithmetic arithmetic = arithmetic_of(unit);
  const auto sums = sums_of(problem, arithmetic, unit.format);
  EXPECT_FALSE(sums->empty()) << text << unit.name;
  const std::vector<Form> forms = problem.over(Forms(arithmetic, problem.instance()));
  Width out;
  for (std::uint64_t kernel = 0; kernel < 8; ++kernel) {
    const std::vector<float> got =
        problem.over(Drawn(arithmetic, seed + 1000 * kernel, unit, sums));
    for (std::size_t i = 0; i < got.size(); ++i) {
      const F32Range range = ranged(forms[i]).range;
      EXPECT_TRUE(range.contains(got[i]))
          << text << unit.name << " " << data.name << " k=" << k << " kernel " << kernel
          << fmt::format(": {:a} not in {:a} to {:a}, exact {}", got[i], range.low, range.high,
                         forms[i].value);
      if (forms[i].special) continue;
      out.bound = std::max(out.bound, forms[i].reach());
      out.error = std::max(out.error, std::fabs(static_cast<double>(got[i]) - forms[i].value));
    }
  }
  return out;
}

TEST(TextProductSums, ConformingKernelsLieWithin) {
  for (const FamilyUnit& unit : kFamilyUnits) {
    if (unit.contract.unit != Unit::tensor_core) continue;
    for (const Data& data : kData) {
      for (std::uint64_t seed = 0; seed < 6; ++seed) {
        const auto k = static_cast<std::int64_t>(1 + 37 * seed);
        check(kMatrix, unit, k, data, seed);
        check(kMasked, unit, k, data, seed);
        check(kTwoIndices, unit, k, data, seed);
        if (unit.format == FormatId::bf16) check(kRounded, unit, k, data, seed);
      }
    }
  }
}

// The bound is not far from what the unit does: 21, 17.7 and 13.4 times the largest error of the
// drawn sums. Where factors may be rounded either way, any order of additions counts.
TEST(TextProductSums, AreNotMuchWiderThanKernels) {
  const FamilyUnit &bf16 = kFamilyUnits[0], &e4m3 = kFamilyUnits[2];
  const auto ratio = [](const char* text, const FamilyUnit& unit, std::int64_t k) {
    const Width width = check(text, unit, k, kData[0], 7);
    return width.bound / width.error;
  };
  EXPECT_LT(ratio(kMatrix, bf16, 512), 30);
  EXPECT_LT(ratio(kMatrix, e4m3, 512), 30);
  EXPECT_LT(ratio(kRounded, bf16, 128), 30);
}

TEST(TextProductSums, ExactSumsAreSingleNumbers) {
  const TextProblem problem(kMatrix, {3, 40, 4}, kData[2].element, 1, FormatId::bf16);
  const Arithmetic arithmetic = arithmetic_of(kFamilyUnits[1]);
  for (const Form& one : problem.over(Forms(arithmetic, problem.instance())))
    EXPECT_TRUE(ranged(one).range.is_point());
}

TEST(TextProductSums, AreSumsOfTwoOperands) {
  const auto count = [](const std::string& value, FormatId stored) {
    const std::string text =
        "operation one(a[m, k], b[k, n]) -> d[m, n]\n"
        "  h[i, l] = f16(a[i, l])\n  d[i, j] = " +
        value + "\n";
    const TextProblem problem(text, {2, 2, 2}, kData[2].element);
    return !sums_of(problem, arithmetic_of(kFamilyUnits[0]), stored)->empty();
  };
  const FormatId bf16 = FormatId::bf16;
  EXPECT_TRUE(count("sum[l] (a[i, l] * b[l, j])", bf16));
  EXPECT_TRUE(count("sum[l] (where(l <= i, a[i, l], 0) * -b[l, j])", bf16));
  EXPECT_TRUE(count("sum[l] (h[i, l] * f16(b[l, j]))", bf16));
  EXPECT_FALSE(count("sum[l] (h[i, l] * b[l, j])", bf16));       // f16 times bf16
  EXPECT_FALSE(count("sum[l] (f32(a[i, l]) * b[l, j])", bf16));  // said to be f32
  EXPECT_FALSE(count("sum[l] (exp(a[i, l]) * b[l, j])", bf16));  // not rounded
  EXPECT_FALSE(count("sum[l] (a[i, l] * b[l, j] * 2)", bf16));   // three factors
  EXPECT_FALSE(count("sum[l] (a[i, l] * b[l, j])", FormatId::f32));
}

}  // namespace
}  // namespace plumbline::text
