// SPDX-License-Identifier: MIT
// MmaPlan and mma_fast(): run an mma on vectors, or decline. This file is compiled once per
// instruction set (Highway's foreach_target); the best one the machine has is chosen at the first
// call.
#include "oracles/models/mma.h"

#include <algorithm>
#include <optional>
#include <tuple>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "oracles/models/mma_fast.cpp"
#include "hwy/foreach_target.h"  // before highway.h

#include "hwy/highway.h"

#include "oracles/models/block_scale_values.h"
#include "oracles/models/mma_fast_plan.h"
#include "oracles/models/mma_integer-inl.h"
#include "oracles/models/mma_node-inl.h"
#include "oracles/models/mma_operands-inl.h"
#include "oracles/models/mma_plan.h"
#include "oracles/models/mma_scaled-inl.h"
#include "oracles/models/mma_vectors-inl.h"

HWY_BEFORE_NAMESPACE();

namespace plumbline {
namespace HWY_NAMESPACE {

// No vectors: everything is left to mma_spec().
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

bool float_mma(const FastFloatPlan&, const MmaOperands&, FloatOperands&, PartOfMma&) {
  return false;
}

bool integer_mma(const FastIntegerPlan&, const MmaOperands&, IntegerOperands&) { return false; }

bool fp4_mma(const FastFp4Plan&, const MmaOperands&, Fp4Operands&, PartOfMma&) { return false; }

#else

struct Mma {
  const Operands& operands;
  const NodeConstants& constants;
  MmaTile& tile;
  PartOfMma& part;
};

HWY_INLINE void load_c(const MmaOperands& of, MmaTile& tile) {
  if (of.c_tile != nullptr) {
    tile = *of.c_tile;
  } else {
    load_tile(of.c, tile);
  }
}

HWY_INLINE void store_d(const MmaTile& tile, const MmaOperands& of) {
  if (of.d_tile != nullptr) {
    *of.d_tile = tile;
  } else {
    store_tile(tile, of.d);
  }
}

// The outputs of a block whose checks failed.
void note_open(const Checks* checks, int pair, int row, PartOfMma& part) {
  for (int v = 0; v < kVectors; ++v) {
    for (int odd = 0; odd < 2; ++odd) {
      part.open[2 * pair_of(pair, v) + odd] |=
          static_cast<std::uint16_t>(checks[v / kRowVectors].failed(odd) << row_of(row, v));
    }
  }
}

HWY_INLINE bool good(const Checks* checks) {
  bool all = true;
  for (int p = 0; p < kPairs; ++p) all = all && checks[p].good();
  return all;
}

// Elements that are infinite or NaN.
HWY_INLINE auto special_of(IntegerVector bits) {
  return hn::Gt(hn::And(bits, hn::Set(Integers(), 0x7fffffff)),
                hn::Set(Integers(), 0x7f800000 - 1));
}

// Those become 0. False where there are none.
bool clear_special(MmaTile& tile) {
  IntegerVector any = hn::Zero(Integers());
  for (auto& column : tile.columns) {
    for (int row = 0; row < 16; row += kLanes) {
      const IntegerVector bits = as_integers(hn::Load(Words(), column + row));
      const auto special = special_of(bits);
      any = hn::Or(any, hn::VecFromMask(Integers(), special));
      hn::Store(as_words(hn::IfThenZeroElse(special, bits)), Words(), column + row);
    }
  }
  return !hn::AllTrue(Integers(), hn::Eq(any, hn::Zero(Integers())));
}

// Where C is one of those, D is the same, as long as all products are finite.
void put_special(const MmaTile& c, MmaTile& d) {
  const IntegerVector infinity = hn::Set(Integers(), 0x7f800000),
                      nan = hn::Set(Integers(), 0x7fffffff);
  for (int column = 0; column < 8; ++column) {
    for (int row = 0; row < 16; row += kLanes) {
      const IntegerVector bits = as_integers(hn::Load(Words(), c.columns[column] + row));
      const auto is_nan = hn::Gt(hn::And(bits, nan), infinity);
      const IntegerVector sum = hn::IfThenElse(is_nan, nan, bits);
      std::uint32_t* const at = d.columns[column] + row;
      const IntegerVector other = as_integers(hn::Load(Words(), at));
      hn::Store(as_words(hn::IfThenElse(special_of(bits), sum, other)), Words(), at);
    }
  }
}

// D of C by compute(tile), which notes what it leaves open. True where nothing is; only then d is
// written. `finite`: all elements of A and B are. Of those that are not, the specification computes
// the rows and columns anyway.
template <class Compute>
HWY_INLINE bool compute_and_store(const MmaOperands& of, bool finite, PartOfMma& part,
                                  Compute compute) {
  const auto is_open = [&] {
    return std::ranges::any_of(part.open, [](std::uint16_t rows) { return rows != 0; });
  };
  MmaTile tile;
  load_c(of, tile);
  std::ranges::fill(part.open, std::uint16_t{0});
  compute(tile);
  if (is_open()) {
    MmaTile c, without;
    load_c(of, c);
    without = c;
    if (clear_special(without)) {
      tile = without;
      std::ranges::fill(part.open, std::uint16_t{0});
      compute(tile);
      put_special(c, tile);
    }
  }
  if (of.scales != nullptr) put_nan_scales(*of.scales, tile, part);
  if (!finite || is_open()) {
    part.d = tile;
    return false;
  }
  store_d(tile, of);
  return true;
}

HWY_INLINE Block load_block(const MmaTile& tile, int pair, int row) {
  Block block;
  HWY_UNROLL(2)
  for (int v = 0; v < kVectors; ++v) {
    const auto* const columns = tile.columns + 2 * pair_of(pair, v);
    block.outputs[v].x = as_floats(hn::Load(Words(), columns[0] + row_of(row, v)));
    block.outputs[v].y = as_floats(hn::Load(Words(), columns[1] + row_of(row, v)));
  }
  return block;
}

HWY_INLINE void store_block(const Block& block, int pair, int row, MmaTile& tile) {
  HWY_UNROLL(2)
  for (int v = 0; v < kVectors; ++v) {
    auto* const columns = tile.columns + 2 * pair_of(pair, v);
    hn::Store(as_words(block.outputs[v].x), Words(), columns[0] + row_of(row, v));
    hn::Store(as_words(block.outputs[v].y), Words(), columns[1] + row_of(row, v));
  }
}

// Each output through one node, or two in a row, of kCount planes each.
template <class Node, int kCount, int kNodes>
HWY_INLINE void run_in_order(Mma mma) {
  for (int row = 0; row < 16; row += kBlockRows) {
    for (int pair = 0; pair < 4; pair += kPairs) {
      Block block = load_block(mma.tile, pair, row);
      Checks checks[kPairs];
      node<Node, 0, 1, kCount>(mma.operands, pair, row, mma.constants, block, checks);
      if constexpr (kNodes == 2) {
        node<Node, kCount, 1, kCount>(mma.operands, pair, row, mma.constants, block, checks);
      }
      if (!good(checks)) note_open(checks, pair, row, mma.part);
      store_block(block, pair, row, mma.tile);
    }
  }
}

// The even planes, then the odd ones, from zero; then one addition of C to nearest even.
template <int kCount>
HWY_INLINE void run_joined(Mma mma) {
  for (int row = 0; row < 16; row += kBlockRows) {
    for (int pair = 0; pair < 4; pair += kPairs) {
      Block block;
      for (OutputPair& outputs : block.outputs) outputs.x = outputs.y = hn::Zero(Floats());
      Checks checks[kPairs];
      node<ByteNode, 0, 2, kCount>(mma.operands, pair, row, mma.constants, block, checks);
      node<ByteNode, 1, 2, kCount>(mma.operands, pair, row, mma.constants, block, checks);
      const Block c = load_block(mma.tile, pair, row);
      HWY_UNROLL(2)
      for (int v = 0; v < kVectors; ++v) {
        // Inf and NaN exceed the highest exponent.
        HalfVector& highest = checks[v / kRowVectors].highest;
        highest = hn::Max(highest, accumulator_exponents(c.outputs[v]));
        block.outputs[v].x = hn::Add(c.outputs[v].x, block.outputs[v].x);
        block.outputs[v].y = hn::Add(c.outputs[v].y, block.outputs[v].y);
      }
      if (!good(checks)) note_open(checks, pair, row, mma.part);
      store_block(block, pair, row, mma.tile);
    }
  }
}

// 16-bit inputs.
HWY_INLINE void run_halves(FastChain chain, Mma mma) {
  switch (chain) {
    case FastChain::one:
      return run_in_order<HalfNode, 1, 1>(mma);
    case FastChain::two:
      return run_in_order<HalfNode, 2, 1>(mma);
    default:
      return run_in_order<HalfNode, 1, 2>(mma);
  }
}

// 8-bit inputs, in order.
template <class Node>
HWY_INLINE void run_bytes(FastChain chain, Mma mma) {
  switch (chain) {
    case FastChain::two:
      return run_in_order<Node, 2, 1>(mma);
    case FastChain::four:
      return run_in_order<Node, 4, 1>(mma);
    default:
      return run_in_order<Node, 2, 2>(mma);
  }
}

HWY_INLINE void run(const FastFloatPlan& plan, Mma mma) {
  if (!plan.bytes) return run_halves(plan.chain, mma);
  if (plan.chain == FastChain::join_one_one) return run_joined<1>(mma);
  if (plan.chain == FastChain::join_two_two) return run_joined<2>(mma);
  return plan.narrow ? run_bytes<NarrowByteNode>(plan.chain, mma)
                     : run_bytes<ByteNode>(plan.chain, mma);
}

bool float_mma(const FastFloatPlan& plan, const MmaOperands& of, FloatOperands& operands,
               PartOfMma& part) {
  const bool joined =
      plan.chain == FastChain::join_one_one || plan.chain == FastChain::join_two_two;
  if (!of.same_a) {
    operands.a_finite = with_input(
        plan.a, [&](auto input) HWY_ATTR { return load_a(input, of.a, plan.registers, operands); });
    if (joined) group_a_by_halves(plan.registers, operands);
  }
  const bool b_finite = with_input(
      plan.b, [&](auto input) HWY_ATTR { return load_b(input, of.b, plan.registers, operands); });
  if (joined) group_b_by_halves(plan.registers, operands);
  const NodeConstants constants(plan);
  const bool finite = operands.a_finite && b_finite;
  if (!plan.scaled) {
    return compute_and_store(of, finite, part, [&](MmaTile& tile) HWY_ATTR {
      run(plan, {operands, constants, tile, part});
    });
  }
  const Shifts shifts(plan, of);
  return compute_and_store(of, finite, part, [&](MmaTile& tile) HWY_ATTR {
    shift_down(shifts, tile, part);
    run(plan, {operands, constants, tile, part});
    shift_up(shifts, tile);
  });
}

bool fp4_mma(const FastFp4Plan& plan, const MmaOperands& of, Fp4Operands& operands,
             PartOfMma& part) {
  if (!of.same_a) load_fp4_a(of.a, operands);
  load_fp4_b(of.b, operands);
  return compute_and_store(of, true, part, [&](MmaTile& tile) HWY_ATTR {
    for (int column = 0; column < 8; ++column) {
      for (int row = 0; row < 16; row += kLanes)
        fp4_column(plan, operands, *of.scales, column, row, tile, part);
    }
  });
}

bool integer_mma(const FastIntegerPlan& plan, const MmaOperands& of, IntegerOperands& operands) {
  if (!of.same_a) {
    if (plan.a_signed) {
      load_integer_a<true>(of.a, plan.registers, operands);
    } else {
      load_integer_a<false>(of.a, plan.registers, operands);
    }
  }
  if (plan.b_signed) {
    load_integer_b<true>(of.b, plan.registers, operands);
  } else {
    load_integer_b<false>(of.b, plan.registers, operands);
  }
  MmaTile tile;
  load_c(of, tile);
  for (int row = 0; row < 16; row += kBlockRows) {
    for (int column = 0; column < 8; column += 4) {
      integer_columns(operands, plan, column, row, tile);
    }
  }
  store_d(tile, of);
  return true;
}

#endif  // no vectors

const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace plumbline

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace plumbline {
namespace {

HWY_EXPORT(float_mma);
HWY_EXPORT(integer_mma);
HWY_EXPORT(fp4_mma);
HWY_EXPORT(target_name);

}  // namespace

MmaPlan::MmaPlan(const MmaKind& kind) : kind_(kind) {
  if (make_plan(kind, floats_)) path_ = Path::floats;
  if (make_plan(kind, integers_)) path_ = Path::integers;
  if (make_plan(kind, fp4_)) path_ = Path::fp4;
}

bool MmaPlan::is_for(const MmaKind& kind) const {
  const auto fields = [](const MmaKind& k) {
    const NodeModel& node = k.model.node;
    return std::tuple(k.shape.m, k.shape.n, k.shape.k, k.a, k.b, k.accumulator, k.saturate,
                      node.products, node.fraction_bits, node.zero_exponent, node.output,
                      node.group, k.model.chaining, k.scale.format, k.scale.block);
  };
  return fields(kind_) == fields(kind);
}

bool MmaPlan::on_vectors(const MmaOperands& of, const MmaScales* scales, MmaWorkspace& workspace,
                         PartOfMma& part) const {
  std::optional<BlockScaleValues> values;
  MmaOperands all = of;
  if (scales != nullptr) all.scales = &values.emplace(kind_, *scales);
  switch (path_) {
    case Path::floats:
      return HWY_DYNAMIC_DISPATCH(float_mma)(floats_, all, workspace.floats, part);
    case Path::integers:
      return HWY_DYNAMIC_DISPATCH(integer_mma)(integers_, all, workspace.integers);
    case Path::fp4:
      return HWY_DYNAMIC_DISPATCH(fp4_mma)(fp4_, all, workspace.fp4, part);
    case Path::specification:
      break;
  }
  return false;
}

bool MmaPlan::run_fast(const LaneRegister* a, const LaneRegister* b, const LaneRegister* c,
                       LaneRegister* d, MmaWorkspace& workspace, bool same_a,
                       const MmaScales* scales) const {
  PartOfMma part;
  return on_vectors({.a = a, .b = b, .same_a = same_a, .c = c, .d = d}, scales, workspace, part);
}

void MmaPlan::run(const LaneRegister* a, const LaneRegister* b, const LaneRegister* c,
                  LaneRegister* d, MmaWorkspace& workspace, bool same_a,
                  const MmaScales* scales) const {
  PartOfMma part;
  if (on_vectors({.a = a, .b = b, .same_a = same_a, .c = c, .d = d}, scales, workspace, part))
    return;
  mma_spec(kind_, a, b, c, d, scales, kind_.accumulator == FormatId::f32 ? &part : nullptr);
}

void MmaPlan::run(const LaneRegister* a, const LaneRegister* b, const MmaTile& c, MmaTile& d,
                  MmaWorkspace& workspace, bool same_a, const MmaScales* scales) const {
  PartOfMma part;
  if (on_vectors({.a = a, .b = b, .same_a = same_a, .c_tile = &c, .d_tile = &d}, scales, workspace,
                 part))
    return;
  LaneRegister registers[4];
  to_registers(kind_, c, registers);
  mma_spec(kind_, a, b, registers, registers, scales,
           kind_.accumulator == FormatId::f32 ? &part : nullptr);
  to_tile(kind_, registers, d);
}

bool MmaPlan::unpacks_a_as(const MmaPlan& other) const {
  return path_ == other.path_ && kind_.a == other.kind_.a && kind_.shape.k == other.kind_.shape.k &&
         kind_.model.chaining == other.kind_.model.chaining;
}

bool mma_fast(const MmaKind& kind, const LaneRegister* a, const LaneRegister* b,
              const LaneRegister* c, LaneRegister* d) {
  MmaWorkspace workspace;
  return MmaPlan(kind).run_fast(a, b, c, d, workspace);
}

void mma(const MmaKind& kind, const LaneRegister* a, const LaneRegister* b, const LaneRegister* c,
         LaneRegister* d) {
  MmaWorkspace workspace;
  MmaPlan(kind).run(a, b, c, d, workspace);
}

const char* mma_fast_target() { return HWY_DYNAMIC_DISPATCH(target_name)(); }

}  // namespace plumbline

#endif  // HWY_ONCE
