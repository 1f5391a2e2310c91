// SPDX-License-Identifier: MIT
// Operations that a text says, as manifests and problems know them: fields and tensors, what a
// kernel may leave out, which inputs are refused, what a failure is explained by.
#include "kernels/ops/text_operation.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <atomic>
#include <set>

#include "oracles/exact/parallel.h"
#include "tests/kernels/manifest/manifest_files.h"
#include "tests/kernels/ops/operation_case.h"

namespace plumbline {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

// A kernel of a text, with these formats and other sections.
Result<Manifest> kernel_of(const std::string& text, const std::string& sections) {
  const TemporaryFolder folder;
  folder.write("made.op", text);
  return read_manifest(
      folder.write("made.toml",
                   "computes = \"made.op\"\nsummary = \"a kernel of the tests\"\n"
                   "source = \"made.cu\"\ntargets = [80]\nentry = \"made\"\nparameters = []\n" +
                       sections + "\n[launch]\ngrid = [1]\nblock = [32]\n"));
}

std::string refusal(const std::string& text, const std::string& sections) {
  const Result<Manifest> kernel = kernel_of(text, sections);
  return kernel ? "" : kernel.error().text();
}

std::vector<std::string> tensors_of(const Manifest& kernel, std::string_view problem) {
  const Result<std::vector<TensorSpec>> specs =
      kernel.tensors(*parse_problem(kernel.schema(), problem));
  EXPECT_TRUE(specs.ok()) << (specs ? "" : specs.error().text());
  std::vector<std::string> names;
  for (const TensorSpec& spec : *specs) names.push_back(spec.name);
  return names;
}

CaseTensors zeros(const Manifest& kernel, const Problem& problem) {
  CaseTensors tensors{*kernel.tensors(problem), {}};
  for (const TensorSpec& spec : tensors.specs) tensors.tensors.emplace_back(spec.layout);
  return tensors;
}

TEST(TextOperation, FieldsAndTensorsAreThoseOfTheText) {
  const Manifest kernel = shipped_kernel("add_rmsnorm_bf16");
  const TextOperation& operation = *as_text(*kernel.operation);
  EXPECT_EQ(operation.name(), "add_rmsnorm.op");
  std::vector<std::string> fields;
  for (const Field& field : kernel.schema()) fields.emplace_back(field.name);
  EXPECT_THAT(fields, IsSupersetOf({"m", "n", "out", "eps", "pad_x", "pad_residual", "pad_y"}));
  EXPECT_THAT(tensors_of(kernel, "m=2 n=3"),
              ElementsAre("x", "residual", "gamma", "residual_out", "y"));
  EXPECT_TRUE(operation.may_be_empty("m"));
  EXPECT_FALSE(operation.may_be_empty("n")) << "a mean over no columns";
}

TEST(TextOperation, RowsLieAsFarApartAsTheirPaddingSays) {
  const Manifest kernel = shipped_kernel("rotary_neox_bf16");
  const std::vector<TensorSpec> specs =
      *kernel.tensors(*parse_problem(kernel.schema(), "t=2 heads=3 d=8 positions=5 rot=4 pad_q=2"));
  EXPECT_THAT(specs.front().layout.strides, ElementsAre(30, 10, 1));
}

TEST(TextOperation, AKernelMayLeaveOutWhatTheTextSaysIsThereOtherwise) {
  const std::string text =
      "operation scale(x[n], gamma[n] = 1, beta[n] = 0) -> y[n], twice[n]?\n"
      "  y[i] = x[i] * gamma[i] + beta[i]\n  twice[i] = 2 * y[i]\n";
  const Result<Manifest> kernel =
      kernel_of(text, "[formats]\nx = \"f32\"\nbeta = \"f32\"\ny = \"f32\"\n");
  ASSERT_TRUE(kernel.ok()) << kernel.error().text();
  EXPECT_THAT(tensors_of(*kernel, "n=4"), ElementsAre("x", "beta", "y"));
  EXPECT_THAT(refusal(text, "[formats]\ny = \"f32\"\n"), HasSubstr("x"));
}

TEST(TextOperation, IntegersAreWhereTheTextSays) {
  const OperationCase made("gather_rows_bf16", "v=5 n=4 t=3", 80, {}, [](CaseTensors& tensors) {
    for (std::int64_t i = 0; i < 3; ++i)
      tensors.find("row")->set_bits(i, static_cast<std::uint32_t>(i - 1));
  });
  CaseTensors wrong = made.tensors;
  wrong.find("row")->set_bits(1, 5);
  const Status status = made.kernel.operation->check_values(made.problem, wrong);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().text(), HasSubstr("element 1 of row is 5, and its text says -1 .. 5"));
  EXPECT_THAT(status.error().text(), HasSubstr("gather_rows.op:2:"));
}

