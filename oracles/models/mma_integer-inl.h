// SPDX-License-Identifier: MIT
// Integer mma on vectors: lanes are rows of A. Bytes are widened to 16 bits, those of even and of
// odd k apart, and multiplied in pairs, which is exact. Included once per instruction set.
#if defined(PLUMBLINE_MMA_INTEGER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLUMBLINE_MMA_INTEGER_INL_H_
#undef PLUMBLINE_MMA_INTEGER_INL_H_
#else
#define PLUMBLINE_MMA_INTEGER_INL_H_
#endif

#include "oracles/models/mma_vectors-inl.h"
#include "oracles/models/mma_workspace.h"

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

HWY_BEFORE_NAMESPACE();

namespace plumbline {
namespace HWY_NAMESPACE {

template <bool kSigned>
HWY_INLINE WordVector even_bytes(WordVector word) {
  if (kSigned) return as_words(hn::ShiftRight<8>(hn::ShiftLeft<8>(as_halves(word))));
  return hn::And(word, hn::Set(Words(), 0x00ff00ffu));
}

template <bool kSigned>
HWY_INLINE WordVector odd_bytes(WordVector word) {
  if (kSigned) return as_words(hn::ShiftRight<8>(as_halves(word)));
  return as_words(hn::ShiftRight<8>(hn::BitCast(UnsignedHalves(), word)));
}

template <bool kSigned>
HWY_INLINE void load_integer_a(const LaneRegister* a, int pairs, IntegerOperands& to) {
  for (int pair = 0; pair < pairs; ++pair) {
    for (int row = 0; row < 16; row += kLanes) {
      WordVector w[4];
      hn::LoadInterleaved4(Words(), &a[2 * pair][0] + 4 * row, w[0], w[1], w[2], w[3]);
      HWY_UNROLL(4)
      for (int t = 0; t < 4; ++t) {
        hn::Store(even_bytes<kSigned>(w[t]), Words(), to.a[pair][t][0] + row);
        hn::Store(odd_bytes<kSigned>(w[t]), Words(), to.a[pair][t][1] + row);
      }
    }
  }
}

template <bool kSigned>
HWY_INLINE void load_integer_b(const LaneRegister* b, int registers, IntegerOperands& to) {
  for (int reg = 0; reg < registers; ++reg) {
    for (int lane = 0; lane < 32; lane += kLanes) {
      const WordVector word = hn::LoadU(Words(), b[reg] + lane);
      hn::Store(even_bytes<kSigned>(word), Words(), &to.b[reg][0][0][0] + lane);
      hn::Store(odd_bytes<kSigned>(word), Words(), &to.b[reg][1][0][0] + lane);
    }
  }
}

// The products of the lower halves plus those of the upper ones. Halves are within [-128, 255].
HWY_INLINE IntegerVector multiplied(WordVector a, WordVector b) {
#if HWY_ARCH_X86  // one instruction; other instruction sets add other lanes
  IntegerVector unused = hn::Zero(Integers());
  return hn::ReorderWidenMulAccumulate(Integers(), as_halves(a), as_halves(b), hn::Zero(Integers()),
                                       unused);
#else
  const IntegerVector upper =
      hn::Mul(hn::ShiftRight<16>(as_integers(a)), hn::ShiftRight<16>(as_integers(b)));
  const IntegerVector lower = hn::Mul(hn::ShiftRight<16>(as_integers(hn::ShiftLeft<16>(a))),
                                      hn::ShiftRight<16>(as_integers(hn::ShiftLeft<16>(b))));
  return hn::Add(upper, lower);
#endif
}

// c + sum, clamped where it leaves 32 bits. |sum| is below 2^22.
HWY_INLINE IntegerVector saturated_sum(IntegerVector c, IntegerVector sum) {
  const IntegerVector result = hn::Add(c, sum);
  const IntegerVector overflow = hn::And(hn::Xor(c, result), hn::Xor(sum, result));
  const IntegerVector limit = hn::Xor(hn::ShiftRight<31>(c), hn::Set(Integers(), 0x7fffffff));
  return hn::IfThenElse(hn::Lt(overflow, hn::Zero(Integers())), limit, result);
}

// Four neighboring columns of the rows of a block: every load of A serves all four.
HWY_INLINE void integer_columns(const IntegerOperands& operands, const FastIntegerPlan& plan,
                                int column, int row, MmaTile& tile) {
  IntegerVector sum[4][kRowVectors];
  HWY_UNROLL(4)
  for (int n = 0; n < 4; ++n) {
    HWY_UNROLL(2)
    for (int r = 0; r < kRowVectors; ++r) sum[n][r] = hn::Zero(Integers());
  }
  for (int reg = 0; reg < plan.registers; ++reg) {
    HWY_UNROLL(1)
    for (int t = 0; t < 4; ++t) {
      HWY_UNROLL(2)
      for (int j = 0; j < 2; ++j) {
        WordVector a[kRowVectors];
        HWY_UNROLL(2)
        for (int r = 0; r < kRowVectors; ++r) {
          a[r] = hn::Load(Words(), operands.a[reg][t][j] + row + r * kLanes);
        }
        HWY_UNROLL(4)
        for (int n = 0; n < 4; ++n) {
          const WordVector b = hn::Set(Words(), operands.b[reg][j][column + n][t]);
          HWY_UNROLL(2)
          for (int r = 0; r < kRowVectors; ++r) sum[n][r] = hn::Add(sum[n][r], multiplied(a[r], b));
        }
      }
    }
  }
  HWY_UNROLL(4)
  for (int n = 0; n < 4; ++n) {
    HWY_UNROLL(2)
    for (int r = 0; r < kRowVectors; ++r) {
      std::uint32_t* at = tile.columns[column + n] + row + r * kLanes;
      const IntegerVector c = as_integers(hn::Load(Words(), at));
      const IntegerVector d = plan.saturate ? saturated_sum(c, sum[n][r]) : hn::Add(c, sum[n][r]);
      hn::Store(as_words(d), Words(), at);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace plumbline

HWY_AFTER_NAMESPACE();

#endif  // vectors
#endif
