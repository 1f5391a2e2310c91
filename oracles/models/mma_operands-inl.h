// SPDX-License-Identifier: MIT
// Fragments to vectors over the rows of A, for the floating-point vector path. Included once per
// instruction set.
//
// A register of 32 lanes is, in memory, a matrix of 8 rows and 4 words: word t of row g is lane 4g
// + t. So one deinterleaving load gives, for each t, the words of all rows; each word holds
// neighboring k. For every product the path needs two things: the operands as f32 (their product is
// then exact), and their exponents as the model counts them, from the fields, not renormalized.
// Exponents are 16-bit integers biased by 127; zero has one so low that its sum with any other
// stays below every sum without zeros.
#if defined(PLUMBLINE_MMA_OPERANDS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLUMBLINE_MMA_OPERANDS_INL_H_
#undef PLUMBLINE_MMA_OPERANDS_INL_H_
#else
#define PLUMBLINE_MMA_OPERANDS_INL_H_
#endif

#include "oracles/models/mma_vectors-inl.h"

#if HWY_TARGET != HWY_SCALAR

HWY_BEFORE_NAMESPACE();

namespace plumbline {
namespace HWY_NAMESPACE {

constexpr int kMostPlanes = 4;
constexpr int kZeroExponent = -8192;

// A plane holds 8 products of every output: words t = 0..3 times the lower and the upper element of
// each word.
struct Operands {
  alignas(64) float a[kMostPlanes][4][2][16];                 // plane, word, element, row
  alignas(64) std::uint32_t a_exponents[kMostPlanes][4][16];  // plane, word, row: both elements
  alignas(64) float b[kMostPlanes][2][8][4];                  // plane, element, column, word
  alignas(64) std::uint32_t b_exponents[kMostPlanes][8][4];   // plane, column, word: both elements
};

// An input format, once an element fills a 16-bit half. nan_limit is the smallest doubled magnitude
// that is not finite.
struct Bf16Input {
  static constexpr int kFieldShift = 8;
  static constexpr int kRebias = 0;
  static constexpr std::uint16_t kNanLimit = 0xff00;
  static constexpr bool kBytes = false;
};

struct F16Input {
  static constexpr int kFieldShift = 11;
  static constexpr int kRebias = 127 - 15;
  static constexpr std::uint16_t kNanLimit = 0xf800;
  static constexpr bool kBytes = false;
};

// e5m2 is the upper byte of an f16.
struct E5m2Input : F16Input {
  static constexpr bool kBytes = true;
};

// e4m3 is widened to the fields of f16 too; only the bias differs, and the one NaN.
struct E4m3Input {
  static constexpr int kFieldShift = 11;
  static constexpr int kRebias = 127 - 7;
  static constexpr std::uint16_t kNanLimit = 0x7f00;
  static constexpr bool kBytes = true;
};

// Half h (0 lower, 1 upper) of a word of four bytes, each byte moved to the top of 16 bits.
template <int kHalf>
HWY_INLINE WordVector widened(E5m2Input, WordVector bytes) {
  constexpr int kByte = 2 * kHalf;
  const auto lower =
      hn::And(hn::ShiftLeft<8>(hn::ShiftRight<8 * kByte>(bytes)), hn::Set(Words(), 0x0000ff00u));
  const auto upper =
      hn::And(hn::ShiftLeft<16>(hn::ShiftRight<8 * kByte>(bytes)), hn::Set(Words(), 0xff000000u));
  return hn::Or(lower, upper);
}

// As e5m2, then the magnitude one bit down, so that the four exponent bits end where f16 ends its
// five.
template <int kHalf>
HWY_INLINE WordVector widened(E4m3Input, WordVector bytes) {
  const HalfVector halves = as_halves(widened<kHalf>(E5m2Input(), bytes));
  return hn::And(as_words(hn::ShiftRight<1>(halves)), hn::Set(Words(), 0xbfffbfffu));
}

HWY_INLINE WordVector upper_half(WordVector word) {
  return hn::And(word, hn::Set(Words(), 0xffff0000u));
}

// The value of an element in the upper half of a word whose lower half is zero. With f16 fields:
// the magnitude moved down to the exponent field of f32, read as an f32 that is too small by the
// difference of the biases (subnormals are subnormal there too), and scaled, which is exact.
template <class Input>
HWY_INLINE FloatVector value_of(Input, WordVector word) {
  const WordVector sign = hn::Set(Words(), 0x80000000u);
  const WordVector magnitude = hn::ShiftRight<3>(hn::AndNot(sign, word));
  constexpr float kFactor = Input::kRebias == 112 ? 0x1p112f : 0x1p120f;
  const FloatVector value = hn::Mul(as_floats(magnitude), hn::Set(Floats(), kFactor));
  return hn::Or(value, as_floats(hn::And(word, sign)));
}

HWY_INLINE FloatVector value_of(Bf16Input, WordVector word) { return as_floats(word); }

// The exponents of both elements of each word. largest collects the doubled magnitudes, to find Inf
// and NaN.
template <class Input>
HWY_INLINE WordVector exponents_of(Input, WordVector word, UnsignedHalfVector& largest) {
  const UnsignedHalfVector bits = hn::BitCast(UnsignedHalves(), word);
  const UnsignedHalfVector doubled = hn::Add(bits, bits);  // drops the sign
  largest = hn::Max(largest, doubled);
  const HalfVector field = hn::BitCast(Halves(), hn::ShiftRight<Input::kFieldShift>(doubled));
  HalfVector exponent =
      hn::Max(field, hn::Set(Halves(), 1));  // subnormals count like the smallest normal
  if (Input::kRebias != 0) exponent = hn::Add(exponent, hn::Set(Halves(), Input::kRebias));
  const auto zero = hn::Eq(hn::BitCast(Halves(), doubled), hn::Zero(Halves()));
  return as_words(hn::IfThenElse(zero, hn::Set(Halves(), kZeroExponent), exponent));
}

template <class Input>
HWY_INLINE void store_a(Input input, WordVector word, int plane, int t, int row, Operands& to,
                        UnsignedHalfVector& largest) {
  hn::Store(value_of(input, hn::ShiftLeft<16>(word)), Floats(), to.a[plane][t][0] + row);
  hn::Store(value_of(input, upper_half(word)), Floats(), to.a[plane][t][1] + row);
  const WordVector exponents = exponents_of(input, word, largest);
  hn::Store(exponents, Words(), to.a_exponents[plane][t] + row);
}

template <class Input>
HWY_INLINE void store_b(Input input, WordVector word, int plane, int lane, Operands& to,
                        UnsignedHalfVector& largest) {
  hn::Store(value_of(input, hn::ShiftLeft<16>(word)), Floats(), &to.b[plane][0][0][0] + lane);
  hn::Store(value_of(input, upper_half(word)), Floats(), &to.b[plane][1][0][0] + lane);
  const WordVector exponents = exponents_of(input, word, largest);
  hn::Store(exponents, Words(), &to.b_exponents[plane][0][0] + lane);
}

// The words of one register pair: a plane of 16-bit inputs, two planes of 8-bit inputs.
template <class Input>
HWY_INLINE void split_a(Input input, WordVector word, int pair, int t, int row, Operands& to,
                        UnsignedHalfVector& largest) {
  if constexpr (Input::kBytes) {
    store_a(input, widened<0>(input, word), 2 * pair, t, row, to, largest);
    store_a(input, widened<1>(input, word), 2 * pair + 1, t, row, to, largest);
  } else {
    store_a(input, word, pair, t, row, to, largest);
  }
}

template <class Input>
HWY_INLINE void split_b(Input input, WordVector word, int reg, int lane, Operands& to,
                        UnsignedHalfVector& largest) {
  if constexpr (Input::kBytes) {
    store_b(input, widened<0>(input, word), 2 * reg, lane, to, largest);
    store_b(input, widened<1>(input, word), 2 * reg + 1, lane, to, largest);
  } else {
    store_b(input, word, reg, lane, to, largest);
  }
}

template <class Input>
HWY_INLINE bool all_finite(Input, UnsignedHalfVector largest) {
  const UnsignedHalfVector limit = hn::Set(UnsignedHalves(), Input::kNanLimit);
  return hn::AllTrue(UnsignedHalves(), hn::Lt(largest, limit));
}

// Rows 0-7 are in even registers of A, rows 8-15 in the odd ones, each of which follows its even
// one in memory. The results say whether all elements are finite.
template <class Input>
HWY_INLINE bool load_a(Input input, const LaneRegister* a, int planes, Operands& to) {
  UnsignedHalfVector largest = hn::Zero(UnsignedHalves());
  const int pairs = Input::kBytes ? planes / 2 : planes;
  for (int pair = 0; pair < pairs; ++pair) {
    const std::uint32_t* words = &a[2 * pair][0];
    HWY_UNROLL(4)
    for (int row = 0; row < 16; row += kLanes) {
      WordVector w0, w1, w2, w3;
      hn::LoadInterleaved4(Words(), words + 4 * row, w0, w1, w2, w3);
      split_a(input, w0, pair, 0, row, to, largest);
      split_a(input, w1, pair, 1, row, to, largest);
      split_a(input, w2, pair, 2, row, to, largest);
      split_a(input, w3, pair, 3, row, to, largest);
    }
  }
  return all_finite(input, largest);
}

// Word t of column n is lane 4n + t of a register of B: stored as it comes.
template <class Input>
HWY_INLINE bool load_b(Input input, const LaneRegister* b, int planes, Operands& to) {
  UnsignedHalfVector largest = hn::Zero(UnsignedHalves());
  const int registers = Input::kBytes ? planes / 2 : planes;
  for (int reg = 0; reg < registers; ++reg) {
    HWY_UNROLL(8)
    for (int lane = 0; lane < 32; lane += kLanes) {
      split_b(input, hn::LoadU(Words(), b[reg] + lane), reg, lane, to, largest);
    }
  }
  return all_finite(input, largest);
}

// Runs a function over the input format's type.
template <class Function>
HWY_INLINE bool with_input(FastInput input, Function function) {
  switch (input) {
    case FastInput::bf16:
      return function(Bf16Input());
    case FastInput::f16:
      return function(F16Input());
    case FastInput::e4m3:
      return function(E4m3Input());
    case FastInput::e5m2:
      return function(E5m2Input());
  }
  return false;
}

}  // namespace HWY_NAMESPACE
}  // namespace plumbline

HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET != HWY_SCALAR
#endif
