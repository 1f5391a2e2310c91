// SPDX-License-Identifier: MIT
// Fragment layouts, shape by shape as the PTX ISA prints them (9.7.14.5.7 to 9.7.14.5.11), against
// the one rule of mma_layout.h, and against what mma_spec() and mma() do with a single one in A and
// a single one in B.
#include "oracles/models/mma_layout.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>

#include "oracles/formats/encode.h"
#include "oracles/models/generation.h"
#include "oracles/models/mma.h"

namespace plumbline {
namespace {

using enum FormatId;

// i counts the elements of a lane, low to high, register after register; g = lane / 4, t = lane
// % 4.
using Place = std::function<FragmentPlace(int g, int t, int i)>;

struct Layout {
  const char* name;
  FormatId input, accumulator;
  int k;
  Place a, b;
};

FragmentPlace at(int row_or_column, int k) { return {row_or_column, k}; }

const Layout kLayouts[] = {
    {"f16_k8", f16, f32, 8,
     [](int g, int t, int i) { return at(g + 8 * (i >> 1), 2 * t + (i & 1)); },
     [](int g, int t, int i) { return at(g, 2 * t + i); }},
    {"bf16_k16", bf16, f32, 16,
     [](int g, int t, int i) { return at(g + 8 * ((i >> 1) & 1), 2 * t + (i & 1) + 8 * (i >> 2)); },
     [](int g, int t, int i) { return at(g, 2 * t + (i & 1) + 8 * (i >> 1)); }},
    {"f16_k16_to_f16", f16, f16, 16,
     [](int g, int t, int i) { return at(g + 8 * ((i >> 1) & 1), 2 * t + (i & 1) + 8 * (i >> 2)); },
     [](int g, int t, int i) { return at(g, 2 * t + (i & 1) + 8 * (i >> 1)); }},
    {"tf32_k4", tf32, f32, 4, [](int g, int t, int i) { return at(g + 8 * i, t); },
     [](int g, int t, int) { return at(g, t); }},
    {"tf32_k8", tf32, f32, 8,
     [](int g, int t, int i) { return at(g + 8 * (i & 1), t + 4 * (i >> 1)); },
     [](int g, int t, int i) { return at(g, t + 4 * i); }},
    {"e4m3_k16", e4m3, f32, 16,
     [](int g, int t, int i) { return at(g + 8 * (i >> 2), 4 * t + (i & 3)); },
     [](int g, int t, int i) { return at(g, 4 * t + i); }},
    {"e5m2_k32", e5m2, f32, 32,
     [](int g, int t, int i) {
       return at(g + 8 * ((i >> 2) & 1), 4 * t + (i & 3) + 16 * (i >> 3));
     },
     [](int g, int t, int i) { return at(g, 4 * t + (i & 3) + 16 * (i >> 2)); }},
    {"s8_k32", s8, s32, 32,
     [](int g, int t, int i) {
       return at(g + 8 * ((i >> 2) & 1), 4 * t + (i & 3) + 16 * (i >> 3));
     },
     [](int g, int t, int i) { return at(g, 4 * t + (i & 3) + 16 * (i >> 2)); }},
};

MmaKind kind_of(const Layout& layout) {
  MmaKind kind{{16, 8, layout.k}, layout.input, layout.input, layout.accumulator, false, {}};
  if (layout.accumulator != s32) {
    const int sm = layout.input == e4m3 || layout.input == e5m2 ? 89 : 80;
    kind.model =
        dot_model(sm, Instruction::mma_sync, layout.input, layout.input, layout.accumulator)
            .value();
  }
  return kind;
}

std::uint32_t one(FormatId id) { return static_cast<std::uint32_t>(encode(format(id), 1.0)); }

class MmaLayout : public testing::TestWithParam<Layout> {
 protected:
  int elements() const { return 32 / format(GetParam().input).storage_bits; }

  // Sets the element at a place of A or B, found through the printed formulas.
  void put_one(const Place& place, int registers, FragmentPlace wanted, LaneRegister* to) const {
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < registers * elements(); ++i) {
        const FragmentPlace here = place(lane / 4, lane % 4, i);
        if (here.row_or_column != wanted.row_or_column || here.k != wanted.k) continue;
        const int shift = i % elements() * format(GetParam().input).storage_bits;
        to[i / elements()][lane] = one(GetParam().input) << shift;
      }
    }
  }
};

