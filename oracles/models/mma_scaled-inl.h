// SPDX-License-Identifier: MIT
// mma with block scales on vectors; lanes are rows of A. Included once per instruction set.
//
// FP8: a node of products times 2^s on an accumulator c is 2^s times the node of the products on
// c 2^-s, as long as nothing comes near the ends of f32's range. So the node without scales
// (mma_node-inl.h) does it.
//
// FP4: products are small integers. The sums of 16 come from products of 16-bit integers, exactly.
// A sum times its scales, aligned and cut, is a whole number below 2^50, and so is everything that
// is added up: doubles hold it.
//
// Outputs for which this does not hold are noted, and left to the specification.
#if defined(PLUMBLINE_MMA_SCALED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLUMBLINE_MMA_SCALED_INL_H_
#undef PLUMBLINE_MMA_SCALED_INL_H_
#else
#define PLUMBLINE_MMA_SCALED_INL_H_
#endif

#include "oracles/models/block_scale_values.h"
#include "oracles/models/mma_integer-inl.h"
#include "oracles/models/mma_operands-inl.h"
#include "oracles/models/mma_vectors-inl.h"
#include "oracles/models/mma_workspace.h"

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

HWY_BEFORE_NAMESPACE();

namespace plumbline {
namespace HWY_NAMESPACE {

// The rows from `row` on for which the mask is true.
template <class Mask>
HWY_INLINE void note_rows_open(Mask mask, int column, int row, PartOfMma& part) {
  if (hn::AllFalse(Integers(), mask)) return;
  part.open[column] |= static_cast<std::uint16_t>(rows_of(mask) << row);
}

// All rows and columns that have a scale of NaN are NaN.
inline void put_nan_scales(const BlockScaleValues& scales, MmaTile& d, PartOfMma& part) {
  if (scales.nan_rows == 0 && scales.nan_columns == 0) return;
  for (int column = 0; column < 8; ++column) {
    const std::uint32_t rows = (scales.nan_columns >> column & 1) != 0 ? 0xffff : scales.nan_rows;
    for (int row = 0; row < 16; ++row)
      if ((rows >> row & 1) != 0) d.columns[column][row] = 0x7fffffff;
    part.open[column] &= static_cast<std::uint16_t>(~rows);
  }
}

// ---- FP8 ----------------------------------------------------------------------------------------

// The sizes of accumulators and of 2^s for which nothing on the way is subnormal or infinite:
// products reach from 2^-32 to below 2^37, all 32 of them and the accumulator times 2^-s stay
// within 2^-120 and 2^121.
constexpr int kMostShift = 60;
constexpr int kMostExponent = 60;

// s for every output.
struct Shifts {
  alignas(64) std::int32_t rows[16];
  alignas(64) std::int32_t rows_used[16];  // all ones, or 0
  std::int32_t columns[8];
  bool columns_used[8];

  // Rows and columns without an element that is not 0 have no products, and no use for their
  // scales: those outside of a matrix are 2^-127.
  Shifts(const FastFloatPlan& plan, const MmaOperands& of) {
    const LaneRegister *const a = of.a, *const b = of.b;
    const BlockScaleValues& scales = *of.scales;
    const std::uint32_t a_magnitudes = magnitudes_of(plan.a), b_magnitudes = magnitudes_of(plan.b);
    for (int line = 0; line < 8; ++line) {
      std::uint32_t upper = 0, lower = 0, column = 0;
      for (int lane = 4 * line; lane < 4 * line + 4; ++lane) {
        upper |= a[0][lane] | a[2][lane];
        lower |= a[1][lane] | a[3][lane];
        column |= b[0][lane] | b[1][lane];
      }
      rows_used[line] = (upper & a_magnitudes) != 0 ? -1 : 0;
      rows_used[line + 8] = (lower & a_magnitudes) != 0 ? -1 : 0;
      columns_used[line] = (column & b_magnitudes) != 0;
      rows[line] = scales.row_exponents[0][line];
      rows[line + 8] = scales.row_exponents[0][line + 8];
      columns[line] = scales.column_exponents[0][line];
    }
  }

