// SPDX-License-Identifier: MIT
// The MLP as manifests and problems know it: its outputs, where matrices lie, the terms of its
// contract, and what is refused.
#include <algorithm>

#include <gmock/gmock.h>

#include "tests/folders.h"
#include "tests/kernels/manifest/manifest_files.h"
#include "tests/kernels/ops/operation_case.h"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kKernel = "swiglu_mlp_bf16";
constexpr std::string_view kSizes = "tokens=3 d=5 hidden=7 d_out=4";

TensorLayout layout_of(std::string_view tensor, const std::string& more) {
  const OperationCase made(kKernel, std::string(kSizes) + more, 80);
  return made.tensor(tensor).layout;
}

TEST(SwigluOperation, HasTwoOutputsAndSaysThatOneFollows) {
  const OperationCase made(kKernel, kSizes, 80);
  ASSERT_EQ(made.oracle->outputs(), 2);
  EXPECT_EQ(made.oracle->output_name(0), "h");
  EXPECT_EQ(made.oracle->output_name(1), "y");
  const auto follows = made.kernel.operation->follows();
  ASSERT_EQ(follows.size(), 1u);
  EXPECT_EQ(follows[0].output, "y");
  EXPECT_EQ(follows[0].from, "h");
}

TEST(SwigluOperation, MatricesLieWhereTheProblemSays) {
  EXPECT_THAT(layout_of("w_up", "").strides, ElementsAre(5, 1));
  EXPECT_THAT(layout_of("w_up", " pad=2").strides, ElementsAre(7, 1));
  EXPECT_THAT(layout_of("w_up", " weights=kn").strides, ElementsAre(1, 7));
  EXPECT_THAT(layout_of("w_down", " weights=kn pad=2").strides, ElementsAre(1, 6));
  EXPECT_THAT(layout_of("w_down", " weights=kn pad=2").shape, ElementsAre(4, 7));
  EXPECT_THAT(layout_of("h", " pad=3").strides, ElementsAre(10, 1));
}

TEST(SwigluOperation, DerivedNamesAreTheStrides) {
  const OperationCase made(kKernel, std::string(kSizes) + " weights=kn pad=2", 80);
  for (const Derived& derived : made.kernel.operation->derived()) {
    const std::string_view name = derived.name;
    const std::string_view tensor = name == "ld_x"   ? "x"
                                    : name == "ld_w" ? "w_gate"
                                    : name == "ld_h" ? "h"
                                    : name == "ld_y" ? "y"
                                                     : "w_down";
    const std::vector<std::int64_t>& strides = made.tensor(tensor).layout.strides;
    EXPECT_EQ(*derived.value(made.problem), std::max(strides[0], strides[1])) << name;
  }
}

TEST(SwigluOperation, ContractsNeedAUnitAndAWayToSilu) {
  const std::string text = read_file(std::string(PLUMBLINE_SOURCE_DIR) +
                                     "/kernels/shipped/swiglu_mlp_bf16/swiglu_mlp_bf16.toml");
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return parse_manifest(changed, "swiglu_mlp_bf16.toml");
  };
  const auto missing = with("silu = \"g / (1 + e)\"", "");
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().text(), HasSubstr("\"silu\" is missing"));
  const auto unknown = with("g / (1 + e)", "g / (1 - e)");
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.error().text(), HasSubstr("did you mean \"g / (1 + e)\""));
  const auto integers = with("unit = \"mma.sync\"", "unit = \"int32\"");
  EXPECT_FALSE(integers.ok());
}

}  // namespace
}  // namespace plumbline
