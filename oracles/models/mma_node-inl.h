// SPDX-License-Identifier: MIT
// The T-FDPA node on vectors: lanes are rows of A, two neighboring columns at a time. Included once per instruction set.
//
//   emax      maximum of 16-bit exponent sums, the two columns in the halves of each 32-bit lane
//   scale     2^(F - emax): a product times scale is an f32 whose integer part is the aligned, truncated addend
//   sum       of those integers, in 32 bits
//   result    the sum's leading 24 bits times 1/scale
//
// All of it is exact while emax of every output lies in [-100, 121] (or every addend is zero) and the sum has fewer
// than 32 bits. Otherwise Checks remembers, and the caller declines. Products far below emax may underflow or be rounded
// in f32: below 2^-133 they are less than one after scaling, and truncate to zero as they should.
#if defined(PLUMBLINE_MMA_NODE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLUMBLINE_MMA_NODE_INL_H_
#undef PLUMBLINE_MMA_NODE_INL_H_
#else
#define PLUMBLINE_MMA_NODE_INL_H_
#endif

#include "hwy/highway.h"

#include "oracles/models/mma_operands-inl.h"

#if HWY_TARGET != HWY_SCALAR  // one lane cannot hold two 16-bit halves

HWY_BEFORE_NAMESPACE();

