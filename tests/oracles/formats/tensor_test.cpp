// SPDX-License-Identifier: MIT
// Where elements lie: broadcast, gaps, offsets, empty tensors, and dimensions of size 1 with
// nonsense strides.
#include "oracles/formats/tensor.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

namespace plumbline {
namespace {

constexpr std::int64_t kAbsurd = std::numeric_limits<std::int64_t>::max();

TensorLayout contiguous(FormatId id, std::vector<std::int64_t> shape) {
  return {id, shape, contiguous_strides(shape), 0};
}

TEST(TensorLayout, ContiguousStridesAreRowMajor) {
  EXPECT_EQ(contiguous_strides(std::vector<std::int64_t>{2, 64, 96}),
            (std::vector<std::int64_t>{6144, 96, 1}));
  EXPECT_EQ(contiguous_strides(std::vector<std::int64_t>{}), (std::vector<std::int64_t>{}));
  EXPECT_EQ(contiguous_strides(std::vector<std::int64_t>{4, 0, 3}),
            (std::vector<std::int64_t>{3, 3, 1}));
}

TEST(TensorLayout, ContiguousStorageHasNoGapsAndIndexIsTheLinearIndex) {
  const TensorLayout layout = contiguous(FormatId::bf16, {3, 5, 7});
  EXPECT_EQ(layout.count(), 105);
  EXPECT_EQ(layout.storage_elements(), 105);
  EXPECT_EQ(layout.storage_bytes(), 210);
  for (std::int64_t i = 0; i < 105; ++i) EXPECT_EQ(layout.storage_index(i), i);
}

TEST(TensorLayout, StridesAndOffsetMoveElements) {
  const TensorLayout transposed{FormatId::f32, {2, 3}, {1, 2}, 4};
  const std::int64_t expected[] = {4, 6, 8, 5, 7, 9};
  for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(transposed.storage_index(i), expected[i]);
  EXPECT_EQ(transposed.storage_elements(), 10);
  EXPECT_EQ(transposed.storage_bytes(), 40);

  const TensorLayout padded{FormatId::f32, {2, 3}, {8, 1}, 0};
  EXPECT_EQ(padded.storage_elements(), 11);  // the last row has no padding behind it
  EXPECT_EQ(padded.storage_index(5), 10);
}

TEST(TensorLayout, BroadcastDimensionsTakeNoStorage) {
  const TensorLayout broadcast{FormatId::f16, {4, 3}, {0, 1}, 0};
  EXPECT_EQ(broadcast.count(), 12);
  EXPECT_EQ(broadcast.storage_elements(), 3);
  EXPECT_EQ(broadcast.storage_index(10), 1);
  const TensorLayout one_value{FormatId::f16, {1000, 1000}, {0, 0}, 2};
  EXPECT_EQ(one_value.storage_elements(), 3);
  EXPECT_EQ(one_value.storage_index(999999), 2);
}

TEST(TensorLayout, StridesOfSizeOneDimensionsCountForNothing) {
  for (const std::int64_t stride : {std::int64_t{0}, std::int64_t{-1}, kAbsurd, -kAbsurd}) {
    const TensorLayout layout{FormatId::bf16, {1, 4, 1, 3}, {stride, 3, stride, 1}, 0};
    ASSERT_TRUE(layout.check().ok());
    EXPECT_EQ(layout.storage_elements(), 12);
    for (std::int64_t i = 0; i < 12; ++i) EXPECT_EQ(layout.storage_index(i), i);
  }
}

TEST(TensorLayout, EmptyTensorsNeedNoStorage) {
  const TensorLayout empty{FormatId::f32, {4, 0, 3}, {kAbsurd, kAbsurd, kAbsurd}, 17};
  EXPECT_TRUE(empty.check().ok());
  EXPECT_EQ(empty.count(), 0);
  EXPECT_EQ(empty.storage_elements(), 0);
  EXPECT_EQ(Tensor(empty).storage.size(), 0u);
}

TEST(TensorLayout, ScalarsHaveOneElement) {
  const TensorLayout scalar{FormatId::f32, {}, {}, 3};
  EXPECT_EQ(scalar.count(), 1);
  EXPECT_EQ(scalar.storage_elements(), 4);
  EXPECT_EQ(scalar.storage_index(0), 3);
  EXPECT_EQ(scalar.text(), "f32[] offset 3");
}

TEST(TensorLayout, TextShowsWhatIsNotContiguous) {
  EXPECT_EQ(contiguous(FormatId::bf16, {2, 64, 96}).text(), "bf16[2,64,96]");
  EXPECT_EQ((TensorLayout{FormatId::e4m3, {64, 96}, {1, 64}, 0}).text(),
            "e4m3[64,96] strides 1,64");
  EXPECT_EQ((TensorLayout{FormatId::s8, {1, 96}, {7, 1}, 8}).text(),
            "s8[1,96] strides 7,1 offset 8");
}

TEST(TensorLayout, CheckNamesWhatIsWrong) {
  const auto message = [](const TensorLayout& layout) {
    const Status status = layout.check();
    return status.ok() ? std::string("ok") : status.error().message;
  };
  EXPECT_EQ(message({FormatId::f32, {2, 3}, {3, 1}, 0}), "ok");
  EXPECT_EQ(message({FormatId::f32, {2, 3}, {1}, 0}), "a tensor of 2 dimensions has 1 strides");
  EXPECT_EQ(message({FormatId::f32, {2, 3}, {3, 1}, -1}), "offset -1 lies before the storage");
  EXPECT_EQ(message({FormatId::f32, {2, -3}, {3, 1}, 0}), "dimension 1 has negative size -3");
  EXPECT_EQ(message({FormatId::f32, {2, 3}, {-3, 1}, 0}), "dimension 0 has negative stride -3");
  EXPECT_EQ(message({FormatId::f32, {3}, {kAbsurd}, 0}),
            "tensor f32[3] strides 9223372036854775807 needs more storage than 63 bits can count");
  EXPECT_EQ(message({FormatId::f32, {kAbsurd}, {1}, 0}),
            "tensor f32[9223372036854775807] needs more storage than 63 bits can count");
  // Broadcast: little storage, but more elements than can be numbered.
  EXPECT_EQ(
      message({FormatId::s8, {kAbsurd, 2}, {0, 0}, 0}),
      "tensor s8[9223372036854775807,2] strides 0,0 needs more storage than 63 bits can count");
}

TEST(TensorLayoutDeath, IndicesOutsideAreABug) {
  const TensorLayout layout = contiguous(FormatId::f32, {2, 3});
  EXPECT_DEATH(static_cast<void>(layout.storage_index(6)), "");
  EXPECT_DEATH(static_cast<void>(layout.storage_index(-1)), "");
  EXPECT_DEATH(static_cast<void>(Tensor(layout).bits_at(6)), "");
  EXPECT_DEATH(static_cast<void>(Tensor(TensorLayout{FormatId::f32, {2}, {-1}, 4})), "");
}

TEST(Tensor, BitsGoInAndComeOutForEveryFormat) {
  for (const Format& f : all_formats()) {
    Tensor tensor(TensorLayout{f.id, {3, 5}, {7, 1}, 2});
    const std::uint64_t mask =
        f.storage_bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << f.storage_bits) - 1;
    for (std::int64_t i = 0; i < 15; ++i) {
      EXPECT_EQ(tensor.bits(i), 0u);
      tensor.set_bits(i, 0x8123456789abcdefu * static_cast<std::uint64_t>(i + 1));
    }
    for (std::int64_t i = 0; i < 15; ++i) {
      EXPECT_EQ(tensor.bits(i), (0x8123456789abcdefu * static_cast<std::uint64_t>(i + 1)) & mask)
          << f.name;
    }
  }
}

TEST(Tensor, WritesTouchNothingBetweenTheElements) {
  Tensor tensor(TensorLayout{FormatId::bf16, {2, 2}, {4, 1}, 1});
  for (std::int64_t i = 0; i < 4; ++i) tensor.set_bits(i, 0xffff);
  const std::set<std::int64_t> written = {1, 2, 5, 6};
  for (std::int64_t i = 0; i < tensor.layout.storage_elements(); ++i) {
    EXPECT_EQ(tensor.bits_at(i), written.contains(i) ? 0xffffu : 0u);
  }
}

}  // namespace
}  // namespace plumbline
