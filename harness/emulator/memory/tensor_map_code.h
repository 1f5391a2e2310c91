// SPDX-License-Identifier: MIT
// The 128 bytes that stand for a tensor map on the emulator. A real chip's are not documented;
// these are the record's fields between a magic number and a fingerprint, so that other bytes, or a
// map of which a kernel changed or copied a part by plain stores, are never taken for a map.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "harness/device/tensor_map.h"

namespace plumbline::emulator {

// Of a map that check_tensor_map accepts.
EncodedTensorMap encode_tensor_map(const TensorMap& map);

// nullopt where the bytes are none that encode_tensor_map or replace_in_tensor_map made. Entries
// from `rank` on are 0. A map of which fields were replaced may be one that check_tensor_map
// refuses.
std::optional<TensorMap> decode_tensor_map(std::span<const std::byte, 128> bytes);

// What tensormap.replace.tile changes (PTX ISA 9.0 section 9.7.9).
enum class TensorMapField : std::uint8_t {
  global_address,
  rank,
  box_dim,
  global_dim,
  global_stride,
  element_stride,
  elemtype,
  interleave_layout,
  swizzle_mode,
  swizzle_atomicity,
  fill_mode
};

// Changes one field of a map, or of 128 zeros, which become a map of one dimension: kernels make
// maps of them field by field. `ordinal` counts from the innermost dimension on; of strides, which
// the innermost dimension has not, from the one after it on. `value` is what the instruction takes:
// the rank less 1, an element type as a number. An Error says why there is no such map here.
Status replace_in_tensor_map(std::span<std::byte, 128> bytes, TensorMapField field,
                             std::int64_t ordinal, std::uint64_t value);

}  // namespace plumbline::emulator
