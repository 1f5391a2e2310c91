// SPDX-License-Identifier: MIT
#include "harness/cli/draft/source_names.h"

#include <gtest/gtest.h>

namespace plumbline {
namespace {

using Names = std::vector<std::string>;

TEST(SourceNames, AreThoseOfTheKernel) {
  const char* source =
      "// __global__ void gemm(int not_this);\n"
      "__device__ float gemm_row(const float* row);\n"
      "template <typename T>\n"
      "__global__ void __launch_bounds__(128, 2) gemm(\n"
      "    const T* __restrict__ a, const std::pair<int, int> shape, /* by row */ float scale[],\n"
      "    int64_t ld_a = 0, const void *b) {\n  gemm_row(a);\n}\n"
      "extern \"C\" __global__ void other(int x) {}\n"
      "__global__ void nothing() {}\n__global__ void unnamed(int, float) {}\n";
  EXPECT_EQ(parameter_names(source, "gemm"), (Names{"a", "shape", "scale", "ld_a", "b"}));
  EXPECT_EQ(parameter_names(source, "other"), (Names{"x"}));
  EXPECT_EQ(parameter_names(source, "nothing"), Names{});
  EXPECT_EQ(parameter_names(source, "unnamed"), Names{});
  EXPECT_EQ(parameter_names(source, "gemm_row"), Names{});  // no kernel
  EXPECT_EQ(parameter_names("__global__ void cut(int a", "cut"), Names{});
}

}  // namespace
}  // namespace plumbline
