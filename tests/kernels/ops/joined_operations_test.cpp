// SPDX-License-Identifier: MIT
// Operations whose outputs are made of GEMMs: outputs computed here, element by element from the
// tensors as a kernel finds them, pass; a wrong element fails in its place and is explained in its
// part.
#include <gmock/gmock.h>

#include "oracles/bounds/accumulator/model.h"
#include "tests/kernels/ops/operation_case.h"

namespace plumbline {
namespace {

using ::testing::HasSubstr;

// What an accumulator under the contract of `output` makes of products, then of the scales.
std::uint64_t element(const OperationCase& made, std::string_view output, FormatId a, FormatId b,
                      const std::vector<float>& row, const std::vector<float>& column,
                      float scale_a, float scale_b) {
  const Contract contract = made.kernel.contract(made.problem, output);
  const float sum = run_accumulator(contract, made.sm, a, b, row.data(), column.data(),
                                    static_cast<std::int64_t>(row.size()))
                        .value;
  return encode(format(made.tensor(output).layout.format),
                static_cast<double>(sum * scale_a * scale_b), contract.output);
}

// Groups of 0, 1 and 5 rows, walked as they lie in A.
void run_grouped(OperationCase& made, const std::vector<int>& sizes) {
  const std::int64_t n = made.problem.integer("n"), k = made.problem.integer("k");
  const FormatId a = made.tensor("a").layout.format, b = made.tensor("b").layout.format;
  std::int64_t i = 0;
  for (std::int64_t g = 0; g < std::ssize(sizes); ++g) {
    for (int left = sizes[static_cast<std::size_t>(g)]; left > 0; --left, ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        std::vector<float> row, column;
        for (std::int64_t p = 0; p < k; ++p) {
          row.push_back(made.value("a", i * k + p));
          column.push_back(made.value("b", (g * k + p) * n + j));
        }
        const bool per_row = made.problem.word("scale_a") == "row";
        made.tensors.find("d")->set_bits(
            i * n + j, element(made, "d", a, b, row, column, made.scale("scale_a", per_row ? i : 0),
                               made.scale("scale_b", g)));
      }
    }
  }
}

// bf16, to nearest even, by integer arithmetic.
float as_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return std::bit_cast<float>((bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000u);
}

void run_backward(OperationCase& made) {
  const std::int64_t m = made.problem.integer("m"), n = made.problem.integer("n"),
                     k = made.problem.integer("k");
  const bool s8 = made.tensor("w").layout.format == FormatId::s8;
  const FormatId dy = made.tensor("dy").layout.format, x = made.tensor("x").layout.format,
                 w = s8 ? FormatId::bf16 : made.tensor("w").layout.format;
  const float scale_dy = made.scale("scale_dy", 0), scale_x = made.scale("scale_x", 0);
  const float scale_w = s8 ? 1 : made.scale("scale_w", 0);
  const auto weight = [&](std::int64_t j, std::int64_t c) {
    const float stored = made.value("w", j * k + c);
    return s8 ? as_bf16(stored * made.value("scale_w", j)) : stored;
  };
  for (std::int64_t c = 0; c < k; ++c) {
    for (std::int64_t i = 0; i < m; ++i) {
      std::vector<float> row, column;
      for (std::int64_t j = 0; j < n; ++j)
        row.push_back(made.value("dy", i * n + j)), column.push_back(weight(j, c));
      made.tensors.find("dx")->set_bits(i * k + c,
                                        element(made, "dx", dy, w, row, column, scale_dy, scale_w));
    }
    for (std::int64_t j = 0; j < n; ++j) {
      std::vector<float> row, column;
      for (std::int64_t i = 0; i < m; ++i)
        row.push_back(made.value("dy", i * n + j)), column.push_back(made.value("x", i * k + c));
      made.tensors.find("dw")->set_bits(j * k + c,
                                        element(made, "dw", dy, x, row, column, scale_dy, scale_x));
    }
  }
  for (std::int64_t j = 0; j < n; ++j) {
    std::vector<float> column;
    for (std::int64_t i = 0; i < m; ++i) column.push_back(made.value("dy", i * n + j));
    const std::vector<float> ones(column.size(), 1.0f);
    made.tensors.find("db")->set_bits(j, element(made, "db", dy, dy, ones, column, scale_dy, 1));
  }
}

// The top bit of the exponent turned over.
std::uint64_t wrong(const Tensor& tensor, std::int64_t index) {
  const Format& f = format(tensor.layout.format);
  return tensor.bits(index) ^ (std::uint64_t{1} << (f.storage_bits - 2));
}

void expect_one_failure(OperationCase& made, int output, std::int64_t index,
                        const std::string& named) {
  Tensor& tensor = *made.tensors.find(made.oracle->output_name(output));
  const std::uint64_t right = tensor.bits(index);
  tensor.set_bits(index, wrong(tensor, index));
  const OutputVerdict verdict = made.oracle->judge(output, tensor, {});
  EXPECT_EQ(verdict.failed, 1) << named;
  ASSERT_EQ(verdict.failures.size(), 1u) << named;
  EXPECT_EQ(verdict.failures[0].index, index);
  EXPECT_FALSE(made.oracle->element(output, index, tensor.bits(index)).pass);
  EXPECT_TRUE(made.oracle->element(output, index, right).pass);
  const Explanation explanation = made.oracle->explain(output, index, tensor);
  ASSERT_FALSE(explanation.lines.empty());
  EXPECT_THAT(explanation.lines[0], HasSubstr(named));
  tensor.set_bits(index, right);
}

void expect_all_pass(const OperationCase& made) {
  for (int output = 0; output < made.oracle->outputs(); ++output) {
    const Tensor& tensor = made.tensor(made.oracle->output_name(output));
    const OutputVerdict verdict = made.oracle->judge(output, tensor, {});
    EXPECT_EQ(verdict.failed, 0) << made.problem.text() << ", " << made.oracle->output_name(output);
    EXPECT_EQ(verdict.compared, tensor.layout.count());
    EXPECT_EQ(verdict.disagreements, 0);
    for (std::int64_t i = 0; i < tensor.layout.count(); ++i) {
      EXPECT_TRUE(made.oracle->element(output, i, tensor.bits(i)).pass)
          << made.problem.text() << " " << i;
    }
  }
}

const std::vector<int> kSizes = {0, 1, 5};

TEST(GroupedGemmOracle, RowsMeetTheMatrixOfTheirGroup) {
  for (const std::string layout : {"nn", "nt"}) {
    OperationCase bf16("gemm_grouped_bf16", "m=6 n=5 k=70 groups=3 out=f32 layout=" + layout, 80,
                       kSizes);
    run_grouped(bf16, kSizes);
    expect_all_pass(bf16);
    for (const std::string scale_a : {"none", "tensor", "row"}) {
      OperationCase fp8(
          "gemm_grouped_fp8",
          "m=6 n=5 k=70 groups=3 b=e5m2 scale_b=tensor layout=" + layout + " scale_a=" + scale_a,
          89, kSizes);
      run_grouped(fp8, kSizes);
      expect_all_pass(fp8);
    }
  }
}

TEST(GroupedGemmOracle, AWrongElementFailsInItsGroup) {
  OperationCase made("gemm_grouped_fp8", "m=6 n=5 k=70 groups=3 scale_a=row scale_b=tensor", 89,
                     kSizes);
  run_grouped(made, kSizes);
  expect_one_failure(made, 0, 4, "group 1 (rows 0 to 0)");
  expect_one_failure(made, 0, 5, "group 2 (rows 1 to 5)");
  expect_one_failure(made, 0, 29, "group 2 (rows 1 to 5)");
}

TEST(GroupedGemmOracle, OtherSizesAreOtherOutputs) {
  OperationCase made("gemm_grouped_bf16", "m=6 n=5 k=70 groups=3", 80, kSizes);
  run_grouped(made, {0, 2, 4});
  EXPECT_EQ(made.oracle->judge(0, made.tensor("d"), {}).failed, 5) << "row 1 is of another group";
}

TEST(GroupedGemm, SizesMustAddUpToTheRows) {
  OperationCase made("gemm_grouped_bf16", "m=6 n=5 k=7 groups=3", 80, kSizes);
  Tensor& sizes = *made.tensors.find("group_sizes");
  const auto error = [&] {
    return made.kernel.operation->check_values(made.problem, made.tensors).error().text();
  };
  sizes.set_bits(0, 1);
  EXPECT_THAT(error(), HasSubstr("the group sizes add up to 7, A has 6 rows"));
  sizes.set_bits(0, 0xffffffff);
  sizes.set_bits(1, 2);
  EXPECT_THAT(error(), HasSubstr("group_sizes[0] is -1"));
}

TEST(LinearBackwardOracle, GradientsOfEveryKernelPass) {
  for (const char* out : {"bf16", "f32"}) {
    const std::string fields = std::string("m=21 n=6 k=5 out=") + out;
    OperationCase bf16("linear_bf16_backward", fields, 80),
        fp8("linear_fp8_backward", fields + " scales=tensor", 90),
        s8("linear_s8_backward", fields, 90);
    for (OperationCase* made : {&bf16, &fp8, &s8}) {
      run_backward(*made);
      expect_all_pass(*made);
    }
  }
}

TEST(LinearBackwardOracle, AWrongElementFailsInItsGradient) {
  OperationCase made("linear_s8_backward", "m=21 n=6 k=5 out=f32", 90);
  run_backward(made);
  ASSERT_EQ(made.oracle->outputs(), 3);
  expect_one_failure(made, 0, 104, "");
  expect_one_failure(made, 1, 29, "");
  expect_one_failure(made, 2, 5, "");
}

}  // namespace
}  // namespace plumbline
