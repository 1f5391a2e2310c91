// SPDX-License-Identifier: MIT
#include <algorithm>

#include "kernels/manifest/expression.h"

#include "tests/kernels/ops/gemm_problems.h"

#include <fmt/format.h>
#include <rapidcheck.h>

namespace plumbline {
namespace {

Result<Expression> parse(std::string_view text) {
  const Operation& operation = *find_operation("gemm");
  return Expression::parse(text, operation.schema(), "k.toml:4:10", operation.derived());
}

// The value over a problem, or the error's text.
std::string value(std::string_view text, std::string_view problem = "m=65 n=130 k=33") {
  const Result<Expression> expression = parse(text);
  if (!expression.ok()) return expression.error().text();
  const Result<std::int64_t> result = expression->evaluate(gemm(problem));
  return result.ok() ? std::to_string(*result) : result.error().text();
}

TEST(Expression, BindsLikeC) {
  EXPECT_EQ(value("1 + 2 * 3"), "7");
  EXPECT_EQ(value("(1 + 2) * 3"), "9");
  EXPECT_EQ(value("10 - 4 - 3"), "3");
  EXPECT_EQ(value("100 / 10 / 2"), "5");
  EXPECT_EQ(value("17 % 5 * 2"), "4");
  EXPECT_EQ(value("-2 * -3"), "6");
  EXPECT_EQ(value("1 < 2 && 3 >= 3 || 1 / 0"), "1");
  EXPECT_EQ(value("!0 + 1"), "2");
  EXPECT_EQ(value("1 == 1 && 2 != 2"), "0");
  EXPECT_EQ(value("0 ? 1 : 1 ? 2 : 3"), "2");
  EXPECT_EQ(value("1+1 == 2 ? m : n"), "65");
}

TEST(Expression, ReadsFields) {
  EXPECT_EQ(value("m * n + k"), "8483");
  EXPECT_EQ(value("layout == \"nn\""), "1");
  EXPECT_EQ(value("layout != \"nn\""), "0");
  EXPECT_EQ(value("\"tn\" == layout", "m=1 n=1 k=1 layout=tn"), "1");
  EXPECT_EQ(value("bias == 'row' ? 1 : bias == 'column' ? 2 : 0", "m=1 n=1 k=1 bias=column"), "2");
}

TEST(Expression, ComparesRealFields) {
  EXPECT_EQ(value("beta != 0"), "0");
  EXPECT_EQ(value("beta != 0", "m=1 n=1 k=1 beta=0.5"), "1");
  EXPECT_EQ(value("0 < beta", "m=1 n=1 k=1 beta=0.5"), "1");
  EXPECT_EQ(value("alpha == beta", "m=1 n=1 k=1 beta=1"), "1");
  EXPECT_EQ(value("alpha == alpha", "m=1 n=1 k=1 alpha=0x7fc00000"), "0");
}

// The real value over a problem, or the error's text.
std::string real_value(std::string_view text, std::string_view problem = "m=65 n=130 k=33") {
  const Operation& operation = *find_operation("gemm");
  const Result<Expression> expression =
      Expression::parse_real(text, operation.schema(), "k.toml:4:10", operation.derived());
  if (!expression.ok()) return expression.error().text();
  const Result<double> result = expression->evaluate_real(gemm(problem));
  return result.ok() ? fmt::format("{}", *result) : result.error().text();
}

TEST(Expression, ComputesRealNumbersAsHostCodeDoes) {
  EXPECT_EQ(real_value("alpha", "m=1 n=1 k=1 alpha=0.1"), "0.10000000149011612");
  EXPECT_EQ(real_value("alpha * 1.4426950408889634", "m=1 n=1 k=1 alpha=0.5"),
            "0.7213475204444817");
  EXPECT_EQ(real_value("alpha / beta", "m=1 n=1 k=1 alpha=1 beta=3"), "0.3333333333333333");
  EXPECT_EQ(real_value("beta != 0 ? alpha / beta : -1e-3", "m=1 n=1 k=1 beta=0"), "-0.001");
  EXPECT_EQ(real_value("max(alpha, 0.5) - min(1, 0.25)", "m=1 n=1 k=1 alpha=0.125"), "0.25");
  EXPECT_EQ(real_value("1.0 / m"), "0.015384615384615385");
  EXPECT_EQ(real_value("1 / m + 0.5"), "0.5");  // integers divide as integers, as in C
  EXPECT_EQ(real_value("m * n + k"), "8483");
  EXPECT_EQ(real_value("1.0 / 0"), "inf");
  EXPECT_EQ(value("alpha * 2.5 > 1 && m < 65.5", "m=65 n=1 k=1 alpha=0.5"), "1");
  EXPECT_EQ(value("1.5 < 1 ? m : n"), "130");
}

TEST(Expression, RealNumbersStayOutOfWholeOnes) {
  EXPECT_EQ(value("1.5"),
            "k.toml:4:10: this is a real number where a whole one is needed (compare it, for "
            "example beta == 0)");
  EXPECT_EQ(value("m + 2 * alpha"),
            "k.toml:4:12: this is a real number where a whole one is needed (compare it, for "
            "example beta == 0)");
  EXPECT_EQ(real_value("m % 1.5"),
            "k.toml:4:14: this is a real number where a whole one is needed (compare it, for "
            "example beta == 0)");
  EXPECT_EQ(real_value("alpha ? 1 : 2"),
            "k.toml:4:10: alpha is a real number where a whole one is needed (compare it, for "
            "example alpha == 0)");
  EXPECT_EQ(real_value("layout"),
            "k.toml:4:10: layout is a word: it can only be compared with == and != (for example "
            "layout == \"nn\")");
  EXPECT_EQ(real_value("1.5x"), "k.toml:4:10: this is not a number");
  EXPECT_EQ(real_value("1.5.2"), "k.toml:4:10: this is not a number");
  EXPECT_EQ(real_value("1e999"), "k.toml:4:10: this number does not fit a double");
  EXPECT_EQ(real_value("1 / 0 + alpha"), "k.toml:4:12: 1 is divided by zero, in \"1 / 0 + alpha\"");
}

TEST(Expression, KnowsItsFunctions) {
  EXPECT_EQ(value("ceil_div(m, 64)"), "2");
  EXPECT_EQ(value("ceil_div(64, 64)"), "1");
  EXPECT_EQ(value("ceil_div(0, 64)"), "0");
  EXPECT_EQ(value("ceil_div(-65, 64)"), "-1");
  EXPECT_EQ(value("min(m, n) + max(m, n)"), "195");
}

TEST(Expression, ReadsNamesTheOperationDerives) {
  EXPECT_EQ(value("ld_a"), "33");
  EXPECT_EQ(value("ld_a + ld_b", "m=65 n=130 k=33 layout=tt ldb=40"), "105");
  EXPECT_EQ(value("batch_stride_b"), "4290");
}

TEST(Expression, EvaluatesOnlyWhatItNeeds) {
  EXPECT_EQ(value("0 && 1 / 0"), "0");
  EXPECT_EQ(value("1 || 1 / 0"), "1");
  EXPECT_EQ(value("1 ? 2 : 1 / 0"), "2");
}

TEST(Expression, OverflowAndDivisionByZeroAreErrors) {
  EXPECT_EQ(value("m / (k - 33)"), "k.toml:4:12: 65 is divided by zero, in \"m / (k - 33)\"");
  EXPECT_EQ(value("1 % 0"), "k.toml:4:12: 1 is divided by zero, in \"1 % 0\"");
  EXPECT_EQ(
      value("9223372036854775807 + m"),
      "k.toml:4:30: 9223372036854775807 + 65 does not fit 64 bits, in \"9223372036854775807 + m\"");
  EXPECT_EQ(value("-9223372036854775807 - 2"),
            "k.toml:4:31: -9223372036854775807 - 2 does not fit 64 bits, in \"-9223372036854775807 "
            "- 2\"");
  EXPECT_EQ(
      value("4294967296 * 2147483648"),
      "k.toml:4:21: 4294967296 * 2147483648 does not fit 64 bits, in \"4294967296 * 2147483648\"");
  EXPECT_EQ(value("(-9223372036854775807 - 1) / -1"),
            "k.toml:4:37: -9223372036854775808 / -1 does not fit 64 bits, in "
            "\"(-9223372036854775807 - 1) / -1\"");
  EXPECT_EQ(value("-(-9223372036854775807 - 1)"),
            "k.toml:4:10: 0 - -9223372036854775808 does not fit 64 bits, in "
            "\"-(-9223372036854775807 - 1)\"");
  EXPECT_EQ(value("ceil_div(m, 0)"),
            "k.toml:4:10: ceil_div(65, 0) needs a positive divisor, in \"ceil_div(m, 0)\"");
  EXPECT_EQ(
      value("batch_stride_a", "m=3 n=1 k=1 lda=4611686018427387904"),
      "k.toml:4:10: 3 rows of a with leading dimension 4611686018427387904 do not fit 64 bits, in "
      "\"batch_stride_a\"");
}

TEST(Expression, MistakesPointIntoTheText) {
  EXPECT_EQ(value("ceil_dev(m, 128)"),
            "k.toml:4:10: there is no function \"ceil_dev\" (did you mean \"ceil_div\"?)");
  EXPECT_EQ(value("m + batsh"),
            "k.toml:4:14: there is no field \"batsh\" (did you mean \"batch\"?)");
  EXPECT_EQ(value("layout == \"nx\""),
            "k.toml:4:20: layout is never \"nx\" (did you mean \"nn\"?)");
  EXPECT_EQ(value("layout"),
            "k.toml:4:10: layout is a word: it can only be compared with == and != (for example "
            "layout == \"nn\")");
  EXPECT_EQ(value("layout < \"nn\""),
            "k.toml:4:10: layout is a word: it can only be compared with == and != (for example "
            "layout == \"nn\")");
  EXPECT_EQ(value("1 + beta"),
            "k.toml:4:12: this is a real number where a whole one is needed (compare it, for "
            "example beta == 0)");
  EXPECT_EQ(value("m = 3"), "k.toml:4:12: \"=\" is not expected here (compare with ==)");
  EXPECT_EQ(value("(m + 1"), "k.toml:4:16: \")\" is missing");
  EXPECT_EQ(value("m +"), "k.toml:4:13: the expression ends too early");
  EXPECT_EQ(value(""), "k.toml:4:10: the expression ends too early");
  EXPECT_EQ(value("m ? 1"), "k.toml:4:15: \":\" is missing after \"?\" (write condition ? a : b)");
  EXPECT_EQ(value("min(m)"), "k.toml:4:15: min takes two values");
  EXPECT_EQ(value("min(m, n, k)"), "k.toml:4:18: \")\" is missing after the two values of min");
  EXPECT_EQ(value("99999999999999999999"), "k.toml:4:10: this number does not fit 64 bits");
  EXPECT_EQ(value("layout == \"nn"), "k.toml:4:20: this word has no closing quote");
  EXPECT_EQ(value("1 < m < 3"), "k.toml:4:16: comparisons do not chain (write a < b && b < c)");
  EXPECT_EQ(value("m and n"), "k.toml:4:12: \"and\" is not expected here (write &&)");
  EXPECT_EQ(value("m or n"), "k.toml:4:12: \"or\" is not expected here (write ||)");
  EXPECT_EQ(value("m // 3"),
            "k.toml:4:13: \"/\" is not expected here (write /, which divides whole numbers toward "
            "zero)");
  EXPECT_EQ(value("m $ 3"), "k.toml:4:12: \"$\" is not expected here");
}

TEST(Expression, IsTakenApartAtAnds) {
  const auto expression = parse("k % 16 == 0 && (n == 8 || m == 1) && batch > 0");
  ASSERT_TRUE(expression.ok());
  const std::vector<Expression> parts = expression->conjuncts();
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].constants().size(), 1u);
  EXPECT_EQ(parts[1].constants().size(), 2u);
  EXPECT_EQ(parts[2].text(), expression->text());
  EXPECT_EQ(parts[0].evaluate(gemm("m=2 n=2 k=33")).value(), 0);
  EXPECT_EQ(parts[2].evaluate(gemm("m=2 n=2 k=33")).value(), 1);
  EXPECT_EQ(parse("m == 1 || n == 1")->conjuncts().size(), 1u);
}

