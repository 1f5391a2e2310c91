// SPDX-License-Identifier: MIT
// Tensor: raw bits with a format, shape, strides and offset. Bits and values never share a type:
// reading a value means decoding it. Strides are in elements and may be 0 (broadcast) or anything
// at all for dimensions of size 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "oracles/base/assert.h"
#include "oracles/base/result.h"
#include "oracles/formats/format.h"

namespace plumbline {

struct TensorLayout {
  FormatId format = FormatId::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  // in elements, one per dimension
  std::int64_t offset = 0;            // of element (0, ..., 0), in elements

  // Whether a layout that came from outside can be used at all: one stride per dimension, nothing
  // negative (but the stride of a dimension of size 1, which is never read), and storage that 63
  // bits can count. The other members assert what this reports.
  Status check() const;

  std::int64_t count() const;  // logical elements
  // Elements the storage must hold: offset + reach + 1, or 0 when count() is 0.
  std::int64_t storage_elements() const;
  std::int64_t storage_bytes() const;

  // Storage index of the logical element with this row-major (last dimension fastest) linear index.
  std::int64_t storage_index(std::int64_t linear) const;
  // "bf16[2,64,96]"; strides are appended as " strides 6144,96,1" where they are not
  // contiguous_strides(shape), and " offset 8" where it is not 0.
  std::string text() const;
};

// Contiguous row-major strides for a shape.
std::vector<std::int64_t> contiguous_strides(std::span<const std::int64_t> shape);

// Those strides, no offset.
TensorLayout dense_layout(FormatId format, std::vector<std::int64_t> shape);

struct Tensor {
  TensorLayout layout;
  std::vector<std::byte> storage;

  Tensor() = default;

  // Zero-filled storage.
  explicit Tensor(TensorLayout tensor_layout);

  std::uint64_t bits_at(std::int64_t storage_index) const {
    std::uint64_t bits = 0;
    const std::size_t size = element_bytes();
    copy_element(&bits, storage.data() + position(storage_index, size), size);
    return bits;
  }

  void set_bits_at(std::int64_t storage_index, std::uint64_t bits) {
    const std::size_t size = element_bytes();
    copy_element(storage.data() + position(storage_index, size), &bits, size);
  }

  // By logical row-major linear index.
  std::uint64_t bits(std::int64_t linear) const { return bits_at(layout.storage_index(linear)); }

  void set_bits(std::int64_t linear, std::uint64_t bits) {
    set_bits_at(layout.storage_index(linear), bits);
  }

 private:
  std::size_t element_bytes() const {
    return static_cast<std::size_t>(format(layout.format).storage_bytes());
  }

  // Of an element of so many bytes, in the storage.
  std::size_t position(std::int64_t storage_index, std::size_t size) const {
    const std::size_t at = static_cast<std::size_t>(storage_index) * size;
    PLUMB_ASSERT(storage_index >= 0 && at + size <= storage.size());
    return at;
  }

  // memcpy of a size that a compiler knows is an instruction.
  static void copy_element(void* to, const void* from, std::size_t size) {
    switch (size) {
      case 1:
        std::memcpy(to, from, 1);
        return;
      case 2:
        std::memcpy(to, from, 2);
        return;
      case 4:
        std::memcpy(to, from, 4);
        return;
      default:
        std::memcpy(to, from, 8);
    }
  }
};

}  // namespace plumbline
