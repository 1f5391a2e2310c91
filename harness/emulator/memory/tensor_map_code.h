// SPDX-License-Identifier: MIT
// The 128 bytes that stand for a tensor map on the emulator. A real chip's are not documented;
// these are the record's fields between a magic number and a fingerprint, so that other bytes, or a
// map of which a kernel changed or copied a part, are never taken for a map.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "harness/device/tensor_map.h"

namespace plumbline::emulator {

// Of a map that check_tensor_map accepts.
EncodedTensorMap encode_tensor_map(const TensorMap& map);

// Nothing where the bytes are none that encode_tensor_map made. Entries from `rank` on are 0.
std::optional<TensorMap> decode_tensor_map(std::span<const std::byte, 128> bytes);

}  // namespace plumbline::emulator
