// SPDX-License-Identifier: MIT
// f32 and f64 arithmetic against the processor's own, in all four rounding modes (the emulator
// never sets the rounding mode; this test does), with and without .ftz and .sat.
#include <cfenv>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>

#include "oracles/base/random.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/format.h"
#include "tests/harness/emulator/emulator_run.h"

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

float f(u64 bits) { return std::bit_cast<float>(static_cast<u32>(bits)); }

u32 b(float value) { return std::isnan(value) ? 0x7fffffffu : std::bit_cast<u32>(value); }

float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

std::vector<Operands> float_rows() {
  constexpr u32 kEdges[] = {0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x3f800001, 0x3f7fffff,
                            0x40490fdb, 0x00000001, 0x807fffff, 0x00800000, 0x80800001, 0x7f7fffff,
                            0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345, 0x4b800000,
                            0x4b7fffff, 0x33800000, 0x34000000, 0x5f3504f3, 0x20000000, 0x1fb504f3,
                            0x00ffffff, 0x01000000, 0x7e800000, 0x7effffff};
  std::vector<Operands> rows;
  for (const u32 x : kEdges) {
    for (const u32 y : kEdges) {
      rows.push_back({x, y, kEdges[rows.size() % std::size(kEdges)], 0});
      rows.push_back({x, y, kEdges[rows.size() * 7 % std::size(kEdges)], 0});
    }
  }
  Random random(2);
  for (int i = 0; i < 2000; ++i) {
    // Near each other in exponent, so that sums cancel and round; every fourth row anything.
    const u32 exponent = static_cast<u32>(random.between(1, 254));
    const auto near = [&](int spread) {
      const auto e = static_cast<u32>(
          std::clamp<std::int64_t>(exponent + random.between(-spread, spread), 0, 254));
      return static_cast<u32>(random.next() & 0x807fffff) | e << 23;
    };
    if (i % 4 == 0) {
      rows.push_back(
          {random.next() & 0xffffffff, random.next() & 0xffffffff, random.next() & 0xffffffff, 0});
    } else {
      rows.push_back({near(2), near(26), near(30), 0});
    }
  }
  return rows;
}

// Operations in the current rounding mode. noinline and volatile: the compiler must not fold them.
[[gnu::noinline]] float add(float x, float y, float) {
  volatile float a = x, c = y;
  return a + c;
}

[[gnu::noinline]] float sub(float x, float y, float) {
  volatile float a = x, c = y;
  return a - c;
}

[[gnu::noinline]] float mul(float x, float y, float) {
  volatile float a = x, c = y;
  return a * c;
}

[[gnu::noinline]] float divide(float x, float y, float) {
  volatile float a = x, c = y;
  return a / c;
}

[[gnu::noinline]] float fused(float x, float y, float z) {
  volatile float a = x, c = y, e = z;
  return std::fma(a, c, e);
}

[[gnu::noinline]] float reciprocal(float x, float, float) {
  volatile float a = x;
  return 1.0f / a;
}

[[gnu::noinline]] float root(float x, float, float) {
  volatile float a = x;
  return std::sqrt(a);
}

struct Mode {
  const char* name;
  int fe;
};

