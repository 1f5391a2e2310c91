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
  const auto names_of = [](std::string_view text, std::string_view function) {
    return parameter_names(parameter_declarations(text, function));
  };
  EXPECT_EQ(names_of(source, "gemm"), (Names{"a", "shape", "scale", "ld_a", "b"}));
  EXPECT_EQ(names_of(source, "other"), (Names{"x"}));
  EXPECT_EQ(names_of(source, "nothing"), Names{});
  EXPECT_EQ(names_of(source, "unnamed"), Names{});
  EXPECT_EQ(names_of(source, "gemm_row"), Names{});  // no kernel
  EXPECT_EQ(names_of("__global__ void cut(int a", "cut"), Names{});
}

TEST(SourceNames, TypesTellFormats) {
  EXPECT_EQ(format_of_type("const __nv_fp8_e4m3* __restrict__ a"), "e4m3");
  EXPECT_EQ(format_of_type("__nv_bfloat16 const*"), "bf16");
  EXPECT_EQ(format_of_type("cutlass::half_t* d"), "f16");
  EXPECT_EQ(format_of_type("float2 const *x"), "f32");
  EXPECT_EQ(format_of_type("signed char*"), "s8");
  EXPECT_EQ(format_of_type("const T* half"), "");  // the name is no type
  EXPECT_EQ(format_of_type("unsigned char const* codes"), "");
  EXPECT_EQ(parameter_types("void lib::k<float, (int)4>(float const*, std::pair<int, int>, int)"),
            (Names{"float const*", " std::pair<int, int>", " int"}));
  EXPECT_EQ(parameter_types("k"), Names{});
}

}  // namespace
}  // namespace plumbline
