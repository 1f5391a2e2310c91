// SPDX-License-Identifier: MIT
// Texts of operations: what is read from them, and what each wrong one is told, with its place.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "oracles/base/file.h"
#include "oracles/base/random.h"
#include "oracles/text/instance.h"
#include "tests/folders.h"

namespace plumbline::text {
namespace {

Result<std::shared_ptr<const Program>> checked(const std::string& text) {
  const Result<std::vector<OperationText>> parsed = parse_operations(text, "a.op");
  if (!parsed) return parsed.error();
  return check_operation(parsed->back());
}

// "line:column: message (hint)", or "" where nothing is wrong.
std::string complaint(const std::string& text) {
  const auto program = checked(text);
  return program ? "" : program.error().text().substr(5);
}

struct Wrong {
  const char* text;
  const char* complaint;
};

// Those that begin with two spaces are steps of y[i, j] in an operation with x[m, n] and row[m].
const Wrong kWrong[] = {
    {"", "1:48: no step computes 'y' (add y[...] = ...)"},
    {"x", "1:1: expected 'operation', not 'x' (a text is operation name(...) and its steps)"},
    {"operation", "1:10: expected the operation's name, not the end of the line"},
    {"operation f", "1:12: expected '(', not the end of the line"},
    {"operation f(x[m)", "1:16: expected ']', not ')'"},
    {"operation f(x[m]) -> y[m]", "1:22: no step computes 'y' (add y[...] = ...)"},
    {"operation f(x[m])\n  t[i] = x[i]",
     "1:11: the operation has no output (add -> y[m, n], or write inout behind an input)"},
    {"operation f(x[m], x[n]) -> y[m]\n  y[i] = x[i]",
     "1:19: 'x' is there twice (use another name)"},
    {"operation f(exp[m]) -> y[m]\n  y[i] = exp[i]",
     "1:13: 'exp' is a function (use another name)"},
    {"operation f(x[m]: s16) -> y[m]\n  y[i] = x[i]",
     "1:19: there is no type 's16' (types are int, s8, u8, s32, s64, bf16, f16, f32, e4m3, e5m2, "
     "e2m1, ue8m0)"},
    {"operation f(x[m]: s32) -> y[m]\n  y[i] = x[i]",
     "1:13: which integers can 'x' have? (write x[...]: s32 in 0 .. n, without n itself)"},
    {"operation f(x[n], max = 1) -> y[n]\n y[i] = x[i] * max",
     "1:19: 'max' is a function (use another name)"},
    {"operation f(x[n]) -> y[n]\n y[i] = x[i] * sum",
     "2:16: 'sum' is a function, which an index follows (sum[j] x[j]; if a size or a step is "
     "meant, use another name)"},
    {"operation a(x[n] in 2 .. -1) -> y[n]\n y[i] = x[i]", "1:21: there is no value from 2 to -1"},
    {"operation a(x[n]: s32 in 3 .. 3) -> y[n]\n y[i] = x[i]",
     "1:26: there is no value from 3 to 3"},
    {"operation f(x[m], s) -> y[m]\n  y[i] = x[i] * s",
     "1:19: the scalar 's' has no default (write s = 1, or what is usual)"},
    {"operation f(x[m]) -> y\n  y = x[0]", "1:22: the output 'y' has no sizes (write y[m])"},
    {"operation f(x[m]) -> y[m]: u8\n  y[i] = x[i]",
     "1:22: the output 'y' cannot be u8 (outputs are s64, s32, s8, or real numbers)"},
    {"operation f(x[m, n]) -> y[m]\n  y[i] = top[j, 0] x[i, j]",
     "2:3: top[...] is the whole right side of an output that every kernel has (write id[i, s] = "
     "top[j, s] x[i, j] for an output id[m, k]: s32)"},
    {"operation f(x[m, n]) -> y[m]: s32?\n  y[i] = top[j, 0] x[i, j]",
     "2:3: top[...] is the whole right side of an output that every kernel has (write id[i, s] = "
     "top[j, s] x[i, j] for an output id[m, k]: s32)"},
    {"operation f(x[m, n]) -> y[m]: s32\n  y[i] = top[j] x[i, j]",
     "2:15: expected ',' and a rank, not ']' (top[j, 0] x[j] is where the largest is)"},
    {"operation f(x[m, n]) -> y[m]: s32\n  y[i] = top[j, j] x[i, j]",
     "2:17: 'j' is the index of a reduction, and this is outside of it (a sum takes one factor, or "
     "what is in parentheses: sum[j] ((1 - x[j]) * y[j]))"},
    {"operation f(x[m, n]) -> y[m]: s32\n  y[i] = top[j, m - 1] x[i, j]",
     "2:3: a rank is a number, or an index of the left side (as s in id[i, s])"},
    {"operation f(x[m, n]) -> y[m]: s32\n  y[i] = top[j, 0 if x[i, j] > 0] x[i, j]",
     "2:10: the condition of top compares real numbers (put -inf for what does not count: top[j, "
     "0] "
     "where(c, x[j], -inf))"},
    {"operation f(x[x]) -> y[m]\n  y[i] = x[i]", "1:15: 'x' is a tensor, and no size"},
    {"operation f(x[m / 2]) -> y[m]\n  y[i] = x[i]",
     "1:17: a size must be an integer, and m / 2 is not (// divides integers)"},
    {"operation f(x[m]) -> y[m]\n  y[i] = x[i]\n  y[i] = x[i] +",
     "3:16: expected a number, a name or '(', not the end of the line"},
    {"  y[i, j] = x[i, j", "3:1: expected ']', not the end of the line"},
    {"  y[i, j] = x[i]", "2:13: 'x' has 2 sizes, and 1 subscript here"},
    {"  y[i, j] = sum[k] (1 - x[i, k]) * x[i, k]",
     "2:41: 'k' is the index of a reduction, and this is outside of it (a sum takes one factor, or "
     "what is in parentheses: sum[j] ((1 - x[j]) * y[j]))"},
    {"  y[i, j] = mean[k] x[i, k]",
     "2:21: expected the end of the line, or 'for' and the steps' indices, not 'x' (a product is "
     "written with *; reductions are sum, max, min, count and top)"},
    {"  y[i, j] = x[i, j]\noperation f(x[n]) -> y[n]\n  y[i] = x[i]",
     "3:11: there is an operation 'f' above (give one of them another name)"},
    {"  y[i, j] = x[i, k]",
     "2:18: there is no 'k' here (it is no size, scalar, tensor, index or step above)"},
    {"  y[i, j] = z[i, j]",
     "2:13: there is no 'z' here (it is no size, scalar, tensor, index or step above)"},
    {"  y[i, j] = x[i, j] < 1",
     "2:3: 'y' is an output: a number, and no condition (write where(..., 1, 0))"},
    {"  y[i, j] = where(x[i, j], 1, 0)",
     "2:19: x[i, j] is no condition (as in x[i] > 0, j <= i, a and b)"},
    {"  y[i, j] = x[i, 0.5]", "2:18: a subscript must be an integer, and 0.5 is not"},
    {"  y[i, j] = x[i, j / 2]",
     "2:20: a subscript must be an integer, and j / 2 is not (// divides integers)"},
    {"  y[i, j] = x[i, x[i, j]]", "2:18: a subscript must be an integer, and x[i, j] is not"},
    {"  y[i, j] = exp(x[i, j], 1)", "2:13: exp takes 1 argument, not 2"},
    {"  y[i, j] = sum x[i, j]",
     "2:13: 'sum' is a function, which an index follows (sum[j] x[j]; if a size or a step is "
     "meant, use another name)"},
    {"  y[i, j] = sum[j] x[i, j]", "2:17: the index 'j' is in use here (use another letter)"},
    {"  y[i, j] = sum[k] 1",
     "2:17: nothing says how far 'k' goes (write sum[k < n], or put what is added up in "
     "parentheses)"},
    {"  y[i, j] = x[i, j]^3",
     "2:21: expected 2, not '3' (other powers are products, or exp(log(a) * b))"},
    {"  y[i, j] = x[i, j] $ 2",
     "2:21: '$' has no meaning here (a text is names, numbers and + - * / // % ^ ( ) [ ] , : = < > "
     "? ->)"},
    {"  y[i, j] = 1e999", "2:13: 1e999 is no number that f64 can hold"},
    {"  y[i, j] = 5 // x[i, j]", "2:18: each side of // must be an integer, and x[i, j] is not"},
    {"  y[i + j, j] = x[i, j]",
     "2:7: a subscript on the left side has at most one index (as in y[i, 2 * c + 1])"},
    {"  y[i * i, j] = x[i, j]",
     "2:7: a subscript on the left side has at most one index (as in y[i, 2 * c + 1])"},
    {"  y[i, j] = x[i, j] for k < n", "2:25: 'k' is no index of the left side"},
    {"  y[i, j] = largest(2) * x[i, j]",
     "2:21: largest(q) is the largest number of a tensor's format: name the tensor"},
    {"  y[i, j] = x'[i, j]", "2:13: there is no 'x'' here (did you mean \"x\"?)"},
    {"  x[i, j] = 1\n  y[i, j] = 1",
     "2:3: 'x' is an input (give the step another name, or write inout behind x)"},
    {"  t[i] = u[i] for i < m\n  u[i] = 1 for i < m\n  y[i, j] = t[i]",
     "2:10: there is no 'u' here (it is no size, scalar, tensor, index or step above)"},
    {"  t[i] = 1\n  y[i, j] = t[i]",
     "2:3: nothing says how far 'i' goes (write t[...] = ... for i < n)"},
    {"  t[i] = 1 for i < m\n  t[i] = 2 for i < m\n  y[i, j] = t[i]",
     "3:3: there are two steps 't' (only outputs are written in pieces)"},
    {"  y[i, j] = 1 < 2 < 3",
     "2:19: expected the end of the line, or 'for' and the steps' indices, not '<'"},
    {"  t[i] = 1\n      for i < m",
     "3:7: a step begins here, and 'for' cannot begin one (a line goes on in the next one behind "
     "an "
     "operator or a comma, or inside brackets)"},
    {"  y[i, j] = x[i, j]\noperation g = gradient of h wrt x",
     "3:27: there is no operation 'h' above (write it above its gradient, in the same file)"},
    {"  y[i, j] = x[i, j]\noperation g = gradient of f",
     "3:28: expected 'wrt', not the end of the line (write operation g = gradient of f wrt x, y "
     "saving z)"},
    {"  y[i, j] = x[i, j]\noperation g = slope of f wrt x",
     "3:15: expected 'gradient', not 'slope' (write operation g = gradient of f wrt x, y saving "
     "z)"},
    {"  y[i, j] = x[i, j]\noperation g = gradient of f wrt y",
     "3:33: 'y' is no input of f (wrt takes tensors that the operation reads)"},
    {"  y[i, j] = x[i, j]\noperation g = gradient of f wrt x, x", "3:36: 'x' is there twice"},
    {"  y[i, j] = x[i, j]\noperation g = gradient of f wrt row",
     "3:33: 'row' has integers, and no gradient"},
    {"  y[i, j] = floor(x[i, j])\noperation g = gradient of f wrt x",
     "3:33: no output of f changes with 'x' (remove it from wrt)"},
    {"  y[i, j] = x[i, j]\noperation g = gradient of f wrt x saving z",
     "3:42: f computes no 'z' (saving takes steps and outputs; inputs are read where they are "
     "needed)"},
    {"  y[i, j] = x[i, j]\noperation g = gradient of f wrt x saving y",
     "3:42: the gradient does not read 'y' (remove it from saving)"},
    {"  big[i] = max[k] x[i, k]\n  y[i, j] = x[i, j] - big[i]\n"
     "operation g = gradient of f wrt x",
     "2:12: max[...] has no derivative where elements are equal (write detach(max[k] x[i, k]) if "
     "the operation does not depend on it, as softmax does not on the maximum, or write the "
     "gradient as a text of its own)"},
    {"  y[i, j] = x[i, z]\noperation g = gradient of f wrt x",
     "2:18: there is no 'z' here (it is no size, scalar, tensor, index or step above)"},
    {"  t[i] = 1 for i < m", "1:48: no step computes 'y' (add y[...] = ...)"},
};

std::string whole(std::string text) {
  return text.starts_with("  ") || text.empty()
             ? "operation f(x[m, n], row[m]: s32 in 0 .. n) -> y[m, n]\n" + text + "\n"
             : text;
}

TEST(OperationText, EveryWrongOneIsToldWhereAndWhat) {
  for (const Wrong& one : kWrong) EXPECT_EQ(complaint(whole(one.text)), one.complaint) << one.text;
}

// What is written and what is read back of it are the same operation.
TEST(OperationText, TreesAreWrittenAsTheyWereRead) {
  for (const std::string expression :
       {"x[i, j] + 1 - 2 * n", "-(x[i, j] + 1)", "x[i, n - 1 - j] / (1 + exp(-x[i, j]))",
        "(x[i, j] - max[k] x[i, k])^2", "where(i < 2 and not (j == 1 or j > 4), 1, 0)",
        "sum[k < n if k != j] (x[i, k] * 2)", "x[i, (j + 7) // 2 % n]"}) {
    const std::string head = "operation f(x[m, n]) -> y[m, n]\n  y[i, j] = ";
    const auto parsed = parse_operations(head + expression, "a.op");
    ASSERT_TRUE(parsed.ok()) << expression << parsed.error().text();
    const std::string once = text_of(*parsed->front().steps.front().value);
    const auto again = parse_operations(head + once, "a.op");
    ASSERT_TRUE(again.ok()) << once << again.error().text();
    EXPECT_EQ(text_of(*again->front().steps.front().value), once);
  }
}

TEST(OperationText, TheCommentAboveIsWhatItIsAbout) {
  const auto parsed = parse_operations(
      "# Of no operation.\n\n# Doubles.\n# All of them.\noperation f(x[m]) -> y[m]  # here\n"
      "  y[i] = 2 x[i]\n",
      "a.op");
  ASSERT_TRUE(parsed.ok()) << parsed.error().text();
  EXPECT_EQ(parsed->front().about, "Doubles.\nAll of them.");
}

TEST(OperationText, EditorsMayMarkTheOrderOfBytesAndEndLinesTwice) {
  EXPECT_EQ(complaint("\xef\xbb\xbfoperation f(x[m]) -> y[m]\r\n\ty[i] = 2 x[i]\r\n"), "");
}

// The examples of docs/operation_texts.md.
TEST(OperationText, TheExamplesOfItsPageAreRight) {
  const Result<std::string> page = read_text_file(
      std::string(PLUMBLINE_SOURCE_DIR) + "/docs/operation_texts.md", "the page", 1 << 20);
  ASSERT_TRUE(page.ok());
  int examples = 0;
  for (std::size_t at = page->find("```op\n"); at != page->npos; at = page->find("```op\n", at)) {
    at += 6;
    const std::string example = page->substr(at, page->find("```", at) - at);
    EXPECT_EQ(complaint(example), "") << example;
    ++examples;
  }
  EXPECT_EQ(examples, 8);
}

Result<Instance> sized(const std::string& text, std::vector<std::int64_t> sizes) {
  const auto program = checked(text);
  EXPECT_TRUE(program.ok()) << (program ? "" : program.error().text());
  Setting setting;
  setting.sizes = std::move(sizes);
  setting.present.assign((*program)->inputs.size(), true);
  setting.formats.assign((*program)->text.parameters.size(), FormatId::f32);
  return Instance::make(*program, std::move(setting));
}

TEST(OperationText, PiecesOfAnOutputCoverItOnce) {
  const std::string head = "operation f(x[n]) -> y[n]\n";
  const std::string even = "  y[2 * i] = x[i] for i < (n + 1) // 2\n";
  EXPECT_TRUE(sized(head + even + "  y[2 * i + 1] = 1 for i < n // 2\n", {7}).ok());
  const auto told = [&](const std::string& steps) {
    const Result<Instance> instance = sized(head + steps, {7});
    return instance ? "" : instance.error().text();
  };
  EXPECT_EQ(told(even),
            "a.op:2:3: nothing computes element 1 of 'y' (an element that keeps its value is "
            "written out, too: q[i, c] = q[i, c] for ...)");
  EXPECT_EQ(told(even + "  y[i] = 1\n"),
            "a.op:3:3: element 0 of 'y' is written twice (line 2 writes it, too)");
  EXPECT_EQ(told(even + "  y[2 * i + 1] = 1 for i < n\n"),
            "a.op:3:3: this line writes element 7 of a dimension of 7 (give its index an end that "
            "fits, or exclude such sizes from the domain)");
  EXPECT_EQ(told("  y[3 * i] = 1 for i < 3\n  y[2 * i + 1] = 1 for i < 3\n"),
            "a.op:3:3: element 3 of 'y' is written twice (line 2 writes it, too)");
}

// Pieces are compared as sets, so that a large tensor takes no longer than a small one.
TEST(OperationText, PiecesOfManyDimensionsCoverAnOutputOnce) {
  const std::string head = "operation f(x[a, b, c]) -> y[a, b, c]\n";
  const std::string left = "  y[i, j, k] = 1 for k < c // 2\n";
  const auto told = [&](const std::string& steps) {
    const Result<Instance> instance = sized(head + left + steps, {1 << 13, 1 << 13, 1 << 14});
    return instance ? "" : instance.error().text();
  };
  EXPECT_EQ(told("  y[i, j, k + c // 2] = 2 for k < c // 2\n"), "");
  EXPECT_EQ(told("  y[2 * i, j, k + c // 2] = 2 for i < a // 2, k < c // 2\n"
                 "  y[2 * i + 1, j, k + c // 2] = 3 for i < a // 2, k < c // 2\n"),
            "");
  EXPECT_NE(told("  y[i, j, k + c // 2] = 2 for i < a - 1, k < c // 2\n").find("nothing computes"),
            std::string::npos);
  EXPECT_NE(told("  y[i, j, k + c // 2 - 1] = 2 for k < c // 2\n").find("written twice"),
            std::string::npos);
  EXPECT_NE(told("  y[i, i, k + c // 2] = 2 for k < c // 2\n").find("two subscripts"),
            std::string::npos);
}

// Subscripts are tried at the ends of all indices together, but not of long expressions: with them
// this takes minutes.
TEST(OperationText, ManyIndicesAroundManySubscriptsAreCheckedSoon) {
  std::string text = "operation f(x[n]) -> y[n]\n  y[i] = ", terms, index;
  for (int k = 0; k < 10; ++k) {
    text += fmt::format("sum[a{} < 2] ", k);
    index += fmt::format("a{} + ", k);
  }
  for (int k = 0; k < 900; ++k)
    terms += fmt::format("{}x[({}{}) % n]", k > 0 ? " + " : "", index, k);
  for (int k = 0; k < 50; ++k) EXPECT_TRUE(sized(text + "(" + terms + ")", {7}).ok());
  EXPECT_FALSE(sized(text + "x[" + index + "0]", {7}).ok());
}

// Nothing that a file may hold ends the program.
TEST(OperationText, HostileOnesAreRefused) {
  const std::string head = "operation f(x[m]) -> y[m]\n  y[i] = ";
  const auto many = [](const std::string& one, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += one;
    return out;
  };
  EXPECT_EQ(complaint(head + many("(", 100000) + "1" + many(")", 100000)),
            "2:210: more than 200 levels of brackets (give parts of the expression names, as steps "
            "of their own)");
  EXPECT_NE(complaint(head + many("-", 100000) + "1"), "");
  EXPECT_NE(complaint(head + "x[i]" + many(" + x[i]", 100000)), "");
  EXPECT_NE(complaint(head + many("not ", 100000) + "1"), "");
  EXPECT_NE(complaint("operation f(x[" + many("m, ", 100000) + "n]) -> y[m]\n  y[i] = 1"), "");
  std::string chain = "operation f(x[m]) -> y[m]\n  t0[i] = x[i]\n";
  for (int i = 1; i < 8000; ++i) chain += fmt::format("  t{}[i] = t{}[i] + 1\n", i, i - 1);
  EXPECT_NE(complaint(chain + "  y[i] = t7999[i]\n"), "");
  // What each step says of its size is what the first one said.
  std::string doubled = "operation f(x[m]) -> y[m]\n  t0[i] = x[i]\n";
  for (int i = 1; i < 200; ++i) doubled += fmt::format("  t{0}[i] = t{1}[i] + t{1}[i]\n", i, i - 1);
  EXPECT_EQ(complaint(doubled + "  y[i] = t199[i]\n"), "");
  std::string wide = "operation f(x[m]";
  for (int i = 0; i < 64; ++i) wide += fmt::format(", z{0}[n{0}] = 0", i);
  EXPECT_NE(complaint(wide + ") -> y[m]\n  y[i] = x[i]").find("more than 64 sizes"),
            std::string::npos);
  wide = "operation f(x[m]";
  for (int i = 0; i < 256; ++i) wide += fmt::format(", z{}[m] = 0", i);
  EXPECT_NE(complaint(wide + ") -> y[m]\n  y[i] = x[i]").find("more than 256 tensors"),
            std::string::npos);
  EXPECT_EQ(
      complaint(head + many("silu(", 100) + "x[i]" + many(")", 100)),
      "2:440: this takes more than 100000 operations when its functions are written out (give "
      "parts of the expression names, as steps of their own)");
  EXPECT_NE(complaint(head + many("(", 100) + "i" + many(")^2", 100)), "");
  const std::string gradient = "\noperation g = gradient of f wrt x\n";
  EXPECT_EQ(complaint(head + "x[i]" + many(" * x[i]", 900) + gradient),
            "3:11: the gradient is too long (give parts of long expressions names, as steps of "
            "their own)");
  EXPECT_NE(complaint(head + many("silu(", 190) + "x[i]" + many(")", 190) + gradient), "");
  std::string powers = head + "silu(x[i])^2\noperation f0 = gradient of f wrt x\n";
  for (int i = 1; i < 100; ++i)
    powers += fmt::format("operation f{} = gradient of f{} wrt x\n", i, i - 1);
  EXPECT_NE(complaint(powers), "");
}

TEST(OperationText, AnyEditIsReadOrRefusedWithItsPlace) {
  const std::string right =
      "operation f(x[m, 2 n], row[m]: s32 in 0 .. n or -1, s = 1e-6, g: int = 1) -> y[m, n]?\n"
      "  big[i] = max[k < n if k != row[i]] abs(x[i, k])\n"
      "  y[i, j] = where(row[i] < 0 or not big[i] > 0, 0, x[i, n + j]^2 / (s + big[i]) // 1)\n";
  const std::string letters = "xmni 0123[](){}<>=!+-*/%^.,:'?#$\n\"e_\t";
  Random random(1);
  int refused = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string text = right;
    for (std::uint64_t edits = 1 + random.below(3); edits > 0; --edits) {
      const std::size_t at = random.below(text.size());
      const char letter = letters[random.below(letters.size())];
      switch (random.below(3)) {
        case 0:
          text[at] = letter;
          break;
        case 1:
          text.insert(at, 1, letter);
          break;
        default:
          text.erase(at, 1 + random.below(4));
      }
    }
    const auto program = checked(text);
    if (program) continue;
    ++refused;
    EXPECT_TRUE(program.error().text().starts_with("a.op:")) << program.error().text();
  }
  EXPECT_GT(refused, 2000);
}

}  // namespace
}  // namespace plumbline::text
