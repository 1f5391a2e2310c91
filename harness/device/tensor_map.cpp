// SPDX-License-Identifier: MIT
// The limits of a tensor map: CUDA Driver API 13.0, cuTensorMapEncodeTiled. Every device refuses
// the same maps with the same words.
#include "harness/device/tensor_map.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace plumbline {
namespace {

// What a number of a map may be: at least and at most, and what it is a multiple of.
struct Limit {
  std::string_view what, unit;
  std::int64_t least, most, multiple;
  std::string_view words;

  bool allows(std::int64_t value) const {
    return value >= least && value <= most && value % multiple == 0;
  }
};

constexpr std::int64_t kMaxSize = std::int64_t{1} << 32;
constexpr std::int64_t kMaxStride = (std::int64_t{1} << 40) - 16;

// clang-format off
constexpr Limit kSize   = {"size",   "",       1, kMaxSize,   1,  "from 1 to 2^32"};
constexpr Limit kStride = {"stride", " bytes", 0, kMaxStride, 16, "a multiple of 16 and below 2^40, and not negative"};
constexpr Limit kBox    = {"box",    "",       1, 256,        1,  "from 1 to 256"};
// clang-format on

constexpr std::int64_t kAlignment = 16;  // bytes: of the address, and of a row of the box

Error refused(std::string message) { return {ErrorKind::cannot_run, std::move(message), "", ""}; }

Status check(const Limit& limit, std::size_t dimension, std::int64_t value) {
  if (limit.allows(value)) return {};
  return refused(fmt::format("{} of dimension {} is {}{}; it has to be {}", limit.what, dimension,
                             value, limit.unit, limit.words));
}

Status check_dimension(const TensorMap& map, std::size_t d, std::int64_t width) {
  if (Status size = check(kSize, d, map.dims[d]); !size) return size;
  if (Status box = check(kBox, d, map.box[d]); !box) return box;
  if (d > 0) return check(kStride, d, map.strides[d]);
  if (map.strides[0] == width) return {};
  return refused(fmt::format("stride of dimension 0 is {} bytes; it has to be the {} of an element",
                             map.strides[0], width));
}

// Of rows of the box, which are what lies in one piece.
Status check_row(const TensorMap& map, std::int64_t width) {
  const std::int64_t bytes = map.box[0] * width;
  if (bytes % kAlignment != 0) {
    return refused(fmt::format("a row of the box is {} bytes; it has to be a multiple of {}", bytes,
                               kAlignment));
  }
  const auto swizzle = static_cast<std::int64_t>(map.swizzle);
  if (swizzle == 0 || bytes <= swizzle) return {};
  return refused(fmt::format("a row of the box is {} bytes; swizzle {}B takes at most {}", bytes,
                             swizzle, swizzle));
}

// Floating-point numbers to a tensor map. Narrower ones are bytes to it.
bool is_float(FormatId id) {
  switch (id) {
    case FormatId::f16:
    case FormatId::bf16:
    case FormatId::tf32:
    case FormatId::f32:
    case FormatId::f64:
      return true;
    default:
      return false;
  }
}

}  // namespace

Status check_tensor_map(const TensorMap& map) {
  if (map.rank < 1 || map.rank > TensorMap::kMaxRank) {
    return refused(fmt::format("a tensor map of {} dimensions; it has to have from 1 to {}",
                               map.rank, TensorMap::kMaxRank));
  }
  if (map.address % kAlignment != 0) {
    return refused(
        fmt::format("the address of the first element is {:#x}; it has to be a multiple "
                    "of {}",
                    map.address, kAlignment));
  }
  const Format& element = format(map.format);
  for (std::size_t d = 0; d < map.rank; ++d) {
    if (Status fits = check_dimension(map, d, element.storage_bytes()); !fits) return fits;
  }
  if (Status row = check_row(map, element.storage_bytes()); !row) return row;
  if (!map.fill_nan || is_float(map.format)) return {};
  return refused(
      fmt::format("{} elements cannot be filled with NaN; f16, bf16, tf32, f32 and f64 "
                  "can",
                  element.name));
}

Status check_tensor_maps_exist(int sm) {
  if (sm >= 90) return {};
  return refused(fmt::format("sm_{} has no tensor maps; they came with sm_90", sm));
}

}  // namespace plumbline
