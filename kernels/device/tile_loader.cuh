// SPDX-License-Identifier: MIT
// Global memory to a stage: one thread's share of filling one operand's tile.
//
//   bytes  contiguous  way                                        the stage then holds
//   1, 2   k           cp.async, two chunks of 16 bytes a thread  [128 of m or n][64 bytes of k]
//   2      m or n      cp.async, two chunks of 16 bytes a thread  [32 of k][128 of m or n]
//   1      m or n      loads, a transposition of bytes in         [128 of m or n][64 bytes of k]
//                      registers, and stores
//
// ldmatrix.trans turns the second of them; it could not turn single bytes, so the third way does it
// by hand, at the price of bank conflicts in its stores. What the matrix does not have becomes
// zero, and nothing is read outside it.
#pragma once

#include "device/byte_transpose.cuh"
#include "device/tile.cuh"

namespace device {

// One line of a tile: which matrix it comes from, and which of that matrix's lines from the tile's
// first on.
struct Line {
  Address data;
  int index;
};

// One operand in global memory. `extent` counts its rows along m (A) or columns along n (B).
// `along_k`: k is the contiguous dimension (A 'n', B 't'); a kernel that passes a constant compiles
// to that way alone.
template <typename Format>
struct Operand {
  Address data;
  long long leading;  // elements from one row in memory to the next
  int extent;
  bool along_k;

  __device__ __forceinline__ Operand(const void* first, long long leading_, int extent_,
                                     bool along_k_)
      : data(__cvta_generic_to_global(first)),
        leading(leading_),
        extent(extent_),
        along_k(along_k_) {}

  // Row (of A) or column (of B) `i` of a tile. Neighbors of up to 8 are neighbors in memory.
  __device__ __forceinline__ Line line(int i) const { return {data, i}; }

  // Has a low bit set wherever an address of the operand's matrices has.
  __device__ __forceinline__ Address address_bits() const { return data; }

  // The operand from element `offset` of memory on: the next matrix of a batch.
  __device__ __forceinline__ Operand at(long long offset) const {
    Operand moved = *this;
    moved.data += static_cast<Address>(offset) * Format::kBytes;
    return moved;
  }

  // `count` rows (of A) or columns (of B) from `first` on: a group of a grouped GEMM.
  __device__ __forceinline__ Operand slice(long long first, int count) const {
    Operand part = at(along_k ? first * leading : first);
    part.extent = count;
    return part;
  }

  // The part whose k starts at `first`: a part of a split K.
  __device__ __forceinline__ Operand from_k(long long first) const {
    return at(along_k ? first : first * leading);
  }
};

template <typename Format>
class TileLoader {
 public:
  static constexpr int kBytes = Format::kBytes;
  static constexpr int kTileK = kTileKBytes / kBytes;
  static constexpr int kChunkElements = kChunkBytes / kBytes;
  static_assert(kBytes == 1 || kBytes == 2);

