// SPDX-License-Identifier: MIT
// The T-FDPA node on vectors: lanes are rows of A, two neighboring columns at a time, or two pairs
// of them. Included once per instruction set.
//
//   alignment: largest exponent of the addends, 16 bits, one column per half of a 32-bit lane
//   scale: 2^(F - alignment); an addend times scale has the aligned, cut addend as integer part
//   sum: of those integers, in 32 bits
//   result: the leading 24 bits of the sum, times 1/scale
//
// All of this is exact when every alignment lies in [-100, 126] (or all addends are zero) and every
// sum has fewer than 32 bits. Checks remembers whether that was so; otherwise the caller declines.
// Products far below the alignment may be rounded or lost by f32, but only below 2^-127: times a
// scale of at most 2^125 they are less than one and truncate to zero, as they should.
#if defined(PLUMBLINE_MMA_NODE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLUMBLINE_MMA_NODE_INL_H_
#undef PLUMBLINE_MMA_NODE_INL_H_
#else
#define PLUMBLINE_MMA_NODE_INL_H_
#endif

#include <limits>

#include "oracles/models/mma_operands-inl.h"
#include "oracles/models/mma_vectors-inl.h"

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

HWY_BEFORE_NAMESPACE();

namespace plumbline {
namespace HWY_NAMESPACE {

// Alignments are sums of two exponents biased by 127.
constexpr int kBias = 254;
constexpr int kLowestAlignment = kBias - 100;
constexpr int kHighestAlignment = kBias + 126;

// Sixteen products below 4 * 2^25 and an accumulator below 2 * 2^25 stay below 2^31 + 2^26, so a
// sum that wrapped has a magnitude above this.
constexpr std::uint32_t kLargestMagnitude = 0x7c000000u - 1;

struct Checks {
  HalfVector highest;         // alignment
  UnsignedHalfVector lowest;  // alignment; that of zero, being negative, is large when unsigned
  WordVector magnitude;       // of sums

  HWY_INLINE Checks()
      : highest(hn::Set(Halves(), kZeroExponent)),
        lowest(hn::Set(UnsignedHalves(), 0xffff)),
        magnitude(hn::Zero(Words())) {}

  HWY_INLINE bool good() const {
    const auto high = hn::Gt(highest, hn::Set(Halves(), kHighestAlignment));
    const auto low = hn::Lt(lowest, hn::Set(UnsignedHalves(), kLowestAlignment));
    const auto wrapped = hn::Gt(magnitude, hn::Set(Words(), kLargestMagnitude));
    return hn::AllFalse(Halves(), high) && hn::AllFalse(UnsignedHalves(), low) &&
           hn::AllFalse(Words(), wrapped);
  }

  // Bit l: the same of lane l, for its even or its odd column. (The magnitudes of both are one.)
  std::uint32_t failed(int odd) const {
    alignas(64) std::int16_t high[2 * kLanes];
    alignas(64) std::uint16_t low[2 * kLanes];
    alignas(64) std::uint32_t sums[kLanes];
    hn::Store(highest, Halves(), high);
    hn::Store(lowest, UnsignedHalves(), low);
    hn::Store(magnitude, Words(), sums);
    std::uint32_t lanes = 0;
    for (int l = 0; l < kLanes; ++l) {
      const int half = 2 * l + odd;
      if (high[half] > kHighestAlignment || low[half] < kLowestAlignment ||
          sums[l] > kLargestMagnitude)
        lanes |= std::uint32_t{1} << l;
    }
    return lanes;
  }
};

struct NodeConstants {
  HalfVector scale_exponent;  // minus an alignment, the f32 exponent field of its scale
  HalfVector field_bias;      // 8-bit inputs: plus a sum of exponent fields, the alignment
  WordVector result_mask;

