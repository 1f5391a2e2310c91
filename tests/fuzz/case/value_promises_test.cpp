// SPDX-License-Identifier: MIT
// Each value class is what its purpose says, checked on exact sums.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <vector>

#include "fuzz/case/values.h"
#include "fuzz/plan/plan.h"
#include "oracles/formats/encode.h"
#include "tests/fuzz/kernel_under_test.h"

namespace plumbline {
namespace {

__extension__ typedef __int128 Wide;

// A case's operands as doubles (exact for bf16), and dot products in fixed point.
class Operands {
 public:
  explicit Operands(const std::string& line)
      : test_case_(case_of(line)), tensors_(tensors_of(test_case_)) {
    m = test_case_.problem.integer("m");
    n = test_case_.problem.integer("n");
    k = test_case_.problem.integer("k");
  }

  double a(std::int64_t i, std::int64_t l) const { return value_at(*tensors_.find("a"), 0, i, l); }

  double b(std::int64_t l, std::int64_t j) const { return value_at(*tensors_.find("b"), 0, l, j); }

  std::vector<double> values(std::string_view name) const {
    const Tensor& tensor = *tensors_.find(name);
    std::vector<double> all;
    for (std::int64_t i = 0; i < tensor.layout.count(); ++i) {
      all.push_back(to_double(format(tensor.layout.format), tensor.bits(i)));
    }
    return all;
  }

  // Exact sum of products in units of 2^-scale; every product must be a multiple and fit.
  Wide exact_sum(std::int64_t i, std::int64_t j, int scale) const {
    Wide sum = 0;
    for (std::int64_t l = 0; l < k; ++l) sum += in_units(a(i, l) * b(l, j), scale);
    return sum;
  }

  double magnitude_sum(std::int64_t i, std::int64_t j) const {
    double sum = 0;
    for (std::int64_t l = 0; l < k; ++l) sum += std::fabs(a(i, l) * b(l, j));
    return sum;
  }

  std::int64_t m = 0, n = 0, k = 0;

 private:
  static Wide in_units(double product, int scale) {
    int exponent = 0;
    const double fraction = std::frexp(product, &exponent);  // the product of two bf16 has 16 bits
    const auto significand = static_cast<std::int64_t>(std::ldexp(fraction, 32));
    const int shift = exponent - 32 + scale;
    if (significand == 0) return 0;
    if (shift >= 0) return static_cast<Wide>(significand) << shift;
    PLUMB_ASSERT(shift > -63 && significand % (std::int64_t{1} << -shift) == 0);
    return significand >> -shift;
  }

