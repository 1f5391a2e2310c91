// SPDX-License-Identifier: MIT
// mma_fast(): picks the vector code for an mma, or declines. This file is compiled once per instruction set (Highway's
// foreach_target); the best one the machine has is chosen at the first call.
#include "oracles/models/mma.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "oracles/models/mma_fast.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h

#include "hwy/highway.h"

#include "oracles/models/mma_fast_plan.h"
#include "oracles/models/mma_node-inl.h"
#include "oracles/models/mma_operands-inl.h"

HWY_BEFORE_NAMESPACE();

namespace plumbline {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR  // no vectors worth the name: everything is left to mma_spec()

bool float_mma(const FastFloatPlan&, const LaneRegister*, const LaneRegister*, const LaneRegister*,
               LaneRegister*) {
  return false;
}

#else

// The accumulators, or the results, by column.
struct OutputTile {
  alignas(64) float columns[8][16];
};

HWY_INLINE void load_tile(const LaneRegister* registers, OutputTile& tile) {
  const hn::CappedTag<std::uint32_t, 8> words;
  const hn::Rebind<float, decltype(words)> floats;
  for (int reg = 0; reg < 4; ++reg) {
    for (int row = 0; row < 8; row += static_cast<int>(hn::Lanes(words))) {
      hn::Vec<decltype(words)> v0, v1, v2, v3;
      hn::LoadInterleaved4(words, registers[reg] + 4 * row, v0, v1, v2, v3);
      const int column = reg % 2;
      const int first = 8 * (reg / 2) + row;
      hn::Store(hn::BitCast(floats, v0), floats, tile.columns[column] + first);
      hn::Store(hn::BitCast(floats, v1), floats, tile.columns[column + 2] + first);
      hn::Store(hn::BitCast(floats, v2), floats, tile.columns[column + 4] + first);
      hn::Store(hn::BitCast(floats, v3), floats, tile.columns[column + 6] + first);
    }
  }
}

HWY_INLINE void store_tile(const OutputTile& tile, LaneRegister* registers) {
  const hn::CappedTag<std::uint32_t, 8> words;
  const hn::Rebind<float, decltype(words)> floats;
  for (int reg = 0; reg < 4; ++reg) {
    for (int row = 0; row < 8; row += static_cast<int>(hn::Lanes(words))) {
      const int column = reg % 2;
      const int first = 8 * (reg / 2) + row;
      const auto v0 = hn::BitCast(words, hn::Load(floats, tile.columns[column] + first));
      const auto v1 = hn::BitCast(words, hn::Load(floats, tile.columns[column + 2] + first));
      const auto v2 = hn::BitCast(words, hn::Load(floats, tile.columns[column + 4] + first));
      const auto v3 = hn::BitCast(words, hn::Load(floats, tile.columns[column + 6] + first));
      hn::StoreInterleaved4(v0, v1, v2, v3, words, registers[reg] + 4 * row);
    }
  }
}

template <class Input>
HWY_INLINE bool load_a(Input input, const LaneRegister* a, int planes, Operands& operands) {
  UnsignedHalfVector largest = hn::Zero(UnsignedHalves());
  for (int plane = 0; plane < planes; ++plane) {
    load_a_plane(input, a + 2 * plane, plane, operands, largest);
  }
  return all_finite(input, largest);
}

template <class Input>
HWY_INLINE bool load_b(Input input, const LaneRegister* b, int planes, Operands& operands) {
  UnsignedHalfVector largest = hn::Zero(UnsignedHalves());
  for (int plane = 0; plane < planes; ++plane) {
    load_b_plane(input, b[plane], plane, operands, largest);
  }
  return all_finite(input, largest);
}

// Runs step(pair, row, block) over the tile, in place.
template <class Step>
HWY_INLINE void for_each_block(OutputTile& tile, Step step) {
  for (int row = 0; row < 16; row += kRowVectors * kLanes) {
    for (int pair = 0; pair < 4; ++pair) {
      float* x = tile.columns[2 * pair] + row;
      float* y = tile.columns[2 * pair + 1] + row;
      Block block;
      HWY_UNROLL(2)
      for (int r = 0; r < kRowVectors; ++r) {
        block.rows[r].x = hn::Load(Floats(), x + r * kLanes);
        block.rows[r].y = hn::Load(Floats(), y + r * kLanes);
      }
      step(pair, row, block);
      HWY_UNROLL(2)
      for (int r = 0; r < kRowVectors; ++r) {
        hn::Store(block.rows[r].x, Floats(), x + r * kLanes);
        hn::Store(block.rows[r].y, Floats(), y + r * kLanes);
      }
    }
  }
}

bool float_mma(const FastFloatPlan& plan, const LaneRegister* a, const LaneRegister* b,
               const LaneRegister* c, LaneRegister* d) {
  Operands operands;
  const int planes = plan.chain == FastChain::one ? 1 : 2;
  bool finite = false;
  if (plan.a == FastInput::bf16) {
    finite = load_a(Bf16Input(), a, planes, operands) & load_b(Bf16Input(), b, planes, operands);
  } else {
    finite = load_a(F16Input(), a, planes, operands) & load_b(F16Input(), b, planes, operands);
  }
  if (!finite) return false;

  OutputTile tile;
  load_tile(c, tile);
  const NodeConstants constants{
      hn::Set(Halves(), static_cast<std::int16_t>(plan.fraction_bits + 127 + 254)),
      hn::Set(Words(), plan.result_mask)};
  Checks checks;
  switch (plan.chain) {
    case FastChain::one:
      for_each_block(tile, [&](int pair, int row, Block& block) HWY_ATTR {
        node<0, 1, 1>(operands, pair, row, constants, block, checks);
      });
      break;
    case FastChain::one_then_one:
      for_each_block(tile, [&](int pair, int row, Block& block) HWY_ATTR {
        node<0, 1, 1>(operands, pair, row, constants, block, checks);
        node<1, 1, 1>(operands, pair, row, constants, block, checks);
      });
      break;
    default:
      for_each_block(tile, [&](int pair, int row, Block& block) HWY_ATTR {
        node<0, 1, 2>(operands, pair, row, constants, block, checks);
      });
      break;
  }
  if (!checks.good()) return false;
  store_tile(tile, d);
  return true;
}

#endif  // HWY_TARGET == HWY_SCALAR

const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace plumbline

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace plumbline {

HWY_EXPORT(float_mma);
HWY_EXPORT(target_name);

bool mma_fast(const MmaKind& kind, const LaneRegister* a, const LaneRegister* b,
              const LaneRegister* c, LaneRegister* d) {
  FastFloatPlan plan;
  plan.a = plan.b = kind.a == FormatId::bf16 ? FastInput::bf16 : FastInput::f16;
  plan.fraction_bits = kind.model.node.fraction_bits;
  plan.result_mask = 0xffffffffu;
  plan.chain = kind.shape.k == 8 ? FastChain::one : kind.model.node.products == 8 ? FastChain::one_then_one : FastChain::pair;
  return HWY_DYNAMIC_DISPATCH(float_mma)(plan, a, b, c, d);
}

void mma(const MmaKind& kind, const LaneRegister* a, const LaneRegister* b, const LaneRegister* c,
         LaneRegister* d) {
  if (!mma_fast(kind, a, b, c, d)) mma_spec(kind, a, b, c, d);
}

const char* mma_fast_target() { return HWY_DYNAMIC_DISPATCH(target_name)(); }

}  // namespace plumbline

#endif  // HWY_ONCE
