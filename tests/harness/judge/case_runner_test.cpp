// SPDX-License-Identifier: MIT
// What goes wrong below a case stays that case's error.
#include "harness/judge/case_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

#include "tests/harness/tiny_gemm.h"

namespace plumbline {
namespace {

template <typename Exception>
CaseRecord record_when_reading_throws(const Exception& exception) {
  const Result<Manifest> kernel =
      parse_manifest(tiny_gemm_manifest("entry = \"k\"\nparameters = [\"ptr d\"]"), "k.toml");
  EXPECT_TRUE(kernel.ok()) << kernel.error().text();
  Case test_case;
  test_case.kernel = &*kernel;
  test_case.problem = Problem(kernel->schema());
  for (const std::string_view size : {"m", "n", "k"}) test_case.problem.set_integer(size, 8);
  RunnerOptions options;
  options.image = [&](const Manifest&, int) -> Result<std::string> { throw exception; };
  return CaseRunner(options).run(test_case, {.sm = 80}).value();
}

TEST(CaseRunner, MemoryThatRunsOutIsAnErrorOfTheCase) {
  const CaseRecord record = record_when_reading_throws(std::bad_alloc());
  EXPECT_EQ(record.verdict, Verdict::error);
  EXPECT_THAT(record.reason, ::testing::HasSubstr("needs more memory than is free"));
}

TEST(CaseRunner, AnExceptionIsAnErrorOfTheCase) {
  const CaseRecord record = record_when_reading_throws(std::runtime_error("no such row"));
  EXPECT_EQ(record.verdict, Verdict::error);
  EXPECT_THAT(record.reason, ::testing::HasSubstr("internal error: no such row"));
}

TEST(CaseRunner, ADefinitionWithoutAValueIsAnErrorAtItsPlace) {
  const CaseRecord record = record_when_reading_throws(
      Undefined({ErrorKind::bad_input, "a division by 0", "made.op:2:16", ""}));
  EXPECT_EQ(record.verdict, Verdict::error);
  EXPECT_EQ(record.reason, "made.op:2:16: a division by 0");
}

// A text of some megabytes would be parsed for every case of a plan.
TEST(CaseRunner, APtxThatDoesNotLoadIsReadOnce) {
  const Result<Manifest> kernel =
      parse_manifest(tiny_gemm_manifest("entry = \"k\"\nparameters = [\"ptr d\"]"), "k.toml");
  ASSERT_TRUE(kernel.ok()) << kernel.error().text();
  Case test_case;
  test_case.kernel = &*kernel;
  test_case.problem = Problem(kernel->schema());
  for (const std::string_view size : {"m", "n", "k"}) test_case.problem.set_integer(size, 8);
  int read = 0;
  RunnerOptions options;
  options.image = [&](const Manifest&, int) -> Result<std::string> {
    ++read;
    return std::string(".version 8.7\n.target sm_80\n.visible .entry k() { bra nowhere; }\n");
  };
  CaseRunner runner(options);
  for (int i = 0; i < 3; ++i) {
    const CaseRecord record = runner.run(test_case, {.sm = 80}).value();
    EXPECT_EQ(record.verdict, Verdict::error);
    EXPECT_THAT(record.reason, ::testing::HasSubstr(":3:"));
  }
  EXPECT_EQ(read, 1);
}

}  // namespace
}  // namespace plumbline
