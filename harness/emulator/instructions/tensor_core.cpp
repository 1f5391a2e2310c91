// SPDX-License-Identifier: MIT
// The fifth generation of tensor cores (PTX ISA 9.0 section 9.7.16), with one CTA: tcgen05.alloc,
// dealloc, relinquish_alloc_permit, ld, st, wait, fence, mma and commit, all .cta_group::1.
//
// The descriptors of a product are values of registers, so what of them is not emulated is a
// finding when the product is issued. The rest is refused when the kernel is loaded.
#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "harness/emulator/decode/decode.h"
#include "harness/emulator/decode/mma_forms.h"
#include "harness/emulator/instructions/whole_warp.h"
#include "harness/emulator/machine/access.h"
#include "harness/emulator/machine/mbarrier_phases.h"
#include "harness/emulator/machine/tensor_products.h"
#include "harness/emulator/memory/address_space.h"

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

// Inst::flags of mma: its kind, and where A is.
enum class ProductKind : u32 { f16, tf32, f8f6f4, i8 };
constexpr u32 kKindMask = 3, kTensorA = 4;
// Of ld and st: 16x32bx2, whose second half begins so many columns further on (Inst::c).
constexpr u32 kHalves = 1;
// Of commit and alloc: the address is a generic one.
constexpr u32 kGeneric = 1;

bool whole_warp(Warp& warp, const Inst& inst, u32& mask) {
  return has_all_lanes(warp, inst, mask, kFullMask, "tcgen05");
}

void fail(Warp& warp, const Inst& inst, int lane, std::string words) {
  warp.fail(FindingKind::bad_operand, inst, lane, [&] { return words; });
}

u64 address_of(Warp& warp, const Inst& inst, int lane) {
  const AddressOperand where{inst.a, (inst.flags & kAddress32) == 0, inst.immediate};
  return address_at(warp, where, lane);
}

// --- allocation ---

void allocate(Warp& warp, const Inst& inst, u32 mask) {
  if (!whole_warp(warp, inst, mask)) return;
  TensorMemory& memory = warp.cta().tensor_memory();
  const int columns = static_cast<int>(lanes<u32>(warp, inst.b)[0]);
  if (columns < TensorMemory::kLeastColumns || columns > TensorMemory::kColumns ||
      !std::has_single_bit(static_cast<u32>(columns))) {
    return fail(warp, inst, 0,
                fmt::format("allocates {} columns of tensor memory; 32, 64, 128, "
                            "256 or 512 can be had",
                            columns));
  }
  if (!memory.permits_allocation())
    return fail(warp, inst, 0, "allocates tensor memory behind tcgen05.relinquish_alloc_permit");
  const std::optional<int> column = memory.allocate(columns);
  if (!column) {
    return warp.fail(FindingKind::deadlock, inst, 0, [&] {
      return fmt::format(
          "waits for {} columns of tensor memory, and the CTA itself holds {} of 512", columns,
          memory.allocated());
    });
  }
  // A plain store of one thread: who reads the address has to be ordered behind it.
  Pointers p{};
  p.address[0] = address_of(warp, inst, 0) - ((inst.flags & kGeneric) != 0 ? kSharedWindow : 0);
  if (!resolve<Space::shared, 4>(warp, inst, 1, p, Intent::write)) return;
  std::memcpy(p.host[0], &*column, 4);
  after_store(warp, inst);
}

void release(Warp& warp, const Inst& inst, u32 mask) {
  if (!whole_warp(warp, inst, mask)) return;
  const u32 address = lanes<u32>(warp, inst.a)[0];
  const int columns = static_cast<int>(lanes<u32>(warp, inst.b)[0]);
  Cta& cta = warp.cta();
  if (!cta.tensor_memory().release(static_cast<int>(address), columns)) {
    return fail(
        warp, inst, 0,
        fmt::format("frees {} columns of tensor memory at {:#x}, where no such allocation is",
                    columns, address));
  }
  for (const TensorProduct& product : cta.tensor_products().pending()) {
    if (!product.writes(static_cast<int>(address), columns)) continue;
    return warp.fail(FindingKind::missing_wait, inst, 0, [] {
      return std::string("frees tensor memory that a product is still to write");
    });
  }
}

