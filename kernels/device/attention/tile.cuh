// SPDX-License-Identifier: MIT
// Tiles of attention: 64 rows of one head's Q, K or V (or of their gradients) in shared memory, and
// the way there. A tile has kWidth columns, the head's width padded: 64, 128 or 256 of 2 bytes, 128
// or 256 of one.
//
// Chunks of 16 bytes are swizzled: that of (row, chunk) lies at chunk ^ (row % 8) of its row, so
// that neither cp.async nor ldmatrix meets a bank conflict. Tiles are aligned to their rows;
// an address therefore moves by 32 * n bytes of a row when 32 * n is XORed to it, and by 8 * n rows
// when 8 * n * kRowBytes is added.
#pragma once

#include "device/operand_formats.cuh"

namespace device {

constexpr int kAttentionRows = 64;  // of a tile: queries or keys
constexpr int kAttentionThreads = 128;
constexpr int kAttentionChunk = 16;  // bytes: the unit of cp.async, ldmatrix rows and swizzling

template <int kWidth, typename Element = Bf16>
struct AttentionTile {
  static constexpr int kRowBytes = Element::kBytes * kWidth;
  static_assert(kRowBytes >= 8 * kAttentionChunk);  // what is swizzled
  static constexpr int kBytes = kAttentionRows * kRowBytes;

  // Where a chunk lies.
  __device__ __forceinline__ static Bits32 at(Bits32 tile, int row, int chunk) {
    return tile + row * kRowBytes + (chunk ^ (row & 7)) * kAttentionChunk;
  }
};

// The dynamic shared memory of a kernel.
__device__ __forceinline__ Bits32 attention_memory() {
  extern __shared__ __align__(1024) unsigned char attention_shared_memory[];
  return static_cast<Bits32>(__cvta_generic_to_shared(attention_shared_memory));
}

// One head's rows of a matrix in global memory.
struct HeadRows {
  Address data;
  long long stride;  // bytes from row to row
  int rows, width;   // in bytes, a multiple of 8; of 16 for elements of 2 bytes
};

// One thread's share of filling tiles with a head's rows: asynchronously, where base and stride
// allow accesses of 16 bytes. What the head does not have becomes zero (a weight of 0 times the NaN
// of a row beyond the end would be NaN): rows up to 64, columns up to a multiple of 32 bytes.
// Columns beyond that are neither written nor read.
template <int kWidth, typename Element = Bf16>
class RowLoader {
 public:
  __device__ __forceinline__ explicit RowLoader(const HeadRows& head)
      : row_(static_cast<int>(threadIdx.x) / kAcross),
        chunk_(static_cast<int>(threadIdx.x) % kAcross),
        rows_(head.rows - row_),
        width_(head.width),
        row_bytes_(static_cast<Address>(head.stride)),
        base_(head.data),
        source_(base_ + row_ * row_bytes_ + chunk_ * kAttentionChunk),
        aligned_((base_ | row_bytes_) % kAttentionChunk == 0) {}

  // All threads of the block: rows `first` ... `first` + 63.
  __device__ __forceinline__ void load(Bits32 tile, int first) const {
    const Bits32 to = Tile::at(tile, row_, chunk_);
    const Address from = source_ + first * row_bytes_;
#pragma unroll
    for (int j = 0; j < kChunks; j += kAcross) {
      const int column = (chunk_ + j) * kAttentionChunk;
      if (column >= (width_ + 31) / 32 * 32) break;
      const int rows = column < width_ ? rows_ - first : 0;
      // A chunk of single bytes may be half full.
      const int bytes =
          Element::kBytes == 1 ? min(width_ - column, kAttentionChunk) : kAttentionChunk;
#pragma unroll
      for (int i = 0; i < kAttentionRows; i += kRowsAtOnce)
        copy(to + i * Tile::kRowBytes + j * kAttentionChunk,
             from + i * row_bytes_ + j * kAttentionChunk, i < rows, bytes);
    }
  }

 private:
  using Tile = AttentionTile<kWidth, Element>;
  static constexpr int kChunks = Tile::kRowBytes / kAttentionChunk;  // of a row
  static constexpr int kAcross = kChunks < 16 ? kChunks : 16;        // of them at once
  static constexpr int kRowsAtOnce = kAttentionThreads / kAcross;    // a multiple of 8

  __device__ __forceinline__ void copy(Bits32 to, Address from, bool inside, int bytes) const {
    if (aligned_) {
      cp_async(to, inside ? from : base_, inside ? bytes : 0);
      return;
    }
    constexpr int kInWord = 4 / Element::kBytes;
    Bits32 words[4] = {};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (!inside || 4 * i >= bytes) break;
#pragma unroll
      for (int e = 0; e < kInWord; ++e) {
        const Bits32 element =
            load_global<typename Element::Bits>(from + 4 * i + e * Element::kBytes);
        words[i] |= element << (8 * Element::kBytes * e);
      }
    }
    store_shared(to, words);
  }

  int row_, chunk_;  // this thread's first
  int rows_;         // of the head, from row_ on
  int width_;
  Address row_bytes_;
  Address base_, source_;  // the head's first element, and this thread's
  bool aligned_;
};

}  // namespace device
