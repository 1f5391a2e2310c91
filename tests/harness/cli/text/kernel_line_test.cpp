// SPDX-License-Identifier: MIT
// A kernel's line at several widths, and what is told beyond it.
#include "harness/cli/text/kernel_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace plumbline {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

KernelRecord passing() {
  KernelRecord k;
  k.name = "attention_bf16_backward";
  k.cases = k.passed = 1204;
  k.outputs = 3'211'500;
  k.compared = 3'211'408;
  k.worst_share = 0.5;
  return k;
}

const RepresentativeError kError = {0.75, "bf16"};

std::string line_at(const KernelRecord& kernel, int width,
                    const std::optional<RepresentativeError>& error = kError) {
  return kernel_figures(kernel, error, kernel_columns({kernel}, width));
}

TEST(KernelLine, FitsItsWidthAndLosesTheLastColumnsFirst) {
  EXPECT_EQ(line_at(passing(), 120),
            "attention_bf16_backward   1,204 cases   3,211,408 outputs compared   "
            "0.75 ulp of bf16 where nothing cancels");
  EXPECT_EQ(line_at(passing(), 80),
            "attention_bf16_backward  1,204 cases  3.2M compared  0.75 ulp");
  EXPECT_EQ(line_at(passing(), 60), "attention_bf16_backward  1,204 cases  3.2M compared");
  for (const int width : {60, 80, 120})
    EXPECT_LE(line_at(passing(), width).size() + 8, static_cast<std::size_t>(width));
}

TEST(KernelLine, WithoutATellingErrorHasItsShareOfWhatIsAllowed) {
  KernelRecord k = passing();
  EXPECT_THAT(line_at(k, 120, {}), HasSubstr("largest error 50 % of what is allowed"));
  EXPECT_THAT(line_at(k, 120, RepresentativeError{0, "s8"}),
              HasSubstr("exact where nothing cancels"));
  k.worst_share = 3;
  EXPECT_THAT(line_at(k, 120), HasSubstr("largest error 3 x what is allowed"));
  k.worst_share = std::numeric_limits<double>::infinity();
  EXPECT_THAT(line_at(k, 120), Not(HasSubstr("allowed"))) << "a wrong value of no size";
  k.errors = k.cases;
  EXPECT_THAT(line_at(k, 120), HasSubstr("nothing could be judged"));
}

TEST(KernelLine, AnErrorTellsWhereValuesHaveOneSign) {
  RunRecord record;
  const auto add = [&](const char* value_class, const char* format, double ulp) {
    CaseRecord& c = record.cases.emplace_back();
    c.kernel = "k";
    c.value_class = value_class;
    OutputRecord& output = c.outputs.emplace_back();
    output.name = "d";
    output.format = format;
    output.verdict.compared = 1;
    output.verdict.worst_ulp = ulp;
  };
  add("cancelling", "bf16", 3e41);
  EXPECT_FALSE(representative_error(record, "k"));
  add("positive", "f32", 2e4);
  add("positive", "bf16", 0.5);
  add("positive", "bf16", 0.25);
  const std::optional<RepresentativeError> telling = representative_error(record, "k");
  ASSERT_TRUE(telling);
  EXPECT_EQ(telling->ulp, 0.5);
  EXPECT_EQ(telling->format, "bf16");
  add("positive", "bf16", 1e29);  // x - y of positive ones
  EXPECT_FALSE(representative_error(record, "k"));
  record.kernels.push_back({.name = "k", .worst_relative = 0.25});  // of sums that do not cancel
  EXPECT_TRUE(representative_error(record, "k"));
}

TEST(KernelLine, ReasonsAreOfKernelsThatAnswerForSomething) {
  KernelRecord k = passing();
  k.population = "a bias of 0.1 ulp";
  EXPECT_THAT(kernel_reasons(k), IsEmpty());
  EXPECT_THAT(kernel_details(k), testing::Contains("all errors at once: a bias of 0.1 ulp"));
  k.mistrusted_because = {"every case gave the same output bits"};
  EXPECT_THAT(kernel_reasons(k), testing::ElementsAre("every case gave the same output bits"));
}

TEST(KernelLine, TimesSayWhatTheyAre) {
  KernelRecord k = passing();
  k.elapsed_ms = 65'000;
  EXPECT_EQ(kernel_details(k).back(), "its cases took 1 min 5 s, the wall time of each added up");
}

}  // namespace
}  // namespace plumbline
