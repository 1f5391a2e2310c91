// SPDX-License-Identifier: MIT
// The vector types of the mma path and the accumulator tile. Included once per instruction set.
#if defined(PLUMBLINE_MMA_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLUMBLINE_MMA_VECTORS_INL_H_
#undef PLUMBLINE_MMA_VECTORS_INL_H_
#else
#define PLUMBLINE_MMA_VECTORS_INL_H_
#endif

#include "hwy/highway.h"

#include "oracles/models/mma_fast_plan.h"

// One lane cannot hold two 16-bit halves; emulated lanes are of no use.
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

HWY_BEFORE_NAMESPACE();

namespace plumbline {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Words are the registers' 32 bits; all else is the same bits seen differently. Lanes are rows of
// A.
using Words = hn::CappedTag<std::uint32_t, 16>;
using Integers = hn::Rebind<std::int32_t, Words>;
using Floats = hn::Rebind<float, Words>;
using Halves = hn::Repartition<std::int16_t, Words>;
using UnsignedHalves = hn::Repartition<std::uint16_t, Words>;
using WordVector = hn::Vec<Words>;
using IntegerVector = hn::Vec<Integers>;
using FloatVector = hn::Vec<Floats>;
using HalfVector = hn::Vec<Halves>;
using UnsignedHalfVector = hn::Vec<UnsignedHalves>;

constexpr int kLanes = static_cast<int>(hn::MaxLanes(Words()));

// Two vectors are worked on at a time, as one addition waits for another: of rows, which share what
// they need of B; or, where one vector holds all rows, of two pairs of columns, which share A.
constexpr int kVectors = 2;
constexpr int kRowVectors = kLanes < 16 ? 2 : 1;
constexpr int kPairs = kVectors / kRowVectors;
constexpr int kBlockRows = kRowVectors * kLanes;

template <class V>
HWY_INLINE WordVector as_words(V v) {
  return hn::BitCast(Words(), v);
}

HWY_INLINE IntegerVector as_integers(WordVector v) { return hn::BitCast(Integers(), v); }

HWY_INLINE FloatVector as_floats(WordVector v) { return hn::BitCast(Floats(), v); }

HWY_INLINE HalfVector as_halves(WordVector v) { return hn::BitCast(Halves(), v); }

// A bit for each lane of a mask of integers.
template <class Mask>
HWY_INLINE std::uint32_t rows_of(Mask mask) {
  std::uint8_t bytes[8] = {};
  hn::StoreMaskBits(Integers(), mask, bytes);
  return bytes[0] | std::uint32_t{bytes[1]} << 8;
}

// Registers 0 and 1 hold rows 0-7 of the even and the odd columns, registers 2 and 3 rows 8-15.
HWY_INLINE void load_tile(const LaneRegister* registers, MmaTile& tile) {
  const hn::CappedTag<std::uint32_t, 8> words;
  HWY_UNROLL(4)
  for (int reg = 0; reg < 4; ++reg) {
    HWY_UNROLL(2)
    for (int row = 0; row < 8; row += static_cast<int>(hn::MaxLanes(words))) {
      hn::Vec<decltype(words)> v0, v1, v2, v3;
      hn::LoadInterleaved4(words, registers[reg] + 4 * row, v0, v1, v2, v3);
      const int column = reg % 2;
      const int first = 8 * (reg / 2) + row;
      hn::Store(v0, words, tile.columns[column] + first);
      hn::Store(v1, words, tile.columns[column + 2] + first);
      hn::Store(v2, words, tile.columns[column + 4] + first);
      hn::Store(v3, words, tile.columns[column + 6] + first);
    }
  }
}

HWY_INLINE void store_tile(const MmaTile& tile, LaneRegister* registers) {
  const hn::CappedTag<std::uint32_t, 8> words;
  HWY_UNROLL(4)
  for (int reg = 0; reg < 4; ++reg) {
    HWY_UNROLL(2)
    for (int row = 0; row < 8; row += static_cast<int>(hn::MaxLanes(words))) {
      const int column = reg % 2;
      const int first = 8 * (reg / 2) + row;
      const auto v0 = hn::Load(words, tile.columns[column] + first);
      const auto v1 = hn::Load(words, tile.columns[column + 2] + first);
      const auto v2 = hn::Load(words, tile.columns[column + 4] + first);
      const auto v3 = hn::Load(words, tile.columns[column + 6] + first);
      hn::StoreInterleaved4(v0, v1, v2, v3, words, registers[reg] + 4 * row);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace plumbline

HWY_AFTER_NAMESPACE();

#endif  // vectors
#endif