TEST(TextOperation, IndicesMayHave64Bits) {
  const Result<Manifest> kernel = kernel_of(
      "operation made(x[n], at[n]: s64 in -100 .. n) -> y[n], back[n]: s64, far[n]: s64\n"
      "  y[i] = where(at[i] < 0, 0, x[max(at[i], 0)])\n  back[i] = at[i] * 3000000000\n"
      "  far[i] = at[i] + 134217728 * 67108864 + 1\n",
      "[formats]\nx = \"f32\"\ny = \"f32\"\n");
  ASSERT_TRUE(kernel.ok()) << kernel.error().text();
  const Problem problem = *parse_problem(kernel->schema(), "n=3");
  CaseTensors tensors = zeros(*kernel, problem);
  EXPECT_EQ(tensors.find("at")->layout.storage_bytes(), 24);
  tensors.find("at")->set_bits(0, static_cast<std::uint64_t>(std::int64_t{-100}));
  tensors.find("at")->set_bits(1, 2);
  EXPECT_TRUE(kernel->operation->check_values(problem, tensors).ok());
  const auto oracle = kernel->operation->oracle(problem, *kernel, 80, tensors);
  Tensor got(tensors.find("back")->layout);
  got.set_bits(0, static_cast<std::uint64_t>(std::int64_t{-300'000'000'000}));
  got.set_bits(1, 6'000'000'000);
  EXPECT_TRUE(oracle->judge(1, got, {}).failures.empty());
  got.set_bits(1, 6'000'000'001);
  EXPECT_EQ(oracle->judge(1, got, {}).failures.size(), 1u);
  Tensor far(tensors.find("far")->layout);
  const std::uint64_t least = (std::uint64_t{1} << 53) + 1;
  far.set_bits(0, least - 100);
  far.set_bits(1, least + 2);
  far.set_bits(2, least);
  EXPECT_TRUE(oracle->judge(2, far, {}).failures.empty());
  far.set_bits(2, least - 1);
  const OutputVerdict verdict = oracle->judge(2, far, {});
  ASSERT_EQ(verdict.failures.size(), 1u);
  EXPECT_EQ(verdict.failures[0].expected, least);
  EXPECT_THAT(oracle->explain(2, 2, far).lines,
              Contains(HasSubstr("gives 9007199254740993; the kernel stored 9007199254740992")));
  const auto complaint = [&](std::uint64_t at) {
    tensors.find("at")->set_bits(1, at);
    return kernel->operation->check_values(problem, tensors).error().text();
  };
  // Beyond 2^53 neighbors are one double, and two integers.
  EXPECT_THAT(complaint(std::uint64_t{1} << 53), HasSubstr("texts take integers below 2^53"));
  EXPECT_THAT(complaint(std::uint64_t{1} << 32), HasSubstr("and its text says -100 .. 3"));
}

// Of a table that an index leaves under a condition, the element that is read is named.
TEST(TextOperation, SubscriptsThatAreDataStayInside) {
  const Result<Manifest> kernel =
      kernel_of("operation next(x[n], at[n]: s32 in 0 .. n) -> y[n]\n  y[i] = x[at[i] + 1]\n",
                "[formats]\nx = \"f32\"\ny = \"f32\"\n");
  ASSERT_TRUE(kernel.ok()) << kernel.error().text();
  const Problem problem = *parse_problem(kernel->schema(), "n=3");
  CaseTensors tensors = zeros(*kernel, problem);
  EXPECT_TRUE(kernel->operation->check_values(problem, tensors).ok());
  tensors.find("at")->set_bits(2, 2);
  const Status status = kernel->operation->check_values(problem, tensors);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().text(), HasSubstr("made.op:2:"));
}

// No data are needed to see these.
TEST(TextOperation, WhatCannotHaveAValueIsRefusedWhenTheKernelIsRead) {
  const auto with = [](const char* value) {
    return refusal(fmt::format("operation made(x[m, n]) -> y[m, n]\n  y[i, j] = {}\n", value),
                   "[formats]\nx = \"f32\"\ny = \"f32\"\n");
  };
  EXPECT_THAT(with("x[i, j] - x[-1, j]"), HasSubstr("made.op:2:23: with m=1 n=1"));
  EXPECT_THAT(with("x[min(i, -3), j]"), HasSubstr("'x' is read at element -3 of a dimension of 1"));
  EXPECT_THAT(with("x[i % (n - n), j]"), HasSubstr("a division by 0"));
  EXPECT_THAT(with("x[i, j] + i // (n // 4)"), HasSubstr("a division by 0"));
  EXPECT_THAT(with("x[i, j] + (i - 1) * 9000000000000000 * 9000000000000000"),
              HasSubstr("an integer that 64 bits cannot hold"));
  EXPECT_THAT(with("sum[k in i - 1 .. n] x[i, k]"), HasSubstr("is read at element -1"));
  EXPECT_EQ(with("x[i - i // 4 * 4 + i // 4 * 4, j]"), "") << "bounds of its parts say less";
  EXPECT_THAT(
      refusal("operation made(x[n], z[m]) -> y[n]\n  part[i] = sum[k] (x[k] * z[k]) for i < n\n"
              "  y[i] = where(x[i] > 0, part[i], 0)\n",
              "[formats]\nx = \"f32\"\nz = \"f32\"\ny = \"f32\"\n"),
      HasSubstr("an index of this sum goes through 1 in one tensor and through"));
  // An element that has no value, and that nothing reads.
  EXPECT_EQ(
      refusal("operation made(x[n]) -> y[n]\n  part[i] = x[max(i - 1, -1)] * (100 // i) for i < n\n"
              "  y[i] = where(i > 0, part[i], 0)\n",
              "[formats]\nx = \"f32\"\ny = \"f32\"\n"),
      "");
}

// The subscript leaves only between the ends of its index: the text has no value there, and no
// kernel is right.
TEST(TextOperation, WhatHasNoValueIsAnErrorOfTheCase) {
  const Result<Manifest> kernel = kernel_of(
      "operation made(x[n]) -> y[n]\n  y[i] = x[0 * i // (2 - i)]\n",
      "[formats]\nx = \"f32\"\ny = \"f32\"\n[[domain]]\nrequire = 'n == 6'\nreason = \"here\"\n");
  ASSERT_TRUE(kernel.ok()) << kernel.error().text();
  const Problem problem = *parse_problem(kernel->schema(), "n=6");
  const CaseTensors tensors = zeros(*kernel, problem);
  const auto oracle = kernel->operation->oracle(problem, *kernel, 80, tensors);
  const Tensor got(tensors.find("y")->layout);
  try {
    (void)oracle->judge(0, got, {});
    ADD_FAILURE() << "a verdict without a definition";
  } catch (const Undefined& undefined) {
    EXPECT_THAT(undefined.error().text(), HasSubstr("made.op:2:18: a division by 0"));
  }
}

TEST(TextOperation, JudgingEndsWhereItIsGivenUp) {
  const OperationCase made("add_rmsnorm_bf16", "m=64 n=100", 80);
  const Tensor got(made.tensors.find("y")->layout);
  std::atomic<bool> flag = false;
  const GiveUpOn when_asked(&flag);
  EXPECT_NO_THROW((void)made.oracle->judge(1, got, {}));
  flag = true;
  EXPECT_THROW((void)made.oracle->judge(1, got, {}), GivenUp);
}

TEST(TextOperation, AWrongTextIsRefusedWithItsPlace) {
  EXPECT_THAT(refusal("operation made(x[n]) -> y[n]\n  y[i] = x[k]\n", "[formats]\nx = \"f32\"\n"),
              HasSubstr("made.op:2:12: there is no 'k' here"));
  EXPECT_THAT(refusal("operation a(x[n]) -> y[n]\n  y[i] = x[i]\noperation b(x[n]) -> y[n]\n"
                      "  y[i] = x[i]\n",
                      "[formats]\nx = \"f32\"\n"),
              HasSubstr("of 2 operations none is called made"));
}

TEST(TextOperation, ManifestsAreHeldAgainstTheText) {
  const std::string text = "operation made(x[n], s = 2) -> y[n]: e4m3\n  y[i] = x[i] * s\n";
  EXPECT_THAT(refusal(text, "[formats]\nx = \"f32\"\ny = \"bf16\"\n"), HasSubstr("e4m3"));
  EXPECT_THAT(refusal(text, "[formats]\nx = \"f32\"\nz = \"bf16\"\n"), HasSubstr("z"));
  EXPECT_THAT(refusal(text, "[problem]\nfree = [\"t\"]\n[formats]\nx = \"f32\"\n"), HasSubstr("t"));
  EXPECT_THAT(refusal(text, "[formats]\nx = \"f32\"\n[contract]\nfunctions = \"quick\"\n"),
              HasSubstr("it is one of \"fast\", \"approx\", \"precise\""));
}

// cvt makes 0 of NaN.
TEST(TextOperation, NanInAnIntegerOutputIsZero) {
  const Result<Manifest> kernel = kernel_of("operation made(x[n]) -> q[n]: s8\n  q[i] = x[i] * 2\n",
                                            "[formats]\nx = \"f32\"\n");
  ASSERT_TRUE(kernel.ok()) << kernel.error().text();
  const Problem problem = *parse_problem(kernel->schema(), "n=3");
  CaseTensors tensors = zeros(*kernel, problem);
  tensors.find("x")->set_bits(0, 0x7fc00000);
  tensors.find("x")->set_bits(1, 0x7f800000);
  const auto oracle = kernel->operation->oracle(problem, *kernel, 80, tensors);
  Tensor got(tensors.find("q")->layout);
  got.set_bits(1, 127);
  EXPECT_TRUE(oracle->judge(0, got, {}).failures.empty());
  got.set_bits(0, 1);
  EXPECT_EQ(oracle->judge(0, got, {}).failures.size(), 1u);
}

// The sizes that these shapes give, and those that they do not: "groups=2 half=3, not n".
std::string found_sizes(const std::string& text, const std::string& formats,
                        const TextOperation::Shapes& shapes) {
  const Result<Manifest> kernel = kernel_of(text, "[formats]\n" + formats);
  if (!kernel) return kernel.error().text();
  const TextOperation& operation = *as_text(*kernel->operation);
  std::set<std::string, std::less<>> unknown(operation.sizes().begin(), operation.sizes().end());
  Problem problem(kernel->schema());
  operation.find_sizes(shapes, unknown, problem);
  std::string out;
  for (const std::string& size : operation.sizes())
    out += unknown.contains(size) ? fmt::format(" not {}", size)
                                  : fmt::format(" {}={}", size, problem.integer(size));
  return out;
}

TEST(TextOperation, SizesFollowFromShapes) {
  const std::string text =
      "operation made(x[m, 2 n + 1], w[groups * half, n], s[groups]) -> y[m, n]\n"
      "  y[i, j] = x[i, 2 * j] * w[0, j] * s[0]\n";
  const std::string formats = "x = \"f32\"\nw = \"f32\"\ns = \"f32\"\ny = \"f32\"\n";
  EXPECT_EQ(found_sizes(text, formats, {{"x", {4, 11}}, {"w", {6, 5}}, {"s", {2}}}),
            " m=4 n=5 groups=2 half=3");
  EXPECT_EQ(found_sizes(text, formats, {{"y", {4, 7}}}), " m=4 n=7 not groups not half");
  EXPECT_EQ(found_sizes(text, formats, {{"x", {4, 10}}, {"w", {6, 5}}}),
            " m=4 n=5 not groups not half");
  EXPECT_EQ(found_sizes(text, formats, {{"x", {4}}, {"other", {3}}}),
            " not m not n not groups not half");
}

TEST(TextOperation, FieldsOfEveryProblemHaveTheirNames) {
  const std::string formats = "[formats]\nx = \"f32\"\ny = \"f32\"\n";
  EXPECT_THAT(
      refusal("operation made(x[n], offset = 0.0) -> y[n]\n  y[i] = x[i] + offset\n", formats),
      HasSubstr("made.op:1:22: 'offset' is a word of its cases"));
  EXPECT_THAT(refusal("operation made(x[2 seed]) -> y[seed]\n  y[i] = x[i]\n", formats),
              HasSubstr("made.op:1:16: 'seed' is a word of its cases"));
  EXPECT_THAT(
      refusal("operation made(x[m, n], pad_x = 0.5) -> y[m, n]\n  y[i, j] = x[i, j]\n", formats),
      HasSubstr("made.op:1:25: 'pad_x' is a word of its cases"));
}

TEST(TextOperation, WhatIsChosenIsJudgedBeforeWhatReadsIt) {
  const Manifest kernel = shipped_kernel("topk_softmax_f32");
  const auto follows = kernel.operation->follows();
  ASSERT_EQ(follows.size(), 1u);
  EXPECT_EQ(follows[0].output, "weight");
  EXPECT_EQ(follows[0].from, "id");
}

TEST(TextOperation, AUnitOfTensorCoresHasASumToAdd) {
  const std::string formats =
      "[formats]\na = \"{}\"\nb = \"bf16\"\nd = \"f32\"\n[contract]\nunit = \"{}\"\n";
  const auto with = [&](const char* format, const char* unit) {
    return refusal(
        "operation made(a[m, k], b[k, n]) -> d[m, n]\n  d[i, j] = sum[l] (a[i, l] * b[l, j])\n",
        fmt::format(fmt::runtime(formats), format, unit));
  };
  EXPECT_EQ(with("bf16", "mma.sync"), "");
  EXPECT_THAT(with("f32", "mma.sync"),
              HasSubstr("no sum of made.op is one of products that mma.sync multiplies on sm_80"));
  EXPECT_THAT(with("bf16", "wgmma"), HasSubstr("wgmma multiplies on sm_80"));
  EXPECT_THAT(with("bf16", "mma.snyc"), HasSubstr("mma.sync"));
}

TEST(TextOperation, AFailureIsExplainedByItsLine) {
  const OperationCase made("add_rmsnorm_bf16", "m=1 n=4 out=f32", 80);
  Tensor got(made.tensors.find("y")->layout);
  const Explanation explanation = made.oracle->explain(1, 2, got);
  ASSERT_GE(explanation.lines.size(), 3u);
  EXPECT_THAT(explanation.lines[0], HasSubstr("residual'[0, 2] is "));
  EXPECT_THAT(explanation.lines[1], HasSubstr("rstd[0] is "));
  EXPECT_THAT(explanation.lines[2], HasSubstr("line 6 of "));
  EXPECT_THAT(explanation.lines[2], HasSubstr("; stored 0"));
}

}  // namespace
}  // namespace plumbline
