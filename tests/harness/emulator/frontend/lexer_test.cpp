// SPDX-License-Identifier: MIT
#include "harness/emulator/frontend/lexer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace plumbline::emulator {
namespace {

using testing::ElementsAre;

std::vector<std::string> texts(std::string_view input) {
  std::vector<std::string> result;
  Lexer lexer(input);
  for (Token token = lexer.next(); token.kind != TokenKind::end; token = lexer.next()) {
    result.emplace_back(token.text);
  }
  return result;
}

Token first(std::string_view input) { return Lexer(input).next(); }

TEST(Lexer, SplitsAnInstruction) {
  EXPECT_THAT(texts("@!%p1 ld.global.v2.f32 {%f1,_}, [%rd1+-8];"),
              ElementsAre("@", "!", "%p1", "ld", ".global", ".v2", ".f32", "{", "%f1", ",", "_",
                          "}", ",", "[", "%rd1", "+", "-", "8", "]", ";"));
}

TEST(Lexer, KeepsColonsInsideAModifierButNotAfterALabel) {
  EXPECT_THAT(texts("cp.async.bulk.tensor.2d.shared::cluster.mbarrier::complete_tx::bytes"),
              ElementsAre("cp", ".async", ".bulk", ".tensor", ".2d", ".shared::cluster",
                          ".mbarrier::complete_tx::bytes"));
  EXPECT_THAT(texts("$L__BB0_1: ret"), ElementsAre("$L__BB0_1", ":", "ret"));
  EXPECT_THAT(texts(".a: :b"), ElementsAre(".a", ":", ":", "b"));
}

TEST(Lexer, TakesNumbersWhole) {
  for (const char* number :
       {"0", "12U", "0x1Fu", "0b101", "017", "0f3F800000", "0d3FF0000000000000", "9.0", "1.5e-3",
        "2E+5", "1e9", "0.", "1.e-3", "1.e5", "00.", ".5", ".5e-3", ".25E2"}) {
    const Token token = first(number);
    EXPECT_EQ(token.kind, TokenKind::number) << number;
    EXPECT_EQ(token.text, number);
  }
  EXPECT_THAT(texts("4-1"), ElementsAre("4", "-", "1"));
  EXPECT_THAT(texts("0x1e-1"), ElementsAre("0x1e", "-", "1"));
  EXPECT_THAT(texts("%tid.x"), ElementsAre("%tid", ".x"));
  EXPECT_THAT(texts("{0.,1.}"), ElementsAre("{", "0.", ",", "1.", "}"));
  EXPECT_THAT(texts("-.5;"), ElementsAre("-", ".5", ";"));
  EXPECT_THAT(texts("16.b8"), ElementsAre("16", ".b8"));
  EXPECT_THAT(texts("0x1F.e5 tex.1d.v4 a.5"),
              ElementsAre("0x1F", ".e5", "tex", ".1d", ".v4", "a", ".5"));
}

TEST(Lexer, TreatsCommentsAndMarkersAsBlank) {
  EXPECT_THAT(texts("a // b ; c\n/* d\n e */ f # line\n@@DWARF .byte 1\ng /* open"),
              ElementsAre("a", "f", "g"));
  EXPECT_THAT(texts("a/**/b/"), ElementsAre("a", "b", "/"));
}

TEST(Lexer, CountsLinesAndColumnsFromOne) {
  Lexer lexer("a\n\t b /*\n*/ c");
  EXPECT_EQ(lexer.next().column, 1);
  const Token b = lexer.next();
  EXPECT_EQ(b.line, 2);
  EXPECT_EQ(b.column, 3);
  const Token c = lexer.next();
  EXPECT_EQ(c.line, 3);
  EXPECT_EQ(c.column, 4);
  const Token end = lexer.next();
  EXPECT_EQ(end.kind, TokenKind::end);
  EXPECT_EQ(end.line, 3);
}

TEST(Lexer, StartsInTheMiddleOfAFile) {
  Lexer lexer("a\nb", 10, 20);
  const Token a = lexer.next();
  EXPECT_EQ(a.line, 10);
  EXPECT_EQ(a.column, 20);
  const Token b = lexer.next();
  EXPECT_EQ(b.line, 11);
  EXPECT_EQ(b.column, 1);
}

TEST(Lexer, MarksWhatIsNotPtx) {
  for (const char* text : {"\x01", "\xc3\xa9", "`", "\"open", "\"open\n\"", ".", ". reg"}) {
    EXPECT_EQ(first(text).kind, TokenKind::bad) << text;
  }
  EXPECT_EQ(first(std::string_view("\0", 1)).kind, TokenKind::bad);
  EXPECT_EQ(first("\"a \\\" b\"").text, "\"a \\\" b\"");
}

}  // namespace
}  // namespace plumbline::emulator
