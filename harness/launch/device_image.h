// SPDX-License-Identifier: MIT
// How elements lie in a kernel's memory: as in the storage of a Tensor, but for e2m1, of which the
// host keeps one code in a byte and a device two, the first in the lower half.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/device/tensor_map.h"

namespace plumbline {

// Bytes of so many elements, the last of them perhaps shared with what follows.
std::int64_t device_bytes(FormatId format, std::int64_t elements);

// The byte that an element begins in, and the first element that begins in a byte.
std::int64_t byte_of(FormatId format, std::int64_t element);
std::int64_t element_in(FormatId format, std::int64_t byte);

std::vector<std::byte> packed(const std::vector<std::byte>& storage);
std::vector<std::byte> unpacked(const std::vector<std::byte>& image, std::size_t elements);

}  // namespace plumbline