void give_up_permit(Warp& warp, const Inst& inst, u32 mask) {
  if (whole_warp(warp, inst, mask)) warp.cta().tensor_memory().give_up_permit();
}

// --- ld, st and their waits ---

// What one register of an access moves for threads side by side: a column of as many rows of the
// warp's quarter.
struct Piece {
  int column, first_row, first_thread, count;

  u32 rows() const { return (count == 32 ? kFullMask : (u32{1} << count) - 1) << first_row; }

  // Of a mask of rows the first one's thread.
  int thread_of(u32 mask) const { return std::countr_zero(mask) - first_row + first_thread; }
};

// A product that is in flight has some of the columns: a finding.
void require_finished(Warp& warp, const Inst& inst, int column, int columns) {
  for (const TensorProduct& product : warp.cta().tensor_products().pending()) {
    if (!product.writes(column, columns)) continue;
    warp.report(FindingKind::missing_wait, inst, 0, [&] {
      return fmt::format(
          "accesses columns of tensor memory that a product of warp {} lane {} is "
          "still to write; it is complete when the phase of its commit's mbarrier is",
          product.warp, product.lane);
    });
    return;
  }
}

// Where an access begins.
struct Place {
  int column, row;  // of the quarter
};

// Nothing after a finding. Of 32x32b thread t has row t. Of 16x32bx2 it has row t % 16 from the
// address on, and the upper half of the threads has other columns, `split` further on.
std::optional<Place> place_of(Warp& warp, const Inst& inst) {
  const u64 address = address_of(warp, inst, 0);
  for (int lane = 1; lane < kLanes; ++lane) {
    if (address_of(warp, inst, lane) == address) continue;
    fail(warp, inst, lane, "the address of tensor memory differs between the lanes of a warp");
    return std::nullopt;
  }
  const bool halves = (inst.flags & kHalves) != 0;
  const int columns = static_cast<int>(inst.e), split = static_cast<int>(inst.c);
  const auto row = static_cast<int>(address >> 16 & 0xffff);
  const auto column = static_cast<int>(address & 0xffff);
  const int first = TensorMemory::kQuarter * (warp.index() % 4);
  if (row != first && !(halves && row == first + 16)) {
    fail(warp, inst, 0,
         fmt::format("accesses tensor memory from lane {} on; warp {} reaches lanes {} to {}", row,
                     warp.index(), first, first + 31));
    return std::nullopt;
  }
  for (int half = 0; half < (halves ? 2 : 1); ++half) {
    const int from = column + half * split;
    if (!warp.cta().tensor_memory().is_allocated(from, columns)) {
      warp.fail(FindingKind::out_of_bounds, inst, 0, [&] {
        return fmt::format(
            "accesses columns {} to {} of tensor memory, which are not all allocated", from,
            from + columns - 1);
      });
      return std::nullopt;
    }
    require_finished(warp, inst, from, columns);
  }
  return Place{column, row - first};
}

// Calls visit(piece, register) for every register of the access.
template <typename Visit>
void each_piece(const Inst& inst, const Place& place, Visit&& visit) {
  for (int i = 0; i < static_cast<int>(inst.e); ++i) {
    const int column = place.column + i;
    if ((inst.flags & kHalves) == 0) {
      visit(Piece{column, 0, 0, 32}, inst.list[i]);
    } else {
      visit(Piece{column, place.row, 0, 16}, inst.list[i]);
      visit(Piece{column + static_cast<int>(inst.c), place.row, 16, 16}, inst.list[i]);
    }
  }
}

