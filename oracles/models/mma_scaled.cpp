// SPDX-License-Identifier: MIT
#include "oracles/models/mma_scaled.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "oracles/base/assert.h"
#include "oracles/formats/decode.h"
#include "oracles/models/mma_layout.h"

namespace plumbline {
namespace {

// The scales of the rows and columns; those of FP8 are one block.
struct ScaleValues {
  std::array<std::array<Decoded, kMostScaleBlocks>, kMmaRows> rows;
  std::array<std::array<Decoded, kMostScaleBlocks>, kMmaColumns> columns;
  bool finite = true;

  ScaleValues(const MmaKind& kind, const MmaScales& scales) {
    const Format& stored = format(kind.scale.format);
    const std::uint32_t code = stored.id == FormatId::e4m3 ? 0x7f : 0xff;  // ue4m3 has no sign
    const auto take = [&](const MmaScales::Operand& from, int lane, int block) {
      const Decoded scale = decode(stored, (*from.word)[lane] >> (8 * (from.byte + block)) & code);
      finite = finite && scale.cls != ValueClass::nan;
      return scale;
    };
    for (int block = 0; block < kind.shape.k / kind.scale.block; ++block) {
      const auto at = static_cast<std::size_t>(block);
      for (int row = 0; row < kMmaRows; ++row)
        rows[static_cast<std::size_t>(row)][at] =
            take(scales.a, 4 * (row % 8) + 2 * scales.a.thread + row / 8, block);
      for (int column = 0; column < kMmaColumns; ++column)
        columns[static_cast<std::size_t>(column)][at] =
            take(scales.b, 4 * column + scales.b.thread, block);
    }
  }
};

// ---- FP8 ----------------------------------------------------------------------------------------

// The same instruction without scales. The node's parameters are those of the scaled one.
MmaKind without_scales(const MmaKind& kind) {
  MmaKind plain = kind;
  plain.scale = {};
  return plain;
}

// Exponents of two scales together, and of the accumulator's values, for which nothing on the way
// is subnormal or infinite: products reach from 2^-32 to below 2^37, all 32 of them and the
// accumulator times 2^-s stay within 2^-120 and 2^121.
constexpr int kMostShift = 60;
constexpr int kMostExponent = 60;

bool is_tame(float x) {
  if (x == 0) return !std::signbit(x);  // a sum of zeros and -0 is the specification's to tell
  const float size = std::fabs(x);
  return size >= std::ldexp(1.0f, -kMostExponent) && size < std::ldexp(1.0f, kMostExponent);
}

// Which rows of A and columns of B have an element that is not 0. The others have no products, and
// no use for their scales: those outside of a matrix are 2^-127.
struct NonZero {
  bool rows[kMmaRows] = {}, columns[kMmaColumns] = {};

  NonZero(const LaneRegister* a, const LaneRegister* b) {
    constexpr std::uint32_t kWithoutSigns = 0x7f7f7f7f;
    for (int lane = 0; lane < 32; ++lane) {
      const int line = lane / 4;
      rows[line] = rows[line] || ((a[0][lane] | a[2][lane]) & kWithoutSigns) != 0;
      rows[line + 8] = rows[line + 8] || ((a[1][lane] | a[3][lane]) & kWithoutSigns) != 0;
      columns[line] = columns[line] || ((b[0][lane] | b[1][lane]) & kWithoutSigns) != 0;
    }
  }
};

bool multiply_fp8(const MmaPlan& products, const LaneRegister* a, const LaneRegister* b,
                  const LaneRegister* c, LaneRegister* d, const ScaleValues& scales) {
  const NonZero nonzero(a, b);
  alignas(64) LaneRegister moved[4];
  float factors[4][32];
  for (int reg = 0; reg < 4; ++reg) {
    for (int lane = 0; lane < 32; ++lane) {
      const OutputPlace at = c_place(lane, reg, 0, 1);
      const int shift = nonzero.rows[at.row] && nonzero.columns[at.column]
                            ? scales.rows[static_cast<std::size_t>(at.row)][0].exponent +
                                  scales.columns[static_cast<std::size_t>(at.column)][0].exponent
                            : 0;
      const float value = std::bit_cast<float>(c[reg][lane]);
      if (std::abs(shift) > kMostShift || !is_tame(value)) return false;
      // Powers of two well inside of the range of normal numbers.
      const auto power = [](int exponent) {
        return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
      };
      factors[reg][lane] = power(shift);
      moved[reg][lane] = std::bit_cast<std::uint32_t>(value * power(-shift));
    }
  }
  MmaWorkspace workspace;
  alignas(64) LaneRegister sums[4];
  if (!products.run_fast(a, b, moved, sums, workspace)) return false;
  for (int reg = 0; reg < 4; ++reg) {
    for (int lane = 0; lane < 32; ++lane)
      d[reg][lane] =
          std::bit_cast<std::uint32_t>(std::bit_cast<float>(sums[reg][lane]) * factors[reg][lane]);
  }
  return true;
}

// ---- FP4 ----------------------------------------------------------------------------------------

constexpr int kDepth = 64, kGroup = 16, kGroups = kDepth / kGroup;

using Halves = std::int16_t __attribute__((vector_size(2 * kMmaColumns)));

// Twice the value of every code of e2m1.
constexpr std::int16_t kDoubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

struct Fp4Operands {
  std::int16_t a[kMmaRows][kDepth];
  Halves b[kDepth];                                                     // by column
  std::uint64_t a_nonzero[kMmaRows] = {}, b_nonzero[kMmaColumns] = {};  // by k

