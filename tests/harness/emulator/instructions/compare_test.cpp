// SPDX-License-Identifier: MIT
// setp, set, selp and predicate logic.
#include <cmath>
#include <functional>

#include "tests/harness/emulator/emulator_run.h"

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

u64 holds(const std::string& comparison, const char* shape, u64 a, u64 b) {
  return apply(fmt::format("setp.{} p, a, b; selp.u32 d, 1, 0, p;", comparison), shape,
               {{a, b, 0, 0}})[0];
}

u32 f32(float value) { return std::bit_cast<u32>(value); }

TEST(Compare, IntegersBySignAndWidth) {
  EXPECT_EQ(holds("lt.s32", "w=ww", 0xffffffff, 1), 1u);
  EXPECT_EQ(holds("lt.u32", "w=ww", 0xffffffff, 1), 0u);
  EXPECT_EQ(holds("hi.u32", "w=ww", 0xffffffff, 1), 1u);
  EXPECT_EQ(holds("lo.u32", "w=ww", 0xffffffff, 1), 0u);
  EXPECT_EQ(holds("ge.s64", "w=xx", 0x8000000000000000, 0), 0u);
  EXPECT_EQ(holds("ge.u64", "w=xx", 0x8000000000000000, 0), 1u);
  EXPECT_EQ(holds("eq.b64", "w=xx", 0x8000000000000000, 0x8000000000000000), 1u);
  EXPECT_EQ(holds("ne.b32", "w=ww", 5, 5), 0u);
  EXPECT_EQ(holds("gt.s16", "w=hh", 0x8000, 0x7fff), 0u);
  EXPECT_EQ(holds("gt.u16", "w=hh", 0x8000, 0x7fff), 1u);
  EXPECT_EQ(holds("eq.s16", "w=hh", 0x18000, 0x28000), 1u);  // only 16 bits count
  EXPECT_EQ(holds("le.s32", "w=ww", 7, 7), 1u);
}

TEST(Compare, FloatsOrderedAndUnordered) {
  constexpr float kNan = __builtin_nanf("");

  struct Row {
    const char* name;
    bool less, equal, greater, unordered;
  };

  constexpr Row kRows[] = {
      {"eq", false, true, false, false}, {"ne", true, false, true, false},
      {"lt", true, false, false, false}, {"le", true, true, false, false},
      {"gt", false, false, true, false}, {"ge", false, true, true, false},
      {"equ", false, true, false, true}, {"neu", true, false, true, true},
      {"ltu", true, false, false, true}, {"leu", true, true, false, true},
      {"gtu", false, false, true, true}, {"geu", false, true, true, true},
      {"num", true, true, true, false},  {"nan", false, false, false, true},
  };
  for (const Row& row : kRows) {
    const auto f = [&](const char* type, const char* shape, u64 a, u64 b) {
      return holds(fmt::format("{}.{}", row.name, type), shape, a, b) != 0;
    };
    EXPECT_EQ(f("f32", "w=ww", f32(1), f32(2)), row.less) << row.name;
    EXPECT_EQ(f("f32", "w=ww", f32(2), f32(2)), row.equal) << row.name;
    EXPECT_EQ(f("f32", "w=ww", f32(3), f32(2)), row.greater) << row.name;
    EXPECT_EQ(f("f32", "w=ww", f32(kNan), f32(2)), row.unordered) << row.name;
    EXPECT_EQ(f("ftz.f32", "w=ww", 0x00000001, 0x80000001), row.equal) << row.name;
    EXPECT_EQ(f("f16", "w=hh", 0x3c00, 0x4000), row.less) << row.name;
    EXPECT_EQ(f("f16", "w=hh", 0x7e00, 0x4000), row.unordered) << row.name;
    EXPECT_EQ(f("bf16", "w=hh", 0x4000, 0x3f80), row.greater) << row.name;
    EXPECT_EQ(f("f64", "w=xx", std::bit_cast<u64>(1.0), std::bit_cast<u64>(2.0)), row.less)
        << row.name;
  }
}

