// SPDX-License-Identifier: MIT
// Constant expressions have the values that ptxas 13.0 gives them: those below are the bytes of
// `.global .u64 x = <expression>;` in its cubins.
#include "harness/emulator/frontend/literal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "tests/harness/emulator/ptx_text.h"

namespace plumbline::emulator {
namespace {

using ::testing::ElementsAre;

std::uint64_t value(std::string_view text) {
  Cursor cursor(text, "t");
  const Constant result = parse_constant(cursor);
  EXPECT_FALSE(cursor.failed()) << text << ": " << cursor.error().text();
  EXPECT_TRUE(cursor.at_end()) << text;
  return result.literal.value;
}

std::string error(std::string_view text) {
  Cursor cursor(text, "t");
  parse_constant(cursor);
  return cursor.failed() ? cursor.error().text() : "";
}

TEST(ConstantExpression, HasTheValuesThatPtxasGives) {
  const std::pair<std::string_view, std::uint64_t> kValues[] = {
      {"7/2", 3},
      {"(-7)/2", 0xfffffffffffffffd},
      {"-7 % 3", 0},
      {"7 % -3", 7},
      {"-1>>1", 0xffffffffffffffff},
      {"-1U>>1", 0x7fffffffffffffff},
      {"0xffffffffffffffff>>1", 0x7fffffffffffffff},
      {"(.u64)-1>>1", 0x7fffffffffffffff},
      {"(.s64)0xffffffffffffffff>>1", 0xffffffffffffffff},
      {"-1/2U", 0x7fffffffffffffff},
      {"-1<0U", 0},
      {"-1<0", 1},
      {"1U>-1", 0},
      {"-8/3U", 0x5555555555555552},
      {"-8/3", 0xfffffffffffffffe},
      {"1?-1:2U", 0xffffffffffffffff},
      {"(1?-8:2U)/3", 0xfffffffffffffffe},
      {"~0U>>60", 0xf},
      {"~0>>60", 0xf},
      {"!0", 1},
      {"!7", 0},
      {"(!0U - 2)/2", 0},
      {"((0U==0U) - 2)/2", 0},
      {"((1U&&1U) - 2)/2", 0},
      {"((1U&3)-2)/2", 0x7fffffffffffffff},
      {"((1&3)-2)/2", 0},
      {"((1U|3)-5)/2", 0x7fffffffffffffff},
      {"((1U^3)-5)/2", 0x7ffffffffffffffe},
      {"((1U<<1)-3)/2", 0x7fffffffffffffff},
      {"((1<<1U)-3)/2", 0},
      {"((6U>>1)-4)/2", 0x7fffffffffffffff},
      {"((6>>1U)-4)/2", 0},
      {"((6 % 4)-4)/2", 0x7fffffffffffffff},
      {"1<<64", 1},
      {"1<<65", 2},
      {"1>>65", 0},
      {"-1>>65", 0xffffffffffffffff},
      {"1<<-1", 0x8000000000000000},
      {"9223372036854775808>>1", 0x4000000000000000},
      {"9223372036854775808 < 0", 0},
      {"-9223372036854775808 / 2", 0x4000000000000000},
      {"(9223372036854775807+1)/2", 0xc000000000000000},
      {"18446744073709551615+2", 1},
      {"1+2*3", 7},
      {"1|2^3&1", 3},
      {"1|6&4", 5},
      {"1<<2+1", 8},
      {"1==1<2", 1},
      {"3&2==2", 1},
      {"3 > 2 > 1", 0},
      {"4>=4", 1},
      {"4<=3", 0},
      {"4!=3", 1},
      {"1?2:0?3:4", 2},
      {"0?2:0?3:4", 4},
      {"1||0&&0", 1},
      {"1-2-3", 0xfffffffffffffffc},
      {"64/4/2", 8},
      {"- - 5", 5},
      {"~-1", 0},
      {"!~0", 0},
      {"2--1", 3},
      {"2-+1", 1},
      {"(.s64)(.u64)-8/3", 0xfffffffffffffffe},
      {"(.u64)(-8)/3", 0x5555555555555552},
      {"-(.u64)8/3", 0x5555555555555552},
      {"0x10U+1", 17},
      {"010+0b11", 11},
      {"-WARP_SZ*2", 0xffffffffffffffc0},
      {"1.0<2.0", 1},
  };
  for (const auto& [text, expected] : kValues) EXPECT_EQ(value(text), expected) << text;
  EXPECT_EQ(value("-(1.5)*2.0"), std::bit_cast<std::uint64_t>(-3.0));
  // ptxas stops with an arithmetic exception.
  EXPECT_EQ(value("(-9223372036854775807-1)/-1"), 0x8000000000000000);
}

TEST(ConstantExpression, ErrorsNameTheirPlace) {
  EXPECT_EQ(error("4 + 1/0"), "t:1:6: division by zero in a constant expression");
  EXPECT_EQ(error("1 ? 2 : 3 % 0"), "t:1:11: division by zero in a constant expression");
  EXPECT_EQ(error("(1+2"),
            "t:1:5: expected \")\" at the end of a constant expression, found the end of the file");
  EXPECT_EQ(error("1 ? 2"),
            "t:1:6: expected \":\" between the two values of \"?\", found the end of the file");
  EXPECT_EQ(error("1 + "), "t:1:5: expected a number, found the end of the file");
  EXPECT_EQ(error("7%2"), "");  // %2 is a register: the expression ends before it, as in ptxas
  EXPECT_EQ(error("(.s32)5"), "t:1:2: a constant is cast to .s64 or .u64, not .s32");
  EXPECT_EQ(error("1 + 2.0"), "t:1:3: \"+\" takes two integers, or two floats such as 1.5");
  EXPECT_EQ(error("1.0 << 2.0"), "t:1:5: \"<<\" takes integers");
  EXPECT_EQ(error("~1.0"), "t:1:1: \"~\" of a float");
  for (const std::string_view deep : {"(", "-(", "~", "1?", "!", "- "}) {
    std::string text;
    for (int i = 0; i < 100'000; ++i) text += deep;
    EXPECT_THAT(error(text), testing::HasSubstr("nested more than 200 deep")) << deep;
  }
  std::string sum = "1";
  for (int i = 0; i < 10'000; ++i) sum += "+1*2-(1)";
  EXPECT_EQ(value(sum), 10'001u) << "length is no depth";
}

// Where ptxas takes them.
TEST(ConstantExpression, StandInOperandsAddressesAndInitialValues) {
  const PtxModule module = test::parsed(std::string(test::kHeader) + R"(
.global .align 8 .u64 cell[WARP_SZ];
.global .u32 x[] = {1+2, ~0, 3*4 , WARP_SZ*2};
.global .u8 low = 255+1;
.global .u64 at[] = {cell+8*2, generic(cell)+4<<1};
.entry k() {
.reg .b32 %r<4>; .reg .b64 %d<4>; .reg .pred %p<2>;
mov.u32 %r0, (1+2)*3;
setp.eq.u32 %p0|%p1, %r0, 4|1;
setp.eq.and.u32 %p0, %r0, !5, !%p1;
ld.global.u32 %r0, [%d0+4<<1];
ld.global.u32 %r0, [%d0+4-8+(2)];
ld.local.u32 %r0, [(4+4)*2];
mov.u64 %d0, cell+8*2;
mov.u64 %d0, cell+(8-4);
ret;
})");
  EXPECT_EQ(module.variables[0].bytes, 256);
  const auto word = [&](std::size_t i) { return static_cast<int>(module.variables[1].initial[i]); };
  EXPECT_THAT((std::array{word(0), word(4), word(7), word(8), word(12)}),
              ElementsAre(3, 255, 255, 12, 64));
  EXPECT_EQ(static_cast<int>(module.variables[2].initial[0]), 0);
  EXPECT_EQ(module.variables[3].relocations[0].addend, 16);
  EXPECT_EQ(module.variables[3].relocations[1].addend, 8);
  const auto& code = module.functions[0].instructions;
  EXPECT_EQ(code[0].operands[1].value, 9u);
  EXPECT_EQ(code[1].operands[2].value, 5u);
  EXPECT_EQ(code[2].operands[2].value, 0u);
  EXPECT_EQ(code[2].operands[3].kind, OperandKind::reg);
  EXPECT_TRUE(code[2].operands[3].negated);
  EXPECT_EQ(code[3].operands[1].offset, 8);
  EXPECT_EQ(code[4].operands[1].offset, -2);
  EXPECT_EQ(code[5].operands[1].offset, 16);
  EXPECT_EQ(code[6].operands[1].offset, 16);
  EXPECT_EQ(code[7].operands[1].offset, 4);
}

// Sizes are one number, in ptxas too.
TEST(ConstantExpression, IsNoArraySize) {
  const auto error_of = [](std::string_view size) {
    return test::error_of(std::string(test::kHeader) + ".global .u32 x[" + std::string(size) +
                          "];");
  };
  EXPECT_THAT(error_of("2+2"),
              testing::HasSubstr("expected \"]\" after an array size, which is one "
                                 "number or WARP_SZ, found \"+\""));
  EXPECT_THAT(error_of("-1"), testing::HasSubstr("an array size must be an integer from 0 to"));
}

}  // namespace
}  // namespace plumbline::emulator
