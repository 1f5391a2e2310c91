// SPDX-License-Identifier: MIT
// Where each logical element of a tensor lies in its storage. A dimension of size 1 is never
// stepped along: its stride is multiplied by 0 wherever it occurs, and may be anything. Frameworks
// leave all sorts of values there, and a kernel that reads them is wrong.
#include "oracles/formats/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <limits>
#include <optional>

#include "oracles/base/assert.h"

namespace plumbline {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are stored little-endian");

std::optional<std::int64_t> product(std::int64_t a, std::int64_t b) {
  std::int64_t result;
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

std::optional<std::int64_t> sum(std::int64_t a, std::int64_t b) {
  std::int64_t result;
  if (__builtin_add_overflow(a, b, &result)) return std::nullopt;
  return result;
}

// Logical elements; nullopt when 63 bits cannot count them. An empty tensor is empty however large
// its other sizes.
std::optional<std::int64_t> checked_count(std::span<const std::int64_t> shape) {
  std::optional<std::int64_t> count = 1;
  for (const std::int64_t size : shape) {
    if (size == 0) return 0;
    if (count) count = product(*count, size);
  }
  return count;
}

// The storage index of the last element, plus 1.
std::optional<std::int64_t> checked_storage_elements(const TensorLayout& layout) {
  const std::optional<std::int64_t> count = checked_count(layout.shape);
  if (!count || *count == 0) return count;
  std::optional<std::int64_t> reach = layout.offset;
  for (std::size_t i = 0; i < layout.shape.size(); ++i) {
    const std::optional<std::int64_t> extent = product(layout.shape[i] - 1, layout.strides[i]);
    if (!extent) return std::nullopt;
    reach = sum(*reach, *extent);
    if (!reach) return std::nullopt;
  }
  return sum(*reach, 1);
}

// storage_index() in integers as narrow as the index: most are below 2^32, and processors divide
// those several times faster.
template <typename Index>
std::int64_t index_of(const TensorLayout& layout, Index linear) {
  std::int64_t index = layout.offset;
  for (std::size_t i = layout.shape.size(); i-- > 0;) {
    const std::int64_t size = layout.shape[i];
    PLUMB_ASSERT(size > 0);
    if (static_cast<std::uint64_t>(size) > linear) {  // what is left is a step along this one
      index += static_cast<std::int64_t>(linear) * layout.strides[i];
      linear = 0;
      continue;
    }
    index += static_cast<std::int64_t>(linear % static_cast<Index>(size)) * layout.strides[i];
    linear /= static_cast<Index>(size);
  }
  PLUMB_ASSERT(linear == 0);
  return index;
}

Error bad_layout(std::string message, std::string hint) {
  return {ErrorKind::bad_input, std::move(message), "", std::move(hint)};
}

}  // namespace

Status TensorLayout::check() const {
  if (strides.size() != shape.size()) {
    return bad_layout(
        fmt::format("a tensor of {} dimensions has {} strides", shape.size(), strides.size()),
        "give one stride per dimension");
  }
  if (offset < 0) {
    return bad_layout(fmt::format("offset {} lies before the storage", offset),
                      "use an offset of at least 0");
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0) {
      return bad_layout(fmt::format("dimension {} has negative size {}", i, shape[i]),
                        "use a size of at least 0");
    }
    if (strides[i] < 0 && shape[i] > 1) {
      return bad_layout(fmt::format("dimension {} has negative stride {}", i, strides[i]),
                        "use strides of at least 0");
    }
  }
  const std::optional<std::int64_t> elements = checked_storage_elements(*this);
  if (!elements || !product(*elements, plumbline::format(format).storage_bytes())) {
    return bad_layout(fmt::format("tensor {} needs more storage than 63 bits can count", text()),
                      "use smaller sizes or strides");
  }
  return {};
}

std::int64_t TensorLayout::count() const {
  const std::optional<std::int64_t> elements = checked_count(shape);
  PLUMB_ASSERT(elements.has_value());
  return *elements;
}

std::int64_t TensorLayout::storage_elements() const {
  PLUMB_ASSERT(check().ok());
  return *checked_storage_elements(*this);
}

std::int64_t TensorLayout::storage_bytes() const {
  return storage_elements() * plumbline::format(format).storage_bytes();
}

std::int64_t TensorLayout::storage_index(std::int64_t linear) const {
  PLUMB_ASSERT(linear >= 0 && strides.size() == shape.size());
  return linear <= std::numeric_limits<std::uint32_t>::max()
             ? index_of(*this, static_cast<std::uint32_t>(linear))
             : index_of(*this, static_cast<std::uint64_t>(linear));
}

std::string TensorLayout::text() const {
  std::string text = fmt::format("{}[{}]", plumbline::format(format).name, fmt::join(shape, ","));
  if (strides != contiguous_strides(shape))
    text += fmt::format(" strides {}", fmt::join(strides, ","));
  if (offset != 0) text += fmt::format(" offset {}", offset);
  return text;
}

std::vector<std::int64_t> contiguous_strides(std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    // A size of 0 counts as 1, as in PyTorch; sizes beyond 63 bits stop growing and are reported by
    // check().
    const std::int64_t size = shape[i] > 0 ? shape[i] : 1;
    stride = product(stride, size).value_or(std::numeric_limits<std::int64_t>::max());
  }
  return strides;
}

TensorLayout dense_layout(FormatId format, std::vector<std::int64_t> shape) {
  TensorLayout layout;
  layout.format = format;
  layout.strides = contiguous_strides(shape);
  layout.shape = std::move(shape);
  return layout;
}

Tensor::Tensor(TensorLayout tensor_layout)
    : layout(std::move(tensor_layout)), storage(static_cast<std::size_t>(layout.storage_bytes())) {}

}  // namespace plumbline
