// SPDX-License-Identifier: MIT
// A kernel's line at several widths, and what is told beyond it.
#include "harness/cli/text/kernel_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace plumbline {
namespace {

using ::testing::Contains;
using ::testing::EndsWith;
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
  k.worst_ulp = 4;
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
            "99 % within 0.75 ulp of bf16");
  EXPECT_EQ(line_at(passing(), 80),
            "attention_bf16_backward  1,204 cases  3.2M compared  0.75 ulp");
  EXPECT_EQ(line_at(passing(), 60), "attention_bf16_backward  1,204 cases  3.2M compared");
  for (const int width : {60, 80, 120})
    EXPECT_LE(line_at(passing(), width).size() + 8, static_cast<std::size_t>(width));
}

TEST(KernelLine, OneOutputIsNotPlural) {
  KernelRecord k = passing();
  k.compared = 1;
  EXPECT_THAT(line_at(k, 120), HasSubstr("   1 output compared  "));
}

TEST(KernelLine, SaysNoErrorThatTellsNothing) {
  KernelRecord k = passing();
  k.worst_share = 1;  // as every kernel has of an arithmetic that the contract fixes
  EXPECT_THAT(line_at(k, 120, {}), EndsWith("outputs compared"));
  EXPECT_THAT(kernel_details(k), Not(Contains(HasSubstr("largest error"))));
  EXPECT_THAT(line_at(k, 120, RepresentativeError{0, "s8"}), HasSubstr("99 % exact"));
  k.worst_share = 0.5;
  EXPECT_THAT(kernel_details(k), Contains("largest error: 50 % of its bound"));
  k.worst_share = 3;
  EXPECT_THAT(line_at(k, 120), HasSubstr("largest error 3 x what is allowed"));
  k.worst_share = std::numeric_limits<double>::infinity();
  EXPECT_THAT(line_at(k, 120), Not(HasSubstr("allowed"))) << "a wrong value of no size";
  k.errors = k.cases;
  EXPECT_THAT(line_at(k, 120), HasSubstr("nothing could be judged"));
}

TEST(KernelLine, ReasonsAreOfKernelsThatAnswerForSomething) {
  KernelRecord k = passing();
  k.population = "a bias of 0.1 ulp";
  EXPECT_THAT(kernel_reasons(k), IsEmpty());
  EXPECT_THAT(kernel_details(k), Contains("all errors at once: a bias of 0.1 ulp"));
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
