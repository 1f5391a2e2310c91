// SPDX-License-Identifier: MIT
// Attention in 8 bits: scales that let every class keep its values, and one for every head.
#include "fuzz/attention/scales.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "fuzz/case/values.h"
#include "fuzz/shrink/crop.h"
#include "fuzz/shrink/shrink.h"
#include "tests/fuzz/kernel_under_test.h"
#include "tests/fuzz/plan/generated_plan.h"

namespace plumbline {
namespace {

const Manifest& fp8_kernel() { return *shipped_registry().find("attention_fp8_forward"); }

const Manifest& s8_kernel() { return *shipped_registry().find("attention_s8_forward"); }

const Manifest& fp8_backward_kernel() { return *shipped_registry().find("attention_fp8_backward"); }

constexpr std::string_view kMatrices[] = {"q", "k", "v"};

TEST(AttentionScales, PlanReachesEveryClass) {
  for (const Manifest* kernel : {&fp8_kernel(), &s8_kernel()}) {
    check_plan(*kernel);
    check_designed(*kernel);
  }
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
      if (!power) {
        EXPECT_TRUE(all.insert(scales.bits(i)).second);
      }
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

// One for every 64 rows of a head: neighbors differ, but for heads whose blocks are all alike.
TEST(AttentionScales, EveryBlockHasItsOwn) {
  const CaseTensors tensors = filled(
      case_with(s8_kernel(), "batch=4 heads=4 queries=150 keys=200 d=16 scales=block", "normal"));
  int alike = 0, neighbors = 0, different = 0;
  for (const auto& [name, rows] : {std::pair{"q", 150}, std::pair{"k", 200}}) {
    const Tensor &matrix = *tensors.find(name),
                 &scales = *tensors.find(std::string(name) + "_scale");
    const std::int64_t blocks = (rows + 63) / 64;
    ASSERT_EQ(scales.layout.count(), 16 * blocks);
    for (std::int64_t head = 0; head < 16; ++head) {
      std::set<std::uint64_t> of_head;
      for (std::int64_t block = 0; block < blocks; ++block) {
        of_head.insert(scales.bits(head * blocks + block));
        double largest = 0;
        for (std::int64_t row = block * 64; row < std::min<std::int64_t>(rows, block * 64 + 64);
             ++row)
          for (std::int64_t x = 0; x < 16; ++x)
            largest =
                std::max(largest, std::fabs(element_of(matrix, (head * rows + row) * 16 + x)));
        EXPECT_GE(largest, 12);  // has use of the integers there are
        EXPECT_LE(largest, 127);
        if (block == 0) continue;
        ++neighbors;
        different += scales.bits(head * blocks + block) != scales.bits(head * blocks + block - 1);
      }
      alike += of_head.size() == 1;
    }
  }
  EXPECT_GE(alike, 2);
  EXPECT_GE(2 * different, neighbors);
}

// Logits do not depend on them.
TEST(AttentionScales, BlocksOfValuesMayBeFarApart) {
  const CaseTensors tensors = filled(
      case_with(fp8_kernel(), "batch=4 heads=4 queries=3 keys=500 d=16 scales=block", "normal"));
  const auto count = [&](const std::string& name, double from, double to) {
    const Tensor& scales = *tensors.find(name);
    std::int64_t found = 0;
    for (std::int64_t i = 0; i < scales.layout.count(); ++i)
      found += element_of(scales, i) >= from && element_of(scales, i) < to;
    return found;
  };
  ASSERT_EQ(tensors.find("v_scale")->layout.count(), 16 * 8);
  EXPECT_GE(count("v_scale", 0x1p10, 0x1p14), 1);
  EXPECT_GE(count("v_scale", 0x1p-15, 0x1p-9), 1);
  EXPECT_GE(count("v_scale", 0x1p-3, 0x1p2), 16 * 8 * 3 / 4);
  for (const std::string name : {"q_scale", "k_scale"})
    EXPECT_EQ(count(name, 0x1p-3, 0x1p2), tensors.find(name)->layout.count());
  std::int64_t different = 0;
  for (std::int64_t i = 0; i + 1 < 16 * 8; ++i)
    different += tensors.find("v_scale")->bits(i) != tensors.find("v_scale")->bits(i + 1);
  EXPECT_GE(different, 16 * 8 / 2);
}

// Rows of packed sequences stand for what the class wants, in every block that they lie in.
TEST(AttentionScales, BlocksKeepWhatTheClassWants) {
  for (const std::string fields :
       {"batch=5 heads=2 queries=30 keys=50 d=16 lengths=random",
        "batch=3 heads=2 queries=70 keys=130 d=16", "batch=3 queries=9 keys=70 d=16 kv=shared"}) {
    const CaseTensors wanted =
        filled(case_with(*shipped_registry().find("attention_bf16_forward"), fields, "normal", 5));
    const CaseTensors stored =
        filled(case_with(s8_kernel(), fields + " scales=block", "normal", 5));
    for (const std::string name : {"q", "k"}) {
      const Tensor &matrix = *stored.find(name), &scales = *stored.find(name + "_scale");
      const std::int64_t rows = matrix.layout.shape[2], blocks = scales.layout.shape[2];
      for (std::int64_t i = 0; i < matrix.layout.count(); ++i) {
        const std::int64_t block = i / 16 / rows * blocks + i / 16 % rows / 64;
        const double scale = element_of(scales, block), value = element_of(*wanted.find(name), i);
        ASSERT_NEAR(element_of(matrix, i) * scale, value, 0.51 * scale + std::fabs(value) * 0x1p-5)
            << fields << " " << name << " " << i;
      }
    }
  }
}

TEST(AttentionScales, CroppedRowsLeaveTheScalesOfTheirBlocks) {
  const Result<Case> frozen =
      freeze(case_with(s8_kernel(), "queries=65 keys=130 d=16 scales=block", "normal", 3));
  ASSERT_TRUE(frozen.ok());
  const CaseTensors before = filled(*frozen);
  const auto k_scales = [&](const Removal& removal) {
    const std::optional<Case> smaller = remove_slices(*frozen, {removal});
    EXPECT_TRUE(smaller.has_value());
    std::vector<std::uint64_t> bits;
    if (!smaller) return bits;
    const CaseTensors tensors = filled(*smaller);
    const Tensor& scales = *tensors.find("k_scale");
    for (std::int64_t i = 0; i < scales.layout.count(); ++i) bits.push_back(scales.bits(i));
    return bits;
  };
  const Tensor& scales = *before.find("k_scale");
  const std::vector<std::uint64_t> all = {scales.bits(0), scales.bits(1), scales.bits(2)};
  EXPECT_EQ(k_scales({"keys", 128, 2}), (std::vector{all[0], all[1]}));
  EXPECT_EQ(k_scales({"keys", 129, 1}), all);
  EXPECT_EQ(k_scales({"keys", 0, 2}), (std::vector{all[1], all[2]}));
  EXPECT_TRUE(remove_slices(*frozen, {{"queries", 64, 1}}).has_value());
}

TEST(AttentionScales, NoClassOverflows) {
  for (const std::string_view value : generator_of(*fp8_kernel().operation).value_classes()) {
    if (find_value_class(value)->has_specials) continue;
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
