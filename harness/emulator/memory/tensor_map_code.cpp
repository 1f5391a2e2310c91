// SPDX-License-Identifier: MIT
#include "harness/emulator/memory/tensor_map_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "oracles/base/hash.h"

namespace plumbline::emulator {
namespace {

// "tensor m" in memory.
constexpr std::uint64_t kMagic = 0x6d20726f736e6574;

struct Code {
  std::uint64_t magic = kMagic;
  std::uint64_t address = 0;
  std::array<std::int64_t, TensorMap::kMaxRank> dims{};
  std::array<std::int64_t, TensorMap::kMaxRank - 1> strides{};  // from dimension 1 on
  std::array<std::uint16_t, TensorMap::kMaxRank> box{};
  std::uint8_t format = 0;
  std::uint8_t rank = 0;
  std::uint8_t swizzle = 0;
  std::uint8_t fill_nan = 0;
  std::uint8_t integers = 0;
  std::array<std::uint8_t, 17> zero{};
  std::uint64_t fingerprint = 0;  // of all before it
};

static_assert(sizeof(Code) == sizeof(EncodedTensorMap));
static_assert(offsetof(Code, fingerprint) == sizeof(Code) - sizeof(std::uint64_t));

std::uint64_t fingerprint_of(const Code& code) {
  return fingerprint(std::as_bytes(std::span(&code, 1)).first(offsetof(Code, fingerprint)));
}

Error lacks(std::string words) { return {ErrorKind::cannot_run, std::move(words), "", ""}; }

// The element types of the manual that are formats here. To a copy, integers are their width.
std::optional<FormatId> element_type(std::uint64_t number) {
  switch (number) {
    case 0:  // .u8
      return FormatId::u8;
    case 2:  // .u32
    case 3:  // .s32
      return FormatId::s32;
    case 6:
      return FormatId::f16;
    case 7:
      return FormatId::f32;
    case 9:
      return FormatId::f64;
    case 10:
      return FormatId::bf16;
    case 11:
      return FormatId::tf32;
    default:
      return std::nullopt;
  }
}

// How many ordinals a field has; 0: it takes none.
std::int64_t ordinals_of(TensorMapField field) {
  switch (field) {
    case TensorMapField::box_dim:
    case TensorMapField::global_dim:
    case TensorMapField::element_stride:
      return TensorMap::kMaxRank;
    case TensorMapField::global_stride:
      return TensorMap::kMaxRank - 1;
    default:
      return 0;
  }
}

Status replace(Code& code, TensorMapField field, std::size_t at, std::uint64_t value) {
  switch (field) {
    case TensorMapField::global_address:
      code.address = value;
      return {};
    case TensorMapField::rank:
      if (value >= TensorMap::kMaxRank)
        return lacks(fmt::format("a rank of {} less 1; 5 dimensions are the most", value + 1));
      code.rank = static_cast<std::uint8_t>(value + 1);
      return {};
    case TensorMapField::box_dim:
      if (value > 256)
        return lacks(
            fmt::format("a box of {} elements along a dimension; 256 are the most", value));
      code.box[at] = static_cast<std::uint16_t>(value);
      return {};
    case TensorMapField::global_dim:
      code.dims[at] = static_cast<std::int64_t>(value);
      return {};
    case TensorMapField::global_stride:
      code.strides[at] = static_cast<std::int64_t>(value);
      return {};
    case TensorMapField::element_stride:
      if (value != 1) return lacks("element strides other than 1 are not emulated");
      return {};
    case TensorMapField::elemtype: {
      const std::optional<FormatId> type = element_type(value);
      if (!type) return lacks(fmt::format("the element type {} is not emulated", value));
      code.format = static_cast<std::uint8_t>(*type);
      code.integers = 0;
      return {};
    }
    case TensorMapField::interleave_layout:
      if (value != 0) return lacks("interleaved layouts are not emulated");
      return {};
    case TensorMapField::swizzle_mode:
      if (value > 3) return lacks(fmt::format("the swizzle mode {} is not emulated", value));
      code.swizzle = value == 0 ? 0 : static_cast<std::uint8_t>(16 << value);
      return {};
    case TensorMapField::swizzle_atomicity:
      if (value != 0) return lacks("swizzles of other pieces than 16 bytes are not emulated");
      return {};
    case TensorMapField::fill_mode:
      if (value > 1) return lacks(fmt::format("there is no fill mode {}", value));
      code.fill_nan = static_cast<std::uint8_t>(value);
      return {};
  }
  return lacks("there is no such field");
}

bool is_map(const Code& code) {
  return code.magic == kMagic && code.fingerprint == fingerprint_of(code);
}

}  // namespace

EncodedTensorMap encode_tensor_map(const TensorMap& map) {
  Code code;
  code.address = map.address;
  for (std::size_t d = 0; d < map.rank; ++d) {
    code.dims[d] = map.dims[d];
    if (d > 0) code.strides[d - 1] = map.strides[d];
    code.box[d] = static_cast<std::uint16_t>(map.box[d]);
  }
  code.format = static_cast<std::uint8_t>(map.format);
  code.rank = static_cast<std::uint8_t>(map.rank);
  code.swizzle = static_cast<std::uint8_t>(map.swizzle);
  code.fill_nan = map.fill_nan ? 1 : 0;
  code.integers = static_cast<std::uint8_t>(map.integers);
  code.fingerprint = fingerprint_of(code);
  EncodedTensorMap bytes;
  std::memcpy(bytes.data(), &code, sizeof code);
  return bytes;
}

std::optional<TensorMap> decode_tensor_map(std::span<const std::byte, 128> bytes) {
  Code code;
  std::memcpy(&code, bytes.data(), sizeof code);
  if (!is_map(code)) return std::nullopt;
  TensorMap map;
  map.format = static_cast<FormatId>(code.format);
  map.address = code.address;
  map.rank = code.rank;
  for (std::size_t d = 0; d < map.rank; ++d) map.dims[d] = code.dims[d];
  for (std::size_t d = 1; d < map.rank; ++d) map.strides[d] = code.strides[d - 1];
  for (std::size_t d = 0; d < map.rank; ++d) map.box[d] = code.box[d];
  map.swizzle = static_cast<TensorSwizzle>(code.swizzle);
  map.fill_nan = code.fill_nan != 0;
  map.integers = code.integers;
  return map;
}

Status replace_in_tensor_map(std::span<std::byte, 128> bytes, TensorMapField field,
                             std::int64_t ordinal, std::uint64_t value) {
  Code code;
  const bool fresh = std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
  if (fresh) {
    code.rank = 1;
    code.format = static_cast<std::uint8_t>(FormatId::u8);
  } else {
    std::memcpy(&code, bytes.data(), sizeof code);
    if (!is_map(code)) return lacks("there is no tensor map");
  }
  const std::int64_t ordinals = ordinals_of(field);
  if (ordinal < 0 || ordinal >= std::max<std::int64_t>(ordinals, 1)) {
    return lacks(fmt::format("the field has no ordinal {}; {} is the last", ordinal, ordinals - 1));
  }
  if (Status done = replace(code, field, static_cast<std::size_t>(ordinal), value); !done)
    return done;
  code.fingerprint = fingerprint_of(code);
  std::memcpy(bytes.data(), &code, sizeof code);
  return {};
}

}  // namespace plumbline::emulator
