// SPDX-License-Identifier: MIT
// Names in nested { } scopes, as inline assembly makes them.
#include <gtest/gtest.h>

#include "tests/harness/emulator/ptx_text.h"

namespace plumbline::emulator {
namespace {

using test::body;

int register_of(const Function& function, std::size_t instruction, std::size_t operand) {
  return function.instructions.at(instruction).operands.at(operand).index;
}

TEST(Scopes, SiblingScopesHaveTheirOwnRegisters) {
  const Function function = body(R"(.reg .b32 %r<2>;
{ .reg .pred p; setp.eq.b32 p, %r1, 0; }
{ .reg .pred p; setp.eq.b32 p, %r1, 0; })");
  EXPECT_NE(register_of(function, 0, 0), register_of(function, 1, 0));
  EXPECT_EQ(register_of(function, 0, 1), register_of(function, 1, 1));
  EXPECT_EQ(function.registers[0].name, "p@2");
  EXPECT_EQ(function.registers[2].name, "p@3");
}

TEST(Scopes, InnerNamesHideOuterOnesUntilTheScopeEnds) {
  const Function function = body(R"(.reg .b32 x;
mov.b32 x, 1;
{ .reg .b64 x; mov.b64 x, 2; { .reg .b16 x; mov.b16 x, 3; } mov.b64 x, 4; }
mov.b32 x, 5;)");
  EXPECT_EQ(register_of(function, 0, 0), register_of(function, 4, 0));
  EXPECT_EQ(register_of(function, 1, 0), register_of(function, 3, 0));
  EXPECT_EQ(function.registers.size(), 3u);
  EXPECT_EQ(function.registers[register_of(function, 2, 0)].bits, 16);
}

TEST(Scopes, AnInnerRangeHidesAnOuterOne) {
  const Function function = body(R"(.reg .b32 t<8>;
mov.b32 t3, 1;
{ .reg .b64 t<4>; mov.b64 t3, 2; mov.b32 t5, 3; }
mov.b32 t3, 4;
mov.b32 t5, 5;)");
  EXPECT_EQ(function.registers[register_of(function, 0, 0)].bits, 32);
  EXPECT_EQ(function.registers[register_of(function, 1, 0)].bits, 64);
  EXPECT_EQ(register_of(function, 0, 0), register_of(function, 3, 0));
  EXPECT_EQ(register_of(function, 2, 0), register_of(function, 4, 0));
}

TEST(Scopes, RegistersFirstMentionedInsideBelongToTheScopeThatDeclaresThem) {
  const Function function = body(R"(.reg .b32 %r<4>;
{ mov.b32 %r1, 1; }
mov.b32 %r1, 2;)");
  EXPECT_EQ(function.registers.size(), 1u);
  EXPECT_EQ(function.registers[0].name, "%r1");
}

TEST(Scopes, RangePrefixesMayEndInDigits) {
  const Function function = body(R"(.reg .b32 %r1<5>; .reg .b64 %r<10>;
mov.b32 %r14, 1;
mov.b64 %r9, 1;)");
  EXPECT_EQ(function.registers[0].bits, 32);
  EXPECT_EQ(function.registers[1].bits, 64);
}

TEST(Scopes, LabelsRepeatInSiblingScopes) {
  const Function function = body(R"(
{ LAB: bra LAB; bra DONE; DONE: }
{ LAB: bra LAB; bra DONE; DONE: }
ret;)");
  const auto target = [&](std::size_t i) {
    return function.labels[function.instructions[i].operands[0].index].target;
  };
  EXPECT_EQ(target(0), 0);
  EXPECT_EQ(target(1), 2);
  EXPECT_EQ(target(2), 2);
  EXPECT_EQ(target(3), 4);
  EXPECT_NE(function.labels[0].name, function.labels[2].name);
}

TEST(Scopes, BranchesLeaveAScopeForwardsAndBackwards) {
  const Function function = body(R"(
BACK: { { bra BACK; bra AHEAD; } AHEAD_NOT: }
AHEAD: ret;)");
  const auto target = [&](std::size_t i) {
    return function.labels[function.instructions[i].operands[0].index].target;
  };
  EXPECT_EQ(target(0), 0);
  EXPECT_EQ(target(1), 2);
}

TEST(Scopes, AnInnerLabelIsNearerThanAnOuterOne) {
  const Function function = body(R"(
X: ret;
{ bra X; ret; X: exit; })");
  EXPECT_EQ(function.labels[function.instructions[1].operands[0].index].target, 3);
}

TEST(Scopes, ALabelLaterInTheScopeBetweenIsNearerToo) {
  const Function function = body(R"(
X: ret;
{ { bra X; } ret; X: exit; })");
  EXPECT_EQ(function.labels[function.instructions[1].operands[0].index].target, 3);
}

TEST(Scopes, LabelsMayEndTheFunction) {
  const Function function = body("bra END; END:");
  EXPECT_EQ(function.labels[0].target, 1);
}

TEST(Scopes, CallSequencesRedeclareParameters) {
  const Function function = body(R"(
{ .param .b64 param0; st.param.b64 [param0+0], 1; }
{ .param .align 8 .b8 param0[24]; st.param.b64 [param0+8], 1; })");
  ASSERT_EQ(function.variables.size(), 2u);
  EXPECT_EQ(function.variables[0].space, Space::param);
  EXPECT_EQ(function.variables[1].bytes, 24);
  EXPECT_EQ(function.instructions[1].operands[0].elements[0].index, 1);
}

}  // namespace
}  // namespace plumbline::emulator
