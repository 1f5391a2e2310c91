// SPDX-License-Identifier: MIT
// The row operations as manifests and problems know them: their outputs, which tensors are inputs,
// where rows lie, the terms of their contracts, and what is refused.
#include <gmock/gmock.h>

#include "oracles/reference/rows/oracle.h"
#include "tests/folders.h"
#include "tests/kernels/manifest/manifest_files.h"
#include "tests/kernels/ops/operation_case.h"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> outputs_of(const std::string& kernel) {
  const OperationCase made(kernel, "m=3 n=5", 80);
  std::vector<std::string> names;
  for (int output = 0; output < made.oracle->outputs(); ++output)
    names.push_back(made.oracle->output_name(output));
  return names;
}

TEST(RowOperations, HaveTheirOutputs) {
  EXPECT_THAT(outputs_of("softmax_bf16"), ElementsAre("y"));
  EXPECT_THAT(outputs_of("softmax_bf16_backward"), ElementsAre("dx"));
  EXPECT_THAT(outputs_of("rmsnorm_bf16"), ElementsAre("y", "rstd"));
  EXPECT_THAT(outputs_of("rmsnorm_bf16_backward"), ElementsAre("dx", "dgamma"));
  EXPECT_THAT(outputs_of("layernorm_bf16"), ElementsAre("y", "mean", "rstd"));
  EXPECT_THAT(outputs_of("layernorm_bf16_backward"), ElementsAre("dx", "dgamma", "dbeta"));
}

TEST(RowOperations, TellOutputsOfTheForwardPassFromInputsOfTheBackward) {
  const OperationCase forward("layernorm_bf16", "m=3 n=5", 80);
  const OperationCase backward("layernorm_bf16_backward", "m=3 n=5", 80);
  const auto& of_forward = dynamic_cast<const RowOracle&>(*forward.oracle).problem();
  const auto& of_backward = dynamic_cast<const RowOracle&>(*backward.oracle).problem();
  EXPECT_EQ(of_forward.mean, nullptr);
  EXPECT_EQ(of_forward.beta, forward.tensors.find("beta"));
  EXPECT_EQ(of_backward.mean, backward.tensors.find("mean"));
  EXPECT_EQ(of_backward.rstd, backward.tensors.find("rstd"));
  EXPECT_EQ(of_backward.beta, nullptr);
  EXPECT_EQ(of_backward.dy, backward.tensors.find("dy"));
}

TEST(RowOperations, ReadRowsWhereTheyLie) {
  const OperationCase made("softmax_bf16_backward", "m=4 n=5 ldy=9 lddy=7", 80);
  const RowOf<float> row = dynamic_cast<const RowOracle&>(*made.oracle).problem().row(2);
  for (std::int64_t j = 0; j < 5; ++j) {
    EXPECT_EQ(row.x[static_cast<std::size_t>(j)], made.value("y", 2 * 5 + j));
    EXPECT_EQ(row.dy[static_cast<std::size_t>(j)], made.value("dy", 2 * 5 + j));
  }
}

TEST(RowOperations, TakeTermsFromTheManifest) {
  const OperationCase made("layernorm_bf16", "m=1 n=5", 80);
  const RowContract& contract = dynamic_cast<const RowOracle&>(*made.oracle).problem().contract;
  EXPECT_EQ(contract.lanes, 128);
  EXPECT_EQ(contract.vector, 8);
  EXPECT_EQ(contract.root, RowRoot::exact);
  const OperationCase other("rmsnorm_bf16", "m=1 n=5", 80);
  EXPECT_EQ(dynamic_cast<const RowOracle&>(*other.oracle).problem().contract.root,
            RowRoot::approximate);
}

// As kernels of inference are: the bits of FlashInfer's are in its manifest.
TEST(RowOperations, MayKeepNoStatistics) {
  const std::string path =
      std::string(PLUMBLINE_SOURCE_DIR) + "/tests/third_party/flashinfer/rmsnorm.toml";
  const Result<Manifest> kernel = read_manifest(path);
  ASSERT_TRUE(kernel.ok()) << kernel.error().text();
  const Problem problem = *parse_problem(kernel->schema(), "m=3 n=5 gamma_plus=1");
  CaseTensors tensors{*kernel->tensors(problem), {}};
  std::vector<std::string> names;
  for (const TensorSpec& spec : tensors.specs) {
    names.push_back(spec.name);
    tensors.tensors.emplace_back(spec.layout);
  }
  EXPECT_THAT(names, ElementsAre("x", "gamma", "y"));
  const auto oracle = kernel->operation->oracle(problem, *kernel, 80, tensors);
  ASSERT_EQ(oracle->outputs(), 1);
  const RowProblem& rows = dynamic_cast<const RowOracle&>(*oracle).problem();
  EXPECT_EQ(rows.gamma_plus, 1);
  EXPECT_EQ(rows.contract.mean, RowMean::approximate);
  EXPECT_TRUE(rows.contract.subnormals_flushed);
}

TEST(RowOperations, MayLoseSubnormalNumbers) {
  TemporaryFolder folder;
  for (const std::string name : {"softmax_bf16", "softmax_bf16_backward"}) {
    const std::string shipped = read_file(std::string(PLUMBLINE_SOURCE_DIR) + "/kernels/shipped/" +
                                          name + "/" + name + ".toml");
    const std::string flushing =
        replaced(shipped, "\n[contract]\n", "\n[contract]\nsubnormals = \"flushed\"\n");
    for (const auto& [text, flushed] : {std::pair{shipped, false}, {flushing, true}}) {
      const Result<Manifest> kernel = read_manifest(folder.write(name + ".toml", text));
      ASSERT_TRUE(kernel.ok()) << kernel.error().text();
      const Problem problem = *parse_problem(kernel->schema(), "m=3 n=5");
      CaseTensors tensors{*kernel->tensors(problem), {}};
      for (const TensorSpec& spec : tensors.specs) tensors.tensors.emplace_back(spec.layout);
      const auto oracle = kernel->operation->oracle(problem, *kernel, 80, tensors);
      EXPECT_EQ(dynamic_cast<const RowOracle&>(*oracle).problem().contract.subnormals_flushed,
                flushed);
    }
  }
}

TEST(RowOperations, RefuseShortStrides) {
  for (const std::string name : {"softmax_bf16", "rmsnorm_bf16", "layernorm_bf16"}) {
    const Manifest kernel = shipped_kernel(name);
    for (const std::string field : {"ldx", "ldy"}) {
      const Result<Problem> problem = parse_problem(kernel.schema(), "m=3 n=5 " + field + "=4");
      ASSERT_TRUE(problem.ok());
      const Result<std::vector<TensorSpec>> tensors = kernel.tensors(*problem);
      ASSERT_FALSE(tensors.ok()) << name;
      EXPECT_THAT(tensors.error().text(), HasSubstr(field + "=4 is shorter than a row of 5"));
    }
  }
}

TEST(RowOperations, RefuseRowsWithoutColumns) {
  EXPECT_FALSE(parse_problem(shipped_kernel("softmax_bf16").schema(), "m=3 n=0").ok());
  EXPECT_TRUE(parse_problem(shipped_kernel("softmax_bf16").schema(), "m=0 n=3").ok());
}

}  // namespace
}  // namespace plumbline
