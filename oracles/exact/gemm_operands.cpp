// SPDX-License-Identifier: MIT
// Decoding reads the storage in its own order and writes rows of k. An operand that does not lie
// along k goes through square tiles that stay in the first-level cache, so neither side is walked
// with a long stride.
#include "oracles/exact/gemm_operands.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "oracles/base/assert.h"
#include "oracles/base/large_pages.h"
#include "oracles/exact/parallel.h"
#include "oracles/exact/per_processor.h"
#include "oracles/formats/decode.h"

namespace plumbline {
namespace {

constexpr std::int64_t kTile = 64;

// One operand as [batch, rows, k], under any names of its tensor's dimensions. Strides in elements.
struct Source {
  const Format* format = nullptr;
  const std::byte* first = nullptr;
  std::int64_t batch = 1, rows = 0, k = 0;
  std::int64_t batch_stride = 0, row_stride = 0, k_stride = 0;

  const std::byte* element(std::int64_t batch_index, std::int64_t row, std::int64_t p) const {
    return first +
           (batch_index * batch_stride + row * row_stride + p * k_stride) * format->storage_bytes();
  }
};

Source source_of(const Tensor& tensor, int row_dimension, int k_dimension) {
  const TensorLayout& layout = tensor.layout;
  PLUMB_ASSERT(layout.shape.size() == 3);
  // The stride of a dimension of size 1 means nothing and may be absurd.
  const auto stride = [&](int dimension) {
    return layout.shape[dimension] == 1 ? 0 : layout.strides[dimension];
  };
  Source out;
  out.format = &format(layout.format);
  PLUMB_ASSERT(out.format->precision() <= 24);
  out.first = tensor.storage.data() + layout.offset * out.format->storage_bytes();
  out.rows = layout.shape[row_dimension];
  out.k = layout.shape[k_dimension];
  out.batch_stride = stride(0);
  out.row_stride = stride(row_dimension);
  out.k_stride = stride(k_dimension);
  if (out.batch_stride != 0 || layout.shape[0] == 0) out.batch = layout.shape[0];
  return out;
}

// `count` elements that lie `stride` apart.
void decode_run(const Format& format, const std::byte* first, std::int64_t stride,
                std::int64_t count, float* out) {
  if (stride == 1) return to_float(format, first, count, out);
  const std::int64_t bytes = format.storage_bytes();
  std::array<std::byte, kTile * 4> packed;
  for (std::int64_t begin = 0; begin < count; begin += kTile) {
    const std::int64_t length = std::min(kTile, count - begin);
    for (std::int64_t i = 0; i < length; ++i) {
      std::memcpy(packed.data() + i * bytes, first + (begin + i) * stride * bytes,
                  static_cast<std::size_t>(bytes));
    }
    to_float(format, packed.data(), length, out + begin);
  }
}

// Rows [begin, end) of one batch element; out is row `begin`.
void decode_rows(const Source& source, std::int64_t batch_index, std::int64_t begin,
                 std::int64_t end, float* out) {
  const Format& format = *source.format;
  if (source.k_stride <= source.row_stride || end - begin == 1) {
    for (std::int64_t row = begin; row < end; ++row) {
      decode_run(format, source.element(batch_index, row, 0), source.k_stride, source.k,
                 out + (row - begin) * source.k);
    }
    return;
  }
  PLUMB_ASSERT(end - begin <= kTile);
  std::array<float, kTile * kTile> tile;
  for (std::int64_t p = 0; p < source.k; p += kTile) {
    const std::int64_t width = std::min(kTile, source.k - p);
    for (std::int64_t q = 0; q < width; ++q) {
      decode_run(format, source.element(batch_index, begin, p + q), source.row_stride, end - begin,
                 tile.data() + q * kTile);
    }
    for (std::int64_t row = 0; row < end - begin; ++row) {
      for (std::int64_t q = 0; q < width; ++q) out[row * source.k + p + q] = tile[q * kTile + row];
    }
  }
}

// Sets NaN and infinities of one row to 0; whether there were any.
PLUMBLINE_PER_PROCESSOR
bool clear_special(float* row, std::int64_t k) {
  std::uint32_t found = 0;
  for (std::int64_t p = 0; p < k; ++p) {
    const auto bits = std::bit_cast<std::uint32_t>(row[p]);
    const std::uint32_t special = (bits & 0x7f800000u) == 0x7f800000u ? ~0u : 0u;
    found |= special;
    row[p] = std::bit_cast<float>(bits & ~special);
  }
  return found != 0;
}

PLUMBLINE_PER_PROCESSOR
void subtract(float zero, std::int64_t k, float* row) {
  for (std::int64_t p = 0; p < k; ++p) row[p] -= zero;
}

void decode_source(const Source& source, std::int64_t zero, int threads, std::vector<float>& values,
                   std::vector<std::uint8_t>& special) {
  fill_with_zeros(values, source.batch * source.rows * source.k);
  special.assign(source.batch * source.rows, 0);
  if (values.empty()) return;
  const std::int64_t blocks = (source.rows + kTile - 1) / kTile;
  for_each_piece(source.batch * blocks, threads, [&](std::int64_t piece) {
    const std::int64_t batch_index = piece / blocks;
    const std::int64_t begin = piece % blocks * kTile, end = std::min(source.rows, begin + kTile);
    const std::int64_t first = batch_index * source.rows + begin;
    decode_rows(source, batch_index, begin, end, values.data() + first * source.k);
    for (std::int64_t row = first; row < first + end - begin; ++row) {
      special[row] = clear_special(values.data() + row * source.k, source.k);
      if (zero != 0) subtract(static_cast<float>(zero), source.k, values.data() + row * source.k);
    }
  });
}

}  // namespace

GemmOperands decode_operands(const Tensor& a, const Tensor& b, int threads, ZeroPoints zero) {
  const Source rows = source_of(a, 1, 2), columns = source_of(b, 2, 1);
  PLUMB_ASSERT((zero.a == 0 || rows.format->is_integer) &&
               (zero.b == 0 || columns.format->is_integer));
  PLUMB_ASSERT(rows.k == columns.k && a.layout.shape[0] == b.layout.shape[0]);
  GemmOperands out;
  out.m = rows.rows;
  out.n = columns.rows;
  out.k = rows.k;
  out.batch_a = rows.batch;
  out.batch_b = columns.batch;
  out.batch = a.layout.shape[0];
  decode_source(rows, zero.a, threads, out.a, out.a_special);
  decode_source(columns, zero.b, threads, out.b, out.b_special);
  return out;
}

}  // namespace plumbline