  Case test_case_;
  CaseTensors tensors_;
};

std::string line_of(std::string_view sizes, std::string_view value, int seed) {
  return std::string(sizes) + " value=" + std::string(value) + " seed=" + std::to_string(seed);
}

TEST(Normal, HasMeanZeroAndVarianceOne) {
  const std::vector<double> values = Operands("m=200 n=1 k=200 value=normal").values("a");
  double mean = 0, square = 0;
  for (const double value : values) {
    mean += value;
    square += value * value;
    EXPECT_LT(std::fabs(value), 5);
  }
  EXPECT_NEAR(mean / 40000, 0, 0.02);
  EXPECT_NEAR(square / 40000, 1, 0.03);
}

TEST(Positive, IsPositive) {
  for (const std::string_view tensor : {"a", "b", "c", "bias"}) {
    for (const double value :
         Operands("m=30 n=30 k=30 beta=1 bias=row value=positive").values(tensor)) {
      EXPECT_GT(value, 0);
      EXPECT_LE(value, 1);
    }
  }
}

TEST(Outliers, AreInFewChannels) {
  for (int seed = 0; seed < 10; ++seed) {
    const Operands data(line_of("m=64 n=4 k=96", "outliers", seed));
    int channels = 0, massive = 0;
    for (std::int64_t l = 0; l < data.k; ++l) {
      double square = 0;
      for (std::int64_t i = 0; i < data.m; ++i) {
        const double value = data.a(i, l);
        massive += std::fabs(value) >= 999;
        if (std::fabs(value) < 999) square += value * value;
      }
      channels += std::sqrt(square / 64) > 10;
    }
    EXPECT_GE(channels, 1);
    EXPECT_LE(channels, 6);
    EXPECT_GE(massive, 1);
    EXPECT_LE(massive, 3);
  }
}

TEST(Cancelling, SumsAreFarSmallerThanTheirTerms) {
  for (const std::string_view sizes : {"m=6 n=6 k=64", "m=5 n=4 k=33", "m=3 n=3 k=1000"}) {
    for (int seed = 0; seed < 12; ++seed) {
      const Operands data(line_of(sizes, "cancelling", seed));
      std::vector<double> conditions;
      for (std::int64_t i = 0; i < data.m; ++i) {
        for (std::int64_t j = 0; j < data.n; ++j) {
          const double sum =
              std::fabs(std::ldexp(static_cast<double>(data.exact_sum(i, j, 64)), -64));
          conditions.push_back(sum == 0 ? 1e300 : 2 * data.magnitude_sum(i, j) / sum);
        }
      }
      std::sort(conditions.begin(), conditions.end());
      EXPECT_GT(conditions[conditions.size() / 2], 0x1p9) << sizes << " seed " << seed;
    }
  }
}

TEST(Cancelling, BothConstructionsHappenAndRowsDiffer) {
  int proportional = 0;
  for (int seed = 0; seed < 20; ++seed) {
    const Operands data(line_of("m=2 n=2 k=32", "cancelling", seed));
    proportional +=
        std::fabs(data.a(0, 0) * data.a(1, 5)) == std::fabs(data.a(1, 0) * data.a(0, 5));
  }
  EXPECT_GE(proportional, 3);
  EXPECT_LE(proportional, 17);
}

TEST(Wide, SpansManyBinades) {
  for (int seed = 0; seed < 5; ++seed) {
    int lowest = 1000, highest = -1000;
    for (const double value : Operands(line_of("m=20 n=20 k=20", "wide", seed)).values("a")) {
      lowest = std::min(lowest, std::ilogb(value));
      highest = std::max(highest, std::ilogb(value));
    }
    EXPECT_GE(highest - lowest, 18);
  }
}

TEST(EarlyLarge, OneTermDwarfsTheOthersAndSignsAgree) {
  const Operands data("m=8 n=5 k=2048 value=early_large");
  for (std::int64_t i = 0; i < data.m; ++i) {
    int large = 0;
    double sign = 0;
    for (std::int64_t l = 0; l < data.k; ++l) {
      const double product = data.a(i, l) * data.b(l, 0);
      if (std::fabs(product) >= 0x1p12) {
        ++large;
        EXPECT_LT(l, 8);
      } else {
        EXPECT_LT(std::fabs(product), 0x1p9);
      }
      if (sign == 0) sign = std::copysign(1, product);
      EXPECT_EQ(std::copysign(1, product), sign);
    }
    EXPECT_EQ(large, 1);
  }
}

TEST(WidthLadder, SumsAreOddAndJustAboveTheirRung) {
  for (const std::string_view sizes : {"m=10 n=7 k=2", "m=10 n=7 k=64", "m=10 n=3 k=500"}) {
    for (int seed = 0; seed < 6; ++seed) {
      const Operands data(line_of(sizes, "width_ladder", seed));
      std::set<int> rungs;
      for (std::int64_t i = 0; i < data.m; ++i) {
        for (std::int64_t j = 0; j < data.n; ++j) {
          const auto sum = static_cast<std::int64_t>(data.exact_sum(i, j, 0));
          EXPECT_NE(sum % 2, 0) << sizes << " seed " << seed;
          const int rung = std::ilogb(static_cast<double>(std::llabs(sum)));
          rungs.insert(rung);
          EXPECT_LE(std::llabs(sum) - (std::int64_t{1} << rung), 40);
        }
      }
      EXPECT_EQ(rungs, (std::set<int>{8, 11, 14, 22, 24}));
    }
  }
}

TEST(Subnormal, BothOperandsHaveThemAndOutputsSeeThem) {
  const Operands data("m=40 n=40 k=16 beta=1 bias=row value=subnormal");
  for (const std::string_view tensor : {"a", "b", "c", "bias"}) {
    int subnormal = 0;
    for (const double value : data.values(tensor))
      subnormal += value != 0 && std::fabs(value) < 0x1p-126;
    EXPECT_GE(subnormal, tensor == "bias" ? 5 : 50) << tensor;
  }
  // Some outputs are normal numbers made of subnormal inputs only.
  int visible = 0;
  for (std::int64_t i = 0; i < data.m; ++i) {
    bool row_is_subnormal = true;
    for (std::int64_t l = 0; l < data.k; ++l)
      row_is_subnormal &= std::fabs(data.a(i, l)) < 0x1p-126;
    for (std::int64_t j = 0; j < data.n; ++j)
      visible += row_is_subnormal && data.magnitude_sum(i, j) > 0x1p-60;
  }
  EXPECT_GE(visible, 10);
}

// An accumulator in f32 is exact up to 2^24.
TEST(Large, EveryIntegerGemmHasSumsBeyondF32) {
  int kernels = 0;
  for (const Manifest& kernel : shipped_registry().all()) {
    if (kernel.operation->name() != "gemm") continue;
    const std::string_view a_format = Problem(kernel.schema()).word("a");
    if (a_format != "s8" && a_format != "u8") continue;
    ++kernels;
    int beyond = 0, of_both_signs = 0;
    bool lowest = false;
    for (const Case& test_case : plan_cases(kernel, {Profile::quick, 1})) {
      const Problem& problem = test_case.problem;
      if (test_case.recipe.value_class != "large" || problem.integer("k") < 4096) continue;
      const CaseTensors tensors = tensors_of(test_case);
      const auto sum = [&](std::int64_t i, std::int64_t j) {
        double exact = 0;
        for (std::int64_t l = 0; l < problem.integer("k"); ++l)
          exact += value_at(*tensors.find("a"), 0, i, l) * value_at(*tensors.find("b"), 0, l, j);
        return exact;
      };
      for (std::int64_t j = 0; j < problem.integer("n"); ++j) {
        for (std::int64_t l = 0; l < problem.integer("k"); ++l)
          lowest |= value_at(*tensors.find("b"), 0, l, j) == -128;
      }
      double least = 0, most = 0;
      for (std::int64_t i = 0; i < problem.integer("m"); ++i) {
        for (std::int64_t j = 0; j < problem.integer("n"); ++j) {
          least = std::min(least, sum(i, j));
          most = std::max(most, sum(i, j));
        }
      }
      beyond += std::max(-least, most) > 0x1p24;
      of_both_signs += least < -0x1p24 && most > 0x1p24;
    }
    EXPECT_GE(beyond, 2) << kernel.name;
    EXPECT_GE(of_both_signs, 1) << kernel.name;
    EXPECT_TRUE(lowest) << kernel.name;
  }
  EXPECT_GE(kernels, 1);
}

TEST(Large, SomeSumsOverflowSomeDoNotAndInputsAreFinite) {
  for (int seed = 0; seed < 6; ++seed) {
    const Operands data(line_of("m=30 n=30 k=8", "large", seed));
    int over = 0, under = 0;
    for (const std::string_view tensor : {"a", "b"}) {
      for (const double value : data.values(tensor)) EXPECT_TRUE(std::isfinite(value));
    }
    for (std::int64_t i = 0; i < data.m; ++i) {
      for (std::int64_t j = 0; j < data.n; ++j)
        (data.magnitude_sum(i, j) > 0x1p128 ? over : under) += 1;
    }
    EXPECT_GE(over, 10) << seed;
    EXPECT_GE(under, 10) << seed;
  }
}

TEST(Specials, AreFewButThere) {
  int nans = 0, infinities = 0, negative_zeros = 0, last = 0;
  for (int seed = 0; seed < 60; ++seed) {
    const Operands data(line_of("m=12 n=11 k=10 beta=1 bias=row", "specials", seed));
    int here = 0;
    for (const std::string_view tensor : {"a", "b", "c", "bias"}) {
      const std::vector<double> values = data.values(tensor);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double value = values[i];
        const bool special = !std::isfinite(value) || (value == 0 && std::signbit(value));
        here += special;
        nans += std::isnan(value);
        infinities += std::isinf(value);
        negative_zeros += value == 0 && std::signbit(value);
        last += special && i + 1 == values.size();
      }
    }
    EXPECT_LE(here, 8);
  }
  EXPECT_GE(nans, 15);
  EXPECT_GE(infinities, 30);
  EXPECT_GE(negative_zeros, 10);
  EXPECT_GE(last, 3);
}

TEST(Integers, SumsStayBelow2To24) {
  for (const std::string_view sizes : {"m=4 n=4 k=1", "m=4 n=4 k=300", "m=2 n=2 k=16384"}) {
    for (int seed = 0; seed < 8; ++seed) {
      const Operands data(line_of(sizes, "integers", seed));
      for (const double value : data.values("a")) EXPECT_EQ(value, std::nearbyint(value));
      for (const double value : data.values("b")) EXPECT_EQ(value, std::nearbyint(value));
      for (std::int64_t i = 0; i < data.m; ++i) {
        for (std::int64_t j = 0; j < data.n; ++j) EXPECT_LT(data.magnitude_sum(i, j), 0x1p24);
      }
    }
  }
}

TEST(PowerScaled, RowsAndColumnsAreIntegersTimesPowersOfTwo) {
  const Operands data("m=12 n=12 k=9 value=power_scaled seed=4");
  std::set<double> tops;
  for (std::int64_t i = 0; i < data.m; ++i) {
    double top = 0;
    for (std::int64_t l = 0; l < data.k; ++l) top = std::max(top, std::fabs(data.a(i, l)));
    tops.insert(top);
    for (std::int64_t l = 0; l < data.k; ++l) {
      const double ratio =
          data.a(i, l) / top * 12;  // ranges are 1, 2 or 4, or 3 if 4 was not drawn
      EXPECT_EQ(ratio, std::nearbyint(ratio));
    }
  }
  EXPECT_GE(tops.size(), 5u);
}

TEST(OneHot, OutputsAreElementsOfTheOtherOperand) {
  int of_a = 0;
  for (int seed = 0; seed < 12; ++seed) {
    const Operands data(line_of("m=10 n=9 k=13", "one_hot", seed));
    const std::vector<double> a = data.values("a");
    const bool rows_of_a =
        std::all_of(a.begin(), a.end(), [](double value) { return value == 0 || value == 1; });
    of_a += rows_of_a;
    const std::int64_t lines = rows_of_a ? data.m : data.n;
    for (std::int64_t line = 0; line < lines; ++line) {
      std::vector<std::int64_t> hot;
      for (std::int64_t l = 0; l < data.k; ++l) {
        if ((rows_of_a ? data.a(line, l) : data.b(l, line)) != 0) hot.push_back(l);
      }
      ASSERT_EQ(hot.size(), 1u);
      if (line + 1 == lines) {
        EXPECT_EQ(hot[0], data.k - 1) << "the last line must select the last k";
      }
    }
  }
  EXPECT_GE(of_a, 2);
  EXPECT_LE(of_a, 10);
}

TEST(IndexCode, SmallProblemsNameEveryElement) {
  for (int seed = 0; seed < 8; ++seed) {
    const Operands data(line_of("m=10 n=9 k=13", "index_code", seed));
    std::vector<double> code = data.values("b");
    if (std::all_of(code.begin(), code.end(),
                    [](double value) { return value == 0 || value == 1; })) {
      code = data.values("a");
    }
    for (std::size_t i = 0; i < code.size(); ++i) EXPECT_EQ(code[i], static_cast<double>(i + 1));
  }
}

TEST(IndexCode, LargeProblemsNameAllDigitsOverSeeds) {
  std::set<double> first_column_codes;
  bool by_row = false, by_column = false;
  for (int seed = 0; seed < 30; ++seed) {
    const Operands data(line_of("m=2 n=300 k=300", "index_code", seed));
    if (data.a(0, 299) + data.a(1, 299) != 1) continue;  // codes in A
    EXPECT_GE(data.b(0, 0), 1);
    EXPECT_LE(data.b(299, 299), 255);
    by_row = by_row || data.b(0, 0) != data.b(1, 0);
    by_column = by_column || data.b(0, 0) != data.b(0, 1);
  }
  EXPECT_TRUE(by_row && by_column);
}

// Whether rounding y to the format hits a midpoint exactly.
bool is_tie(double y, const Format& element) {
  const double even = to_double(element, encode(element, y));
  const double away = to_double(element, encode(element, y, {.rounding = Rounding::nearest_away}));
  const double toward = to_double(element, encode(element, y, {.rounding = Rounding::toward_zero}));
  return even != y && std::fabs(away - y) == std::fabs(toward - y);
}

TEST(Ties, ManySumsAreMidpointsOfBf16AndMoreAreNextToOne) {
  const Format& bf16 = format(FormatId::bf16);
  for (const std::string_view sizes : {"m=20 n=20 k=1", "m=20 n=20 k=2", "m=20 n=20 k=50"}) {
    for (int seed = 0; seed < 6; ++seed) {
      const Operands data(line_of(sizes, "ties", seed));
      int ties = 0, near = 0, up = 0;
      for (std::int64_t i = 0; i < data.m; ++i) {
        for (std::int64_t j = 0; j < data.n; ++j) {
          const double y = std::ldexp(static_cast<double>(data.exact_sum(i, j, 20)), -20);
          EXPECT_LT(data.magnitude_sum(i, j), 0x1p12);
          ties += is_tie(y, bf16);
          near += !is_tie(y, bf16) && (is_tie(y + 0x1p-14, bf16) || is_tie(y - 0x1p-14, bf16));
          up += is_tie(y, bf16) && std::fabs(to_double(bf16, encode(bf16, y))) > std::fabs(y);
        }
      }
      EXPECT_GE(ties, 60) << sizes << " seed " << seed;
      EXPECT_GE(up, ties / 8) << "some ties must round up";
      EXPECT_LE(up, ties * 7 / 8) << "some ties must round down";
      if (data.k > 2) {
        EXPECT_GE(near, 15) << sizes << " seed " << seed;
      }
    }
  }
}

TEST(Ties, BiasMakesMidpointsOfF32) {
  const Operands data("m=20 n=20 k=6 out=f32 bias=column value=ties");
  const std::vector<double> bias = data.values("bias");
  int ties = 0;
  for (std::int64_t i = 0; i < data.m; ++i) {
    for (std::int64_t j = 0; j < data.n; ++j) {
      const double y = std::ldexp(static_cast<double>(data.exact_sum(i, j, 20)), -20);
      ties += is_tie(y + bias[static_cast<std::size_t>(j)], format(FormatId::f32));
    }
  }
  EXPECT_GE(ties, 30);
}

}  // namespace
}  // namespace plumbline
