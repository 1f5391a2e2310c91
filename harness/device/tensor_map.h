// SPDX-License-Identifier: MIT
// A tensor map: what a bulk tensor copy (cp.async.bulk.tensor, the TMA unit of sm_90 and later)
// knows of a tensor in global memory. The fields and their limits are those of
// cuTensorMapEncodeTiled (CUDA Driver API, "Tensor Map Object Management"), without interleaving
// and with element strides of 1.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "oracles/base/result.h"
#include "oracles/formats/format.h"

namespace plumbline {

// Bytes after which the pattern in which 16-byte chunks of shared memory change places repeats.
enum class TensorSwizzle : std::uint8_t { none = 0, bytes_32 = 32, bytes_64 = 64, bytes_128 = 128 };

// Two elements of such a format lie in a byte of a device's memory, the first one in the low bits.
constexpr bool is_packed(FormatId format) { return format == FormatId::e2m1; }

struct TensorMap {
  static constexpr std::size_t kMaxRank = 5;

  FormatId format = FormatId::bf16;
  int integers = 0;           // bits: elements are integers of that width instead; 0: the format
  std::uint64_t address = 0;  // of the first element
  std::size_t rank = 1;
  // Innermost dimension first; entries from `rank` on mean nothing.
  std::array<std::int64_t, kMaxRank> dims{};     // elements
  std::array<std::int64_t, kMaxRank> strides{};  // bytes; strides[0] means nothing
  std::array<std::int64_t, kMaxRank> box{};      // elements a copy moves along each dimension
  TensorSwizzle swizzle = TensorSwizzle::none;
  bool fill_nan = false;  // what elements outside the tensor read as; else zero

  // Of packed formats 4.
  int element_bits() const;

  // Of so many elements side by side.
  std::int64_t bytes(std::int64_t elements) const { return elements * element_bits() / 8; }
};

// Of what a kernel gets as a parameter: opaque to it, and different on each device.
using EncodedTensorMap = std::array<std::byte, 128>;

// Why no device can make this map: "stride of dimension 1 is 100 bytes; it has to be ...".
Status check_tensor_map(const TensorMap& map);

// Whether a chip has a unit that reads tensor maps at all.
Status check_tensor_maps_exist(int sm);

}  // namespace plumbline