void load(Warp& warp, const Inst& inst, u32 mask) {
  if (!whole_warp(warp, inst, mask)) return;
  const std::optional<Place> place = place_of(warp, inst);
  if (!place) return;
  TensorMemory& memory = warp.cta().tensor_memory();
  const int quarter = warp.index() % 4;
  each_piece(inst, *place, [&](const Piece& piece, Slot slot) {
    const u32 stored = memory.stored(quarter, piece.column) & piece.rows(),
              unwritten = ~memory.written(quarter, piece.column) & piece.rows();
    if (stored != 0) {
      warp.report(FindingKind::missing_wait, inst, piece.thread_of(stored), [&] {
        return fmt::format(
            "reads column {} of tensor memory, which a tcgen05.st is still to write; "
            "tcgen05.wait::st is missing",
            piece.column);
      });
    } else if (unwritten != 0) {
      warp.report(FindingKind::read_of_unwritten, inst, piece.thread_of(unwritten), [&] {
        return fmt::format("reads column {} of tensor memory, which nothing wrote", piece.column);
      });
    }
    std::memcpy(reinterpret_cast<u32*>(warp.slot(slot)) + piece.first_thread,
                memory.quarter(quarter, piece.column) + piece.first_row,
                sizeof(u32) * static_cast<std::size_t>(piece.count));
  });
}

void store(Warp& warp, const Inst& inst, u32 mask) {
  if (!whole_warp(warp, inst, mask)) return;
  const std::optional<Place> place = place_of(warp, inst);
  if (!place) return;
  each_piece(inst, *place, [&](const Piece& piece, Slot slot) {
    TensorStore& one = warp.tensor_accesses().stores.emplace_back();
    one.column = piece.column;
    one.rows = piece.rows();
    std::memcpy(one.value.lane + piece.first_row,
                reinterpret_cast<u32*>(warp.slot(slot)) + piece.first_thread,
                sizeof(u32) * static_cast<std::size_t>(piece.count));
    warp.cta().tensor_memory().stored(warp.index() % 4, one.column) |= one.rows;
  });
}

// Registers have their values already (tensor_accesses.h).
void wait_for_loads(Warp& warp, const Inst& inst, u32 mask) { whole_warp(warp, inst, mask); }

void wait_for_stores(Warp& warp, const Inst& inst, u32 mask) {
  if (!whole_warp(warp, inst, mask)) return;
  TensorMemory& memory = warp.cta().tensor_memory();
  const int quarter = warp.index() % 4;
  for (const TensorStore& one : warp.tensor_accesses().stores) {
    for (u32 left = one.rows; left != 0; left &= left - 1) {
      const int row = std::countr_zero(left);
      memory.quarter(quarter, one.column)[row] = one.value.lane[row];
    }
    memory.written(quarter, one.column) |= one.rows;
    memory.stored(quarter, one.column) &= ~one.rows;
  }
  warp.tensor_accesses().stores.clear();
}

void nothing(Warp&, const Inst&, u32) {}

// --- mma and commit ---

// The types that an instruction descriptor names; nothing where they are not emulated.
std::optional<MmaKind> kind_of(int sm, ProductKind kind, u32 descriptor) {
  const u32 d = descriptor >> 4 & 3, a = descriptor >> 7 & 7, b = descriptor >> 10 & 7;
  const FormatId sums = d == 0 ? FormatId::f16 : d == 1 ? FormatId::f32 : FormatId::s32;
  if (d == 3 || (sums == FormatId::s32) != (kind == ProductKind::i8)) return std::nullopt;
  MmaKind out{{16, 8, 32}, FormatId::f16, FormatId::f16, sums};
  const auto take = [&](std::initializer_list<FormatId> formats) {
    if (a >= formats.size() || b >= formats.size()) return false;
    out.a = formats.begin()[a];
    out.b = formats.begin()[b];
    return true;
  };
  bool known = false;
  switch (kind) {
    case ProductKind::f16:
      out.shape.k = 16;
      known = take({FormatId::f16, FormatId::bf16});
      break;
    case ProductKind::tf32:
      out.shape.k = 8;
      out.a = out.b = FormatId::tf32;
      known = a == 2 && b == 2;
      break;
    case ProductKind::f8f6f4:
      known = take({FormatId::e4m3, FormatId::e5m2});
      break;
    case ProductKind::i8:
      known = take({FormatId::u8, FormatId::s8});
      out.saturate = (descriptor >> 3 & 1) != 0;
      break;
  }
  if (!known || !mma_exists(out)) return std::nullopt;
  if (kind == ProductKind::i8) return out;
  const auto model = dot_model(sm, plumbline::Instruction::tcgen05, out.a, out.b, sums);
  if (!model) return std::nullopt;
  out.model = *model;
  return out;
}

