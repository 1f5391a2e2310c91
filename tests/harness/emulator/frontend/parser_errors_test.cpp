// SPDX-License-Identifier: MIT
// Every error names its place and what was expected. Bodies begin at line 5 (see ptx_text.h).
#include <gtest/gtest.h>

#include "tests/harness/emulator/ptx_text.h"

namespace plumbline::emulator {
namespace {

using test::error_of;
using test::kernel;

struct Case {
  std::string_view text;
  std::string_view error;
};

void expect_errors(std::initializer_list<Case> cases, std::string (*module_of)(std::string_view)) {
  for (const Case& c : cases) EXPECT_EQ(error_of(module_of(c.text)), c.error) << c.text;
}

std::string as_module(std::string_view text) {
  return std::string(test::kHeader) + std::string(text);
}

std::string as_is(std::string_view text) { return std::string(text); }

TEST(ParserErrors, Headers) {
  expect_errors(
      {
          {"",
           "t.ptx:1:1: there is no .version before this (PTX begins with .version, .target and "
           ".address_size)"},
          {".target sm_80\n.entry k() { ret; }",
           "t.ptx:2:1: there is no .version before this (PTX begins with .version, .target and "
           ".address_size)"},
          {".version 9.0\n.entry k() { ret; }",
           "t.ptx:2:1: there is no .target before this (such as .target sm_80)"},
          {".version 42.0",
           "t.ptx:1:10: PTX version 42.0 is not supported (versions 3.x to 9.x are)"},
          {".version 9", "t.ptx:1:10: \"9\" is not a PTX version such as 9.0"},
          {".version x", "t.ptx:1:10: expected a version such as 9.0, found \"x\""},
          {".version 9.0\n.version 9.0", "t.ptx:2:1: a second .version (one PTX module per file)"},
          {".version 9.0\n.target sm_", "t.ptx:2:9: \"sm_\" is not a target such as sm_80"},
          {".version 9.0\n.target sm_80, sm_90", "t.ptx:2:16: a second target"},
          {".version 9.0\n.target sm_80\n.address_size 32",
           "t.ptx:3:15: only 64-bit addresses are supported (compile for 64 bits)"},
          {"hello", "t.ptx:1:1: expected a directive such as .visible .entry, found \"hello\""},
          {"\x7f"
           "ELF",
           "t.ptx:1:1: unexpected byte 0x7f"},
      },
      as_is);
}

TEST(ParserErrors, Statements) {
  expect_errors(
      {
          {".reg .b32 %r<4>;\nadd.s32 %r1, %r2",
           "t.ptx:7:1: expected \";\" at the end of an instruction, found \"}\""},
          {".reg .b32 %r<4>;\nadd.s32 %r1 %r2;",
           "t.ptx:6:13: expected \";\" at the end of an instruction, found \"%r2\""},
          {".reg .b32 %r<4>;\nadd.s32 %r1, ;", "t.ptx:6:14: expected an operand, found \";\""},
          {".reg .b32 %r<4>;\nld.b32 %r1, [%r2;",
           "t.ptx:6:17: expected \"]\" at the end of an address, found \";\""},
          {".reg .b32 %r<4>;\nld.b32 %r1, [];",
           "t.ptx:6:14: expected a register, a variable or a number in an address, found \"]\""},
          {".reg .b32 %r<4>;\nld.v2.b32 {%r1, %r2, [%r3];",
           "t.ptx:6:22: expected an operand, found \"[\""},
          {".reg .b32 %r<4>;\nld.v2.b32 {%r1, %r2; [%r3];",
           "t.ptx:6:20: expected \"}\" or \",\" in a vector operand, found \";\""},
          {".reg .b32 %r<4>;\n@%r1 ret;", "t.ptx:6:2: \"%r1\" is not a predicate register"},
          {"@ret;", "t.ptx:5:2: \"ret\" is not declared"},
          {"123;", "t.ptx:5:1: expected an instruction, a label or a declaration, found \"123\""},
          {"mov.b32 0f1, 2;",
           "t.ptx:5:9: \"0f1\" is not a number that fits in 64 bits (integers: 12, 12U, 0x1F, 017, "
           "0b101; floats: 0f and 8, 0d and 16 hexadecimal digits, or 1.5e-3)"},
          {"ret;\n\"x", "t.ptx:6:1: string without a closing quote"},
          {"ret;\n\xc3\xa9;", "t.ptx:6:1: unexpected byte 0xc3"},
          {".reg .b32 %r<4>;\nmov.b32 %r1.x, 2;",
           "t.ptx:6:12: \"%r1\".x selects a part of an operand, which is not supported"},
          {".branchtargets A;", "t.ptx:5:1: \".branchtargets\" needs a label before it"},
          {".reg .b32 i;\nbrx.idx i, A;",
           "t.ptx:6:12: \"A\" is not a list of branch targets (declare it before: A: "
           ".branchtargets label, ...;)"},
          {"call p;", "t.ptx:5:6: \"p\" is not a function"},
          {".reg .v4 .f32 x;", "t.ptx:5:6: vector registers are not supported"},
          {".reg .b33 x;", "t.ptx:5:6: \".b33\" is not a register type"},
          {".reg .b32 %r<0>;",
           "t.ptx:5:14: a register count must be an integer from 1 to 1099511627776"},
          {".reg .b32 %r<4;", "t.ptx:5:15: expected \">\" after a register count, found \";\""},
          {".shared .b32 x = 4;",
           "t.ptx:5:16: only .global and .const variables can have an initial value"},
          {".local .b32 x[];", "t.ptx:5:13: \"x\" has neither a size nor an initial value"},
          {".loc 1", "t.ptx:6:1: expected a line number, found \"}\""},
      },
      kernel);
}

TEST(ParserErrors, UnknownNames) {
  expect_errors(
      {
          {".reg .b32 %r<4>, count;\nadd.s32 %r1, cuont, 2;",
           "t.ptx:6:14: \"cuont\" is not declared (did you mean \"count\"?)"},
          {".reg .b32 %r<4>;\nadd.s32 %r1, %r4, 2;",
           "t.ptx:6:14: register \"%r4\" is not declared (%r<4> ends at %r3)"},
          {".reg .b32 %r<4>;\nmov.b32 %r1, %tdi.x;",
           "t.ptx:6:14: \"%tdi\" is not declared (did you mean \"%tid\"?)"},
          {".reg .b32 %r<4>;\nmov.b32 %r01, 1;",
           "t.ptx:6:9: register \"%r01\" is not declared (%r<4> ends at %r3)"},
          {".reg .b64 %rd<4>;\nld.param.u64 %rd1, [q];", "t.ptx:6:21: \"q\" is not declared"},
          {"bra LOPO;\nLOOP: ret;",
           "t.ptx:5:5: label \"LOPO\" is not defined (did you mean \"LOOP\"?)"},
          {"bra X;\n{ X: ret; }",
           "t.ptx:5:5: label \"X\" is not defined (the label of that name at line 6 is inside "
           "another { } scope)"},
          {"call not_declared_here;", "t.ptx:5:6: \"not_declared_here\" is not declared"},
          {"{ .reg .b32 x; }\n{ mov.b32 x, 1; }", "t.ptx:6:11: \"x\" is not declared"},
      },
      kernel);
  EXPECT_EQ(error_of(as_module(".global .u64 x[1] = {y};")), "t.ptx:4:22: \"y\" is not declared");
}

TEST(ParserErrors, Duplicates) {
  expect_errors(
      {
          {".reg .b32 x;\n.reg .b64 x;", "t.ptx:6:11: \"x\" is already declared in this scope"},
          {".reg .b32 %r<4>;\n.reg .b64 %r<5>;",
           "t.ptx:6:11: %r<4> is already declared in this scope"},
          {"A: ret;\nA: ret;",
           "t.ptx:6:1: label \"A\" is already defined in this scope, at line 5"},
      },
      kernel);
  EXPECT_EQ(error_of(as_module(".entry k() { ret; }\n.entry k() { ret; }")),
            "t.ptx:5:8: function \"k\" is already defined at line 4");
  EXPECT_EQ(error_of(as_module(".global .b32 x;\n.global .b32 x;")),
            "t.ptx:5:14: \"x\" is already declared at line 4");
  EXPECT_EQ(error_of(as_module(".global .b32 x;\n.func x();")),
            "t.ptx:5:7: \"x\" is already declared as a variable");
  EXPECT_EQ(error_of(as_module(".func x();\n.global .b32 x;")),
            "t.ptx:5:14: \"x\" is already declared as a function");
}

TEST(ParserErrors, Declarations) {
  expect_errors(
      {
          {".global .align 3 .b8 x;", "t.ptx:4:16: alignment 3 is not a power of two"},
          {".global x;", "t.ptx:4:9: expected a type such as .b32, found \"x\""},
          {".global .q8 x;", "t.ptx:4:9: \".q8\" is not a type"},
          {".global .pred x;", "t.ptx:4:9: a predicate cannot be in memory"},
          {".global .b8 x[1099511627776][2];", "t.ptx:4:13: \"x\" is larger than 2^40 bytes"},
          {".global .b8 x[2][];",
           "t.ptx:4:17: only the first dimension of an array may be left open"},
          {".global .b8 x[2] = {1, 2, 3};", "t.ptx:4:27: more values than \"x\" has room for"},
          {".global .b8 x[2] = {{1}, {2}};",
           "t.ptx:4:21: \"x\" has 1 dimensions, this is one { more"},
          {".global .b8 x[2] = {256, 0};", "t.ptx:4:21: the value does not fit a .b8"},
          {".global .b8 x[2] = {-129, 0};", "t.ptx:4:21: the value does not fit a .b8"},
          {".global .b32 x = 1.5;", "t.ptx:4:18: a float cannot initialize a .b32"},
          {".global .f16 x = 1.5;",
           "t.ptx:4:18: a .f16 is initialized by its bits, such as 0x3C00"},
          {".global .b16 x = y;", "t.ptx:4:18: an address does not fit a .b16"},
          {".global .u64 x = mask(y);",
           "t.ptx:4:18: \"mask\"() is not supported in an initial value"},
          {".global .b8 x[1000000000] = {{}};",
           "t.ptx:4:30: \"x\" has 1 dimensions, this is one { more"},
          {".global .b8 x[3][100000000] = {{1}, {2}};",
           "t.ptx:4:38: the initial values of this module are too large for its text"},
          {".entry k(.b32 x) { ret; }", "t.ptx:4:10: expected .param or .reg, found \".b32\""},
          {".entry k(.param .b32 x { ret; }",
           "t.ptx:4:24: expected \")\" or \",\" in the list of parameters, found \"{\""},
          {".entry k(.param .b32 x, .param .b32 x) { ret; }",
           "t.ptx:4:1: \"x\" is already declared in this scope"},
          {".entry k() { ret; ",
           "t.ptx:4:19: expected \"}\" at the end of function \"k\", found the end of the file"},
          {".section .x { ", "t.ptx:4:13: \"{\" without its \"}\""},
          {".tex .u32 t;", "t.ptx:4:1: the .tex space is not supported"},
      },
      as_module);
}

TEST(ParserErrors, NestingIsBounded) {
  const std::string deep(100'000, '{');
  EXPECT_EQ(error_of(kernel(deep)), "t.ptx:5:200: { } nested more than 200 deep");
  EXPECT_EQ(error_of(as_module(".section .x " + deep)), "t.ptx:4:13: \"{\" without its \"}\"");
  EXPECT_EQ(error_of(as_module(".global .b8 x[2] = " + deep)),
            "t.ptx:4:21: \"x\" has 1 dimensions, this is one { more");
}

TEST(ParserErrors, RangesAreBounded) {
  EXPECT_EQ(error_of(kernel(".reg .b32 %r<16777217>;")),
            "t.ptx:5:11: %r<16777217> declares too many registers (at most 16777216)");
}

TEST(ParserErrors, LongNamesAreCutInMessages) {
  const std::string name(100'000, 'x');
  const std::string error = error_of(kernel("bra " + name + "; " + name + "y: ret;"));
  EXPECT_LT(error.size(), 200u);
  EXPECT_TRUE(error.starts_with("t.ptx:5:5: label \"xxx")) << error;
}

TEST(ParserErrors, AnUnknownOpcodeIsNotTheParsersBusiness) {
  EXPECT_EQ(error_of(kernel("frobnicate.v9 1, 2;")), "no error");
}

}  // namespace
}  // namespace plumbline::emulator