TEST_P(MmaLayout, FollowsTheIsa) {
  const Layout& layout = GetParam();
  const MmaKind kind = kind_of(layout);
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < a_registers(kind) * elements(); ++i) {
      const FragmentPlace isa = layout.a(lane / 4, lane % 4, i);
      const FragmentPlace here = a_place(lane, i / elements(), i % elements(), elements());
      EXPECT_EQ(here.row_or_column, isa.row_or_column) << "A lane " << lane << " element " << i;
      EXPECT_EQ(here.k, isa.k) << "A lane " << lane << " element " << i;
    }
    for (int i = 0; i < b_registers(kind) * elements(); ++i) {
      const FragmentPlace isa = layout.b(lane / 4, lane % 4, i);
      const FragmentPlace here = b_place(lane, i / elements(), i % elements(), elements());
      EXPECT_EQ(here.row_or_column, isa.row_or_column) << "B lane " << lane << " element " << i;
      EXPECT_EQ(here.k, isa.k) << "B lane " << lane << " element " << i;
    }
    for (int i = 0; i < 4; ++i) {
      const int wide = kind.accumulator == f16 ? 2 : 1;
      const OutputPlace here = c_place(lane, i / wide, i % wide, wide);
      EXPECT_EQ(here.row, lane / 4 + 8 * (i >> 1));
      EXPECT_EQ(here.column, 2 * (lane % 4) + (i & 1));
    }
  }
}

TEST_P(MmaLayout, OneTimesOneArrivesAtItsRowAndColumnOnly) {
  const Layout& layout = GetParam();
  const MmaKind kind = kind_of(layout);
  const int c_elements = kind.accumulator == f16 ? 2 : 1;
  for (int row = 0; row < 16; ++row) {
    for (int k = 0; k < layout.k; ++k) {
      LaneRegister a[4] = {};
      put_one(layout.a, a_registers(kind), {row, k}, a);
      for (int column = 0; column < 8; ++column) {
        LaneRegister b[2] = {}, c[4] = {}, wanted[4] = {}, spec[4] = {}, best[4] = {};
        put_one(layout.b, b_registers(kind), {column, k}, b);
        const int i = column % 2 + 2 * (row / 8);
        const int lane = 4 * (row % 8) + column / 2;
        wanted[i / c_elements][lane] = one(kind.accumulator) << (i % c_elements * 16);
        mma_spec(kind, a, b, c, spec);
        mma(kind, a, b, c, best);
        const auto bytes = sizeof(LaneRegister) * static_cast<std::size_t>(c_registers(kind));
        ASSERT_EQ(std::memcmp(spec, wanted, bytes), 0) << row << " " << k << " " << column;
        ASSERT_EQ(std::memcmp(best, wanted, bytes), 0) << row << " " << k << " " << column;
      }
    }
  }
}

// C alone goes through unchanged, each element in its own place.
TEST_P(MmaLayout, EveryElementOfCStaysWhereItIs) {
  const MmaKind kind = kind_of(GetParam());
  LaneRegister a[4] = {}, b[2] = {}, c[4] = {}, spec[4] = {}, best[4] = {};
  const int c_elements = kind.accumulator == f16 ? 2 : 1;
  for (int reg = 0; reg < c_registers(kind); ++reg) {
    for (int lane = 0; lane < 32; ++lane) {
      for (int j = 0; j < c_elements; ++j) {
        const double value = 1 + (reg * c_elements + j) * 32 + lane;  // at most 128: exact anywhere
        const auto code = static_cast<std::uint32_t>(encode(format(kind.accumulator), value));
        c[reg][lane] |= code << (16 * j);
      }
    }
  }
  mma_spec(kind, a, b, c, spec);
  mma(kind, a, b, c, best);
  const auto bytes = sizeof(LaneRegister) * static_cast<std::size_t>(c_registers(kind));
  EXPECT_EQ(std::memcmp(spec, c, bytes), 0);
  EXPECT_EQ(std::memcmp(best, c, bytes), 0);
}

INSTANTIATE_TEST_SUITE_P(Shapes, MmaLayout, testing::ValuesIn(kLayouts),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace plumbline