bool check_descriptor(Warp& warp, const Inst& inst, int lane, u64 descriptor) {
  const u64 swizzle = descriptor >> 61;
  if ((descriptor >> 46 & 7) == 1 && (descriptor >> 49 & 15) == 0 &&
      (swizzle == 0 || swizzle == 2 || swizzle == 4 || swizzle == 6))
    return true;
  fail(warp, inst, lane,
       fmt::format("the matrix descriptor {:#x} is none of tcgen05 (bits 46 to 48 are 1), or has a "
                   "base offset, absolute strides or a swizzle by atoms of 32 bytes, which are not "
                   "emulated",
                   descriptor));
  return false;
}

void issue_one(Warp& warp, const Inst& inst, int lane) {
  const auto kind = static_cast<ProductKind>(inst.flags & kKindMask);
  const u32 descriptor = lanes<u32>(warp, inst.d)[lane];
  Cta& cta = warp.cta();
  TensorProduct op;
  op.at = &inst;
  op.warp = warp.index();
  op.lane = lane;
  op.m = static_cast<int>(descriptor >> 24 & 31) * 16;
  op.n = static_cast<int>(descriptor >> 17 & 63) * 8;
  op.adds = (warp.read(inst.p) >> lane & 1) != 0;
  const auto types = kind_of(cta.launch().options.sm, kind, descriptor);
  if (!types || (descriptor & 7) != 0 || descriptor >> 30 != 0 || (op.m != 64 && op.m != 128) ||
      op.n < 8 || op.n > 256 || op.n % (op.m == 128 ? 16 : 8) != 0) {
    return fail(warp, inst, lane,
                fmt::format("the instruction descriptor {:#x} has types or a shape ({}x{}) that "
                            "are not emulated",
                            descriptor, op.m, op.n));
  }
  op.plan = plan_for(*types, cta.worker().tensor_plans);
  const u64 place = address_of(warp, inst, lane);
  op.d = static_cast<int>(place & 0xffff);
  op.upper = static_cast<int>(place >> 16 & 0xffff);
  if (op.upper != 0 && !(op.m == 64 && op.upper == 16))
    return fail(warp, inst, lane, fmt::format("D of {} rows begins in lane {}", op.m, op.upper));
  TensorMemory& memory = cta.tensor_memory();
  const auto require_columns = [&](const char* what, int column, int columns) {
    if (memory.is_allocated(column, columns)) return true;
    warp.fail(FindingKind::out_of_bounds, inst, lane, [&] {
      return fmt::format("{} has columns {} to {} of tensor memory, which are not all allocated",
                         what, column, column + columns - 1);
    });
    return false;
  };
  if (!require_columns("D", op.d, op.n)) return;
  op.a_in_tensor_memory = (inst.flags & kTensorA) != 0;
  op.a = op.a_in_tensor_memory ? lanes<u32>(warp, inst.b)[lane] : lanes<u64>(warp, inst.b)[lane];
  op.b = lanes<u64>(warp, inst.c)[lane];
  if (!check_descriptor(warp, inst, lane, op.b)) return;
  const auto a_column = static_cast<int>(op.a & 0xffff);
  if (!op.a_in_tensor_memory) {
    if (!check_descriptor(warp, inst, lane, op.a)) return;
  } else if (op.m != 128 || op.a >> 16 != 0) {
    return fail(warp, inst, lane, "A in tensor memory is emulated for 128 rows from lane 0 on");
  } else if (!require_columns("A", a_column, 8)) {
    return;
  }
  op.a_by_columns = (descriptor >> 15 & 1) != 0;
  op.b_by_rows = (descriptor >> 16 & 1) != 0;
  if (kind == ProductKind::tf32 && (op.a_by_columns || op.b_by_rows))
    return fail(warp, inst, lane, "tiles of tf32 along m or n are not emulated");
  const u32 signs = types->shape.k == 8    ? 0x80000000u
                    : types->shape.k == 16 ? 0x80008000u
                                           : 0x80808080u;
  op.flip_a = (descriptor >> 13 & 1) != 0 ? signs : 0;
  op.flip_b = (descriptor >> 14 & 1) != 0 ? signs : 0;
  // Stores that are not waited for may come behind the product.
  const auto require_stored = [&](int column, int columns) {
    for (int at = column; at < column + columns; ++at) {
      for (int quarter = 0; quarter < 4; ++quarter) {
        if (memory.stored(quarter, at) == 0) continue;
        warp.report(FindingKind::missing_wait, inst, lane, [&] {
          return fmt::format(
              "uses column {} of tensor memory, which a tcgen05.st is still to write; "
              "tcgen05.wait::st is missing",
              at);
        });
        return;
      }
    }
  };
  require_stored(op.d, op.n);
  if (op.a_in_tensor_memory) require_stored(a_column, 8);
  if (warp.counts_traffic())
    count_products(warp, inst, static_cast<u64>(op.m * op.n * types->shape.k));
  cta.tensor_products().add(op);
}

