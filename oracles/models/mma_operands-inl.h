// SPDX-License-Identifier: MIT
// Fragments to vectors over the rows of A, for the floating-point vector path. Included once per
// instruction set.
//
// A register of 32 lanes is, in memory, a matrix of 8 rows and 4 words: word t of row g is lane 4g
// + t. So one deinterleaving load gives, for each t, the words of all rows; each word holds
// neighboring k. For every product the path needs two things: the operands as f32 (their product is
// then exact), and their exponents as the model counts them, from the fields, not renormalized.
//   16-bit inputs: exponents are 16-bit integers biased by 127, two to a word
//   8-bit inputs:  exponents are 8-bit integers, the fields themselves, four to a word
// Zero has an exponent so low that its sum with any other stays below every sum without zeros.
#if defined(PLUMBLINE_MMA_OPERANDS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLUMBLINE_MMA_OPERANDS_INL_H_
#undef PLUMBLINE_MMA_OPERANDS_INL_H_
#else
#define PLUMBLINE_MMA_OPERANDS_INL_H_
#endif

#include <cstring>
#include <type_traits>

#include "oracles/models/mma_vectors-inl.h"
#include "oracles/models/mma_workspace.h"

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

HWY_BEFORE_NAMESPACE();

namespace plumbline {
namespace HWY_NAMESPACE {

constexpr int kZeroExponent = -8192;
constexpr std::uint8_t kZeroByte = 0xc0;  // or'ed to the field of zero, which counts as 1: -63

using Operands = FloatOperands;

// An input format of f16 or less as an f32: its bits at the top of a word move down by kShift, so
// that the exponent fields end at the same bit, and kBits are the magnitude there. kNanLimit is the
// smallest magnitude that is not finite. Of a byte, kMagnitude are the bits of exponent and
// mantissa, and kUnused those above the sign.
struct Bf16Input {
  static constexpr bool kBytes = false;
  static constexpr int kMantissaBits = 7;
  static constexpr int kRebias = 0;
  static constexpr std::uint16_t kNanLimit = 0x7f80;
};

struct F16Input {
  static constexpr bool kBytes = false;
  static constexpr int kMantissaBits = 10;
  static constexpr int kRebias = 127 - 15;
  static constexpr std::uint16_t kNanLimit = 0x7c00;
  static constexpr int kShift = 3;
  static constexpr std::uint32_t kBits = 0x0fffe000;
  static constexpr int kBias = 15;
};

struct E5m2Input {
  static constexpr bool kBytes = true;
  static constexpr int kMantissaBits = 2;
  static constexpr int kUnused = 0;
  static constexpr std::uint8_t kMagnitude = 0x7f, kNanLimit = 0x7c;
  static constexpr int kShift = 3;
  static constexpr std::uint32_t kBits = 0x0fe00000;
  static constexpr int kBias = 15;
};

struct E4m3Input {
  static constexpr bool kBytes = true;
  static constexpr int kMantissaBits = 3;
  static constexpr int kUnused = 0;
  static constexpr std::uint8_t kMagnitude = 0x7f, kNanLimit = 0x7f;
  static constexpr int kShift = 4;
  static constexpr std::uint32_t kBits = 0x07f00000;
  static constexpr int kBias = 7;
};

struct E3m2Input {
  static constexpr bool kBytes = true;
  static constexpr int kMantissaBits = 2;
  static constexpr int kUnused = 2;
  static constexpr std::uint8_t kMagnitude = 0x1f, kNanLimit = 0xff;
  static constexpr int kShift = 5;
  static constexpr std::uint32_t kBits = 0x03e00000;
  static constexpr int kBias = 3;
};

struct E2m3Input {
  static constexpr bool kBytes = true;
  static constexpr int kMantissaBits = 3;
  static constexpr int kUnused = 2;
  static constexpr std::uint8_t kMagnitude = 0x1f, kNanLimit = 0xff;
  static constexpr int kShift = 6;
  static constexpr std::uint32_t kBits = 0x01f00000;
  static constexpr int kBias = 1;
};

// The leading bits of an e2m3.
struct E2m1Input : E2m3Input {
  static constexpr std::uint8_t kMagnitude = 0x1c;
  static constexpr std::uint32_t kBits = 0x01c00000;
};

// The largest magnitudes seen, to find Inf and NaN: of elements as wide as the input.
template <class Input>
using Magnitudes =
    hn::Repartition<std::conditional_t<Input::kBytes, std::uint8_t, std::uint16_t>, Words>;

template <class Input>
using MagnitudeVector = hn::Vec<Magnitudes<Input>>;

// How far the element in the lowest bits of a word is from the top.
template <class Input>
constexpr int top_of() {
  if constexpr (Input::kBytes) {
    return 24 + Input::kUnused;
  } else {
    return 16;
  }
}

// The value of the element in bits [kLow, kLow + width) of each word. No f32 on the way is
// subnormal: some processors take a hundred cycles for each of those.
template <int kLow, class Input>
HWY_INLINE FloatVector value_of(Input, WordVector word) {
  constexpr int kUp = top_of<Input>() - kLow;
  const WordVector top = hn::ShiftLeft<kUp>(word);
  const WordVector moved =
      hn::And(hn::ShiftRight<Input::kShift>(top), hn::Set(Words(), Input::kBits));
  const FloatVector normal =
      as_floats(hn::Add(moved, hn::Set(Words(), std::uint32_t{127 - Input::kBias} << 23)));
  // Subnormal, with the leading bit that they do not have: 2^-bias (1 + m) for 2^-bias (2 m).
  const auto subnormal = hn::Lt(as_integers(moved), hn::Set(Integers(), 1 << 23));
  const FloatVector leading = as_floats(hn::Set(Words(), std::uint32_t{128 - Input::kBias} << 23));
  const FloatVector excess =
      hn::IfThenElseZero(hn::RebindMask(Floats(), subnormal), hn::Sub(normal, leading));
  const WordVector sign = hn::And(top, hn::Set(Words(), 0x80000000u));
  return as_floats(hn::Or(as_words(hn::Add(normal, excess)), sign));
}

HWY_INLINE WordVector upper_half(WordVector word) {
  return hn::And(word, hn::Set(Words(), 0xffff0000u));
}

template <int kLow>
HWY_INLINE FloatVector value_of(Bf16Input, WordVector word) {
  return as_floats(kLow == 0 ? hn::ShiftLeft<16>(word) : upper_half(word));
}

template <class Input>
constexpr auto magnitude_of() {
  if constexpr (Input::kBytes) {
    return Input::kMagnitude;
  } else {
    return std::uint16_t{0x7fff};
  }
}

// The exponents of all elements of each word. Subnormals count like the smallest normal.
template <class Input>
HWY_INLINE WordVector exponents_of(Input, WordVector word, MagnitudeVector<Input>& largest) {
  const Magnitudes<Input> elements;
  const hn::RebindToSigned<Magnitudes<Input>> exponents;
  const auto magnitude =
      hn::And(hn::BitCast(elements, word), hn::Set(elements, magnitude_of<Input>()));
  largest = hn::Max(largest, magnitude);
  const auto zero =
      hn::BitCast(exponents, hn::VecFromMask(elements, hn::Eq(magnitude, hn::Zero(elements))));
  // Shifted as halves: x86 has no shift of bytes.
  const auto shifted =
      hn::ShiftRight<Input::kMantissaBits>(hn::BitCast(UnsignedHalves(), magnitude));
  if constexpr (Input::kBytes) {
    const auto field =
        hn::And(hn::BitCast(exponents, shifted),
                hn::Set(exponents, static_cast<std::int8_t>(0x7f >> Input::kMantissaBits)));
    const auto exponent = hn::Max(field, hn::Set(exponents, 1));
    const auto low = hn::Set(exponents, static_cast<std::int8_t>(kZeroByte));
    return as_words(hn::Or(exponent, hn::And(zero, low)));
  } else {
    auto exponent = hn::Max(hn::BitCast(exponents, shifted), hn::Set(exponents, 1));
    if (Input::kRebias != 0) exponent = hn::Add(exponent, hn::Set(exponents, Input::kRebias));
    const auto low = hn::Set(exponents, kZeroExponent);
    return as_words(hn::Or(exponent, hn::And(zero, low)));
  }
}

template <class Input>
HWY_INLINE bool all_finite(Input, MagnitudeVector<Input> largest) {
  const Magnitudes<Input> elements;
  return hn::AllTrue(elements, hn::Lt(largest, hn::Set(elements, Input::kNanLimit)));
}

// The words of register pair `pair`, word t: one plane of 16-bit inputs, two planes of 8-bit ones.
template <class Input>
HWY_INLINE void store_a(Input input, WordVector word, int pair, int t, int row, Operands& to,
                        MagnitudeVector<Input>& largest) {
  if constexpr (Input::kBytes) {
    hn::Store(value_of<0>(input, word), Floats(), to.a[2 * pair][t][0] + row);
    hn::Store(value_of<8>(input, word), Floats(), to.a[2 * pair][t][1] + row);
    hn::Store(value_of<16>(input, word), Floats(), to.a[2 * pair + 1][t][0] + row);
    hn::Store(value_of<24>(input, word), Floats(), to.a[2 * pair + 1][t][1] + row);
  } else {
    hn::Store(value_of<0>(input, word), Floats(), to.a[pair][t][0] + row);
    hn::Store(value_of<16>(input, word), Floats(), to.a[pair][t][1] + row);
  }
  hn::Store(exponents_of(input, word, largest), Words(), to.a_exponents[pair][t] + row);
}

template <class Input>
HWY_INLINE void store_b(Input input, WordVector word, int reg, int lane, Operands& to,
                        MagnitudeVector<Input>& largest) {
  if constexpr (Input::kBytes) {
    hn::Store(value_of<0>(input, word), Floats(), &to.b[2 * reg][0][0][0] + lane);
    hn::Store(value_of<8>(input, word), Floats(), &to.b[2 * reg][1][0][0] + lane);
    hn::Store(value_of<16>(input, word), Floats(), &to.b[2 * reg + 1][0][0][0] + lane);
    hn::Store(value_of<24>(input, word), Floats(), &to.b[2 * reg + 1][1][0][0] + lane);
  } else {
    hn::Store(value_of<0>(input, word), Floats(), &to.b[reg][0][0][0] + lane);
    hn::Store(value_of<16>(input, word), Floats(), &to.b[reg][1][0][0] + lane);
  }
  hn::Store(exponents_of(input, word, largest), Words(), &to.b_exponents[reg][0][0] + lane);
}

// Rows 0-7 are in even registers of A, rows 8-15 in the odd ones, each of which follows its even
// one in memory. The results say whether all elements are finite.
template <class Input>
HWY_INLINE bool load_a(Input input, const LaneRegister* a, int pairs, Operands& to) {
  MagnitudeVector<Input> largest = hn::Zero(Magnitudes<Input>());
  for (int pair = 0; pair < pairs; ++pair) {
    const std::uint32_t* words = &a[2 * pair][0];
    HWY_UNROLL(4)
    for (int row = 0; row < 16; row += kLanes) {
      WordVector w0, w1, w2, w3;
      hn::LoadInterleaved4(Words(), words + 4 * row, w0, w1, w2, w3);
      store_a(input, w0, pair, 0, row, to, largest);
      store_a(input, w1, pair, 1, row, to, largest);
      store_a(input, w2, pair, 2, row, to, largest);
      store_a(input, w3, pair, 3, row, to, largest);
    }
  }
  return all_finite(input, largest);
}

// Word t of column n is lane 4n + t of a register of B: stored as it comes.
template <class Input>
HWY_INLINE bool load_b(Input input, const LaneRegister* b, int registers, Operands& to) {
  MagnitudeVector<Input> largest = hn::Zero(Magnitudes<Input>());
  for (int reg = 0; reg < registers; ++reg) {
    HWY_UNROLL(8)
    for (int lane = 0; lane < 32; lane += kLanes) {
      store_b(input, hn::LoadU(Words(), b[reg] + lane), reg, lane, to, largest);
    }
  }
  return all_finite(input, largest);
}

// The lower, or the upper, halves of x below those of y.
HWY_INLINE HalfVector lower_halves(WordVector x, WordVector y) {
  return hn::OddEven(as_halves(hn::ShiftLeft<16>(y)), as_halves(x));
}

HWY_INLINE HalfVector upper_halves(WordVector x, WordVector y) {
  return hn::OddEven(as_halves(y), as_halves(hn::ShiftRight<16>(x)));
}

// `words` exponents of each of two groups, regrouped: the lower halves make one, the upper another.
HWY_INLINE void regroup(std::uint32_t* first, std::uint32_t* second, int words) {
  for (int i = 0; i < words; i += kLanes) {
    const WordVector x = hn::Load(Words(), first + i);
    const WordVector y = hn::Load(Words(), second + i);
    hn::Store(as_words(lower_halves(x, y)), Words(), first + i);
    hn::Store(as_words(upper_halves(x, y)), Words(), second + i);
  }
}

// FP8 on Hopper: elements 0, 1 of every word go into one node, 2, 3 into another. With one register
// pair the other half of each group is zeros.
HWY_INLINE void group_a_by_halves(int pairs, Operands& operands) {
  if (pairs == 1) std::memset(operands.a_exponents[1], kZeroByte, sizeof operands.a_exponents[1]);
  regroup(&operands.a_exponents[0][0][0], &operands.a_exponents[1][0][0], 4 * 16);
}

HWY_INLINE void group_b_by_halves(int registers, Operands& operands) {
  if (registers == 1) {
    std::memset(operands.b_exponents[1], kZeroByte, sizeof operands.b_exponents[1]);
  }
  regroup(&operands.b_exponents[0][0][0], &operands.b_exponents[1][0][0], 8 * 4);
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
    case FastInput::e2m3:
      return function(E2m3Input());
    case FastInput::e3m2:
      return function(E3m2Input());
    case FastInput::e2m1:
      return function(E2m1Input());
  }
  return false;
}

// The bits of a word of 8-bit inputs but for the signs, and for those that are not used.
HWY_INLINE std::uint32_t magnitudes_of(FastInput input) {
  std::uint32_t bits = 0;
  with_input(input, [&](auto one) HWY_ATTR {
    if constexpr (decltype(one)::kBytes) bits = 0x01010101u * decltype(one)::kMagnitude;
    return true;
  });
  return bits;
}

}  // namespace HWY_NAMESPACE
}  // namespace plumbline

HWY_AFTER_NAMESPACE();

#endif  // vectors
#endif