constexpr Mode kModes[] = {
    {"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}};

void check(const std::string& code, const char* shape, const std::vector<Operands>& rows, bool ftz,
           bool sat, int fe, float (*operation)(float, float, float)) {
  const std::vector<u64> got = apply(code, shape, rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto operand = [&](std::size_t k) {
      return ftz ? flushed(f(rows[i][k])) : f(rows[i][k]);
    };
    std::fesetround(fe);
    float want = operation(operand(0), operand(1), operand(2));
    std::fesetround(FE_TONEAREST);
    if (ftz) want = flushed(want);
    if (sat) want = std::isnan(want) ? 0.0f : (want > 1 ? 1.0f : (want > 0 ? want : 0.0f));
    ASSERT_EQ(static_cast<u32>(got[i]), b(want))
        << fmt::format("{} {:#x} {:#x} {:#x}: got {:#x}, expected {:#x}", code, rows[i][0],
                       rows[i][1], rows[i][2], got[i], b(want));
  }
}

TEST(Float, EveryRoundingModeWithAndWithoutFtzAndSat) {
  const std::vector<Operands> rows = float_rows();

  struct Operation {
    const char *name, *operands, *shape;
    float (*host)(float, float, float);
    bool has_sat;
  };

  constexpr Operation kOperations[] = {
      {"add", "a, b", "w=ww", add, true},     {"sub", "a, b", "w=ww", sub, true},
      {"mul", "a, b", "w=ww", mul, true},     {"fma", "a, b, c", "w=www", fused, true},
      {"div", "a, b", "w=ww", divide, false}, {"rcp", "a", "w=w", reciprocal, false},
      {"sqrt", "a", "w=w", root, false},
  };
  for (const Operation& op : kOperations) {
    for (const Mode& mode : kModes) {
      for (const bool ftz : {false, true}) {
        for (const bool sat : {false, true}) {
          if (sat && !op.has_sat) continue;
          check(fmt::format("{}.{}{}{}.f32 d, {};", op.name, mode.name, ftz ? ".ftz" : "",
                            sat ? ".sat" : "", op.operands),
                op.shape, rows, ftz, sat, mode.fe, op.host);
        }
      }
    }
  }
  check("add.f32 d, a, b;", "w=ww", rows, false, false, FE_TONEAREST, add);
  check("mul.ftz.f32 d, a, b;", "w=ww", rows, true, false, FE_TONEAREST, mul);
  check("mad.rn.f32 d, a, b, c;", "w=www", rows, false, false, FE_TONEAREST, fused);
}

TEST(Float, MinAndMaxPreferNumbersAndOrderZeros) {
  const std::vector<Operands> rows = float_rows();
  for (const bool maximum : {false, true}) {
    for (const bool nan_wins : {false, true}) {
      const std::string code =
          fmt::format("{}{}.f32 d, a, b;", maximum ? "max" : "min", nan_wins ? ".NaN" : "");
      const std::vector<u64> got = apply(code, "w=ww", rows);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const float x = f(rows[i][0]), y = f(rows[i][1]);
        u32 want;
        if (std::isnan(x) || std::isnan(y)) {
          want =
              nan_wins || (std::isnan(x) && std::isnan(y)) ? 0x7fffffff : b(std::isnan(x) ? y : x);
        } else if (x == y) {
          want = b(std::signbit(x) == maximum ? y : x);
        } else {
          want = b((x > y) == maximum ? x : y);
        }
        ASSERT_EQ(static_cast<u32>(got[i]), want)
            << code << fmt::format(" {:#x} {:#x}", rows[i][0], rows[i][1]);
      }
    }
  }
}

TEST(Float, SignOperationsTouchTheSignOnly) {
  const std::vector<Operands> rows = float_rows();
  const auto abs = apply("abs.f32 d, a;", "w=w", rows), neg = apply("neg.f32 d, a;", "w=w", rows);
  const auto copy = apply("copysign.f32 d, a, b;", "w=ww", rows),
             neg_ftz = apply("neg.ftz.f32 d, a;", "w=w", rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const u32 x = static_cast<u32>(rows[i][0]), y = static_cast<u32>(rows[i][1]);
    EXPECT_EQ(abs[i], x & 0x7fffffff);
    EXPECT_EQ(static_cast<u32>(neg[i]), x ^ 0x80000000);
    EXPECT_EQ(static_cast<u32>(copy[i]), (y & 0x7fffffff) | (x & 0x80000000));
    if (!std::isnan(f(x))) {
      EXPECT_EQ(static_cast<u32>(neg_ftz[i]), b(-flushed(f(x))));
    }
  }
}

TEST(Float, DoubleArithmeticIsThatOfTheProcessor) {
  std::vector<Operands> rows;
  Random random(3);
  for (int i = 0; i < 1000; ++i) {
    const auto value = [&] {
      return std::bit_cast<u64>(
          std::ldexp(random.unit() - 0.5, static_cast<int>(random.between(-40, 40))));
    };
    rows.push_back({value(), value(), value(), 0});
  }
  rows.push_back({0x7ff0000000000000, 0xfff0000000000000, 0, 0});
  const auto d = [](u64 bits) { return std::bit_cast<double>(bits); };

  struct Row {
    const char *code, *shape;
    std::function<double(double, double, double)> host;
  };

  const Row kRows[] = {
      {"add.f64 d, a, b;", "x=xx", [](double x, double y, double) { return x + y; }},
      {"sub.rn.f64 d, a, b;", "x=xx", [](double x, double y, double) { return x - y; }},
      {"mul.f64 d, a, b;", "x=xx", [](double x, double y, double) { return x * y; }},
      {"div.rn.f64 d, a, b;", "x=xx", [](double x, double y, double) { return x / y; }},
      {"fma.rn.f64 d, a, b, c;", "x=xxx",
       [](double x, double y, double z) { return std::fma(x, y, z); }},
      {"sqrt.rn.f64 d, a;", "x=x", [](double x, double, double) { return std::sqrt(x); }},
      {"max.f64 d, a, b;", "x=xx", [](double x, double y, double) { return std::fmax(x, y); }},
      {"neg.f64 d, a;", "x=x", [](double x, double, double) { return -x; }},
  };
  for (const Row& row : kRows) {
    const auto got = apply(row.code, row.shape, rows);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double want = row.host(d(rows[i][0]), d(rows[i][1]), d(rows[i][2]));
      const u64 bits = std::isnan(want) ? 0xfff8000000000000 : std::bit_cast<u64>(want);
      ASSERT_EQ(got[i], bits) << row.code;
    }
  }
}