void issue(Warp& warp, const Inst& inst, u32 mask) {
  for (u32 left = mask; left != 0 && !warp.cta().stopping(); left &= left - 1)
    issue_one(warp, inst, std::countr_zero(left));
}

void commit(Warp& warp, const Inst& inst, u32 mask) {
  Cta& cta = warp.cta();
  const u64 window = (inst.flags & kGeneric) != 0 ? kSharedWindow : 0;
  for (u32 left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const u64 address = address_of(warp, inst, lane) - window;
    Mbarrier* const barrier = mbarrier_at(warp, inst, lane, address);
    if (barrier == nullptr) return;
    barrier->commits.push_back({&inst, warp.index(), lane, cta.tensor_products().issued()});
    load_issued(cta, address, *barrier);
  }
}

// --- decoding ---

void decode_access(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                   bool loads, Inst& out) {
  if (!modifiers.take("sync") || !modifiers.take("aligned")) return;
  const int shape = modifiers.take_one_of("32x32b", "16x32bx2");
  if (shape < 0) return decoder.refuse("only the shapes 32x32b and 16x32bx2 are emulated");
  const std::size_t operands = shape == 0 ? 2 : 3;
  const int which = modifiers.take_one_of("x1", "x2", "x4", "x8", "x16", "x32", "x64", "x128");
  if (which < 0 || modifiers.take_type() != Type::b32 ||
      !decoder.require_operands(instruction, operands, operands))
    return;
  const std::span<const Operand> registers =
      decoder.elements(loads ? instruction.operands[0] : instruction.operands.back());
  if (registers.size() != std::size_t{1} << which)
    return decoder.refuse(fmt::format("it has {} registers, not {}", registers.size(), 1 << which));
  std::vector<Slot> list;
  for (const Operand& one : registers)
    list.push_back(loads ? decoder.destination(one, 32) : decoder.source(one, 32));
  out.list = decoder.keep(list);
  out.e = static_cast<Slot>(list.size());
  decoder.address(instruction.operands[loads ? 1 : 0], Space::generic, out);
  if (shape == 1) {
    const Operand& split = instruction.operands[loads ? 2 : 1];
    if (split.kind != OperandKind::immediate || split.value >= TensorMemory::kColumns)
      return decoder.refuse("the columns between its halves have to be a constant below 512");
    out.c = static_cast<Slot>(split.value);
    out.flags |= kHalves;
  }
  out.execute = loads ? load : store;
}

