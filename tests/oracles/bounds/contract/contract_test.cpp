// SPDX-License-Identifier: MIT
#include "oracles/bounds/contract/contract.h"

#include <gtest/gtest.h>

#include "oracles/bounds/contract/describe.h"

namespace plumbline {
namespace {

TEST(ContractWords, GoBothWays) {
  for (const std::string_view word : unit_words()) EXPECT_EQ(word_of(*contract_unit(word)), word);
  for (const std::string_view word : schedule_words()) EXPECT_EQ(word_of(*schedule(word)), word);
  for (const std::string_view word : join_words()) EXPECT_EQ(word_of(*join(word)), word);
  for (const std::string_view word : epilogue_words())
    EXPECT_EQ(word_of(*epilogue_step(word)), word);
  for (const std::string_view word : promotion_words()) EXPECT_EQ(word_of(*promotion(word)), word);
  for (const std::string_view word : rounding_words()) EXPECT_EQ(word_of(*rounding(word)), word);
  for (const std::string_view word : overflow_words()) EXPECT_EQ(word_of(*overflow(word)), word);
  for (const std::string_view word : {"none", "relu", "gelu", "gelu_tanh", "silu"})
    EXPECT_EQ(word_of(*activation(word)), word);
  EXPECT_EQ(unit_words().size(), 7u);
  EXPECT_EQ(promotion_words().size(), 3u);
  EXPECT_EQ(epilogue_words().size(), 21u);
}

TEST(ContractWords, UnknownOnesAreNothing) {
  EXPECT_FALSE(contract_unit("mma"));
  EXPECT_FALSE(schedule("split-k"));
  EXPECT_FALSE(join("f32"));
  EXPECT_FALSE(epilogue_step("gelu"));
  EXPECT_FALSE(rounding("nearest"));
  EXPECT_FALSE(overflow(""));
}

TEST(Contract, DescribesItselfInFourLines) {
  Contract contract;
  contract.epilogue = {EpilogueStep::alpha, EpilogueStep::beta_c_fma, EpilogueStep::bias,
                       EpilogueStep::relu};
  EXPECT_EQ(contract.describe(90, FormatId::bf16, FormatId::bf16),
            "products: mma.sync bf16 on sm_90, nodes of 16 products and 25 fraction bits, each "
            "result f32 toward zero\n"
            "order: increasing k, one accumulator\n"
            "epilogue: x = fl(alpha * x), x = fma(beta, c, x), x = fl(x + bias), x = x < 0 ? 0 : "
            "x, NaN stays, "
            "then converted rounding "
            "nearest even\n"
            "promises: deterministic, odd in A and B, the same at every position\n");
}

TEST(Contract, DescribesSchedules) {
  Contract contract;
  contract.instruction = Instruction::wgmma;
  contract.schedule = Schedule::promote;
  contract.interval = 128;
  EXPECT_NE(
      contract.describe(90, FormatId::e4m3, FormatId::e5m2)
          .find("order: increasing k, a fresh accumulator every 128 of k added to an f32 sum"),
      std::string::npos);
  contract.schedule = Schedule::split_k;
  contract.parts = 4;
  contract.interval = 32;
  contract.join = Join::bf16;
  contract.deterministic = false;
  const std::string text = contract.describe(90, FormatId::e4m3, FormatId::e5m2);
  EXPECT_NE(text.find("k in 4 ranges of whole blocks of 32, partial sums rounded to bf16"),
            std::string::npos);
  EXPECT_NE(
      text.find("nodes of 32 products and 13 fraction bits, each result 1+13 bits toward zero"),
      std::string::npos);
  EXPECT_NE(text.find("promises: not deterministic"), std::string::npos);
  contract.unit = Unit::fma_f32;
  EXPECT_NE(
      contract.describe(90, FormatId::bf16, FormatId::bf16).find("one f32 fma per bf16 product"),
      std::string::npos);
}

TEST(Contract, DescribesScalesAndIntegers) {
  Contract contract;
  contract.schedule = Schedule::promote;
  contract.promotion = Promotion::scaled_fma;
  contract.interval = 128;
  contract.epilogue = {EpilogueStep::scale_ab, EpilogueStep::scale_d, EpilogueStep::zero_d};
  const std::string text = contract.describe(89, FormatId::e4m3, FormatId::e5m2);
  EXPECT_NE(text.find("a fresh accumulator p every 128 of k, each taken into an f32 sum by sum = "
                      "fma(p, s, sum), s = fl(scale_a * scale_b) of the scales"),
            std::string::npos);
  EXPECT_NE(text.find("x = fl(x * fl(scale_a * scale_b)), x = fl(x * scale_d), x = fl(rint(x) + "
                      "zero_d), then converted"),
            std::string::npos);
  contract = {};
  contract.unit = Unit::int32;
  EXPECT_NE(contract.describe(80, FormatId::s8, FormatId::s8)
                .find("epilogue: x = float(sum) unless stored as s32, then converted"),
            std::string::npos);
}

TEST(Contract, CheckRefusesScalesWithoutAPromotionAndScalesTwice) {
  Contract contract;
  contract.promotion = Promotion::scaled_fma;
  EXPECT_EQ(contract.check(89, FormatId::e4m3, FormatId::e4m3).error().message,
            "promotion \"scaled fma\" has nothing to promote under schedule sequential");
  contract.schedule = Schedule::promote;
  contract.interval = 128;
  EXPECT_TRUE(contract.check(89, FormatId::e4m3, FormatId::e4m3).ok());
  EXPECT_FALSE(contract.check(80, FormatId::e4m3, FormatId::e4m3).ok());  // no FP8 there
  contract.unit = Unit::int32;
  EXPECT_TRUE(contract.check(89, FormatId::s8, FormatId::s8).ok());
  contract.interval = 8193;
  EXPECT_EQ(contract.check(89, FormatId::s8, FormatId::s8).error().message,
            "int32 sums of 8193 products may wrap before they are scaled");
  contract.promotion = Promotion::add;
  EXPECT_EQ(contract.check(89, FormatId::s8, FormatId::s8).error().message,
            "unit int32 has nothing to promote without scales: its sums are exact");
  contract = {};
  contract.epilogue = {EpilogueStep::scale_ab, EpilogueStep::scale_b};
  EXPECT_EQ(contract.check(89, FormatId::e4m3, FormatId::e4m3).error().message,
            "epilogue scales twice: by \"scale_ab\" and by one of its factors");
}

TEST(Contract, CheckRefusesTwoWaysOfOneActivation) {
  Contract contract;
  contract.epilogue = {EpilogueStep::relu, EpilogueStep::gelu_erff, EpilogueStep::silu_expf};
  EXPECT_TRUE(contract.check(90, FormatId::bf16, FormatId::bf16).ok());
  contract.epilogue.push_back(EpilogueStep::silu_tanh_approx);
  EXPECT_EQ(contract.check(90, FormatId::bf16, FormatId::bf16).error().message,
            "epilogue computes silu twice: as \"silu expf\" and as \"silu tanh.approx\"");
}

TEST(Contract, CheckRefusesWhatNoChipCanKeep) {
  Contract contract;
  EXPECT_TRUE(contract.check(80, FormatId::bf16, FormatId::bf16).ok());
  contract.instruction = Instruction::wgmma;
  const Status missing = contract.check(80, FormatId::bf16, FormatId::bf16);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().message, "sm_80 has no wgmma for bf16 with an f32 accumulator");
  contract = {};
  contract.schedule = Schedule::promote;
  EXPECT_EQ(contract.check(80, FormatId::bf16, FormatId::bf16).error().message,
            "schedule promote has interval 0");
  contract.schedule = Schedule::split_k;
  contract.parts = 0;
  EXPECT_FALSE(contract.check(80, FormatId::bf16, FormatId::bf16).ok());
  contract = {};
  contract.epilogue = {EpilogueStep::bias, EpilogueStep::bias_fma};
  EXPECT_FALSE(contract.check(80, FormatId::bf16, FormatId::bf16).ok());
  contract.epilogue = {EpilogueStep::bias, EpilogueStep::bias};
  EXPECT_EQ(contract.check(80, FormatId::bf16, FormatId::bf16).error().message,
            "epilogue names \"bias\" twice");
  contract.epilogue = {EpilogueStep::beta_c, EpilogueStep::beta_c_fma};
  EXPECT_FALSE(contract.check(80, FormatId::bf16, FormatId::bf16).ok());
  contract.epilogue = {EpilogueStep::alpha_beta_c_fma, EpilogueStep::bias};
  EXPECT_TRUE(contract.check(80, FormatId::bf16, FormatId::bf16).ok());
  for (const EpilogueStep again :
       {EpilogueStep::alpha, EpilogueStep::beta_c, EpilogueStep::beta_c_fma}) {
    contract.epilogue = {EpilogueStep::alpha_beta_c_fma, again};
    EXPECT_FALSE(contract.check(80, FormatId::bf16, FormatId::bf16).ok());
  }
  contract = {};
  contract.unit = Unit::int32;
  EXPECT_FALSE(contract.check(80, FormatId::bf16, FormatId::bf16).ok());
  EXPECT_TRUE(contract.check(80, FormatId::s8, FormatId::s8).ok());
  contract.unit = Unit::fma_f32;
  EXPECT_FALSE(contract.check(80, FormatId::s8, FormatId::s8).ok());
}

}  // namespace
}  // namespace plumbline