TEST(Float, DoubleOperationsHandTheirNaNOn) {
  constexpr u64 kOne = 0x3ff0000000000000, kInf = 0x7ff0000000000000, kFirst = 0xfff8000000000001,
                kSecond = 0x7ffc000000000002;
  constexpr u64 kSignaling = 0x7ff0000000000003, kQuieted = 0x7ff8000000000003,
                kInvalid = 0xfff8000000000000;

  struct Row {
    const char *code, *shape;
    Operands operands;
    u64 want;
  };

  const Row kRows[] = {
      {"add.f64 d, a, b;", "x=xx", {kFirst, kSecond}, kFirst},
      {"sub.f64 d, a, b;", "x=xx", {kOne, kSecond}, kSecond},
      {"mul.f64 d, a, b;", "x=xx", {kSignaling, kSecond}, kQuieted},
      {"div.rn.f64 d, a, b;", "x=xx", {kInf, kInf}, kInvalid},
      {"fma.rn.f64 d, a, b, c;", "x=xxx", {kOne, kSecond, kFirst}, kSecond},
      {"fma.rn.f64 d, a, b, c;", "x=xxx", {kInf, 0, kFirst}, kFirst},
      {"rcp.rn.f64 d, a;", "x=x", {kSecond}, kSecond},
      {"sqrt.rn.f64 d, a;", "x=x", {kFirst}, kFirst},
      {"sqrt.rn.f64 d, a;", "x=x", {0xbff0000000000000}, kInvalid},
      {"min.f64 d, a, b;", "x=xx", {kSecond, kOne}, kOne},
      {"max.f64 d, a, b;", "x=xx", {kSignaling, kFirst}, kQuieted},
      {"abs.f64 d, a;", "x=x", {kFirst}, kFirst},  // unchanged, says the manual
      {"abs.f64 d, a;", "x=x", {0x8000000000000000}, 0},
      {"neg.f64 d, a;", "x=x", {kFirst}, 0x7ff8000000000001},
      {"neg.f64 d, a;", "x=x", {kSignaling}, 0xfff0000000000003},
  };
  for (const Row& row : kRows)
    EXPECT_EQ(apply(row.code, row.shape, {row.operands})[0], row.want) << row.code;
}

