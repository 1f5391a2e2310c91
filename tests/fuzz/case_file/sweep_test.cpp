// SPDX-License-Identifier: MIT
#include "fuzz/case_file/sweep.h"

#include <gtest/gtest.h>

#include "fuzz/case_file/corpus.h"
#include "tests/fuzz/kernel_under_test.h"

namespace plumbline {
namespace {

using Words = std::vector<std::string>;

TEST(Sweep, ListsAndRangesAreRead) {
  EXPECT_EQ(parse_sweep("keys=64..512")->values, (Words{"64", "128", "256", "512"}));
  EXPECT_EQ(parse_sweep("keys=64..300")->values, (Words{"64", "128", "256", "300"}));
  EXPECT_EQ(parse_sweep("keys=3,5..7,100")->values, (Words{"3", "5", "7", "100"}));
  EXPECT_EQ(parse_sweep("out=bf16,f32")->values, (Words{"bf16", "f32"}));
  EXPECT_EQ(parse_sweep("keys=1..9223372036854775807")->values.size(), 64u);
  EXPECT_EQ(parse_sweep("class=normal,outliers")->field, "value");
}

TEST(Sweep, WhatIsNoneSaysSo) {
  const auto message = [](const char* text) { return parse_sweep(text).error().message; };
  EXPECT_EQ(message("keys"), "\"keys\" is not FIELD=VALUES");
  EXPECT_EQ(message("=1,2"), "\"=1,2\" is not FIELD=VALUES");
  EXPECT_EQ(message("keys=1 2"), "\"keys=1 2\" is not FIELD=VALUES");
  EXPECT_EQ(message("keys="), "\"keys=\" has an empty value");
  EXPECT_EQ(message("keys=1,,2"), "\"keys=1,,2\" has an empty value");
  EXPECT_EQ(message("keys=64"), "a sweep needs at least two values");
  EXPECT_EQ(message("keys=8..x"), "\"8..x\" is no range of two rising integers above 0");
  EXPECT_EQ(message("keys=8..4"), "\"8..4\" is no range of two rising integers above 0");
  EXPECT_EQ(message("keys=0..4"), "\"0..4\" is no range of two rising integers above 0");
  EXPECT_EQ(message("keys=8,16,8"), "keys=8 is given twice");
}

TEST(Sweep, ReplacesOneWordOfTheCase) {
  const Registry& registry = shipped_registry();
  const Result<Case> base =
      parse_case_line("gemm_bf16 m=8 n=8 k=64 value=normal seed=0x7", registry);
  ASSERT_TRUE(base) << base.error().text();
  const auto texts = [&](const char* sweep) {
    Words words;
    const Result<SweptCases> swept = swept_cases(*base, *parse_sweep(sweep), registry);
    for (const SweptCase& one : swept->cases) words.push_back(one.test_case.text());
    return words;
  };
  EXPECT_EQ(texts("k=32,64"), (Words{"gemm_bf16 m=8 n=8 k=32 value=normal seed=0x7",
                                     "gemm_bf16 m=8 n=8 k=64 value=normal seed=0x7"}));
  // A field at its default is not in the text.
  EXPECT_EQ(texts("out=bf16,f32"), (Words{"gemm_bf16 m=8 n=8 k=64 value=normal seed=0x7",
                                          "gemm_bf16 m=8 n=8 k=64 out=f32 value=normal seed=0x7"}));
  EXPECT_EQ(texts("class=normal,outliers").size(), 2u);
  EXPECT_EQ(texts("seed=1,2").size(), 2u);
}

TEST(Sweep, ValuesThatAKernelDoesNotAcceptAreNamed) {
  const Registry& registry = shipped_registry();
  const Result<Case> base = parse_case_line("gemm_bf16 m=8 n=8 k=64 value=normal seed=1", registry);
  const Result<SweptCases> some = swept_cases(*base, *parse_sweep("out=bf16,f99"), registry);
  ASSERT_TRUE(some);
  EXPECT_EQ(some->cases.size(), 1u);
  ASSERT_EQ(some->refused.size(), 1u);
  EXPECT_TRUE(some->refused[0].starts_with("out=f99: ")) << some->refused[0];
  const Result<SweptCases> classes =
      swept_cases(*base, *parse_sweep("class=normal,outlier"), registry);
  ASSERT_TRUE(classes);
  EXPECT_EQ(classes->cases.size(), 1u);
  EXPECT_EQ(classes->refused,
            std::vector<std::string>{"value=outlier: gemm has no value class \"outlier\""});
  const Result<SweptCases> none = swept_cases(*base, *parse_sweep("keys=64,128"), registry);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().where, "--sweep");
}

}  // namespace
}  // namespace plumbline