// "k=512 k%16=8 n~1024": the constants an expression speaks of, = where they are compared with ==.
std::string constants_of(std::string_view text) {
  const Result<Expression> expression = parse(text);
  EXPECT_TRUE(expression.ok()) << text;
  std::string words;
  for (const FieldConstant& c : expression->constants()) {
    if (!words.empty()) words += ' ';
    words += c.divides ? fmt::format("{}%{}={}", c.field, c.value, c.remainder)
                       : fmt::format("{}{}{}", c.field, c.exact ? "=" : "~", c.value);
  }
  return words;
}

TEST(Expression, SaysWhatNumbersItComparesFieldsWith) {
  EXPECT_EQ(constants_of("k == 512 && n >= 1024"), "k=512 n~1024");
  EXPECT_EQ(constants_of("256 < k || !(m != 7)"), "k~256 m~7");
  EXPECT_EQ(constants_of("k % 16 == 0 && 8 == n % 64"), "k%16=0 n%64=8");
  EXPECT_EQ(constants_of("k == 32 * 128 + 1"), "k=4097");
  EXPECT_EQ(constants_of("k / 64 > 3 && ceil_div(n, 128) == 2"), "k~192 n=256");
  EXPECT_EQ(constants_of("k + 8 == 64 && n - 8 == 64 && 100 - m == 1 && 4 * k <= 64"),
            "k=56 n=72 m=99 k~16");
  EXPECT_EQ(constants_of("min(m, n) >= 64"), "m~64 n~64");
  EXPECT_EQ(constants_of("layout == \"nt\" ? k == 1 : k == 2"), "k=1 k=2");
  EXPECT_EQ(constants_of("ld_a % 8 == 0 && beta == 0 && m == n && k / 0 == 1 && 1 / 0 == k"),
            "k=0");
}

