// SPDX-License-Identifier: MIT
// f16 and bf16 arithmetic against one rounding of the exact result.
#include <cmath>
#include <iterator>

#include "oracles/base/random.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"
#include "oracles/formats/format.h"
#include "tests/harness/emulator/emulator_run.h"

namespace plumbline::emulator {
namespace {

using u64 = std::uint64_t;

std::vector<Operands> rows() {
  constexpr u64 kEdges[] = {0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x3c00,
                            0xbc00, 0x3c01, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00,
                            0x3f80, 0xbf80, 0x7f7f, 0x7f80, 0x0080, 0x007f};
  std::vector<Operands> out;
  for (const u64 a : kEdges) {
    for (const u64 b : kEdges)
      out.push_back(
          {a | b << 16, b | a << 16, kEdges[out.size() % std::size(kEdges)] * 0x10001, 0});
  }
  Random random(6);
  for (int i = 0; i < 3000; ++i)
    out.push_back(
        {random.next() & 0xffffffff, random.next() & 0xffffffff, random.next() & 0xffffffff, 0});
  return out;
}

// long double has 64 bits: sums of f16 are exact in it; fma of random bf16 values is rounded to odd
// by hand.
u64 expected(FormatId id, char operation, u64 a, u64 b, u64 c) {
  const Format& f = format(id);
  const double x = to_double(f, a), y = to_double(f, b), z = to_double(f, c);
  switch (operation) {
    case '+':
      return encode(f, x + y);  // exact in double for f16; for bf16 see odd() below
    case '-':
      return encode(f, x - y);
    case '*':
      return encode(f, x * y);
    default: {
      const double product = x * y;
      double sum = product + z;
      const double part = sum - product;
      const double error = (product - (sum - part)) + (z - part);
      if (error != 0 && std::isfinite(sum) && (std::bit_cast<u64>(sum) & 1) == 0) {
        sum = std::nextafter(sum, error > 0 ? HUGE_VAL : -HUGE_VAL);
      }
      return encode(f, sum);
    }
  }
}

// x + y with bits lost below a double: two bf16 values may be 2^250 apart. Then the smaller one
// only breaks ties that do not occur at 8 bits, and double rounding is innocuous (53 >= 2 * 8 + 2).
TEST(Packed, AdditionMultiplicationAndFmaRoundOnce) {
  const std::vector<Operands> table = rows();

  struct Case {
    const char* code;
    const char* shape;
    FormatId id;
    char operation;
    bool pair;
  };

  constexpr Case kCases[] = {
      {"add.f16x2 d, a, b;", "w=ww", FormatId::f16, '+', true},
      {"sub.rn.f16x2 d, a, b;", "w=ww", FormatId::f16, '-', true},
      {"mul.f16x2 d, a, b;", "w=ww", FormatId::f16, '*', true},
      {"fma.rn.f16x2 d, a, b, c;", "w=www", FormatId::f16, 'f', true},
      {"add.f16 d, a, b;", "h=hh", FormatId::f16, '+', false},
      {"fma.rn.f16 d, a, b, c;", "h=hhh", FormatId::f16, 'f', false},
      {"add.bf16x2 d, a, b;", "w=ww", FormatId::bf16, '+', true},
      {"sub.bf16x2 d, a, b;", "w=ww", FormatId::bf16, '-', true},
      {"mul.bf16x2 d, a, b;", "w=ww", FormatId::bf16, '*', true},
      {"fma.rn.bf16x2 d, a, b, c;", "w=www", FormatId::bf16, 'f', true},
      {"mul.bf16 d, a, b;", "h=hh", FormatId::bf16, '*', false},
      {"fma.rn.bf16 d, a, b, c;", "h=hhh", FormatId::bf16, 'f', false},
  };
  for (const Case& one : kCases) {
    const std::vector<u64> got = apply(one.code, one.shape, table);
    for (std::size_t i = 0; i < table.size(); ++i) {
      for (int half = 0; half < (one.pair ? 2 : 1); ++half) {
        const auto part = [&](u64 value) { return value >> (16 * half) & 0xffff; };
        const u64 want = expected(one.id, one.operation, part(table[i][0]), part(table[i][1]),
                                  part(table[i][2]));
        ASSERT_EQ(part(got[i]), want) << fmt::format("{} half {} of {:#x} {:#x} {:#x}", one.code,
                                                     half, table[i][0], table[i][1], table[i][2]);
      }
    }
  }
}

TEST(Packed, FlagsFlushSaturateAndClamp) {
  const auto one = [](const char* code, u64 a, u64 b) {
    return apply(code, "w=ww", {{a, b, 0, 0}})[0];
  };
  EXPECT_EQ(one("add.ftz.f16x2 d, a, b;", 0x00010400, 0x00000000), 0x00000400u);
  EXPECT_EQ(one("add.sat.f16x2 d, a, b;", 0x3c00bc00, 0x3c000000), 0x3c000000u);
  EXPECT_EQ(apply("fma.rn.relu.bf16x2 d, a, b, c;", "w=www", {{0xbf803f80, 0x3f803f80, 0, 0}})[0],
            0x00003f80u);
  EXPECT_EQ(one("max.f16x2 d, a, b;", 0x7e008000, 0x3c000000), 0x3c000000u);
  EXPECT_EQ(one("min.f16x2 d, a, b;", 0x7e008000, 0x3c000000), 0x3c008000u);
  EXPECT_EQ(one("max.NaN.bf16x2 d, a, b;", 0x7fc03f80, 0x3f804000), 0x7fff4000u);
  EXPECT_EQ(apply("neg.bf16x2 d, a;", "w=w", {{0x3f80bf80, 0, 0, 0}})[0], 0xbf803f80u);
  EXPECT_EQ(apply("abs.f16x2 d, a;", "w=w", {{0xbc00fc00, 0, 0, 0}})[0], 0x3c007c00u);
}

TEST(Packed, XorSignTakesMagnitudesAndTheProductOfTheSigns) {
  const std::vector<Operands> table = rows();
  for (const FormatId id : {FormatId::f16, FormatId::bf16}) {
    const Format& f = format(id);
    for (const bool maximum : {false, true}) {
      const std::string code =
          fmt::format("{}.xorsign.abs.{}x2 d, a, b;", maximum ? "max" : "min", f.name);
      const std::vector<u64> got = apply(code, "w=ww", table);
      for (std::size_t i = 0; i < table.size(); ++i) {
        for (const int shift : {0, 16}) {
          const u64 a = table[i][0] >> shift & 0xffff, b = table[i][1] >> shift & 0xffff;
          const double x = std::fabs(to_double(f, a)), y = std::fabs(to_double(f, b));
          const double most = std::isnan(x)   ? y
                              : std::isnan(y) ? x
                              : maximum       ? std::max(x, y)
                                              : std::min(x, y);
          const u64 want = std::isnan(most) ? 0x7fff : encode(f, most) | ((a ^ b) & 0x8000);
          ASSERT_EQ(got[i] >> shift & 0xffff, want) << fmt::format("{} {:#x} {:#x}", code, a, b);
        }
      }
    }
  }
}

// All codes: within what PTX ISA 9.0 documents (9.7.4.10, 9.7.4.11), exact where that is listed,
// and not always the nearest.
TEST(Packed, ApproximateFunctionsStayWithinTheirDocumentedError) {
  struct Function {
    const char* form;
    FormatId id;
    bool ftz;
    double (*exact)(double);
    double relative, absolute;
  };

  const auto ex2 = [](double x) { return std::exp2(x); };
  const auto tanh = [](double x) { return std::tanh(x); };
  const Function kFunctions[] = {
      {"ex2.approx.f16", FormatId::f16, false, ex2, std::exp2(-9.9), 0},
      {"ex2.approx.ftz.bf16", FormatId::bf16, true, ex2, 0x1p-7, 0},
      {"tanh.approx.f16", FormatId::f16, false, tanh, 0, std::exp2(-10.987)},
      {"tanh.approx.bf16", FormatId::bf16, false, tanh, 0, 0x1.001p-8},
  };
  for (const Function& function : kFunctions) {
    const Format& f = format(function.id);
    std::vector<Operands> all;
    for (u64 code = 0; code < 0x10000; code += 2) all.push_back({code | (code + 1) << 16, 0, 0, 0});
    const std::vector<u64> got = apply(fmt::format("{}x2 d, a;", function.form), "w=w", all);
    const std::vector<u64> scalar = apply(fmt::format("{} d, a;", function.form), "h=h", all);
    int off = 0;
    for (u64 code = 0; code < 0x10000; ++code) {
      const u64 bits = got[code / 2] >> (16 * (code % 2)) & 0xffff;
      if (code % 2 == 0) {
        ASSERT_EQ(bits, scalar[code / 2] & 0xffff) << code;
      }
      double x = to_double(f, code);
      const double least = std::ldexp(1.0, f.emin());
      if (function.ftz && std::fabs(x) < least) x = 0;
      const double want = function.exact(x), value = to_double(f, bits);
      if (std::isnan(want)) {
        ASSERT_EQ(bits, 0x7fffu);
      } else if (function.ftz && want < least) {
        ASSERT_LE(value, least) << code;
      } else if (std::isinf(to_double(f, encode(f, want)))) {
        ASSERT_EQ(bits, f.id == FormatId::f16 ? 0x7c00u : 0x7f80u) << code;
      } else {
        // What the format cannot hold more closely is rounded.
        const double rounding = std::fabs(to_double(f, encode(f, want)) - want);
        const double allowed = std::max(function.relative * std::fabs(want), function.absolute);
        ASSERT_LE(std::fabs(value - want), std::max(allowed, rounding))
            << function.form << " " << x;
        if (x == std::floor(x) && function.exact(1) == 2) {
          ASSERT_EQ(bits, encode(f, want)) << x;
        }
        off += bits != encode(f, want) ? 1 : 0;
      }
    }
    EXPECT_GT(off, 500) << function.form;
  }
}

}  // namespace
}  // namespace plumbline::emulator
