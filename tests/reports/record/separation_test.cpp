// SPDX-License-Identifier: MIT
// What tells failing cases from the others: exactly, or nearly, or not at all.
#include "reports/record/separation.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/markdown.h"
#include "tests/reports/record/record_samples.h"

namespace plumbline {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

// Cases with these values of one field.
void add(std::vector<SortedCase>& cases, const std::string& name,
         const std::vector<std::string>& values, bool failed) {
  for (const std::string& value : values) cases.push_back({Fields{{name, value}}, failed});
}

std::string separation(const std::string& name, const std::vector<std::string>& failing,
                       const std::vector<std::string>& others) {
  std::vector<SortedCase> cases;
  add(cases, name, failing, true);
  add(cases, name, others, false);
  return what_separates(cases);
}

TEST(Separation, FindsAThreshold) {
  EXPECT_EQ(separation("k", {"65", "128", "511"}, {"1", "64", "8", "33"}),
            "all 3 have k > 64, and no other case does");
  EXPECT_EQ(separation("k", {"1", "3", "2"}, {"8", "4", "33"}),
            "all 3 have k < 4, and no other case does");
  EXPECT_EQ(separation("k", {"8", "8", "8"}, {"7", "9", "33"}),
            "all 3 have k = 8, and no other case does");
}

TEST(Separation, FindsTailsOfTiles) {
  EXPECT_EQ(separation("k", {"9", "17", "300", "20"}, {"8", "16", "512", "304", "24"}),
            "all 4 have k not a multiple of 8, and no other case does");
  EXPECT_EQ(separation("k", {"32", "512", "96"}, {"8", "1", "1000", "80", "33"}),
            "all 3 have k a multiple of 32, and no other case does");
}

TEST(Separation, FindsTheOneValueThatIsRight) {
  EXPECT_EQ(separation("m", {"0", "2", "2"}, {"1", "1", "1"}),
            "all 3 have m other than 1, and no other case does");
}

TEST(Separation, FindsWords) {
  EXPECT_EQ(separation("layout", {"tn", "tn", "tn"}, {"nt", "nn", "tt"}),
            "all 3 have layout=tn, and no other case does");
  EXPECT_EQ(separation("value class", {"ties", "ties", "large"}, {"normal", "ones", "normal"}),
            "all 3 have value class large or value class ties, and no other case does");
  EXPECT_EQ(separation("device", {"emulator sm_80", "emulator sm_80", "emulator sm_80"},
                       {"emulator sm_90", "emulator sm_90", "emulator sm_89"}),
            "all 3 run on emulator sm_80, and no other case does");
}

TEST(Separation, AFieldThatIsLeftOutHasItsDefault) {
  std::vector<SortedCase> cases(3, {Fields{}, true});
  add(cases, "bias", {"row", "column", "row"}, false);
  EXPECT_EQ(what_separates(cases), "all 3 have bias at its default, and no other case does");
  // A number that is left out is no number.
  std::vector<SortedCase> strides(3, {Fields{}, false});
  add(strides, "lda", {"40", "41", "48"}, true);
  EXPECT_EQ(what_separates(strides),
            "all 3 have lda=40 or lda=41 or lda=48, and no other case does");
}

TEST(Separation, CountsTheOthersThatHaveItToo) {
  std::vector<std::string> others(19, "8");
  others.push_back("99");
  EXPECT_EQ(separation("k", {"65", "128", "511"}, others),
            "all 3 have k > 8, as does 1 of the 20 that did not fail");
  others.push_back("70");
  EXPECT_EQ(separation("k", {"65", "128", "511"}, others),
            "all 3 have k > 8, as do 2 of the 21 that did not fail");
}

TEST(Separation, AnExactOneOfALaterFieldComesFirst) {
  std::vector<SortedCase> cases;
  for (int i = 0; i < 4; ++i) {
    cases.push_back({Fields{{"m", "70"}, {"layout", "tn"}}, true});
    cases.push_back({Fields{{"m", i == 0 ? "70" : "8"}, {"layout", "nn"}}, false});
  }
  EXPECT_EQ(what_separates(cases), "all 4 have layout=tn, and no other case does");
}

TEST(Separation, SaysNothingWhereNothingSeparates) {
  EXPECT_EQ(separation("k", {"1", "9", "64", "8"}, {"1", "9", "64", "8"}), "");
  EXPECT_EQ(separation("layout", {"a", "b", "c", "d"}, {"e", "f", "g"}), "");  // too many words
  // One failing case always has something of its own.
  EXPECT_EQ(separation("k", {"65", "66"}, {"1", "2", "3", "4"}), "");
  EXPECT_EQ(separation("k", {"65", "66", "67"}, {"1", "2"}), "");
  EXPECT_EQ(separation("k", {"65", "66", "67"}, {}), "");
  EXPECT_EQ(what_separates({}), "");
}

TEST(Separation, ReadsACasesText) {
  CaseRecord c = sample_case("gemm_bf16 m=8 n=9 layout=tn value=ties seed=0x1 bits=0xff",
                             Verdict::fail, "ties");
  const SortedCase sorted = sorted_case(c);
  EXPECT_TRUE(sorted.failed);
  EXPECT_EQ(sorted.fields, (Fields{{"value class", "ties"},
                                   {"device", "emulator sm_90"},
                                   {"m", "8"},
                                   {"n", "9"},
                                   {"layout", "tn"}}));
}

TEST(Separation, IsInTheRecordOfAKernel) {
  RunRecord record;
  record.kernels.resize(1);
  record.kernels[0].name = "gemm_bf16";
  for (int k = 1; k < 10; ++k) {
    record.cases.push_back(
        sample_case(fmt::format("gemm_bf16 m=8 k={} value=normal seed=0x{}", k, k),
                    k > 6 ? Verdict::fail : Verdict::pass, "normal"));
  }
  // What could not run is on neither side.
  record.cases.push_back(
      sample_case("gemm_bf16 m=8 k=100 value=normal seed=0x1", Verdict::error, "normal"));
  summarize(record);
  EXPECT_EQ(failures_line(record.kernels[0]),
            "3 of 10 cases failed; all 3 have k > 6, and no other case does");
  EXPECT_THAT(summary_markdown(record),
              testing::HasSubstr("`gemm_bf16`: 3 of 10 cases failed; all 3 have k \\> 6"));
  EXPECT_EQ(failures_line(KernelRecord{}), "");
  EXPECT_EQ(without_cases(record.kernels[0]).failing, "");
}

}  // namespace
}  // namespace plumbline
