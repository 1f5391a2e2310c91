// SPDX-License-Identifier: MIT
#include "harness/gpu/encode_tensor_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace plumbline {
namespace {

// CUtensorMapDataType (cuda.h). What has 8 bits or fewer travels as bytes, but for what is packed;
// tf32 as f32, which leaves every bit as it is: the driver's TFLOAT32 would round.
constexpr int data_type(FormatId id) {
  switch (id) {
    case FormatId::e2m1:
      return 13;  // 16U4_ALIGN8B: without gaps
    case FormatId::e2m3:
    case FormatId::e3m2:
    case FormatId::e4m3:
    case FormatId::e5m2:
    case FormatId::ue8m0:
    case FormatId::s8:
    case FormatId::u8:
      return 0;  // UINT8
    case FormatId::s32:
      return 3;  // INT32
    case FormatId::s64:
      return 5;  // INT64
    case FormatId::f16:
      return 6;  // FLOAT16
    case FormatId::tf32:
    case FormatId::f32:
      return 7;  // FLOAT32
    case FormatId::f64:
      return 8;  // FLOAT64
    case FormatId::bf16:
      return 9;  // BFLOAT16
  }
  return -1;
}

// UINT8, UINT16, UINT32, UINT64.
constexpr int integer_type(int bits) { return bits == 64 ? 4 : bits / 16; }

// CUtensorMapSwizzle.
constexpr int swizzle(TensorSwizzle span) {
  switch (span) {
    case TensorSwizzle::none:
      return 0;
    case TensorSwizzle::bytes_32:
      return 1;
    case TensorSwizzle::bytes_64:
      return 2;
    case TensorSwizzle::bytes_128:
      return 3;
  }
  return -1;
}

constexpr int kNoInterleave = 0, kNoPromotion = 0;
constexpr int kFillZero = 0, kFillNan = 1;  // CUtensorMapFloatOOBfill

}  // namespace

Result<EncodedTensorMap> encode_tensor_map(const Driver& driver, const TensorMap& map) {
  if (!driver.tensor_map_encode) {
    return Error{ErrorKind::cannot_run,
                 "the driver has no cuTensorMapEncodeTiled, so that it cannot make tensor maps", "",
                 "update the driver"};
  }
  std::array<std::uint64_t, TensorMap::kMaxRank> dims{}, strides{};
  std::array<unsigned, TensorMap::kMaxRank> box{}, steps{};
  for (std::size_t d = 0; d < map.rank; ++d) {
    dims[d] = static_cast<std::uint64_t>(map.dims[d]);
    if (d > 0) strides[d - 1] = static_cast<std::uint64_t>(map.strides[d]);
    box[d] = static_cast<unsigned>(map.box[d]);
    steps[d] = 1;
  }

  struct alignas(128) {  // as CUtensorMap is; the call refuses less than 64
    EncodedTensorMap bytes{};
  } made;

  const int code = driver.tensor_map_encode(
      &made, map.integers > 0 ? integer_type(map.integers) : data_type(map.format),
      static_cast<unsigned>(map.rank), reinterpret_cast<void*>(map.address), dims.data(),
      strides.data(), box.data(), steps.data(), kNoInterleave, swizzle(map.swizzle), kNoPromotion,
      map.fill_nan ? kFillNan : kFillZero);
  if (code != 0) return driver.error("cuTensorMapEncodeTiled", code);
  return made.bytes;
}

}  // namespace plumbline
