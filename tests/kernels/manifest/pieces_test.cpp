// SPDX-License-Identifier: MIT
#include "kernels/manifest/pieces.h"
#include "tests/folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/registry.h"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::Lt;

constexpr std::int64_t kFar = (std::int64_t{1} << 30) + 64;

TensorLayout layout_of(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides,
                       std::int64_t offset = 0) {
  TensorLayout layout;
  layout.format = FormatId::bf16;
  layout.shape = std::move(shape);
  layout.strides = std::move(strides);
  layout.offset = offset;
  return layout;
}

// Where a device has the element: its piece, then its place in it.
std::int64_t device_index(const TensorLayout& kept, const Pieces& pieces, std::int64_t linear) {
  const std::int64_t index = kept.storage_index(linear);
  return index / pieces.kept * pieces.apart + index % pieces.kept;
}

void expect_every_element_at_its_place(const TensorLayout& given) {
  TensorLayout kept = given;
  const Pieces pieces = cut(kept);
  ASSERT_GT(pieces.apart, 0) << given.text();
  ASSERT_TRUE(kept.check());
  EXPECT_THAT(kept.storage_bytes(), Lt(1 << 20)) << given.text();
  for (std::int64_t i = 0; i < given.count(); ++i)
    ASSERT_EQ(device_index(kept, pieces, i), given.storage_index(i)) << given.text() << " " << i;
  // What decides about wide loads is as it was.
  for (std::size_t d = 0; d < given.shape.size(); ++d)
    EXPECT_EQ(kept.strides[d] % 256, given.strides[d] % 256) << given.text();
}

TEST(Pieces, EveryElementIsAtItsPlace) {
  expect_every_element_at_its_place(layout_of({6, 40}, {kFar, 1}));
  expect_every_element_at_its_place(layout_of({6, 40}, {kFar + 3, 1}, 7));
  expect_every_element_at_its_place(layout_of({6, 40}, {1, kFar}));         // stored by columns
  expect_every_element_at_its_place(layout_of({3, 6, 40}, {kFar, 40, 1}));  // batches
  expect_every_element_at_its_place(layout_of({3, 6, 40}, {6 * kFar, kFar, 1}));
  expect_every_element_at_its_place(layout_of({3, 6, 40}, {6 * kFar + 8, kFar, 1}));
  expect_every_element_at_its_place(layout_of({2, 2, 6, 16}, {12 * kFar, 6 * kFar, kFar, 1}));
  expect_every_element_at_its_place(layout_of({2, 3, 6, 16}, {18 * kFar, 16, 3 * kFar, 1}));
}

// Among them those of too many rows: they take more memory than anybody has, and are told so.
TEST(Pieces, OtherTensorsAreOne) {
  for (TensorLayout layout :
       {layout_of({6, 40}, {48, 1}), layout_of({1, 40}, {kFar, 1}),  // no step along it
        layout_of({0, 40}, {kFar, 1}), layout_of({6, 40}, {1 << 20, 1}),
        layout_of({1025, 40}, {kFar, 1})}) {
    const std::vector<std::int64_t> before = layout.strides;
    EXPECT_EQ(cut(layout).apart, 0) << layout.text();
    EXPECT_EQ(layout.strides, before);
  }
}

TEST(Pieces, ManifestsCutTheTensorsOfAProblem) {
  const Result<Manifest> kernel =
      read_manifest(PLUMBLINE_SOURCE_DIR "/kernels/shipped/gemm_bf16/gemm_bf16.toml");
  ASSERT_TRUE(kernel) << kernel.error().text();
  const Result<Problem> problem = parse_problem(kernel->schema(), "m=6 n=8 k=40 ldd=1073741888");
  const Result<std::vector<TensorSpec>> specs = kernel->tensors(*problem);
  ASSERT_TRUE(specs) << specs.error().text();
  for (const TensorSpec& spec : *specs) {
    EXPECT_EQ(spec.pieces.apart, spec.name == "d" ? kFar : 0) << spec.name;
    EXPECT_THAT(spec.layout.storage_bytes(), Lt(1 << 20)) << spec.name;
  }
}

}  // namespace
}  // namespace plumbline
