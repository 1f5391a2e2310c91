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

Status check_dimension(const TensorMap& map, std::size_t d) {
  if (Status size = check(kSize, d, map.dims[d]); !size) return size;
  if (Status box = check(kBox, d, map.box[d]); !box) return box;
  if (d > 0) return check(kStride, d, map.strides[d]);
  if (map.dims[0] * map.element_bits() % 8 == 0) return {};
  return refused(
      fmt::format("size of dimension 0 is {}; two elements are in a byte, so it has to "
                  "be a multiple of 2",
                  map.dims[0]));
}

// Of rows of the box, which are what lies in one piece.
Status check_row(const TensorMap& map) {
  const std::int64_t bytes = map.bytes(map.box[0]);
  if (bytes % kAlignment != 0 || map.box[0] * map.element_bits() % 8 != 0) {
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

int TensorMap::element_bits() const {
  if (integers > 0) return integers;
  return is_packed(format) ? 4 : 8 * plumbline::format(format).storage_bytes();
}

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
  for (std::size_t d = 0; d < map.rank; ++d) {
    if (Status fits = check_dimension(map, d); !fits) return fits;
  }
  if (Status row = check_row(map); !row) return row;
  const bool can_be_nan = map.integers == 0 && is_float(map.format);
  if (!map.fill_nan || can_be_nan) return {};
  return refused(fmt::format(
      "{} elements cannot be filled with NaN; f16, bf16, tf32, f32 and f64 can",
      map.integers > 0 ? fmt::format("u{}", map.integers) : std::string(format(map.format).name)));
}

Status check_tensor_maps_exist(int sm) {
  if (sm >= 90) return {};
  return refused(fmt::format("sm_{} has no tensor maps; they came with sm_90", sm));
}

}  // namespace plumbline
