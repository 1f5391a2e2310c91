// SPDX-License-Identifier: MIT
// mma_spec(): the fragments taken apart into matrices, 128 independent dot products, and the result
// put back.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "oracles/base/assert.h"
#include "oracles/formats/decode.h"
#include "oracles/models/mma.h"
#include "oracles/models/mma_layout.h"
#include "oracles/models/random_node.h"

namespace plumbline {
namespace {

constexpr int kRows = 16;
constexpr int kColumns = 8;
constexpr int kMostProducts = 32;

// The rows of A and the columns of B, contiguous in k, and the codes of C.
struct Matrices {
  std::array<std::array<Decoded, kMostProducts>, kRows> a;
  std::array<std::array<Decoded, kMostProducts>, kColumns> b;
  std::array<std::array<std::uint32_t, kColumns>, kRows> c;
};

int elements_per_register(FormatId id) { return 32 / format(id).storage_bits; }

int c_elements_per_register(const MmaKind& kind) {
  return kind.accumulator == FormatId::f16 ? 2 : 1;
}

std::uint32_t code_of(std::uint32_t word, int element, int bits) {
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  return static_cast<std::uint32_t>((word >> (element * bits)) & mask);
}

Matrices unpacked(const MmaKind& kind, const LaneRegister* a, const LaneRegister* b,
                  const LaneRegister* c) {
  Matrices m;
  const int elements = elements_per_register(kind.a);
  const int bits = 32 / elements;
  const int c_elements = c_elements_per_register(kind);
  for (int lane = 0; lane < 32; ++lane) {
    for (int reg = 0; reg < a_registers(kind); ++reg) {
      for (int j = 0; j < elements; ++j) {
        const FragmentPlace at = a_place(lane, reg, j, elements);
        m.a[at.row_or_column][at.k] = decode(format(kind.a), code_of(a[reg][lane], j, bits));
      }
    }
    for (int reg = 0; reg < b_registers(kind); ++reg) {
      for (int j = 0; j < elements; ++j) {
        const FragmentPlace at = b_place(lane, reg, j, elements);
        m.b[at.row_or_column][at.k] = decode(format(kind.b), code_of(b[reg][lane], j, bits));
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
  if (noise == nullptr) return dot(kind.model, format(kind.a), format(kind.b), a, b, c);
  NodeNoise own = *noise;
  own.random = noise->random.fork(static_cast<std::uint64_t>(row * kColumns + column));
  return dot_randomly(kind.model, format(kind.a), format(kind.b), a, b, c, own);
}

bool is_integer(FormatId id) { return id == FormatId::s8 || id == FormatId::u8; }

bool is_fp8(FormatId id) { return id == FormatId::e4m3 || id == FormatId::e5m2; }

void mma_with(const MmaKind& kind, const LaneRegister* a, const LaneRegister* b,
              const LaneRegister* c, LaneRegister* d, const NodeNoise* noise) {
  PLUMB_ASSERT(mma_exists(kind));
  const Matrices m = unpacked(kind, a, b, c);
  const int elements = c_elements_per_register(kind);
  for (int reg = 0; reg < c_registers(kind); ++reg) {
    for (int lane = 0; lane < 32; ++lane) {
      std::uint32_t word = 0;
      for (int j = 0; j < elements; ++j) {
        const OutputPlace at = c_place(lane, reg, j, elements);
        word |= output_element(kind, m, at.row, at.column, noise) << (j * 32 / elements);
      }
      d[reg][lane] = word;
    }
  }
}

}  // namespace

int a_registers(const MmaKind& kind) {
  return kRows * kind.shape.k / (32 * elements_per_register(kind.a));
}

int b_registers(const MmaKind& kind) {
  return kColumns * kind.shape.k / (32 * elements_per_register(kind.b));
}

int c_registers(const MmaKind& kind) {
  return kRows * kColumns / (32 * c_elements_per_register(kind));
}

bool mma_exists(const MmaKind& kind) {
  if (kind.shape.m != kRows || kind.shape.n != kColumns) return false;
  const int k = kind.shape.k;
  if (kind.accumulator == FormatId::s32) {
    return is_integer(kind.a) && is_integer(kind.b) && (k == 16 || k == 32);
  }
  if (kind.accumulator != FormatId::f32 && kind.accumulator != FormatId::f16) return false;
  if (is_fp8(kind.a)) return is_fp8(kind.b) && (k == 16 || k == 32);
  if (kind.a != kind.b) return false;
  if (kind.a == FormatId::f16) return k == 8 || k == 16;
  if (kind.accumulator == FormatId::f16) return false;
  if (kind.a == FormatId::bf16) return k == 8 || k == 16;
  return kind.a == FormatId::tf32 && (k == 4 || k == 8);
}

void mma_spec(const MmaKind& kind, const LaneRegister* a, const LaneRegister* b,
              const LaneRegister* c, LaneRegister* d) {
  mma_with(kind, a, b, c, d, nullptr);
}

void mma_randomly(const MmaKind& kind, const LaneRegister* a, const LaneRegister* b,
                  const LaneRegister* c, LaneRegister* d, const NodeNoise& noise) {
  mma_with(kind, a, b, c, d, &noise);
}

}  // namespace plumbline
