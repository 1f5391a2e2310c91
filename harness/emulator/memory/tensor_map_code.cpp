// SPDX-License-Identifier: MIT
#include "harness/emulator/memory/tensor_map_code.h"

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
  std::array<std::uint8_t, 18> zero{};
  std::uint64_t fingerprint = 0;  // of all before it
};

static_assert(sizeof(Code) == sizeof(EncodedTensorMap));
static_assert(offsetof(Code, fingerprint) == sizeof(Code) - sizeof(std::uint64_t));

std::uint64_t fingerprint_of(const Code& code) {
  return fingerprint(std::as_bytes(std::span(&code, 1)).first(offsetof(Code, fingerprint)));
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
  code.fingerprint = fingerprint_of(code);
  EncodedTensorMap bytes;
  std::memcpy(bytes.data(), &code, sizeof code);
  return bytes;
}

std::optional<TensorMap> decode_tensor_map(std::span<const std::byte, 128> bytes) {
  Code code;
  std::memcpy(&code, bytes.data(), sizeof code);
  if (code.magic != kMagic || code.fingerprint != fingerprint_of(code)) return std::nullopt;
  TensorMap map;
  map.format = static_cast<FormatId>(code.format);
  map.address = code.address;
  map.rank = code.rank;
  map.dims = code.dims;
  map.strides[0] = format(map.format).storage_bytes();
  for (std::size_t d = 1; d < map.rank; ++d) map.strides[d] = code.strides[d - 1];
  for (std::size_t d = 0; d < map.rank; ++d) map.box[d] = code.box[d];
  map.swizzle = static_cast<TensorSwizzle>(code.swizzle);
  map.fill_nan = code.fill_nan != 0;
  return map;
}

}  // namespace plumbline::emulator