TEST(Expression, RefusesToRecurseWithoutEnd) {
  EXPECT_NE(value(std::string(500, '(') + "1" + std::string(500, ')')).find("nested more than"),
            std::string::npos);
  EXPECT_NE(value(std::string(500, '-') + "1").find("nested more than"), std::string::npos);
  EXPECT_NE(value(std::string(1001, '1') + std::string(1001, '1')).find("longer than"),
            std::string::npos);
  EXPECT_EQ(value(std::string(40, '(') + "1" + std::string(40, ')')), "1");
}

TEST(Expression, AgreesWithTheSameSumInCpp) {
  EXPECT_TRUE(rc::check([](std::int32_t a, std::int32_t b, std::int32_t c) {
    const std::string text = "(" + std::to_string(a) + ") * (" + std::to_string(b) + ") + (" +
                             std::to_string(c) + ") - min(" + std::to_string(a) + ", " +
                             std::to_string(c) + ")";
    const std::int64_t expected = std::int64_t{a} * b + c - std::min(a, c);
    RC_ASSERT(value(text) == std::to_string(expected));
  }));
}

TEST(Expression, AnyTextIsParsedOrRefusedWithAPosition) {
  EXPECT_TRUE(rc::check([] {
    const auto token =
        rc::gen::element<std::string>("m", "layout", "\"nn\"", "beta", "(", ")", "+", "-", "*", "/",
                                      "?", ":", "==", "&&", "!", "1", "min(", ",", " ", "$", "<");
    const auto tokens = *rc::gen::container<std::vector<std::string>>(token);
    std::string text;
    for (const std::string& part : tokens) text += part;
    const Result<Expression> expression = parse(text);
    if (expression.ok()) {
      (void)expression->evaluate(gemm("m=1 n=1 k=1"));
    } else {
      RC_ASSERT(expression.error().where.starts_with("k.toml:4:"));
      RC_ASSERT(!expression.error().message.empty());
    }
  }));
}

}  // namespace
}  // namespace plumbline