TEST(Compare, CombinesWithAPredicateAndGivesBothResults) {
  for (const u64 a : {0u, 1u}) {
    for (const u64 b : {0u, 1u}) {
      const auto both = [&](const char* how) {
        const std::string code = fmt::format(
            "setp.ne.u32 q, b, 0; .reg .pred s, t; setp.ne.{}.u32 s|t, a, 0, q; .reg .b32 u, v;"
            " selp.u32 u, 1, 0, s; selp.u32 v, 2, 0, t; or.b32 d, u, v;",
            how);
        return apply(code, "w=ww", {{a, b, 0, 0}})[0];
      };
      const bool x = a != 0, y = b != 0;
      EXPECT_EQ(both("and"), u64{x && y} | u64{!x && y} << 1);
      EXPECT_EQ(both("or"), u64{x || y} | u64{!x || y} << 1);
      EXPECT_EQ(both("xor"), u64{x != y} | u64{x == y} << 1);
      const auto logic = [&](const char* code) {
        return apply(
            fmt::format("setp.ne.u32 p, a, 0; setp.ne.u32 q, b, 0; {} selp.u32 d, 1, 0, p;", code),
            "w=ww", {{a, b, 0, 0}})[0];
      };
      EXPECT_EQ(logic("and.pred p, p, q;"), u64{x && y});
      EXPECT_EQ(logic("or.pred p, p, !q;"), u64{x || !y});
      EXPECT_EQ(logic("xor.pred p, p, q;"), u64{x != y});
      EXPECT_EQ(logic("not.pred p, q;"), u64{!y});
      EXPECT_EQ(logic("mov.pred p, q;"), u64{y});
    }
  }
}

TEST(Compare, SetWritesAllOnesOrOne) {
  const auto one = [](const char* code, const char* shape, u64 a, u64 b) {
    return apply(code, shape, {{a, b, 0, 0}})[0];
  };
  EXPECT_EQ(one("set.lt.u32.s32 d, a, b;", "w=ww", 0xffffffff, 1), 0xffffffffu);
  EXPECT_EQ(one("set.gt.f32.f32 d, a, b;", "w=ww", f32(2), f32(1)), 0x3f800000u);
  EXPECT_EQ(one("set.gt.f32.f32 d, a, b;", "w=ww", f32(1), f32(2)), 0u);
  EXPECT_EQ(one("set.le.u32.f16x2 d, a, b;", "w=ww", 0x3c004000, 0x3c003c00), 0xffff0000u);
  EXPECT_EQ(one("set.eq.f16.f16 d, a, b;", "h=hh", 0x3c00, 0x3c00) & 0xffff, 0x3c00u);
  EXPECT_EQ(one("set.ge.bf16x2.bf16x2 d, a, b;", "w=ww", 0x3f804000, 0x40003f80), 0x00003f80u);
}

TEST(Compare, PairsDecideOverAPredicateForEachHalf) {
  // d: 1 for the low halves, 2 for the high ones.
  const auto compare = [](const std::string& form, std::uint64_t a, std::uint64_t b) {
    const std::string code = ".reg .b32 x, y; setp.ne.u32 %p7, 0, 0; setp." + form +
                             "; selp.u32 x, 1, 0, p; selp.u32 y, 2, 0, q; or.b32 d, x, y;";
    return apply(code, "w=ww", {{a, b, 0, 0}})[0];
  };
  const auto pair = [](std::uint64_t high, std::uint64_t low) { return high << 16 | low; };
  // f16: 1 = 3c00, 2 = 4000, NaN = 7e00; bf16: 1 = 3f80, 2 = 4000.
  EXPECT_EQ(compare("lt.f16x2 p|q, a, b", pair(0x4000, 0x3c00), pair(0x3c00, 0x4000)), 1u);
  EXPECT_EQ(compare("lt.f16x2 p|q, a, b", pair(0x3c00, 0x4000), pair(0x4000, 0x3c00)), 2u);
  EXPECT_EQ(compare("ge.bf16x2 p|q, a, b", pair(0x4000, 0x3f80), pair(0x3f80, 0x3f80)), 3u);
  EXPECT_EQ(compare("eq.f16x2 p|q, a, b", pair(0x7e00, 0x8000), pair(0x7e00, 0x0000)), 1u);
  EXPECT_EQ(compare("neu.f16x2 p|q, a, b", pair(0x7e00, 0x8000), pair(0x7e00, 0x0000)), 2u);
  // Subnormal numbers are 0 with .ftz alone.
  EXPECT_EQ(compare("eq.f16x2 p|q, a, b", pair(0x0001, 0x8001), 0), 0u);
  EXPECT_EQ(compare("eq.ftz.f16x2 p|q, a, b", pair(0x0001, 0x8001), 0), 3u);
  // Combined with a predicate, here one that is false.
  EXPECT_EQ(compare("eq.or.bf16x2 p|q, a, b, %p7", pair(0x3f80, 0x4000), pair(0x3f80, 0x3f80)), 2u);
  EXPECT_EQ(compare("eq.and.bf16x2 p|q, a, b, %p7", pair(0x3f80, 0x4000), pair(0x3f80, 0x3f80)),
            0u);
  EXPECT_EQ(compare("eq.xor.bf16x2 p|q, a, b, !%p7", pair(0x3f80, 0x4000), pair(0x3f80, 0x3f80)),
            1u);
}

}  // namespace
}  // namespace plumbline::emulator
