// SPDX-License-Identifier: MIT
#include "harness/device/tensor_map.h"

#include <gtest/gtest.h>

#include <functional>

namespace plumbline {
namespace {

constexpr std::int64_t kGiga = std::int64_t{1} << 30;

// Tiles of 64 x 128 of a bf16 matrix.
TensorMap usual() {
  TensorMap map;
  map.address = 0x7f00;
  map.rank = 2;
  map.dims = {4096, 1000};
  map.strides = {0, 8192};
  map.box = {64, 128};
  map.swizzle = TensorSwizzle::bytes_128;
  return map;
}

using Change = std::function<void(TensorMap&)>;

// A limit from both sides: the last map inside it, the first outside, and what is said of that.
struct LimitCase {
  Change inside, outside;
  const char* message;
};

Change set(std::array<std::int64_t, TensorMap::kMaxRank> TensorMap::* which, std::size_t d,
           std::int64_t value) {
  return [=](TensorMap& map) { (map.*which)[d] = value; };
}

Change rank(std::size_t value) {
  return [=](TensorMap& map) {
    map.rank = value;
    map.dims.fill(8);
    map.strides.fill(16);
    map.box.fill(8);
  };
}

Change address(std::uint64_t value) {
  return [=](TensorMap& map) { map.address = value; };
}

// Rows of `elements` elements.
Change row(std::int64_t elements, TensorSwizzle swizzle) {
  return [=](TensorMap& map) {
    map.box[0] = elements;
    map.swizzle = swizzle;
  };
}

// Of e2m1.
Change packed(std::int64_t elements, std::int64_t box) {
  return [=](TensorMap& map) {
    map.format = FormatId::e2m1;
    map.dims[0] = elements;
    map.box[0] = box;
  };
}

// Of e4m3, taken for integers of 16 bits.
Change integers(std::int64_t elements, std::int64_t box) {
  return [=](TensorMap& map) {
    map.format = FormatId::e4m3;
    map.integers = 16;
    map.dims[0] = elements;
    map.box[0] = box;
  };
}

Change fill_nan(FormatId format) {
  return [=](TensorMap& map) {
    map.format = format;
    map.box[0] = is_packed(format) ? 32 : 16;
    map.fill_nan = true;
  };
}

// clang-format off
const LimitCase kLimits[] = {
    {rank(1), rank(0), "a tensor map of 0 dimensions; it has to have from 1 to 5"},
    {rank(5), rank(6), "a tensor map of 6 dimensions; it has to have from 1 to 5"},
    {address(0x1010), address(0x1018), "the address of the first element is 0x1018; it has to be a multiple of 16"},
    {set(&TensorMap::dims, 0, 1), set(&TensorMap::dims, 0, 0), "size of dimension 0 is 0; it has to be from 1 to 2^32"},
    {set(&TensorMap::dims, 1, 4 * kGiga), set(&TensorMap::dims, 1, 4 * kGiga + 1), "size of dimension 1 is 4294967297; it has to be from 1 to 2^32"},
    {packed(64, 32), packed(63, 32), "size of dimension 0 is 63; two elements are in a byte, so it has to be a multiple of 2"},
    {packed(64, 32), packed(64, 16), "a row of the box is 8 bytes; it has to be a multiple of 16"},
    {integers(64, 16), integers(64, 17), "a row of the box is 34 bytes; it has to be a multiple of 16"},
    {set(&TensorMap::strides, 1, 112), set(&TensorMap::strides, 1, 100), "stride of dimension 1 is 100 bytes; it has to be a multiple of 16 and below 2^40, and not negative"},
    {set(&TensorMap::strides, 1, 0), set(&TensorMap::strides, 1, -16), "stride of dimension 1 is -16 bytes; it has to be a multiple of 16 and below 2^40, and not negative"},
    {set(&TensorMap::strides, 1, 1024 * kGiga - 16), set(&TensorMap::strides, 1, 1024 * kGiga), "stride of dimension 1 is 1099511627776 bytes; it has to be a multiple of 16 and below 2^40, and not negative"},
    {set(&TensorMap::box, 1, 1), set(&TensorMap::box, 1, 0), "box of dimension 1 is 0; it has to be from 1 to 256"},
    {set(&TensorMap::box, 1, 256), set(&TensorMap::box, 1, 257), "box of dimension 1 is 257; it has to be from 1 to 256"},
    {row(8, TensorSwizzle::none), row(12, TensorSwizzle::none), "a row of the box is 24 bytes; it has to be a multiple of 16"},
    {row(256, TensorSwizzle::none), row(257, TensorSwizzle::none), "box of dimension 0 is 257; it has to be from 1 to 256"},
    {row(16, TensorSwizzle::bytes_32), row(24, TensorSwizzle::bytes_32), "a row of the box is 48 bytes; swizzle 32B takes at most 32"},
    {row(32, TensorSwizzle::bytes_64), row(40, TensorSwizzle::bytes_64), "a row of the box is 80 bytes; swizzle 64B takes at most 64"},
    {row(64, TensorSwizzle::bytes_128), row(72, TensorSwizzle::bytes_128), "a row of the box is 144 bytes; swizzle 128B takes at most 128"},
    {fill_nan(FormatId::f16), fill_nan(FormatId::e4m3), "e4m3 elements cannot be filled with NaN; f16, bf16, tf32, f32 and f64 can"},
    {fill_nan(FormatId::f64), fill_nan(FormatId::s32), "s32 elements cannot be filled with NaN; f16, bf16, tf32, f32 and f64 can"},
};

// clang-format on

TEST(TensorMap, EveryLimitIsWhereTheDriverHasIt) {
  for (const LimitCase& limit : kLimits) {
    TensorMap inside = usual(), outside = usual();
    limit.inside(inside);
    limit.outside(outside);
    const Status accepted = check_tensor_map(inside), refused = check_tensor_map(outside);
    EXPECT_TRUE(accepted.ok()) << limit.message << ": " << accepted.error().text();
    ASSERT_FALSE(refused.ok()) << limit.message;
    EXPECT_EQ(refused.error().message, limit.message);
    EXPECT_EQ(refused.error().kind, ErrorKind::cannot_run);
  }
}

TEST(TensorMap, WhatLiesBehindTheRankMeansNothing) {
  TensorMap map = usual();
  map.dims[2] = -1;
  map.strides[2] = 7;
  map.box[2] = 1000;
  EXPECT_TRUE(check_tensor_map(map).ok());
}

TEST(TensorMap, AnyFormatMayBeFilledWithZeros) {
  for (const Format& format : all_formats()) {
    TensorMap map = usual();
    fill_nan(format.id)(map);
    map.fill_nan = false;
    EXPECT_TRUE(check_tensor_map(map).ok()) << format.name;
  }
}

TEST(TensorMap, TheyCameWithHopper) {
  EXPECT_TRUE(check_tensor_maps_exist(90).ok());
  const Status older = check_tensor_maps_exist(89);
  ASSERT_FALSE(older.ok());
  EXPECT_EQ(older.error().message, "sm_89 has no tensor maps; they came with sm_90");
}

}  // namespace
}  // namespace plumbline