  HWY_INLINE IntegerVector of(int column, int row) const {
    if (!columns_used[column]) return hn::Zero(Integers());
    const IntegerVector sum =
        hn::Add(hn::Load(Integers(), rows + row), hn::Set(Integers(), columns[column]));
    return hn::And(sum, hn::Load(Integers(), rows_used + row));
  }
};

// 2^exponent, well inside of the range of normal numbers.
HWY_INLINE FloatVector power_of_two(IntegerVector exponent) {
  return hn::BitCast(Floats(), hn::ShiftLeft<23>(hn::Add(exponent, hn::Set(Integers(), 127))));
}

// C 2^-s.
HWY_INLINE void shift_down(const Shifts& shifts, MmaTile& tile, PartOfMma& part) {
  for (int column = 0; column < 8; ++column) {
    for (int row = 0; row < 16; row += kLanes) {
      std::uint32_t* const at = tile.columns[column] + row;
      const IntegerVector shift = shifts.of(column, row);
      const IntegerVector bits = as_integers(hn::Load(Words(), at));
      const IntegerVector size = hn::And(bits, hn::Set(Integers(), 0x7fffffff));
      // A sum of zeros and -0 is the specification's to tell.
      const auto in_range =
          hn::And(hn::Gt(size, hn::Set(Integers(), ((127 - kMostExponent) << 23) - 1)),
                  hn::Lt(size, hn::Set(Integers(), (127 + kMostExponent) << 23)));
      const auto fine = hn::And(hn::Or(in_range, hn::Eq(bits, hn::Zero(Integers()))),
                                hn::Lt(hn::Abs(shift), hn::Set(Integers(), kMostShift + 1)));
      note_rows_open(hn::Not(fine), column, row, part);
      const FloatVector moved = hn::Mul(hn::BitCast(Floats(), bits), power_of_two(hn::Neg(shift)));
      hn::Store(as_words(hn::IfThenElseZero(hn::RebindMask(Floats(), fine), moved)), Words(), at);
    }
  }
}

// D 2^s.
HWY_INLINE void shift_up(const Shifts& shifts, MmaTile& tile) {
  for (int column = 0; column < 8; ++column) {
    for (int row = 0; row < 16; row += kLanes) {
      std::uint32_t* const at = tile.columns[column] + row;
      const FloatVector d = as_floats(hn::Load(Words(), at));
      hn::Store(as_words(hn::Mul(d, power_of_two(shifts.of(column, row)))), Words(), at);
    }
  }
}

// ---- FP4 ----------------------------------------------------------------------------------------

using Doubles = hn::Repartition<double, Words>;
using LongWords = hn::RebindToSigned<Doubles>;
using DoubleVector = hn::Vec<Doubles>;

constexpr int kDoubles = kLanes / 2;  // of a vector

// Twice the value of every code of e2m1.
HWY_INLINE WordVector doubled(WordVector codes) {
  alignas(16) static constexpr std::int8_t kDoubled[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                                           0, -1, -2, -3, -4, -6, -8, -12};
  const hn::Repartition<std::int8_t, Words> bytes;
  return as_words(hn::TableLookupBytes(hn::LoadDup128(bytes, kDoubled), hn::BitCast(bytes, codes)));
}

// The elements of a word, two by two. Which ones go together does not matter: all of a word belong
// to one sum.
struct Fp4Elements {
  WordVector pairs[4];
  WordVector nonzero;  // bits 0, 4, ... 28

