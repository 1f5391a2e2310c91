// SPDX-License-Identifier: MIT
#include "harness/emulator/memory/tensor_map_code.h"

#include <gtest/gtest.h>

#include "harness/emulator/emulator_device.h"

namespace plumbline::emulator {
namespace {

// Every field at a value of its own; rank r keeps the first r dimensions.
TensorMap map_of_rank(std::size_t rank) {
  TensorMap map;
  map.format = FormatId::f32;
  map.address = 0x7fff'1234'5670;
  map.rank = rank;
  for (std::size_t d = 0; d < rank; ++d) {
    map.dims[d] = (std::int64_t{1} << 32) - static_cast<std::int64_t>(d);
    if (d > 0) map.strides[d] = (std::int64_t{1} << 40) - 16 * static_cast<std::int64_t>(d);
    map.box[d] = 16 + static_cast<std::int64_t>(d);
  }
  map.swizzle = TensorSwizzle::bytes_64;
  map.fill_nan = true;
  return map;
}

void expect_same(const std::optional<TensorMap>& got, const TensorMap& map) {
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->format, map.format);
  EXPECT_EQ(got->address, map.address);
  EXPECT_EQ(got->rank, map.rank);
  EXPECT_EQ(got->dims, map.dims);
  EXPECT_EQ(got->strides, map.strides);
  EXPECT_EQ(got->box, map.box);
  EXPECT_EQ(got->swizzle, map.swizzle);
  EXPECT_EQ(got->fill_nan, map.fill_nan);
  EXPECT_EQ(got->integers, map.integers);
}

TEST(TensorMapCode, RoundTrips) {
  for (std::size_t rank = 1; rank <= TensorMap::kMaxRank; ++rank) {
    TensorMap map = map_of_rank(rank);
    expect_same(decode_tensor_map(encode_tensor_map(map)), map);
    map.integers = 16;
    expect_same(decode_tensor_map(encode_tensor_map(map)), map);
  }
  for (const Format& format : all_formats()) {
    for (const int swizzle : {0, 32, 64, 128}) {
      TensorMap map = map_of_rank(2);
      map.format = format.id;
      map.swizzle = static_cast<TensorSwizzle>(swizzle);
      map.fill_nan = false;
      map.box[1] = 256;
      expect_same(decode_tensor_map(encode_tensor_map(map)), map);
    }
  }
}

TEST(TensorMapCode, OtherBytesAreNoMap) {
  EXPECT_FALSE(decode_tensor_map(EncodedTensorMap{}).has_value());
  EncodedTensorMap code = encode_tensor_map(map_of_rank(3));
  for (std::size_t i = 0; i < code.size(); ++i) {
    code[i] ^= std::byte{1};
    EXPECT_FALSE(decode_tensor_map(code).has_value()) << "byte " << i << " changed";
    code[i] ^= std::byte{1};
  }
  EXPECT_TRUE(decode_tensor_map(code).has_value());
}

TEST(TensorMapCode, TheDeviceEncodesWhatAChipCouldDo) {
  const std::unique_ptr<Device> device = make_emulator({.sm = 90, .threads = 1});
  TensorMap map = map_of_rank(2);
  const Result<EncodedTensorMap> code = device->encode(map);
  ASSERT_TRUE(code.ok()) << code.error().text();
  expect_same(decode_tensor_map(*code), map);
  map.box[0] = 257;
  const Result<EncodedTensorMap> refused = device->encode(map);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().text(), check_tensor_map(map).error().text());
}

// The manual does not say where the chip puts them: no answer is better than a wrong one.
TEST(TensorMapCode, RowsThatDoNotFillTheirSwizzleAreRefused) {
  TensorMap map = map_of_rank(2);
  map.box[0] = 12;
  ASSERT_TRUE(check_tensor_map(map).ok());
  const Result<EncodedTensorMap> refused = make_emulator({.sm = 90, .threads = 1})->encode(map);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(
      refused.error().message,
      "a row of the box is 48 bytes under swizzle 64B; the emulator knows only rows that fill it");
}

TEST(TensorMapCode, ChipsBeforeHopperHaveNone) {
  const Result<EncodedTensorMap> refused =
      make_emulator({.sm = 80, .threads = 1})->encode(map_of_rank(1));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().text(), check_tensor_maps_exist(80).error().text());
}

}  // namespace
}  // namespace plumbline::emulator
