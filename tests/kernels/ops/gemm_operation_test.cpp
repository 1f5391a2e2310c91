// SPDX-License-Identifier: MIT
#include "kernels/manifest/manifest.h"
#include "kernels/ops/gemm_layout.h"
#include "tests/kernels/ops/gemm_problems.h"

namespace plumbline {
namespace {

// The parts of a manifest tensors() asks for.
Manifest formats_only() {
  Manifest manifest;
  manifest.formats = {
      {"a", "bf16"}, {"b", "bf16"}, {"c", "{out}"}, {"bias", "f32"}, {"d", "{out}"}};
  return manifest;
}

// "name layout-text" for each tensor, or the error's text.
std::vector<std::string> tensors(std::string_view problem) {
  const auto specs = find_operation("gemm")->tensors(gemm(problem), formats_only());
  if (!specs.ok()) return {specs.error().text()};
  std::vector<std::string> texts;
  for (const TensorSpec& spec : *specs) texts.push_back(spec.name + " " + spec.layout.text());
  return texts;
}

using Texts = std::vector<std::string>;

TEST(GemmOperation, TightTensorsAreContiguous) {
  EXPECT_EQ(tensors("m=3 n=4 k=5"), (Texts{"a bf16[1,3,5]", "b bf16[1,5,4]", "d bf16[1,3,4]"}));
  EXPECT_EQ(tensors("m=3 n=4 k=5 batch=2 out=f32"),
            (Texts{"a bf16[2,3,5]", "b bf16[2,5,4]", "d f32[2,3,4]"}));
}

TEST(GemmOperation, TransposedOperandsSwapTheirStrides) {
  EXPECT_EQ(
      tensors("m=3 n=4 k=5 layout=tt"),
      (Texts{"a bf16[1,3,5] strides 15,1,3", "b bf16[1,5,4] strides 20,1,5", "d bf16[1,3,4]"}));
  EXPECT_EQ(tensors("m=3 n=4 k=5 layout=nt ldb=8"),
            (Texts{"a bf16[1,3,5]", "b bf16[1,5,4] strides 32,1,8", "d bf16[1,3,4]"}));
}

TEST(GemmOperation, PaddingAndBatchStridesAreKept) {
  EXPECT_EQ(tensors("m=3 n=4 k=5 batch=2 lda=8 stride_b=0 ldd=6 stride_d=100"),
            (Texts{"a bf16[2,3,5] strides 24,8,1", "b bf16[2,5,4] strides 0,4,1",
                   "d bf16[2,3,4] strides 100,6,1"}));
}

TEST(GemmOperation, OptionalTensorsAppearWhenTheProblemHasThem) {
  EXPECT_EQ(
      tensors("m=3 n=4 k=5 beta=2 bias=row"),
      (Texts{"a bf16[1,3,5]", "b bf16[1,5,4]", "c bf16[1,3,4]", "bias f32[3]", "d bf16[1,3,4]"}));
  EXPECT_EQ(
      tensors("m=3 n=4 k=5 c=always bias=column"),
      (Texts{"a bf16[1,3,5]", "b bf16[1,5,4]", "c bf16[1,3,4]", "bias f32[4]", "d bf16[1,3,4]"}));
  EXPECT_EQ(tensors("m=3 n=4 k=5 beta=-0").size(), 3u) << "-0 is 0";
  EXPECT_EQ(tensors("m=3 n=4 k=5 beta=0x7fc00000").size(), 4u) << "NaN is not 0";
}

TEST(GemmOperation, EmptyProblemsHaveEmptyTensors) {
  EXPECT_EQ(tensors("m=0 n=4 k=5"),
            (Texts{"a bf16[1,0,5] strides 0,5,1", "b bf16[1,5,4]", "d bf16[1,0,4] strides 0,4,1"}));
  EXPECT_EQ(tensors("m=3 n=4 k=0").size(), 3u);
  EXPECT_EQ(tensors("m=3 n=4 k=5 batch=0").size(), 3u);
}

TEST(GemmOperation, AbsurdStridesOfSizeOneDimensionsAreAccepted) {
  EXPECT_EQ(tensors("m=1 n=4 k=5 lda=4611686018427387904")[0],
            "a bf16[1,1,5] strides 4611686018427387904,4611686018427387904,1");
}

TEST(GemmOperation, ImpossibleLayoutsAreErrors) {
  EXPECT_EQ(tensors("m=3 n=4 k=5 lda=4"), (Texts{"lda=4 is shorter than a stored row of a, which "
                                                 "has 5 elements (use lda=0 for tight rows)"}));
  EXPECT_EQ(tensors("m=3 n=4 k=5 layout=tn lda=2"),
            (Texts{"lda=2 is shorter than a stored row of a, which has 3 elements (use lda=0 for "
                   "tight rows)"}));
  EXPECT_EQ(tensors("m=3 n=4 k=5 lda=4611686018427387904"),
            (Texts{"3 rows of a with leading dimension 4611686018427387904 do not fit 64 bits (use "
                   "a smaller lda)"}));
  EXPECT_EQ(tensors("m=1099511627776 n=4 k=1099511627776").size(), 1u);
  EXPECT_EQ(tensors("m=1099511627776 n=1099511627776 k=1").size(), 1u);
}

TEST(GemmOperation, OutputsOfDifferentBatchesMustNotOverlap) {
  EXPECT_EQ(tensors("m=3 n=4 k=5 batch=2 stride_d=0"),
            (Texts{"stride_d=0 makes the outputs of different batch elements overlap (use "
                   "stride_d=-1 for tight "
                   "batches)"}));
  EXPECT_EQ(tensors("m=3 n=4 k=5 batch=2 stride_d=11").size(), 1u);
  EXPECT_EQ(tensors("m=3 n=4 k=5 batch=1 stride_d=0").size(), 3u);
  EXPECT_EQ(tensors("m=3 n=4 k=5 batch=2 ldd=8 stride_d=4").size(), 3u)
      << "interleaved rows [m, batch, n]";
  EXPECT_EQ(tensors("m=3 n=4 k=5 batch=3 ldd=8 stride_d=4").size(), 1u)
      << "the third batch meets the next row";
}

TEST(GemmOperation, WorkCountsProducts) {
  EXPECT_EQ(find_operation("gemm")->work(gemm("m=3 n=4 k=5 batch=2")), 120);
  EXPECT_EQ(find_operation("gemm")->work(gemm("m=3 n=4 k=0")), 0);
}

TEST(Operations, AreFoundByName) {
  EXPECT_EQ(find_operation("gemm")->name(), "gemm");
  EXPECT_EQ(find_operation("conv"), nullptr);
  EXPECT_FALSE(all_operations().empty());
}

TEST(Operations, CaseTensorsAreFoundByName) {
  CaseTensors tensors;
  tensors.specs = *find_operation("gemm")->tensors(gemm("m=3 n=4 k=5"), formats_only());
  for (const TensorSpec& spec : tensors.specs) tensors.tensors.emplace_back(spec.layout);
  EXPECT_EQ(tensors.find("b"), &tensors.tensors[1]);
  EXPECT_EQ(tensors.find("c"), nullptr);
}

}  // namespace
}  // namespace plumbline