  Fp4Operands(const LaneRegister* a_registers, const LaneRegister* b_registers) {
    constexpr int kElements = 8;  // of a register
    for (int lane = 0; lane < 32; ++lane) {
      for (int reg = 0; reg < 4; ++reg) {
        for (int j = 0; j < kElements; ++j) {
          const FragmentPlace at = a_place(lane, reg, j, kElements);
          const std::int16_t x = kDoubled[a_registers[reg][lane] >> (4 * j) & 0xf];
          a[at.row_or_column][at.k] = x;
          a_nonzero[at.row_or_column] |= static_cast<std::uint64_t>(x != 0) << at.k;
        }
      }
      for (int reg = 0; reg < 2; ++reg) {
        for (int j = 0; j < kElements; ++j) {
          const FragmentPlace at = b_place(lane, reg, j, kElements);
          const std::int16_t x = kDoubled[b_registers[reg][lane] >> (4 * j) & 0xf];
          b[at.k][at.row_or_column] = x;
          b_nonzero[at.row_or_column] |= static_cast<std::uint64_t>(x != 0) << at.k;
        }
      }
    }
  }
};

// An addend of a node: significand * 2^exponent, aligned as a number of this weight. The default, 0
// without weight, is that of products or a scale that are all zero.
struct Addend {
  std::int64_t significand = 0;
  int exponent = 0;
  int weight = std::numeric_limits<int>::min();
};

// significand * 2^(exponent - unit), cut toward zero.
std::int64_t cut(const Addend& addend, int unit) {
  const int shift = addend.exponent - unit;
  if (shift >= 0) return addend.significand << shift;
  if (shift <= -63) return 0;
  const std::int64_t size = std::abs(addend.significand) >> -shift;
  return addend.significand < 0 ? -size : size;
}

// sum * 2^unit as an f32, toward zero; beyond the range infinity.
std::uint32_t toward_zero(std::int64_t sum, int unit) {
  if (sum == 0) return 0;
  const double exact = std::ldexp(static_cast<double>(sum), unit);  // of fewer than 53 bits
  auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(exact));
  if (std::fabs(exact) >= 0x1p128) return bits;
  if (std::fabs(static_cast<double>(std::bit_cast<float>(bits))) > std::fabs(exact)) --bits;
  return bits;
}

std::uint32_t fp4_node(const NodeModel& model, const std::array<Addend, kGroups + 1>& addends) {
  int alignment = model.zero_exponent;
  for (const Addend& addend : addends) alignment = std::max(alignment, addend.weight);
  const int unit = alignment - model.fraction_bits;
  std::int64_t sum = 0;
  for (const Addend& addend : addends) {
    if (addend.significand != 0) sum += cut(addend, unit);
  }
  return toward_zero(sum, unit);
}

// An f32 as an addend.
Addend accumulator(std::uint32_t bits) {
  const std::uint32_t field = bits >> 23 & 0xff, fraction = bits & 0x7fffff;
  const std::int64_t significand = field == 0 ? fraction : fraction | 0x800000u;
  if (significand == 0) return {};
  const int weight = std::max<int>(static_cast<int>(field), 1) - 127;
  return {bits >> 31 != 0 ? -significand : significand, weight - 23, weight};
}

bool multiply_fp4(const MmaKind& kind, const LaneRegister* a, const LaneRegister* b,
                  const LaneRegister* c, LaneRegister* d, const ScaleValues& scales) {
  for (int reg = 0; reg < 4; ++reg) {
    for (int lane = 0; lane < 32; ++lane)
      if ((c[reg][lane] & 0x7f800000u) == 0x7f800000u) return false;
  }
  const Fp4Operands operands(a, b);
  Halves sums[kGroups][kMmaRows];
  for (int group = 0; group < kGroups; ++group) {
    for (int row = 0; row < kMmaRows; ++row) {
      Halves sum = {};
      for (int k = group * kGroup; k < (group + 1) * kGroup; ++k)
        sum += operands.a[row][k] * operands.b[k];  // below 16 * 144
      sums[group][row] = sum;
    }
  }
  // A scale's exponent as that of its fields, and its fraction's bits below.
  const int fraction = format(kind.scale.format).mantissa_bits;
  const int groups_in_block = kind.scale.block / kGroup;
  LaneRegister results[4];
  for (int reg = 0; reg < 4; ++reg) {
    for (int lane = 0; lane < 32; ++lane) {
      const OutputPlace at = c_place(lane, reg, 0, 1);
      const std::uint64_t nonzero = operands.a_nonzero[at.row] & operands.b_nonzero[at.column];
      std::array<Addend, kGroups + 1> addends;
      for (int group = 0; group < kGroups; ++group) {
        const auto block = static_cast<std::size_t>(group / groups_in_block);
        const Decoded &of_row = scales.rows[static_cast<std::size_t>(at.row)][block],
                      &of_column = scales.columns[static_cast<std::size_t>(at.column)][block];
        const auto scale = static_cast<std::int64_t>(of_row.significand * of_column.significand);
        const bool any = (nonzero >> (group * kGroup) & 0xffff) != 0;
        if (!any || scale == 0) continue;
        const int exponent = of_row.exponent + of_column.exponent;
        // A product of two doubled elements is in quarters.
        addends[static_cast<std::size_t>(group)] = {sums[group][at.row][at.column] * scale,
                                                    exponent - 2, exponent + 2 * fraction};
      }
      addends[kGroups] = accumulator(c[reg][lane]);
      results[reg][lane] = fp4_node(kind.model.node, addends);
    }
  }
  for (int reg = 0; reg < 4; ++reg) std::copy_n(results[reg], 32, d[reg]);
  return true;
}

bool is_fp4(const MmaKind& kind) {
  return kind.shape.k == kDepth && kind.model.node.group == kGroup &&
         kind.model.node.output == NodeOutput::f32_toward_zero &&
         kind.model.node.fraction_bits <= 35;
}

}  // namespace

ScaledMma::ScaledMma(const MmaKind& kind) : kind_(kind) {
  PLUMB_ASSERT(kind.scale.block != 0);
  if (!is_fp4(kind) && kind.scale.format == FormatId::ue8m0 && kind.scale.block == kind.shape.k) {
    products_.emplace(without_scales(kind));
  }
}

bool ScaledMma::run_fast(const LaneRegister* a, const LaneRegister* b, const LaneRegister* c,
                         LaneRegister* d, const MmaScales& scales) const {
  if (!products_ && !is_fp4(kind_)) return false;
  const ScaleValues values(kind_, scales);
  if (!values.finite) return false;
  return products_ ? multiply_fp8(*products_, a, b, c, d, values)
                   : multiply_fp4(kind_, a, b, c, d, values);
}

void ScaledMma::run(const LaneRegister* a, const LaneRegister* b, const LaneRegister* c,
                    LaneRegister* d, const MmaScales& scales) const {
  if (!run_fast(a, b, c, d, scales)) mma_spec(kind_, a, b, c, d, &scales);
}

}  // namespace plumbline
