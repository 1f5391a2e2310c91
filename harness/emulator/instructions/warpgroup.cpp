// SPDX-License-Identifier: MIT
// Matrix multiplications of four warps (PTX ISA 9.0 section 9.7.15): wgmma.mma_async, fence,
// commit_group, wait_group. Warp w of the four has rows 16w to 16w + 15 of D = A . B + D, as pieces
// of m16n8 whose fragments are those of mma.sync; so each warp computes its rows alone, and then
// waits for the others (warpgroup_waits.h).
//
// B, and A unless it is in registers, are tiles of shared memory that a descriptor describes
// (section 9.7.15.5.1.2). For every type a step of k is 32 bytes: two chunks of 16. A fragment's
// register is 8 rows of one chunk, as ldmatrix loads it; where the tile is stored with the other
// dimension side by side (imm-trans, 16-bit types only), it is transposed on the way.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "harness/emulator/decode/decode.h"
#include "harness/emulator/decode/mma_forms.h"
#include "harness/emulator/instructions/matrix_8x8.h"
#include "harness/emulator/instructions/matrix_tiles.h"
#include "harness/emulator/instructions/whole_warp.h"
#include "harness/emulator/machine/access.h"
#include "harness/emulator/machine/async_products.h"
#include "harness/emulator/machine/warpgroup_waits.h"
#include "oracles/models/random_node.h"

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

bool whole_warp(Warp& warp, const Inst& inst, u32& mask) {
  return has_all_lanes(warp, inst, mask, kFullMask, "wgmma");
}

// --- tiles in shared memory ---

using Tile = MatrixTile;

Tile tile_of(const Warp& warp, u64 descriptor, bool transposed) {
  static constexpr std::array<int, 4> kPatterns = {16, 128, 64, 32};
  return {warp.cta().window(), descriptor, kPatterns[descriptor >> 62], transposed};
}

// What a register of a fragment holds: eight rows of m or n, and one chunk along k.
struct Corner {
  int row, chunk;
};

// What threads wrote is there for the tensor cores only behind a fence.
void require_fences(Warp& warp, const Inst& inst, u32 lanes, const Pointers& p) {
  SharedMemory& shared = warp.cta().shared();
  if (!shared.check()) return;
  u32 fine = 0;  // the stamp of the last row that was
  for (u32 left = lanes; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const u64 row = p.address[static_cast<std::size_t>(lane)];
    if (shared.stamped(row, fine)) continue;
    const auto problem = shared.fence_problem(row, 16);
    if (problem) return shared_problem(warp, inst, lane, *problem);
    fine = shared.stamp_at(row);
  }
}

// Up to four registers. False when the launch stops.
bool read_fragments(Warp& warp, const Inst& inst, const Tile& tile, std::span<const Corner> corners,
                    LaneValues* registers) {
  Pointers p{};
  for (std::size_t i = 0; i < corners.size(); ++i) {
    for (std::size_t r = 0; r < 8; ++r) {
      const Corner& at = corners[i];
      p.address[8 * i + r] = tile.transposed
                                 ? tile.address(8 * at.chunk + static_cast<int>(r), at.row / 8)
                                 : tile.address(at.row + static_cast<int>(r), at.chunk);
    }
  }
  const u32 lanes = corners.size() == 4 ? kFullMask : (u32{1} << 8 * corners.size()) - 1;
  if (!resolve<Space::shared, 16>(warp, inst, lanes, p, Intent::read)) return false;
  require_fences(warp, inst, lanes, p);
  for (std::size_t i = 0; i < corners.size(); ++i) {
    alignas(64) std::byte rows[128];
    for (std::size_t r = 0; r < 8; ++r) std::memcpy(rows + 16 * r, p.host[8 * i + r], 16);
    auto* const to = reinterpret_cast<std::byte*>(registers[i].lane);
    if (tile.transposed) {
      transpose(rows, to);
    } else {
      std::memcpy(to, rows, sizeof rows);
    }
  }
  return true;
}

// --- the product, once the warp waits for it ---

