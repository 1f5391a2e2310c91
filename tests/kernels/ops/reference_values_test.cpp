// SPDX-License-Identifier: MIT
// CaseOracle::reference_values() of every operation: the same numbers as the verdict on one element
// gives, and those without the roundings of the middle where asked for.
#include <cmath>

#include <gtest/gtest.h>

#include "oracles/reference/attention/definition.h"
#include "oracles/reference/swiglu/definition.h"
#include "tests/kernels/ops/operation_case.h"

namespace plumbline {
namespace {

constexpr int kOne = 1;  // threads

struct Sample {
  const char *kernel, *fields;
  int sm;
  std::vector<int> group_sizes{};
};

void PrintTo(const Sample& sample, std::ostream* out) { *out << sample.kernel; }

struct ReferenceValues : testing::TestWithParam<Sample> {};

// The outputs' formats do not matter to values, so zeros stand in for what a kernel gave.
TEST_P(ReferenceValues, AreTheExactValuesOfTheVerdicts) {
  const Sample& sample = GetParam();
  const OperationCase one(sample.kernel, sample.fields, sample.sm, sample.group_sizes);
  std::int64_t not_zero = 0;
  for (int output = 0; output < one.oracle->outputs(); ++output) {
    const std::string name = one.oracle->output_name(output);
    const std::vector<double> values =
        one.oracle->reference_values(output, Reference::contract, kOne);
    ASSERT_EQ(static_cast<std::int64_t>(values.size()), one.tensor(name).layout.count()) << name;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const ElementVerdict verdict =
          one.oracle->element(output, static_cast<std::int64_t>(i),
                              one.tensor(name).bits(static_cast<std::int64_t>(i)));
      if (std::isnan(verdict.exact)) {
        EXPECT_TRUE(std::isnan(values[i])) << name << "[" << i << "]";
        continue;
      }
      EXPECT_NEAR(values[i], verdict.exact, 0x1p-42 * (1 + std::fabs(verdict.exact)))
          << name << "[" << i << "]";
      not_zero += values[i] != 0;
    }
    EXPECT_EQ(one.oracle->reference_values(output, Reference::contract, 2), values) << name;
  }
  EXPECT_GT(not_zero, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Operations, ReferenceValues,
    testing::Values(
        Sample{"gemm_bf16", "m=5 n=9 k=33 alpha=0.75 bias=column", 90},
        Sample{"gemm_s8", "m=5 n=9 k=33", 80}, Sample{"gemm_fp8_blockwise", "m=5 n=9 k=257", 90},
        Sample{"gemm_grouped_bf16", "m=9 n=5 k=17 groups=3", 80, {4, 0, 5}},
        Sample{"linear_bf16_backward", "m=5 n=6 k=7", 80}, Sample{"softmax_bf16", "m=3 n=11", 80},
        Sample{"layernorm_bf16_backward", "m=3 n=11", 80},
        Sample{"swiglu_mlp_bf16", "tokens=3 d=17 hidden=11 d_out=5", 80},
        Sample{"attention_bf16_forward", "heads=2 kv_heads=2 queries=5 keys=21 d=16 scale=0.25",
               80},
        Sample{"attention_bf16_backward", "heads=2 kv_heads=1 queries=5 keys=21 d=16", 80},
        Sample{"attention_fp8_backward", "heads=2 kv_heads=1 queries=5 keys=21 d=16", 90}));

// Within what FP64 loses of the definition, and not within what the rounding of P does.
TEST(ReferenceValuesOf, AttentionInMathematicsKnowNoRoundingOfP) {
  const OperationCase one("attention_bf16_forward",
                          "heads=2 kv_heads=2 queries=5 keys=21 d=16 scale=0.25", 80);
  const std::vector<double> real = one.oracle->reference_values(0, Reference::mathematics, kOne);
  const std::vector<double> faithful = one.oracle->reference_values(0, Reference::contract, kOne);
  AttentionHead head;
  head.queries = 5, head.keys = 21, head.d = head.dv = 16;
  head.scale = 0.25f;
  for (const auto& [name, values] : {std::pair{"q", &head.q}, {"k", &head.k}, {"v", &head.v}}) {
    const std::int64_t second = one.tensor(name).layout.count() / 2;  // of two heads
    for (std::int64_t i = 0; i < second; ++i) values->push_back(one.value(name, second + i));
  }
  double rounding = 0;
  for (std::int64_t query = 0; query < 5; ++query) {
    const auto defined = defined_row<RealOf<128>>(head, query, nullptr);
    for (std::size_t x = 0; x < 16; ++x) {
      const std::size_t at = 5 * 16 + static_cast<std::size_t>(query) * 16 + x;
      EXPECT_NEAR(real[at], static_cast<double>(defined.o[x]), 1e-13);
      rounding = std::max(rounding, std::fabs(real[at] - faithful[at]));
    }
  }
  EXPECT_GT(rounding, 1e-5);
}

// y of the exact h by the definition, though no kernel stored any h here.
TEST(ReferenceValuesOf, AnMlpInMathematicsKnowNoStoredH) {
  const OperationCase one("swiglu_mlp_bf16", "tokens=3 d=17 hidden=11 d_out=5", 80);
  const SwigluProblem mlp{&one.tensor("x"),      &one.tensor("w_gate"), &one.tensor("w_up"),
                          &one.tensor("w_down"), &one.tensor("h"),      FormatId::bf16};
  const std::vector<double> real = one.oracle->reference_values(1, Reference::mathematics, kOne);
  for (std::int64_t i = 0; i < 15; ++i) {
    const auto defined = static_cast<double>(defined_output<RealOf<128>>(mlp, i / 5, i % 5));
    EXPECT_NEAR(real[static_cast<std::size_t>(i)], defined, 1e-11);
  }
}

}  // namespace
}  // namespace plumbline