// A kernel that needs a better tanh than PTX promises must fail here.
TEST(Float, TanhApproxErrsAsMuchAsPtxAllows) {
  Random random(5);
  std::vector<Operands> rows;
  for (int i = 0; i < 512; ++i)
    rows.push_back({b(static_cast<float>(4 * random.unit() - 2)), 0, 0, 0});
  double worst = 0;
  const auto got = apply("tanh.approx.f32 d, a;", "w=w", rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double want = std::tanh(f(rows[i][0]));
    worst = std::max(worst, std::fabs(f(got[i]) / want - 1));
  }
  EXPECT_GT(worst, 0x1p-12);
}

// A kernel whose contract asks for a correctly rounded quotient, reciprocal or root must not get
// one from an approximate instruction.
TEST(Float, ApproximateFunctionsAreNotCorrectlyRounded) {
  struct Function {
    const char* name;
    double (*exact)(double);
  };

  const Function kFunctions[] = {
      {"ex2.approx.f32", [](double x) { return std::exp2(x); }},
      {"rcp.approx.f32", [](double x) { return 1 / x; }},
      {"rsqrt.approx.f32", [](double x) { return 1 / std::sqrt(x); }},
      {"lg2.approx.f32", [](double x) { return std::log2(x); }},
  };
  Random random(6);
  std::vector<Operands> rows;
  for (int i = 0; i < 512; ++i)
    rows.push_back({b(static_cast<float>(2.1 + random.unit())), 0, 0, 0});
  for (const Function& function : kFunctions) {
    const auto got = apply(fmt::format("{} d, a;", function.name), "w=w", rows);
    EXPECT_EQ(got, apply(fmt::format("{} d, a;", function.name), "w=w", rows));
    for (std::size_t i = 0; i < rows.size(); ++i)
      EXPECT_NE(f(got[i]), static_cast<float>(function.exact(f(rows[i][0])))) << function.name;
  }
  for (Operands& row : rows) row[1] = b(static_cast<float>(2.1 + random.unit()));
  for (const char* name : {"div.approx.f32", "div.full.f32"}) {
    const auto got = apply(fmt::format("{} d, a, b;", name), "w=ww", rows);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const float want = f(rows[i][0]) / f(rows[i][1]);
      EXPECT_NE(f(got[i]), want) << name;
      EXPECT_NEAR(f(got[i]), want, want * 0x1.4p-22) << name;
    }
  }
}

TEST(Float, ApproximateFunctionsAreExactWhereAllChipsAre) {
  const auto one = [](const char* code, float x) {
    return f(apply(code, "w=w", {{b(x), 0, 0, 0}})[0]);
  };
  EXPECT_EQ(one("ex2.approx.f32 d, a;", 0), 1);
  EXPECT_EQ(one("ex2.approx.f32 d, a;", -7), 0x1p-7f);
  EXPECT_LE(one("ex2.approx.f32 d, a;", -0x1p-30f), 1);
  EXPECT_EQ(one("rcp.approx.f32 d, a;", -0x1p-9f), -0x1p9f);
  EXPECT_EQ(one("rsqrt.approx.f32 d, a;", 16), 0.25f);
  EXPECT_EQ(one("lg2.approx.f32 d, a;", 1), 0);
  EXPECT_EQ(one("rcp.approx.f32 d, a;", -3), -one("rcp.approx.f32 d, a;", 3));
  EXPECT_EQ(one("rcp.approx.f32 d, a;", 12), one("rcp.approx.f32 d, a;", 3) / 4);
}