template <RandomRounding R>
bool multiply(Warp& warp, AsyncProduct& pending) {
  const WarpgroupProduct& op = *pending.product;
  const Inst& inst = *pending.at;
  LaneValues* const a = pending.a.data();
  if (op.a.size() == 1) {
    const int top = 16 * (warp.index() % 4);
    const std::array<Corner, 4> corners{{{top, 0}, {top + 8, 0}, {top, 1}, {top + 8, 1}}};
    if (!read_fragments(warp, inst, tile_of(warp, pending.a_descriptor, op.a_by_columns), corners,
                        a))
      return false;
  }
  flip(a, 4, op.flip_a);
  const Tile tile = tile_of(warp, pending.b_descriptor, op.b_by_rows);
  LaneValues b[2];
  LaneValues* sums = pending.sums->values.data();
  const auto step = static_cast<std::size_t>(c_registers(op.plan->kind()));
  if (!pending.adds) std::memset(sums, 0, pending.sums->values.size() * sizeof(LaneValues));
  WorkerState& worker = warp.cta().worker();
  for (int column = 0; column < op.n; column += 8, sums += step) {
    const std::array<Corner, 2> corners{{{column, 0}, {column, 1}}};
    if (!read_fragments(warp, inst, tile, corners, b)) return false;
    flip(b, 2, op.flip_b);
    auto* const c = reinterpret_cast<LaneRegister*>(sums);
    const auto* const left = reinterpret_cast<const LaneRegister*>(a);
    const auto* const right = reinterpret_cast<const LaneRegister*>(b);
    if constexpr (R == RandomRounding::off) {
      op.plan->run(left, right, c, c, worker.mma, column > 0);
    } else {
      mma_randomly(op.plan->kind(), left, right, c, c,
                   {warp.next_random(), R == RandomRounding::unbiased_nodes});
    }
  }
  worker.last_mma = nullptr;  // its A is no longer what the workspace holds
  return true;
}

// --- instructions ---

// A descriptor is one for the warp.
bool read_descriptor(Warp& warp, const Inst& inst, Slot slot, u64& descriptor) {
  const auto values = lanes<u64>(warp, slot);
  descriptor = values[0];
  for (int lane = 1; lane < kLanes; ++lane) {
    if (values[lane] == descriptor) continue;
    warp.fail(FindingKind::bad_operand, inst, lane, [&] {
      return fmt::format("the matrix descriptor is {:#x} here and {:#x} in lane 0", values[lane],
                         descriptor);
    });
    return false;
  }
  if ((descriptor >> 49 & 7) == 0) return true;
  warp.fail(FindingKind::bad_operand, inst, 0, [&] {
    return fmt::format(
        "the matrix descriptor {:#x} has a base offset; tiles that begin inside a "
        "swizzle pattern are not emulated",
        descriptor);
  });
  return false;
}

void issue(Warp& warp, const Inst& inst, u32 mask) {
  if (!whole_warp(warp, inst, mask)) return;
  if (!warp.products().fenced()) {
    warp.fail(FindingKind::missing_fence, inst, 0, [] {
      return "the warp has executed no wgmma.fence: the tensor cores may read the registers before "
             "threads have written them";
    });
    return;
  }
  const WarpgroupProduct& op =
      *warp.program().warpgroup_products[static_cast<std::size_t>(inst.immediate)];
  u64 a = 0, b = 0;
  if (op.a.size() == 1 && !read_descriptor(warp, inst, op.a[0], a)) return;
  if (!read_descriptor(warp, inst, op.b, b)) return;
  const u32 adds = warp.read(op.adds);
  if (adds != 0 && adds != kFullMask) {
    warp.fail(FindingKind::bad_operand, inst, std::countr_zero(~adds),
              [] { return "scale-d differs between the lanes of a warp"; });
    return;
  }
  const auto slot = [&](Slot s) { return warp.slot(s); };
  std::array<LaneValues, 4> registers;  // of A, which may be those of D
  if (op.a.size() > 1) {
    for (std::size_t i = 0; i < op.a.size(); ++i)
      std::memcpy(registers[i].lane, warp.slot(op.a[i]), sizeof(LaneRegister));
  }
  if (warp.counts_traffic()) {
    // The 16 rows of this warp.
    count_products(warp, inst,
                   std::uint64_t{16} * static_cast<u64>(op.n * op.plan->kind().shape.k));
  }
  AsyncProduct& product = warp.products().add(op, slot);
  product.at = &inst;
  product.adds = adds != 0;
  product.a_descriptor = a;
  product.b_descriptor = b;
  if (op.a.size() > 1) product.a = registers;
}

void fence(Warp& warp, const Inst& inst, u32 mask) {
  if (whole_warp(warp, inst, mask)) warp.products().fence();
}

void commit(Warp& warp, const Inst& inst, u32 mask) {
  if (whole_warp(warp, inst, mask)) warp.products().commit();
}

template <RandomRounding R>
void wait(Warp& warp, const Inst& inst, u32 mask) {
  if (!whole_warp(warp, inst, mask)) return;
  if (warp.counts_traffic()) count_exchange(warp);  // its tiles are free now
  const u32 before = warp.products().complete();
  warp.products().wait(
      static_cast<u32>(inst.immediate),
      [&](AsyncProduct& product) { return multiply<R>(warp, product); },
      [&](Slot s) { return warp.slot(s); });
  if (warp.products().complete() > before) meet_warpgroup(warp, inst);
}

