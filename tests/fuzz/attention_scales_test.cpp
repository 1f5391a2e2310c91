// SPDX-License-Identifier: MIT
// Attention in 8 bits: scales that let every class keep its values, and one for every head.
#include "fuzz/attention_scales.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "generated_plan.h"
#include "kernel_under_test.h"

namespace plumbline {
namespace {

const Manifest& fp8_kernel() { return *shipped_registry().find("attention_fp8_forward"); }

const Manifest& fp8_backward_kernel() { return *shipped_registry().find("attention_fp8_backward"); }

constexpr std::string_view kMatrices[] = {"q", "k", "v"};

TEST(AttentionScales, PlanReachesEveryClass) {
  check_plan(fp8_kernel());
  check_designed(fp8_kernel());
}

TEST(AttentionScales, EveryHeadOfEverySequenceHasItsOwn) {
  const CaseTensors tensors = filled(
      case_with(fp8_kernel(), "batch=4 heads=3 queries=2 keys=3 d=16 scales=head", "normal"));
  std::set<std::uint64_t> all;
  std::int64_t powers_of_two = 0;
  for (const std::string_view name : kMatrices) {
    const Tensor& scales = *tensors.find(std::string(name) + "_scale");
    ASSERT_EQ(scales.layout.count(), 12);
    for (std::int64_t i = 0; i < 12; ++i) {
      const double scale = element_of(scales, i);
      EXPECT_GT(scale, 0x1p-5);
      EXPECT_LT(scale, 2);
      const bool power = std::exp2(std::ilogb(scale)) == scale;
      powers_of_two += power;
      if (!power) EXPECT_TRUE(all.insert(scales.bits(i)).second);
    }
  }
  EXPECT_GT(powers_of_two, 0);
}

TEST(AttentionScales, DesignedCasesOfTheBackwardPassAreProblems) {
  check_designed(fp8_backward_kernel());
}

// Of the backward pass, one for each matrix, and what dS is multiplied by is sometimes extreme.
TEST(AttentionScales, AMatrixHasOneThatItsGradientFitsToo) {
  std::int64_t usual = 0, extreme = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Case made = case_with(fp8_backward_kernel(),
                          "batch=2 heads=3 queries=2 keys=3 d=16 scales=tensor", "large");
    made.recipe.seed = seed;
    const CaseTensors tensors = filled(made);
    const Tensor& d_o = *tensors.find("do");
    double largest = 0;
    for (std::int64_t i = 0; i < d_o.layout.count(); ++i)
      largest = std::max(largest, std::fabs(element_of(d_o, i)));
    EXPECT_LE(largest, 57344);
    EXPECT_GT(largest, 57344.0 / 4);  // gradients of 2^20 and more, in units of the scale
    EXPECT_EQ(tensors.find("q_scale")->layout.count(), 1);
    const double ds_scale = element_of(*tensors.find("ds_scale"), 0);
    (ds_scale > 0x1p-5 && ds_scale < 0x1p15 ? usual : extreme) += 1;
  }
  EXPECT_GT(usual, extreme);
  EXPECT_GT(extreme, 0);
}

// Values that the format alone does not have.
TEST(AttentionScales, LetScoresBeWhatTheClassWants) {
  const double scale = 0.001;
  const CaseTensors tensors = filled(case_with(
      fp8_kernel(), "heads=2 queries=4 keys=5 d=16 scale=0.001 scales=head", "lowest_scores"));
  const Tensor &q = *tensors.find("q"), &k = *tensors.find("k");
  for (std::int64_t head = 0; head < 2; ++head) {
    const double factor = element_of(*tensors.find("q_scale"), head) *
                          element_of(*tensors.find("k_scale"), head) * scale;
    for (std::int64_t i = 0; i < 4; ++i) {
      for (std::int64_t j = 0; j < 5; ++j) {
        double score = 0;
        for (std::int64_t x = 0; x < 16; ++x)
          score += element_of(q, (head * 4 + i) * 16 + x) * element_of(k, (head * 5 + j) * 16 + x);
        EXPECT_LT(score * factor, -0.9e5);
        EXPECT_GT(score * factor, -1.7e5);
      }
    }
  }
}

TEST(AttentionScales, NoClassOverflows) {
  for (const std::string_view value : generator_of(*fp8_kernel().operation).value_classes()) {
    if (value == "specials") continue;
    for (const std::string fields :
         {"queries=9 keys=70 d=16", "queries=9 keys=70 d=16 scales=head heads=2",
          "batch=2 queries=3 keys=20 d=8 kv=shared scales=head"}) {
      const CaseTensors tensors = filled(case_with(fp8_kernel(), fields, std::string(value)));
      for (const std::string_view name : kMatrices) {
        const Tensor& matrix = *tensors.find(name);
        for (std::int64_t i = 0; i < matrix.layout.count(); ++i)
          ASSERT_FALSE(std::isnan(element_of(matrix, i))) << value << fields << name << i;
      }
    }
  }
}

}  // namespace
}  // namespace plumbline