// The bounds that docs/emulator.md lists; the special cases are those of PTX ISA 9.0 section 9.7.3.
TEST(Float, ApproximateFunctionsStayWithinTheirDocumentedError) {
  struct Function {
    const char* name;
    double low, high;
    double (*exact)(double);
    double relative, absolute;  // either suffices
  };

  const Function kFunctions[] = {
      {"ex2.approx.f32", -126, 127, [](double x) { return std::exp2(x); }, 2.5 * 0x1p-23, 0},
      {"lg2.approx.f32", 0.001, 1e30, [](double x) { return std::log2(x); }, 0x1p-22, 0x1p-22},
      {"rcp.approx.f32", 1e-30, 1e30, [](double x) { return 1 / x; }, 0x1p-23, 0},
      {"rsqrt.approx.f32", 1e-30, 1e30, [](double x) { return 1 / std::sqrt(x); }, 0x1.2p-23, 0},
      {"sqrt.approx.f32", 1e-30, 1e30, [](double x) { return std::sqrt(x); }, 0x1p-23, 0},
      {"sin.approx.f32", -6.28, 6.28, [](double x) { return std::sin(x); }, 0, std::exp2(-20.5)},
      {"cos.approx.f32", -6.28, 6.28, [](double x) { return std::cos(x); }, 0, std::exp2(-20.4)},
      {"tanh.approx.f32", -9, 9, [](double x) { return std::tanh(x); }, 0x1p-11, 0},
  };
  Random random(4);
  for (const Function& function : kFunctions) {
    std::vector<Operands> rows;
    for (int i = 0; i < 512; ++i) {
      const auto x = static_cast<float>(function.low + (function.high - function.low) *
                                                           std::pow(random.unit(), i % 9 + 1));
      rows.push_back({b(x), 0, 0, 0});
    }
    const auto got = apply(fmt::format("{} d, a;", function.name), "w=w", rows);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double want = function.exact(f(rows[i][0]));
      const double error = std::fabs(f(got[i]) - want);
      EXPECT_LE(error, std::max(function.relative * std::fabs(want), function.absolute))
          << function.name << " " << f(rows[i][0]);
    }
  }
  const auto specials = [](const char* code, u64 a) {
    return static_cast<u32>(apply(code, "w=w", {{a, 0, 0, 0}})[0]);
  };
  EXPECT_EQ(specials("ex2.approx.f32 d, a;", 0xff800000), 0u);
  EXPECT_EQ(specials("ex2.approx.f32 d, a;", 0x7f800000), 0x7f800000u);
  EXPECT_EQ(specials("ex2.approx.ftz.f32 d, a;", b(-130)), 0u);
  EXPECT_EQ(specials("ex2.approx.f32 d, a;", b(-149)), 1u);
  EXPECT_EQ(specials("lg2.approx.f32 d, a;", 0x80000000), 0xff800000u);
  EXPECT_EQ(specials("rsqrt.approx.f32 d, a;", b(-1)), 0x7fffffffu);
  EXPECT_EQ(specials("rcp.approx.ftz.f32 d, a;", 0x00000001), 0x7f800000u);
  EXPECT_EQ(specials("sqrt.approx.f32 d, a;", 0x80000000), 0x80000000u);
}

// The instruction of three operands, and with .abs, from the one of two that the host has.
TEST(Float, MinAndMaxOfThree) {
  std::vector<Operands> rows = float_rows();
  rows.resize(3000);

  struct Variant {
    const char* modifiers;
    bool ftz, nan, absolute;
  };

  constexpr Variant kVariants[] = {{"", false, false, false},
                                   {".ftz", true, false, false},
                                   {".NaN", false, true, false},
                                   {".ftz.NaN.abs", true, true, true},
                                   {".abs", false, false, true}};
  for (const Variant& variant : kVariants) {
    for (const bool maximum : {false, true}) {
      const std::string code =
          fmt::format("{}{}.f32 d, a, b, c;", maximum ? "max" : "min", variant.modifiers);
      const std::vector<u64> got = apply(code, "w=www", rows, 100);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        bool any_nan = false;
        std::vector<float> numbers;
        for (std::size_t k = 0; k < 3; ++k) {
          float x = f(rows[i][k]);
          if (variant.ftz) x = flushed(x);
          if (variant.absolute) x = std::fabs(x);
          any_nan |= std::isnan(x);
          if (!std::isnan(x)) numbers.push_back(x);
        }
        const auto below = [](float x, float y) {
          return x < y || (x == y && std::signbit(x) && !std::signbit(y));
        };
        const bool gives_nan = numbers.empty() || (variant.nan && any_nan);
        const float want = gives_nan ? NAN
                           : maximum ? *std::max_element(numbers.begin(), numbers.end(), below)
                                     : *std::min_element(numbers.begin(), numbers.end(), below);
        ASSERT_EQ(static_cast<u32>(got[i]), b(want))
            << fmt::format("{} {:#x} {:#x} {:#x}", code, rows[i][0], rows[i][1], rows[i][2]);
      }
    }
  }
}