Handler waiter(RandomRounding rounding) {
  switch (rounding) {
    case RandomRounding::off:
      break;
    case RandomRounding::on:
      return wait<RandomRounding::on>;
    case RandomRounding::unbiased_nodes:
      return wait<RandomRounding::unbiased_nodes>;
  }
  return wait<RandomRounding::off>;
}

// --- decoding ---

// Takes m64nNkK; 0 when there is none.
int take_shape(Modifiers& modifiers, int& k) {
  for (const int depth : {8, 16, 32}) {
    for (int n = 8; n <= 256; n += 8) {
      if (!modifiers.take(fmt::format("m64n{}k{}", n, depth))) continue;
      k = depth;
      return n;
    }
  }
  return 0;
}

// imm-scale: 1 or -1.
u32 sign_bits(Decoder& decoder, const Operand& operand, Type type) {
  const std::int64_t scale = decoder.immediate(operand);
  if (scale != 1 && scale != -1) decoder.refuse("imm-scale is 1 or -1");
  return scale == 1         ? 0
         : bits(type) == 8  ? 0x80808080u
         : bits(type) == 16 ? 0x80008000u
                            : 0x80000000u;
}

void decode_product(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                    Inst& out) {
  int k = 0;
  const int n = take_shape(modifiers, k);
  const bool saturate = modifiers.take("satfinite");
  const Type d = modifiers.take_type(), a = modifiers.take_type(), b = modifiers.take_type();
  if (n == 0 || k * bits(a) != 256) return decoder.refuse("no such shape");
  const auto kind = mma_kind(decoder, plumbline::Instruction::wgmma, {d, a, b, d, k}, saturate);
  if (!kind) return;

  const std::vector<Operand>& operands = instruction.operands;
  const bool integer = kind->accumulator == FormatId::s32;
  const bool transposable = bits(a) == 16;
  if (operands.size() < 4) return decoder.refuse("it has too few operands");
  auto product = std::make_unique<WarpgroupProduct>();
  product->plan = plan_for(*kind, decoder.program());
  product->n = n;
  for (const Operand& r : decoder.elements(operands[0]))
    product->d.push_back(decoder.destination(r, 32));
  const auto wanted = static_cast<std::size_t>(n / 8 * c_registers(*kind));
  if (product->d.size() != wanted) {
    return decoder.refuse(
        fmt::format("its accumulator has {} registers, not {}", product->d.size(), wanted));
  }
  const std::span<const Operand> left = decoder.elements(operands[1]);
  const bool in_registers = left.size() > 1;
  if (in_registers && left.size() != 4)
    return decoder.refuse(fmt::format("A has {} registers, not 4", left.size()));
  for (const Operand& r : left) product->a.push_back(decoder.source(r, in_registers ? 32 : 64));
  product->b = decoder.source(operands[2], 64);

  // d, a, b, scale-d, then of floats imm-scale-a and -b, and of 16-bit types imm-trans of what lies
  // in shared memory.
  const std::size_t transpositions = !transposable ? 0 : in_registers ? 1 : 2;
  const std::size_t count = integer ? 4 : 6 + transpositions;
  if (!decoder.require_operands(instruction, count, count)) return;
  if (decoder.register_bits(operands[3]) == 1) {
    product->adds = decoder.predicate(operands[3]);
  } else if (decoder.immediate(operands[3]) == 0) {
    product->adds = kAlways | kNegated;
  }
  if (!integer) {
    product->flip_a = sign_bits(decoder, operands[4], a);
    product->flip_b = sign_bits(decoder, operands[5], b);
    if (transpositions == 2) product->a_by_columns = decoder.immediate(operands[6]) != 0;
    if (transpositions > 0) product->b_by_rows = decoder.immediate(operands.back()) != 0;
  }
  out.immediate = static_cast<std::int64_t>(decoder.program().warpgroup_products.size());
  decoder.program().warpgroup_products.push_back(std::move(product));
  out.execute = issue;
}

void decode_warpgroup(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                      Inst& out) {
  decoder.require_sm(90);
  const int which = modifiers.take_one_of("mma_async", "fence", "commit_group", "wait_group");
  if (!modifiers.take("sync") || !modifiers.take("aligned")) return;
  if (which == 0) return decode_product(decoder, instruction, modifiers, out);
  const std::size_t operands = which == 3 ? 1 : 0;
  if (!decoder.require_operands(instruction, operands, operands)) return;
  if (which == 3) out.immediate = decoder.immediate(instruction.operands[0]);
  if (which == 1) out.execute = fence;
  if (which == 2) out.execute = commit;
  if (which == 3) out.execute = waiter(decoder.random_rounding());
}

}  // namespace

std::span<const Family> warpgroup_families() {
  static constexpr Family kFamilies[] = {{"wgmma", decode_warpgroup}};
  return kFamilies;
}

}  // namespace plumbline::emulator