  HWY_INLINE explicit NodeConstants(const FastFloatPlan& plan)
      : scale_exponent(
            hn::Set(Halves(), static_cast<std::int16_t>(plan.fraction_bits + 127 + kBias))),
        field_bias(hn::Set(Halves(), static_cast<std::int16_t>(kBias - plan.field_biases))),
        result_mask(hn::Set(Words(), plan.result_mask)) {}
};

// What kind of node: the width of its inputs, which exponents come as, and whether its sums are so
// narrow that an f32 holds them.
struct HalfNode {
  static constexpr bool kBytes = false, kNarrow = false;
};

struct ByteNode {
  static constexpr bool kBytes = true, kNarrow = false;
};

struct NarrowByteNode {
  static constexpr bool kBytes = true, kNarrow = true;
};

struct OutputPair {
  FloatVector x, y;  // even column, odd column
};

struct ScalePair {
  FloatVector x, y;
};

struct SumPair {
  IntegerVector x, y;
};

// The largest exponents of the products so far, apart for each place within a word: two 16-bit
// places, or four 8-bit ones.
template <class Node>
using Exponents =
    hn::Repartition<std::conditional_t<Node::kBytes, std::int8_t, std::int16_t>, Words>;

template <class Node>
struct ExponentPair {
  hn::Vec<Exponents<Node>> x, y;  // even column, odd column
};

// What is done together: the row vectors of the first pair of columns, then those of the next.
struct Block {
  OutputPair outputs[kVectors];
};

// Of vector v of a block.
constexpr int row_of(int row, int v) { return row + v % kRowVectors * kLanes; }

constexpr int pair_of(int pair, int v) { return pair + v / kRowVectors; }

// Truncation of values below 2^31. Highway's ConvertTo would saturate as well, which costs more
// than the conversion.
#if HWY_TARGET == HWY_SSE2
HWY_INLINE IntegerVector truncated(FloatVector v) { return IntegerVector{_mm_cvttps_epi32(v.raw)}; }
#elif HWY_TARGET == HWY_AVX2
HWY_INLINE IntegerVector truncated(FloatVector v) {
  return IntegerVector{_mm256_cvttps_epi32(v.raw)};
}
#elif HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
HWY_INLINE IntegerVector truncated(FloatVector v) {
  return IntegerVector{_mm512_cvttps_epi32(v.raw)};
}
#else
HWY_INLINE IntegerVector truncated(FloatVector v) { return hn::ConvertTo(Integers(), v); }
#endif

// The exponents of two accumulators, in the halves of each lane. A subnormal one reads as 2^-127:
// it is too small to count, or makes the alignment too low for this path.
HWY_INLINE HalfVector accumulator_exponents(OutputPair c) {
  const HalfVector tops = upper_halves(as_words(c.x), as_words(c.y));
  const auto doubled = hn::BitCast(UnsignedHalves(), hn::Add(tops, tops));
  const HalfVector field = hn::BitCast(Halves(), hn::ShiftRight<8>(doubled));
  const auto zero_x = as_words(hn::VecFromMask(Floats(), hn::Eq(c.x, hn::Zero(Floats()))));
  const auto zero_y = as_words(hn::VecFromMask(Floats(), hn::Eq(c.y, hn::Zero(Floats()))));
  const HalfVector zero = hn::OddEven(as_halves(zero_y), as_halves(zero_x));
  const HalfVector exponent = hn::Add(field, hn::Set(Halves(), kBias - 127));
  return hn::Or(exponent, hn::And(zero, hn::Set(Halves(), kZeroExponent)));
}

// The largest of all places of each word, in its halves: the even column below the odd one.
HWY_INLINE HalfVector largest_of(ExponentPair<HalfNode> products, const NodeConstants&) {
  const WordVector x = as_words(products.x);
  const WordVector y = as_words(products.y);
  return hn::Max(lower_halves(x, y), upper_halves(x, y));
}

template <class Node>
HWY_INLINE HalfVector largest_of(ExponentPair<Node> products, const NodeConstants& constants) {
  const WordVector x = as_words(products.x);
  const WordVector y = as_words(products.y);
  const Exponents<Node> bytes;
  const auto both =
      hn::Max(hn::BitCast(bytes, lower_halves(x, y)), hn::BitCast(bytes, upper_halves(x, y)));
  const HalfVector halves = hn::BitCast(Halves(), both);
  const HalfVector low = hn::ShiftRight<8>(hn::ShiftLeft<8>(halves));
  const HalfVector fields = hn::Max(low, hn::ShiftRight<8>(halves));
  // Sums of fields are positive; with a zero, negative.
  const HalfVector zero = hn::And(hn::BroadcastSignBit(fields), hn::Set(Halves(), kZeroExponent));
  return hn::Add(hn::Add(fields, constants.field_bias), zero);
}

template <class Node>
HWY_INLINE ScalePair scales_of(ExponentPair<Node> products, OutputPair c,
                               const NodeConstants& constants, Checks& checks) {
  const HalfVector largest = largest_of(products, constants);
  const HalfVector alignment = hn::Max(largest, accumulator_exponents(c));
  checks.highest = hn::Max(checks.highest, alignment);
  checks.lowest = hn::Min(checks.lowest, hn::BitCast(UnsignedHalves(), alignment));
  const HalfVector floored = hn::Max(alignment, hn::Set(Halves(), kLowestAlignment));
  const WordVector fields = as_words(hn::ShiftLeft<7>(hn::Sub(constants.scale_exponent, floored)));
  return {as_floats(hn::ShiftLeft<16>(fields)), as_floats(upper_half(fields))};
}

// 1/scale. The exponent fields of 2^x and 2^-x add up to 254.
HWY_INLINE FloatVector inverse_of(FloatVector scale) {
  return as_floats(hn::Sub(hn::Set(Words(), 254u << 23), as_words(scale)));
}

// The leading 24 bits of sum, times 1/scale, toward zero.
template <class Node>
HWY_INLINE FloatVector converted(IntegerVector sum, FloatVector scale,
                                 const NodeConstants& constants, Checks& checks) {
  if constexpr (Node::kNarrow) {  // no sum has more bits
    const FloatVector exact = hn::Mul(hn::ConvertTo(Floats(), sum), inverse_of(scale));
    return hn::And(exact, as_floats(constants.result_mask));
  }
  const WordVector magnitude = as_words(hn::Abs(sum));
  checks.magnitude = hn::Max(checks.magnitude, magnitude);
  // Clears the bit below the 24 leading ones, and some further down: what is left rounds down.
  const WordVector kept = hn::AndNot(hn::ShiftRight<24>(magnitude), magnitude);
  const FloatVector leading = hn::ConvertTo(Floats(), as_integers(kept));
  const WordVector result = as_words(hn::Mul(leading, inverse_of(scale)));
  const WordVector sign = hn::And(as_words(sum), hn::Set(Words(), 0x80000000u));
  return as_floats(hn::And(hn::Or(result, sign), constants.result_mask));
}

// The exponents of the products of one group, for the block of columns 2*pair and on and the rows
// from row.
template <class Node>
HWY_INLINE void raise_exponents(const Operands& operands, int group, int pair, int row,
                                ExponentPair<Node>* largest) {
  const Exponents<Node> exponents;
  HWY_UNROLL(4)
  for (int t = 0; t < 4; ++t) {
    HWY_UNROLL(2)
    for (int v = 0; v < kVectors; ++v) {
      const auto& b = operands.b_exponents[group] + 2 * pair_of(pair, v);
      const auto b_x = hn::BitCast(exponents, hn::Set(Words(), b[0][t]));
      const auto b_y = hn::BitCast(exponents, hn::Set(Words(), b[1][t]));
      const std::uint32_t* at = operands.a_exponents[group][t] + row_of(row, v);
      const auto a = hn::BitCast(exponents, hn::Load(Words(), at));
      largest[v].x = hn::Max(largest[v].x, hn::Add(a, b_x));
      largest[v].y = hn::Max(largest[v].y, hn::Add(a, b_y));
    }
  }
}

// The aligned products of one plane. Not unrolled further: 16 registers hold no more.
HWY_INLINE void add_products(const Operands& operands, int plane, int pair, int row,
                             const ScalePair* scale, SumPair* sum) {
  HWY_UNROLL(1)
  for (int t = 0; t < 4; ++t) {
    HWY_UNROLL(2)
    for (int j = 0; j < 2; ++j) {
      HWY_UNROLL(2)
      for (int v = 0; v < kVectors; ++v) {
        const auto& b = operands.b[plane][j] + 2 * pair_of(pair, v);
        const FloatVector b_x = hn::Set(Floats(), b[0][t]);
        const FloatVector b_y = hn::Set(Floats(), b[1][t]);
        const FloatVector a = hn::Load(Floats(), operands.a[plane][t][j] + row_of(row, v));
        const IntegerVector x = truncated(hn::Mul(hn::Mul(a, b_x), scale[v].x));
        const IntegerVector y = truncated(hn::Mul(hn::Mul(a, b_y), scale[v].y));
        sum[v].x = hn::Add(sum[v].x, x);
        sum[v].y = hn::Add(sum[v].y, y);
      }
    }
  }
}

// x + y. With 32 products a sum can pass 2^32 and wrap unseen; half of it cannot.
HWY_INLINE IntegerVector joined(IntegerVector x, IntegerVector y, Checks& checks) {
  const IntegerVector half = hn::Add(hn::ShiftRight<1>(x), hn::ShiftRight<1>(y));
  checks.magnitude = hn::Max(checks.magnitude, hn::ShiftLeft<1>(as_words(hn::Abs(half))));
  return hn::Add(x, y);
}

// One node of kCount planes: kFirst, kFirst + kStride, ... `checks`: of each pair of columns.
template <class Node, int kFirst, int kStride, int kCount>
HWY_INLINE void node(const Operands& operands, int pair, int row, const NodeConstants& constants,
                     Block& c, Checks* checks) {
  constexpr int kEnd = kFirst + kCount * kStride;
  constexpr int kSixteen = kFirst + 2 * kStride;  // the planes of the first 16 products end here
  // Its groups of exponents: its planes, or half as many; regrouped where planes alternate.
  constexpr bool kHalved = Node::kBytes && kStride == 1;
  constexpr int kFirstGroup = kHalved ? kFirst / 2 : kFirst;
  constexpr int kGroups = kStride == 2 ? 1 : kHalved ? kCount / 2 : kCount;

  const Exponents<Node> exponents;
  ExponentPair<Node> largest[kVectors];
  HWY_UNROLL(2)
  for (int v = 0; v < kVectors; ++v) {
    largest[v].x = largest[v].y =
        hn::Set(exponents, std::numeric_limits<hn::TFromD<Exponents<Node>>>::min());
  }
  HWY_UNROLL(4)
  for (int group = kFirstGroup; group < kFirstGroup + kGroups; ++group) {
    raise_exponents<Node>(operands, group, pair, row, largest);
  }

  ScalePair scale[kVectors];
  SumPair sum[kVectors];
  HWY_UNROLL(2)
  for (int v = 0; v < kVectors; ++v) {
    scale[v] = scales_of(largest[v], c.outputs[v], constants, checks[v / kRowVectors]);
    sum[v].x = truncated(hn::Mul(c.outputs[v].x, scale[v].x));
    sum[v].y = truncated(hn::Mul(c.outputs[v].y, scale[v].y));
  }

  HWY_UNROLL(2)
  for (int plane = kFirst; plane < HWY_MIN(kEnd, kSixteen); plane += kStride) {
    add_products(operands, plane, pair, row, scale, sum);
  }
  if constexpr (kSixteen < kEnd) {
    SumPair rest[kVectors];
    for (int v = 0; v < kVectors; ++v) rest[v].x = rest[v].y = hn::Zero(Integers());
    for (int plane = kSixteen; plane < kEnd; plane += kStride) {
      add_products(operands, plane, pair, row, scale, rest);
    }
    for (int v = 0; v < kVectors; ++v) {
      sum[v].x = joined(sum[v].x, rest[v].x, checks[v / kRowVectors]);
      sum[v].y = joined(sum[v].y, rest[v].y, checks[v / kRowVectors]);
    }
  }

  HWY_UNROLL(2)
  for (int v = 0; v < kVectors; ++v) {
    c.outputs[v].x = converted<Node>(sum[v].x, scale[v].x, constants, checks[v / kRowVectors]);
    c.outputs[v].y = converted<Node>(sum[v].y, scale[v].y, constants, checks[v / kRowVectors]);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace plumbline

HWY_AFTER_NAMESPACE();

#endif  // vectors
#endif