TEST(Float, PairsOfF32RoundEachHalf) {
  const std::vector<Operands> rows = float_rows();
  std::vector<Operands> pairs;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Operands& high = rows[(i * 7 + 3) % rows.size()];
    Operands pair{};
    for (std::size_t k = 0; k < 3; ++k) pair[k] = (rows[i][k] & 0xffffffff) | high[k] << 32;
    pairs.push_back(pair);
  }

  struct Operation {
    const char *name, *operands, *shape;
    float (*host)(float, float, float);
  };

  constexpr Operation kOperations[] = {{"add", "d, a, b", "x=xx", add},
                                       {"sub", "d, a, b", "x=xx", sub},
                                       {"mul", "d, a, b", "x=xx", mul},
                                       {"fma", "d, a, b, c", "x=xxx", fused}};
  for (const Operation& operation : kOperations) {
    for (const Mode& mode : kModes) {
      for (const bool ftz : {false, true}) {
        const std::string code = fmt::format("{}.{}{}.f32x2 {};", operation.name, mode.name,
                                             ftz ? ".ftz" : "", operation.operands);
        const std::vector<u64> got = apply(code, operation.shape, pairs, 100);
        for (std::size_t i = 0; i < pairs.size(); ++i) {
          for (const int shift : {0, 32}) {
            const auto operand = [&](std::size_t k) {
              const float x = f(pairs[i][k] >> shift);
              return ftz ? flushed(x) : x;
            };
            std::fesetround(mode.fe);
            float want = operation.host(operand(0), operand(1), operand(2));
            std::fesetround(FE_TONEAREST);
            if (ftz) want = flushed(want);
            ASSERT_EQ(static_cast<u32>(got[i] >> shift), b(want)) << code << " row " << i;
          }
        }
      }
    }
  }
}

TEST(Float, MixedOperandsBecomeF32First) {
  const std::vector<Operands> rows = float_rows();

  struct Operation {
    const char *name, *operands, *shape;
    std::size_t halves;  // operands of 16 bits
    float (*host)(float, float, float);
  };

  const Operation kOperations[] = {{"add", "d, a, b", "w=hw", 1, add},
                                   {"sub", "d, a, b", "w=hw", 1, sub},
                                   {"fma", "d, a, b, c", "w=hhw", 2, fused}};
  for (const Operation& operation : kOperations) {
    for (const FormatId id : {FormatId::f16, FormatId::bf16}) {
      for (const Mode& mode : kModes) {
        for (const bool sat : {false, true}) {
          const std::string code =
              fmt::format("{}.{}{}.f32.{} {};", operation.name, mode.name, sat ? ".sat" : "",
                          format(id).name, operation.operands);
          const std::vector<u64> got = apply(code, operation.shape, rows, 100);
          for (std::size_t i = 0; i < rows.size(); ++i) {
            const auto operand = [&](std::size_t k) {
              return k < operation.halves
                         ? static_cast<float>(to_double(format(id), rows[i][k] & 0xffff))
                         : f(rows[i][k]);
            };
            std::fesetround(mode.fe);
            float want = operation.host(operand(0), operand(1), operand(2));
            std::fesetround(FE_TONEAREST);
            if (sat) want = std::isnan(want) ? 0.0f : (want > 1 ? 1.0f : (want > 0 ? want : 0.0f));
            ASSERT_EQ(static_cast<u32>(got[i]), b(want)) << code << " row " << i;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace plumbline::emulator