void decode_product(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                    Inst& out) {
  const int kind = modifiers.take_one_of("kind::f16", "kind::tf32", "kind::f8f6f4", "kind::i8");
  if (kind < 0) return decoder.refuse("only the kinds f16, tf32, f8f6f4 and i8 are emulated");
  modifiers.take_one_of("collector::a::fill", "collector::a::use", "collector::a::lastuse",
                        "collector::a::discard");
  if (!decoder.require_operands(instruction, 5, 5)) return;
  const std::vector<Operand>& operands = instruction.operands;
  if (decoder.register_bits(operands[4]) != 1)
    return decoder.refuse("disable-output-lane is not emulated");
  decoder.address(operands[0], Space::generic, out);
  out.flags |= static_cast<u32>(kind);
  if (operands[1].kind == OperandKind::address) {
    const AddressOperand a = decoder.address(operands[1], Space::generic);
    if (a.wide || a.offset != 0)
      return decoder.refuse("the address of A has to be a register of 32 bits");
    out.b = a.base;
    out.flags |= kTensorA;
  } else {
    out.b = decoder.source(operands[1], 64);
  }
  out.c = decoder.source(operands[2], 64);
  out.d = decoder.source(operands[3], 32);
  out.p = decoder.predicate(operands[4]);
  out.execute = issue;
}

void decode_tensor_core(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                        Inst& out) {
  decoder.require_sm(100);
  if (!dot_model(decoder.device_sm(), plumbline::Instruction::tcgen05, FormatId::bf16,
                 FormatId::bf16, FormatId::f32))
    return decoder.refuse(fmt::format("sm_{} has no tcgen05", decoder.device_sm()));
  if (modifiers.take("wait::ld") || modifiers.take("wait::st")) {
    if (!modifiers.take("sync") || !modifiers.take("aligned")) return;
    out.execute = instruction.has_modifier("wait::ld") ? wait_for_loads : wait_for_stores;
    return;
  }
  // Threads order one another's accesses by barriers here, whether they say so or not.
  if (modifiers.take_one_of("fence::before_thread_sync", "fence::after_thread_sync") >= 0) {
    out.execute = nothing;
    return;
  }
  if (modifiers.take("ld")) return decode_access(decoder, instruction, modifiers, true, out);
  if (modifiers.take("st")) return decode_access(decoder, instruction, modifiers, false, out);

  enum { kAlloc, kDealloc, kPermit, kMma, kCommit };

  const int which =
      modifiers.take_one_of("alloc", "dealloc", "relinquish_alloc_permit", "mma", "commit");
  if (which < 0) return;
  if (!modifiers.take("cta_group::1")) return decoder.refuse("only .cta_group::1 is emulated");
  if (which == kMma) return decode_product(decoder, instruction, modifiers, out);
  const std::vector<Operand>& operands = instruction.operands;
  if (which == kCommit) {
    if (!modifiers.take("mbarrier::arrive::one")) return;
    const bool shared = modifiers.take("shared::cluster");
    if (!modifiers.take("b64") || !decoder.require_operands(instruction, 1, 1)) return;
    decoder.address(operands[0], shared ? Space::shared : Space::generic, out);
    out.flags |= shared ? 0 : kGeneric;
    out.execute = commit;
    return;
  }
  if (!modifiers.take("sync") || !modifiers.take("aligned")) return;
  if (which == kPermit) {
    if (decoder.require_operands(instruction, 0, 0)) out.execute = give_up_permit;
    return;
  }
  const bool shared = modifiers.take("shared::cta");
  if (!modifiers.take("b32") || !decoder.require_operands(instruction, 2, 2)) return;
  if (which == kAlloc) {
    decoder.address(operands[0], shared ? Space::shared : Space::generic, out);
    out.flags |= shared ? 0 : kGeneric;
  } else {
    out.a = decoder.source(operands[0], 32);
  }
  out.b = decoder.source(operands[1], 32);
  out.execute = which == kAlloc ? allocate : release;
}

}  // namespace

std::span<const Family> tensor_core_families() {
  static constexpr Family kFamilies[] = {{"tcgen05", decode_tensor_core}};
  return kFamilies;
}

}  // namespace plumbline::emulator
