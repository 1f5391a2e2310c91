// SPDX-License-Identifier: MIT
// mma_spec(): the fragments taken apart into matrices, 128 independent dot products, and the result
// put back.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>

#include "oracles/base/assert.h"
#include "oracles/formats/decode.h"
#include "oracles/models/mma.h"
#include "oracles/models/mma_layout.h"
#include "oracles/models/random_node.h"

namespace plumbline {
namespace {

constexpr int kMostProducts = 64;

// The rows of A and the columns of B, contiguous in k, and the codes of C.
struct Matrices {
  std::array<std::array<Decoded, kMostProducts>, kMmaRows> a;
  std::array<std::array<Decoded, kMostProducts>, kMmaColumns> b;
  std::array<std::array<std::uint32_t, kMmaColumns>, kMmaRows> c;
  std::array<std::array<Decoded, kMostScaleBlocks>, kMmaRows> a_scales;
  std::array<std::array<Decoded, kMostScaleBlocks>, kMmaColumns> b_scales;
};

// With k = 64 two elements of e2m1 share a byte.
bool is_packed(const MmaKind& kind) { return kind.shape.k == 64; }

int elements_per_register(const MmaKind& kind, FormatId id) {
  return is_packed(kind) ? 8 : 32 / format(id).storage_bits;
}

int blocks(const MmaKind& kind) { return kind.shape.k / kind.scale.block; }

int c_elements_per_register(const MmaKind& kind) {
  return kind.accumulator == FormatId::f16 ? 2 : 1;
}

std::uint32_t code_of(std::uint32_t word, int element, int bits) {
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  return static_cast<std::uint32_t>((word >> (element * bits)) & mask);
}

// An operand's element: FP6 lies in bits 5:0 of its byte, FP4 in bits 5:2.
Decoded element_of(const MmaKind& kind, FormatId id, std::uint32_t word, int element) {
  const int bits = 32 / elements_per_register(kind, id);
  const std::uint32_t code = code_of(word, element, bits);
  const bool shifted = id == FormatId::e2m1 && !is_packed(kind);
  const int code_bits = format(id).storage_bits == 8 ? format(id).code_bits() : bits;
  return decode(format(id), code_of(shifted ? code >> 2 : code, 0, code_bits));
}

Decoded scale_of(const MmaKind& kind, const MmaScales::Operand& operand, int lane, int block) {
  const std::uint32_t code = code_of((*operand.word)[lane], operand.byte + block, 8);
  const bool without_sign = kind.scale.format == FormatId::e4m3;
  return decode(format(kind.scale.format), without_sign ? code & 0x7f : code);
}

void unpack_scales(const MmaKind& kind, const MmaScales& scales, Matrices& m) {
  for (int block = 0; block < blocks(kind); ++block) {
    for (int row = 0; row < kMmaRows; ++row) {
      const int lane = 4 * (row % 8) + 2 * scales.a.thread + row / 8;
      m.a_scales[row][block] = scale_of(kind, scales.a, lane, block);
    }
    for (int column = 0; column < kMmaColumns; ++column)
      m.b_scales[column][block] = scale_of(kind, scales.b, 4 * column + scales.b.thread, block);
  }
}

Matrices unpacked(const MmaKind& kind, const LaneRegister* a, const LaneRegister* b,
                  const LaneRegister* c) {
  Matrices m;
  const int elements = elements_per_register(kind, kind.a);
  const int c_elements = c_elements_per_register(kind);
  for (int lane = 0; lane < 32; ++lane) {
    for (int reg = 0; reg < a_registers(kind); ++reg) {
      for (int j = 0; j < elements; ++j) {
        const FragmentPlace at = a_place(lane, reg, j, elements);
        m.a[at.row_or_column][at.k] = element_of(kind, kind.a, a[reg][lane], j);
      }
    }
    for (int reg = 0; reg < b_registers(kind); ++reg) {
      for (int j = 0; j < elements; ++j) {
        const FragmentPlace at = b_place(lane, reg, j, elements);
        m.b[at.row_or_column][at.k] = element_of(kind, kind.b, b[reg][lane], j);
      }
    }
    for (int reg = 0; reg < c_registers(kind); ++reg) {
      for (int j = 0; j < c_elements; ++j) {
        const OutputPlace at = c_place(lane, reg, j, c_elements);
        m.c[at.row][at.column] = code_of(c[reg][lane], j, 32 / c_elements);
      }
    }
  }
  return m;
}

std::int64_t integer_of(const Decoded& value) {
  const auto magnitude = static_cast<std::int64_t>(value.significand);
  return value.negative ? -magnitude : magnitude;
}

// Exact sum, then wrapped or clamped to s32 once. Whether the hardware clamps once or per internal
// step is not documented.
std::uint32_t integer_dot(std::span<const Decoded> a, std::span<const Decoded> b, std::uint32_t c,
                          bool saturate) {
  std::int64_t sum = integer_of(decode(format(FormatId::s32), c));
  for (std::size_t k = 0; k < a.size(); ++k) sum += integer_of(a[k]) * integer_of(b[k]);
  if (saturate) {
    using Limits = std::numeric_limits<std::int32_t>;
    sum = std::clamp<std::int64_t>(sum, Limits::min(), Limits::max());
  }
  return static_cast<std::uint32_t>(sum);
}

std::uint32_t output_element(const MmaKind& kind, const Matrices& m, int row, int column,
                             const NodeNoise* noise) {
  const auto products = static_cast<std::size_t>(kind.shape.k);
  const std::span<const Decoded> a(m.a[row].data(), products);
  const std::span<const Decoded> b(m.b[column].data(), products);
  const std::uint32_t c = m.c[row][column];
  if (kind.accumulator == FormatId::s32) return integer_dot(a, b, c, kind.saturate);
  const Format &a_format = format(kind.a), &b_format = format(kind.b);
  std::optional<NodeNoise> own;
  if (noise != nullptr) {
    own = *noise;
    own->random = noise->random.fork(static_cast<std::uint64_t>(row * kMmaColumns + column));
  }
  if (kind.scale.block != 0) {
    const auto count = static_cast<std::size_t>(blocks(kind));
    const NodeScales scales{
        kind.scale.format, {m.a_scales[row].data(), count}, {m.b_scales[column].data(), count}};
    return own ? scaled_node_randomly(kind.model.node, a_format, b_format, a, b, scales, c, *own)
               : scaled_node(kind.model.node, a_format, b_format, a, b, scales, c);
  }
  return own ? dot_randomly(kind.model, a_format, b_format, a, b, c, *own)
             : dot(kind.model, a_format, b_format, a, b, c);
}

bool is_integer(FormatId id) { return id == FormatId::s8 || id == FormatId::u8; }

// mxf4 and mxf4nvf4 with k = 64, mxf8f6f4 with k = 32.
bool scales_exist(const MmaKind& kind) {
  if (kind.accumulator != FormatId::f32) return false;
  const auto& [format, block] = kind.scale;
  if (kind.shape.k == 32)
    return is_narrow(kind.a) && is_narrow(kind.b) && format == FormatId::ue8m0 && block == 32;
  const bool ue8m0 = format == FormatId::ue8m0;
  return kind.shape.k == 64 && kind.a == FormatId::e2m1 && kind.b == FormatId::e2m1 &&
         ((ue8m0 && (block == 32 || block == 16)) || (format == FormatId::e4m3 && block == 16));
}

// Which outputs are to be computed.
using OpenOutputs = std::array<std::uint16_t, kMmaColumns>;  // as PartOfMma::open

OpenOutputs open_outputs(const MmaKind& kind, const Matrices& m, const PartOfMma& done) {
  const auto has_special = [&](const auto& values) {
    return std::any_of(values.begin(), values.begin() + kind.shape.k, [](const Decoded& value) {
      return value.cls == ValueClass::nan || value.cls == ValueClass::infinite;
    });
  };
  unsigned rows = 0;
  for (int row = 0; row < kMmaRows; ++row) rows |= has_special(m.a[row]) ? 1u << row : 0;
  OpenOutputs open;
  for (int column = 0; column < kMmaColumns; ++column) {
    const bool all = has_special(m.b[column]);
    open[column] = static_cast<std::uint16_t>(all ? 0xffffu : done.open[column] | rows);
  }
  return open;
}

void mma_with(const MmaKind& kind, const LaneRegister* a, const LaneRegister* b,
              const LaneRegister* c, LaneRegister* d, const MmaScales* scales,
              const NodeNoise* noise, const PartOfMma* done = nullptr) {
  PLUMB_ASSERT(mma_exists(kind));
  PLUMB_ASSERT((scales != nullptr) == (kind.scale.block != 0));
  Matrices m = unpacked(kind, a, b, c);
  if (scales) unpack_scales(kind, *scales, m);
  const int elements = c_elements_per_register(kind);
  PLUMB_ASSERT(done == nullptr || elements == 1);
  OpenOutputs open;
  open.fill(0xffff);
  if (done != nullptr) open = open_outputs(kind, m, *done);
  for (int reg = 0; reg < c_registers(kind); ++reg) {
    for (int lane = 0; lane < 32; ++lane) {
      std::uint32_t word = 0;
      for (int j = 0; j < elements; ++j) {
        const OutputPlace at = c_place(lane, reg, j, elements);
        if ((open[at.column] >> at.row & 1) == 0) {
          word = done->d.columns[at.column][at.row];
          continue;
        }
        word |= output_element(kind, m, at.row, at.column, noise) << (j * 32 / elements);
      }
      d[reg][lane] = word;
    }
  }
}

}  // namespace

int a_registers(const MmaKind& kind) {
  return kMmaRows * kind.shape.k / (32 * elements_per_register(kind, kind.a));
}

int b_registers(const MmaKind& kind) {
  return kMmaColumns * kind.shape.k / (32 * elements_per_register(kind, kind.b));
}

int c_registers(const MmaKind& kind) {
  return kMmaRows * kMmaColumns / (32 * c_elements_per_register(kind));
}

void to_registers(const MmaKind& kind, const MmaTile& tile, LaneRegister* registers) {
  const int elements = c_elements_per_register(kind), bits = 32 / elements;
  for (int reg = 0; reg < c_registers(kind); ++reg) {
    for (int lane = 0; lane < 32; ++lane) {
      registers[reg][lane] = 0;
      for (int j = 0; j < elements; ++j) {
        const OutputPlace at = c_place(lane, reg, j, elements);
        registers[reg][lane] |= code_of(tile.columns[at.column][at.row], 0, bits) << (j * bits);
      }
    }
  }
}

void to_tile(const MmaKind& kind, const LaneRegister* registers, MmaTile& tile) {
  const int elements = c_elements_per_register(kind);
  for (int reg = 0; reg < c_registers(kind); ++reg) {
    for (int lane = 0; lane < 32; ++lane) {
      for (int j = 0; j < elements; ++j) {
        const OutputPlace at = c_place(lane, reg, j, elements);
        tile.columns[at.column][at.row] = code_of(registers[reg][lane], j, 32 / elements);
      }
    }
  }
}

bool mma_exists(const MmaKind& kind) {
  if (kind.shape.m != kMmaRows || kind.shape.n != kMmaColumns) return false;
  const int k = kind.shape.k;
  if (kind.scale.block != 0) return scales_exist(kind);
  if (kind.accumulator == FormatId::s32) {
    return is_integer(kind.a) && is_integer(kind.b) && (k == 16 || k == 32);
  }
  if (kind.accumulator != FormatId::f32 && kind.accumulator != FormatId::f16) return false;
  if (is_fp8(kind.a) && is_fp8(kind.b)) return k == 16 || k == 32;
  if (is_narrow(kind.a)) return is_narrow(kind.b) && k == 32;
  if (kind.a != kind.b) return false;
  if (kind.a == FormatId::f16) return k == 8 || k == 16;
  if (kind.accumulator == FormatId::f16) return false;
  if (kind.a == FormatId::bf16) return k == 8 || k == 16;
  return kind.a == FormatId::tf32 && (k == 4 || k == 8);
}

void mma_spec(const MmaKind& kind, const LaneRegister* a, const LaneRegister* b,
              const LaneRegister* c, LaneRegister* d, const MmaScales* scales,
              const PartOfMma* done) {
  mma_with(kind, a, b, c, d, scales, nullptr, done);
}

void mma_randomly(const MmaKind& kind, const LaneRegister* a, const LaneRegister* b,
                  const LaneRegister* c, LaneRegister* d, const NodeNoise& noise,
                  const MmaScales* scales) {
  mma_with(kind, a, b, c, d, scales, &noise);
}

}  // namespace plumbline