  // `origin`: first row or column of the tile (below the operand's extent); `k`: how far the
  // operand reaches along k.
  __device__ __forceinline__ TileLoader(const Operand<Format>& operand, int origin, int k,
                                        int thread)
      : along_k_(operand.along_k), row_bytes_(static_cast<Address>(operand.leading) * kBytes) {
    const int extent = operand.extent - origin;
    const Address alignment = kBytes == 1 && !along_k_ ? sizeof(Bits32) : kChunkBytes;
    aligned_ = (operand.address_bits() | row_bytes_) % alignment == 0;
    if (along_k_) {
      const int row = thread / 4, chunk = thread % 4;
      k_offset_ = chunk * kChunkBytes;
      destination_ = swizzled(row, chunk);
      step_ = kTileKBytes;
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        // Rows past the end read nothing, but their address stays inside the matrix.
        const Line line = operand.line(row + 64 * i);
        const int clamped = min(line.index, extent - 1);
        source_[i] = line.data + (static_cast<Address>(origin) + clamped) * row_bytes_ + k_offset_;
        limit_[i] = line.index < extent ? kChunkBytes : 0;
      }
    } else if constexpr (kBytes == 2) {
      const int row = thread / 16, chunk = thread % 16;
      k_offset_ = row;
      destination_ = swizzled_across(row, chunk);
      step_ = kTileK * row_bytes_;
      const Line line = operand.line(chunk * kChunkElements);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int clamped = min(row + 16 * i, k - 1);
        source_[i] =
            line.data + clamped * row_bytes_ + (static_cast<Address>(origin) + line.index) * 2;
        limit_[i] = min(max(extent - line.index, 0) * 2, kChunkBytes);
      }
    } else {
      // A warp takes 8 rows of k, a lane 4 neighbors in each of them.
      const int row = thread % 32 * 4;
      k_offset_ = thread / 32 * 8;
      destination_ = swizzled(row, k_offset_ / kChunkBytes) + k_offset_ % kChunkBytes;
      step_ = kTileK * row_bytes_;
      const Line line = operand.line(row);
      source_[0] = line.data + k_offset_ * row_bytes_ + origin + line.index;
      limit_[0] = min(max(extent - line.index, 0), 4);
    }
  }

  // Fills one stage with the next step of k, of which `k_left` (1..kTileK) columns or rows exist.
  __device__ __forceinline__ void load(Bits32 stage, int k_left) {
    if constexpr (kBytes == 1) {
      if (!along_k_) {
        load_transposed(stage, k_left - k_offset_);
        source_[0] += step_;
        return;
      }
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      int bytes;
      if (along_k_) {
        bytes = min(max(k_left * kBytes - k_offset_, 0), limit_[i]);
      } else {
        bytes = k_offset_ + 16 * i < k_left ? limit_[i] : 0;
      }
      const Bits32 to = stage + destination_ + i * (kOperandBytes / 2);
      if (aligned_) {
        cp_async(to, source_[i], bytes);
      } else {
        copy_elements(to, source_[i], bytes);
      }
      source_[i] += step_;
    }
  }

 private:
  // 8 rows of k of 4 neighbors along m or n become 4 rows of 8 bytes of k.
  __device__ __forceinline__ void load_transposed(Bits32 stage, int k_left) const {
    Bits32 words[8];
#pragma unroll
    for (int r = 0; r < 8; ++r) {
      const Address from = source_[0] + r * row_bytes_;
      const int bytes = r < k_left ? limit_[0] : 0;
      words[r] = aligned_ && bytes == 4 ? load_global<Bits32>(from) : load_word(from, bytes);
    }
    Bits32(&first)[4] = reinterpret_cast<Bits32(&)[4]>(words[0]);
    Bits32(&second)[4] = reinterpret_cast<Bits32(&)[4]>(words[4]);
    transpose_bytes(first);
    transpose_bytes(second);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      // Rows 2 and 3 of four lie in the other chunk of a swizzled pair.
      const Bits32 to = stage + (destination_ ^ (i / 2 * kChunkBytes)) + i * kRowBytes;
      store_shared(to, first[i], second[i]);
    }
  }

  // 16 bytes by single elements, for bases and leading dimensions that rule out 16-byte accesses.
  __device__ __forceinline__ static void copy_elements(Bits32 to, Address from, int bytes) {
    Bits32 words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) words[i] = load_word(from + 4 * i, bytes - 4 * i);
    store_shared(to, words);
  }

  // Up to 4 bytes by single elements; zeros for the rest.
  __device__ __forceinline__ static Bits32 load_word(Address from, int bytes) {
    Bits32 word = 0;
#pragma unroll
    for (int at = 0; at < 4; at += kBytes) {
      if (at < bytes)
        word |= static_cast<Bits32>(load_global<typename Format::Bits>(from + at)) << 8 * at;
    }
    return word;
  }

  Address source_[2];   // of this thread's chunks in the next step of k
  Address step_;        // from one step of k to the next, in bytes
  Address row_bytes_;   // from one row in memory to the next
  int limit_[2];        // valid bytes of the chunks, as far as m or n decides
  int k_offset_;        // along k: bytes of k before this chunk; across: rows of k before the first
  Bits32 destination_;  // of the first chunk within the operand's part of a stage
  bool along_k_;
  bool aligned_;  // accesses of 16 bytes (4 where bytes are transposed) are possible
};

}  // namespace device