namespace plumbline {
namespace HWY_NAMESPACE {

using Integers = hn::Rebind<std::int32_t, Words>;
using IntegerVector = hn::Vec<Integers>;

// Exponent sums are biased by 254.
constexpr int kLowestAlignment = 254 - 100;
constexpr int kHighestAlignment = 254 + 121;
// Sixteen products below 4 * 2^25 and an accumulator below 2 * 2^25 reach at most 2^31 + 2^26, so a sum that wrapped
// has a magnitude above this.
constexpr std::uint32_t kLargestMagnitude = 0x7c000000 - 1;

struct Checks {
  HalfVector highest;         // alignment exponents
  UnsignedHalfVector lowest;  // the same; codes of zero are large when unsigned
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
};

struct NodeConstants {
  HalfVector scale_exponent;  // F + 127 + 254: minus a biased alignment exponent, the f32 field of its scale
  WordVector result_mask;
};

// Truncation of values below 2^31. Highway's ConvertTo also saturates, which costs more than the conversion.
#if HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3
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

// The lower or the upper halves of x, below those of y.
HWY_INLINE HalfVector lower_halves(WordVector x, WordVector y) {
  return hn::OddEven(as_halves(hn::ShiftLeft<16>(y)), as_halves(x));
}

HWY_INLINE HalfVector upper_halves(WordVector x, WordVector y) {
  return hn::OddEven(as_halves(y), as_halves(hn::ShiftRight<16>(x)));
}

struct OutputPair {
  FloatVector x, y;  // even column, odd column
};

struct ScalePair {
  WordVector x, y;  // bits of f32 powers of two
};

struct SumPair {
  IntegerVector x, y;
};

// The exponents of two accumulators, biased by 254, in the halves of each lane. A subnormal one reads as 2^-127; it
// either is too small to count or makes the alignment too low for this path.
HWY_INLINE HalfVector accumulator_exponents(OutputPair c) {
  const HalfVector tops = upper_halves(as_words(c.x), as_words(c.y));
  const HalfVector field = hn::BitCast(
      Halves(), hn::ShiftRight<8>(hn::BitCast(UnsignedHalves(), hn::Add(tops, tops))));
  const auto zero_x = as_words(hn::VecFromMask(Floats(), hn::Eq(c.x, hn::Zero(Floats()))));
  const auto zero_y = as_words(hn::VecFromMask(Floats(), hn::Eq(c.y, hn::Zero(Floats()))));
  const HalfVector zero = hn::OddEven(as_halves(zero_y), as_halves(zero_x));
  const HalfVector exponent = hn::Add(field, hn::Set(Halves(), 127));
  return hn::Or(exponent, hn::And(zero, hn::Set(Halves(), kZeroExponent)));
}

// The scales of two outputs. product_x and product_y are the largest exponents of their products, those of even and of
// odd k in the halves of each lane.
HWY_INLINE ScalePair scales_of(HalfVector product_x, HalfVector product_y, OutputPair c,
                               const NodeConstants& constants, Checks& checks) {
  const WordVector words_x = as_words(product_x);
  const WordVector words_y = as_words(product_y);
  const HalfVector products =
      hn::Max(lower_halves(words_x, words_y), upper_halves(words_x, words_y));
  const HalfVector alignment = hn::Max(products, accumulator_exponents(c));
  checks.highest = hn::Max(checks.highest, alignment);
  checks.lowest = hn::Min(checks.lowest, hn::BitCast(UnsignedHalves(), alignment));
  const HalfVector floored = hn::Max(alignment, hn::Set(Halves(), kLowestAlignment));
  const WordVector scales = as_words(hn::ShiftLeft<7>(hn::Sub(constants.scale_exponent, floored)));
  return {hn::ShiftLeft<16>(scales), hn::And(scales, hn::Set(Words(), 0xffff0000u))};
}

// The leading 24 bits of sum, times 1/scale, toward zero.
HWY_INLINE FloatVector converted(IntegerVector sum, WordVector scale, const NodeConstants& constants,
                                 Checks& checks) {
  const WordVector magnitude = as_words(hn::Abs(sum));
  checks.magnitude = hn::Max(checks.magnitude, magnitude);
  // Clears the bit below the 24 leading ones (and others further down): what is left rounds down.
  const WordVector kept = hn::AndNot(hn::ShiftRight<24>(magnitude), magnitude);
  const FloatVector leading = hn::ConvertTo(Floats(), hn::BitCast(Integers(), kept));
  // 2^-x has the exponent field 254 - that of 2^x.
  const FloatVector inverse = as_floats(hn::Sub(hn::Set(Words(), 254u << 23), scale));
  const WordVector result = as_words(hn::Mul(leading, inverse));
  const WordVector sign = hn::And(as_words(sum), hn::Set(Words(), 0x80000000u));
  return as_floats(hn::And(hn::Or(result, sign), constants.result_mask));
}

// Two vectors of rows share what they need of B; with 16 lanes there is only one.
constexpr int kRowVectors = kLanes < 16 ? 2 : 1;

struct Block {
  OutputPair rows[kRowVectors];
};

// One node over planes kFirst, kFirst + kStride, ... (kCount of them), for columns 2*pair and 2*pair + 1 and the
// block of rows from row.
template <int kFirst, int kStride, int kCount>
HWY_INLINE void node(const Operands& operands, int pair, int row, const NodeConstants& constants,
                     Block& c, Checks& checks) {
  constexpr int kLast = kFirst + (kCount - 1) * kStride;
  HalfVector largest_x[kRowVectors], largest_y[kRowVectors];
  HWY_UNROLL(2)
  for (int r = 0; r < kRowVectors; ++r) {
    largest_x[r] = largest_y[r] = hn::Set(Halves(), kZeroExponent);
  }
  HWY_UNROLL(4)
  for (int plane = kFirst; plane <= kLast; plane += kStride) {
    HWY_UNROLL(4)
    for (int t = 0; t < 4; ++t) {
      const HalfVector b_x =
          as_halves(hn::Set(Words(), operands.b_exponents[plane][2 * pair][t]));
      const HalfVector b_y =
          as_halves(hn::Set(Words(), operands.b_exponents[plane][2 * pair + 1][t]));
      HWY_UNROLL(2)
      for (int r = 0; r < kRowVectors; ++r) {
        const HalfVector a = as_halves(
            hn::Load(Words(), operands.a_exponents[plane][t] + row + r * kLanes));
        largest_x[r] = hn::Max(largest_x[r], hn::Add(a, b_x));
        largest_y[r] = hn::Max(largest_y[r], hn::Add(a, b_y));
      }
    }
  }

  ScalePair scale[kRowVectors];
  SumPair sum[kRowVectors];
  HWY_UNROLL(2)
  for (int r = 0; r < kRowVectors; ++r) {
    scale[r] = scales_of(largest_x[r], largest_y[r], c.rows[r], constants, checks);
    sum[r].x = truncated(hn::Mul(c.rows[r].x, as_floats(scale[r].x)));
    sum[r].y = truncated(hn::Mul(c.rows[r].y, as_floats(scale[r].y)));
  }

  HWY_UNROLL(4)
  for (int plane = kFirst; plane <= kLast; plane += kStride) {
    HWY_UNROLL(4)
    for (int t = 0; t < 4; ++t) {
      HWY_UNROLL(2)
      for (int j = 0; j < 2; ++j) {
        const FloatVector b_x = hn::Set(Floats(), operands.b[plane][j][2 * pair][t]);
        const FloatVector b_y = hn::Set(Floats(), operands.b[plane][j][2 * pair + 1][t]);
        HWY_UNROLL(2)
        for (int r = 0; r < kRowVectors; ++r) {
          const FloatVector a = hn::Load(Floats(), operands.a[plane][t][j] + row + r * kLanes);
          sum[r].x = hn::Add(sum[r].x,
                             truncated(hn::Mul(hn::Mul(a, b_x), as_floats(scale[r].x))));
          sum[r].y = hn::Add(sum[r].y,
                             truncated(hn::Mul(hn::Mul(a, b_y), as_floats(scale[r].y))));
        }
      }
    }
  }
  HWY_UNROLL(2)
  for (int r = 0; r < kRowVectors; ++r) {
    c.rows[r].x = converted(sum[r].x, scale[r].x, constants, checks);
    c.rows[r].y = converted(sum[r].y, scale[r].y, constants, checks);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace plumbline

HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET != HWY_SCALAR
#endif
