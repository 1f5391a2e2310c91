// SPDX-License-Identifier: MIT
// Fragments to vectors over the rows of A, for the floating-point vector path. Included once per instruction set.
//
// A register of 32 lanes is, in memory, a matrix of 8 rows and 4 words: word t of row g is lane 4g + t. So one
// deinterleaving load gives, for each t, the words of all rows; each word holds two neighboring k. For every product
// the path needs two things: the operands as f32 (their product is then exact), and their exponents as the model
// counts them, from the fields, not renormalized. Exponents are 16-bit integers, biased by 127, with codes for zero that
// stay far below every other exponent in a sum with anything.
#if defined(PLUMBLINE_MMA_OPERANDS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLUMBLINE_MMA_OPERANDS_INL_H_
#undef PLUMBLINE_MMA_OPERANDS_INL_H_
#else
#define PLUMBLINE_MMA_OPERANDS_INL_H_
#endif

#include "hwy/highway.h"

#include "oracles/models/mma.h"

#if HWY_TARGET != HWY_SCALAR  // one lane cannot hold two 16-bit halves

HWY_BEFORE_NAMESPACE();

namespace plumbline {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::CappedTag<std::uint32_t, 16>;
using Floats = hn::Rebind<float, Words>;
using Halves = hn::Repartition<std::int16_t, Words>;
using UnsignedHalves = hn::Repartition<std::uint16_t, Words>;
using WordVector = hn::Vec<Words>;
using FloatVector = hn::Vec<Floats>;
using HalfVector = hn::Vec<Halves>;
using UnsignedHalfVector = hn::Vec<UnsignedHalves>;

constexpr int kLanes = static_cast<int>(hn::MaxLanes(Words()));
constexpr int kMostPlanes = 4;
constexpr int kZeroExponent = -8192;

// A plane holds 8 products of every output: words t = 0..3 times the lower and the upper element of each word.
struct Operands {
  alignas(64) float a[kMostPlanes][4][2][16];                 // plane, word, element, row
  alignas(64) std::uint32_t a_exponents[kMostPlanes][4][16];  // plane, word, row: both elements of the word
  alignas(64) float b[kMostPlanes][2][8][4];                  // plane, element, column, word
  alignas(64) std::uint32_t b_exponents[kMostPlanes][8][4];   // plane, column, word
};

// Where the fields of an input format lie once an element fills 16 bits. nan_limit is the smallest doubled magnitude
// that is not finite; factor moves the exponent of the widened pattern to where f32 has it.
struct Bf16Input {
  static constexpr int kFieldShift = 8;
  static constexpr int kRebias = 0;
  static constexpr std::uint16_t kNanLimit = 0xff00;
};

struct F16Input {
  static constexpr int kFieldShift = 11;
  static constexpr int kRebias = 127 - 15;
  static constexpr std::uint16_t kNanLimit = 0xf800;
};

HWY_INLINE UnsignedHalfVector as_unsigned_halves(WordVector v) {
  return hn::BitCast(UnsignedHalves(), v);
}

HWY_INLINE HalfVector as_halves(WordVector v) { return hn::BitCast(Halves(), v); }

template <class V>
HWY_INLINE WordVector as_words(V v) {
  return hn::BitCast(Words(), v);
}

HWY_INLINE FloatVector as_floats(WordVector v) { return hn::BitCast(Floats(), v); }

HWY_INLINE FloatVector lower_value(Bf16Input, WordVector word) {
  return as_floats(hn::ShiftLeft<16>(word));
}

HWY_INLINE FloatVector upper_value(Bf16Input, WordVector word) {
  return as_floats(hn::And(word, hn::Set(Words(), 0xffff0000u)));
}

// f16 in the upper half of a word, lower half zero. Magnitude moved down to the f32 exponent field, read as an f32 that
// is 2^112 too small (f16 subnormals are f32 subnormals there), and scaled: exact.
HWY_INLINE FloatVector upper_half_value(WordVector word) {
  const WordVector sign = hn::Set(Words(), 0x80000000u);
  const WordVector magnitude = hn::ShiftRight<3>(hn::AndNot(sign, word));
  const FloatVector value = hn::Mul(as_floats(magnitude), hn::Set(Floats(), 0x1p112f));
  return hn::Or(value, as_floats(hn::And(word, sign)));
}

HWY_INLINE FloatVector lower_value(F16Input, WordVector word) {
  return upper_half_value(hn::ShiftLeft<16>(word));
}

HWY_INLINE FloatVector upper_value(F16Input, WordVector word) {
  return upper_half_value(hn::And(word, hn::Set(Words(), 0xffff0000u)));
}

// The exponents of both elements of each word. largest collects the doubled magnitudes, to find Inf and NaN.
template <class Input>
HWY_INLINE HalfVector exponents_of(Input, WordVector word, UnsignedHalfVector& largest) {
  const UnsignedHalfVector bits = as_unsigned_halves(word);
  const UnsignedHalfVector doubled = hn::Add(bits, bits);  // drops the sign
  largest = hn::Max(largest, doubled);
  const HalfVector field = hn::BitCast(Halves(), hn::ShiftRight<Input::kFieldShift>(doubled));
  // Subnormals have the exponent of the smallest normal.
  HalfVector exponent = hn::Max(field, hn::Set(Halves(), 1));
  if (Input::kRebias != 0) exponent = hn::Add(exponent, hn::Set(Halves(), Input::kRebias));
  const HalfVector signed_doubled = hn::BitCast(Halves(), doubled);
  return hn::IfThenElse(hn::Eq(signed_doubled, hn::Zero(Halves())),
                        hn::Set(Halves(), kZeroExponent), exponent);
}

template <class Input>
HWY_INLINE void store_a_words(Input input, WordVector word, int row, float (*values)[16],
                              std::uint32_t* exponents, UnsignedHalfVector& largest) {
  hn::Store(lower_value(input, word), Floats(), values[0] + row);
  hn::Store(upper_value(input, word), Floats(), values[1] + row);
  hn::Store(as_words(exponents_of(input, word, largest)), Words(), exponents + row);
}

// One plane of A from a pair of registers: rows 0-7 from the first, rows 8-15 from the second, which follows it in
// memory.
template <class Input>
HWY_INLINE void load_a_plane(Input input, const LaneRegister* registers, int plane,
                             Operands& operands, UnsignedHalfVector& largest) {
  const std::uint32_t* words = &registers[0][0];
  auto& values = operands.a[plane];
  auto& exponents = operands.a_exponents[plane];
  for (int row = 0; row < 16; row += kLanes) {
    WordVector w0, w1, w2, w3;
    hn::LoadInterleaved4(Words(), words + 4 * row, w0, w1, w2, w3);
    store_a_words(input, w0, row, values[0], exponents[0], largest);
    store_a_words(input, w1, row, values[1], exponents[1], largest);
    store_a_words(input, w2, row, values[2], exponents[2], largest);
    store_a_words(input, w3, row, values[3], exponents[3], largest);
  }
}

// One plane of B from one register. Word t of column n is lane 4n + t: stored as it comes.
template <class Input>
HWY_INLINE void load_b_plane(Input input, const LaneRegister& lanes, int plane, Operands& operands,
                             UnsignedHalfVector& largest) {
  float* lower = &operands.b[plane][0][0][0];
  float* upper = &operands.b[plane][1][0][0];
  std::uint32_t* exponents = &operands.b_exponents[plane][0][0];
  for (int lane = 0; lane < 32; lane += kLanes) {
    const WordVector word = hn::LoadU(Words(), lanes + lane);
    hn::Store(lower_value(input, word), Floats(), lower + lane);
    hn::Store(upper_value(input, word), Floats(), upper + lane);
    hn::Store(as_words(exponents_of(input, word, largest)), Words(), exponents + lane);
  }
}

template <class Input>
HWY_INLINE bool all_finite(Input, UnsignedHalfVector largest) {
  const UnsignedHalfVector limit = hn::Set(UnsignedHalves(), Input::kNanLimit);
  return hn::AllTrue(UnsignedHalves(), hn::Lt(largest, limit));
}

}  // namespace HWY_NAMESPACE
}  // namespace plumbline

HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET != HWY_SCALAR
#endif