  HWY_INLINE explicit Fp4Elements(WordVector word) {
    const WordVector low = hn::Set(Words(), 0x0f0f0f0fu);
    const WordVector even = doubled(hn::And(word, low));
    const WordVector odd = doubled(hn::And(hn::ShiftRight<4>(word), low));
    pairs[0] = even_bytes<true>(even);
    pairs[1] = odd_bytes<true>(even);
    pairs[2] = even_bytes<true>(odd);
    pairs[3] = odd_bytes<true>(odd);
    const WordVector size = hn::And(word, hn::Set(Words(), 0x77777777u));
    nonzero = hn::And(hn::Or(size, hn::Or(hn::ShiftRight<1>(size), hn::ShiftRight<2>(size))),
                      hn::Set(Words(), 0x11111111u));
  }
};

HWY_INLINE void load_fp4_a(const LaneRegister* a, Fp4Operands& to) {
  for (int pair = 0; pair < 2; ++pair) {
    for (int row = 0; row < 16; row += kLanes) {
      WordVector w[4];
      hn::LoadInterleaved4(Words(), &a[2 * pair][0] + 4 * row, w[0], w[1], w[2], w[3]);
      for (int half = 0; half < 2; ++half) {
        const Fp4Elements first(w[2 * half]), second(w[2 * half + 1]);
        for (int i = 0; i < 4; ++i) {
          hn::Store(first.pairs[i], Words(), to.a[pair][2 * half][i] + row);
          hn::Store(second.pairs[i], Words(), to.a[pair][2 * half + 1][i] + row);
        }
        hn::Store(hn::Or(first.nonzero, hn::ShiftLeft<1>(second.nonzero)), Words(),
                  to.a_nonzero[2 * pair + half] + row);
      }
    }
  }
}

HWY_INLINE void load_fp4_b(const LaneRegister* b, Fp4Operands& to) {
  for (int reg = 0; reg < 2; ++reg) {
    for (int lane = 0; lane < 32; lane += kLanes) {
      const Fp4Elements elements(hn::LoadU(Words(), b[reg] + lane));
      for (int i = 0; i < 4; ++i) hn::Store(elements.pairs[i], Words(), &to.b[reg][i][0][0] + lane);
      hn::Store(elements.nonzero, Words(), &to.b_nonzero[reg][0][0] + lane);
    }
  }
}

// The sum of the products of one group of 16, times four.
HWY_INLINE IntegerVector sum_of_group(const Fp4Operands& operands, int group, int column, int row) {
  const int pair = group / 2, first = group % 2 * 2;
  IntegerVector sums[2] = {hn::Zero(Integers()), hn::Zero(Integers())};
  HWY_UNROLL(2)
  for (int t = 0; t < 2; ++t) {
    HWY_UNROLL(4)
    for (int i = 0; i < 4; ++i) {
      const WordVector a = hn::Load(Words(), operands.a[pair][first + t][i] + row);
      const WordVector b = hn::Set(Words(), operands.b[pair][i][column][first + t]);
      sums[t] = hn::Add(sums[t], multiplied(a, b));
    }
  }
  return hn::Add(sums[0], sums[1]);
}

template <int kHalf, class V>
HWY_INLINE auto half_of(V v) {
  const hn::Half<hn::DFromV<V>> half;
  if constexpr (kHalf == 0) {
    return hn::LowerHalf(half, v);
  } else {
    return hn::UpperHalf(half, v);
  }
}

// 2^exponent.
HWY_INLINE DoubleVector power_of_two(hn::Vec<hn::Half<Integers>> exponent) {
  const auto field = hn::Add(hn::PromoteTo(LongWords(), exponent), hn::Set(LongWords(), 1023));
  return hn::BitCast(Doubles(), hn::ShiftLeft<52>(field));
}

// Some outputs of a column: what is added up, and the exponent of the last bit that counts.
struct Fp4Addends {
  FloatVector c;
  IntegerVector sums[4];
  IntegerVector unit;
};

// Their results, of a half of the rows; what is subnormal comes out as NaN.
template <int kHalf>
HWY_INLINE hn::Vec<hn::Half<Floats>> fp4_results(const Fp4Addends& addends,
                                                 const BlockScaleValues& scales, int blocks,
                                                 int column, int row) {
  const auto unit = half_of<kHalf>(addends.unit);
  const DoubleVector up = power_of_two(hn::Neg(unit)), down = power_of_two(unit);
  // From +0: a sum of -0 is +0.
  DoubleVector sum =
      hn::Add(hn::Zero(Doubles()),
              hn::Trunc(hn::Mul(hn::PromoteTo(Doubles(), half_of<kHalf>(addends.c)), up)));
  HWY_UNROLL(4)
  for (int group = 0; group < 4; ++group) {
    const int block = group * blocks / 4;
    const DoubleVector of_rows = hn::Load(Doubles(), scales.rows[block] + row + kHalf * kDoubles);
    const DoubleVector of_column = hn::Set(Doubles(), scales.columns[block][column] / 4);
    const DoubleVector products = hn::PromoteTo(Doubles(), half_of<kHalf>(addends.sums[group]));
    const DoubleVector scaled = hn::Mul(products, hn::Mul(of_rows, of_column));
    sum = hn::Add(sum, hn::Trunc(hn::Mul(scaled, up)));
  }
  const DoubleVector exact = hn::Mul(sum, down);
  const auto subnormal = hn::And(hn::Lt(hn::Abs(exact), hn::Set(Doubles(), 0x1p-126)),
                                 hn::Ne(exact, hn::Zero(Doubles())));
  // The leading 24 bits, toward zero; from 2^128 on infinity.
  const DoubleVector kept = hn::BitCast(
      Doubles(),
      hn::And(hn::BitCast(LongWords(), exact), hn::Set(LongWords(), ~std::int64_t{0x1fffffff})));
  return hn::DemoteTo(hn::Half<Floats>(), hn::IfThenElse(subnormal, hn::NaN(Doubles()), kept));
}

// Rows from `row` on of one column.
HWY_INLINE void fp4_column(const FastFp4Plan& plan, const Fp4Operands& operands,
                           const BlockScaleValues& scales, int column, int row, MmaTile& tile,
                           PartOfMma& part) {
  std::uint32_t* const at = tile.columns[column] + row;
  const IntegerVector bits = as_integers(hn::Load(Words(), at));
  const IntegerVector zero = hn::Zero(Integers()),
                      lowest = hn::Set(Integers(), BlockScaleValues::kNoExponent);
  const IntegerVector field = hn::And(hn::ShiftRight<23>(bits), hn::Set(Integers(), 0xff));
  const auto special = hn::Eq(field, hn::Set(Integers(), 0xff));
  const auto is_zero = hn::Eq(hn::And(bits, hn::Set(Integers(), 0x7fffffff)), zero);
  const IntegerVector weight =
      hn::Sub(hn::Max(field, hn::Set(Integers(), 1)), hn::Set(Integers(), 127));
  IntegerVector alignment =
      hn::Max(hn::Set(Integers(), plan.zero_exponent), hn::IfThenElse(is_zero, lowest, weight));
  Fp4Addends addends;
  HWY_UNROLL(4)
  for (int group = 0; group < 4; ++group) {
    addends.sums[group] = sum_of_group(operands, group, column, row);
    const int block = group * plan.blocks / 4;
    const std::uint32_t* const words = operands.b_nonzero[group / 2][column] + group % 2 * 2;
    const WordVector both = hn::And(hn::Load(Words(), operands.a_nonzero[group] + row),
                                    hn::Set(Words(), words[0] | words[1] << 1));
    const IntegerVector exponent =
        hn::Add(hn::Load(Integers(), scales.row_exponents[block] + row),
                hn::Set(Integers(), scales.column_exponents[block][column]));
    alignment =
        hn::Max(alignment, hn::IfThenElse(hn::Eq(as_integers(both), zero), lowest, exponent));
  }
  addends.c =
      hn::IfThenElseZero(hn::RebindMask(Floats(), hn::Not(special)), hn::BitCast(Floats(), bits));
  addends.unit = hn::Sub(alignment, hn::Set(Integers(), plan.fraction_bits));
  const FloatVector results =
      hn::Combine(Floats(), fp4_results<1>(addends, scales, plan.blocks, column, row),
                  fp4_results<0>(addends, scales, plan.blocks, column, row));
  note_rows_open(hn::Or(special, hn::RebindMask(Integers(), hn::IsNaN(results))), column, row,
                 part);
  hn::Store(as_words(results), Words(), at);
}

}  // namespace HWY_NAMESPACE
}  // namespace plumbline

HWY_AFTER_NAMESPACE();

#endif  // vectors
#endif
