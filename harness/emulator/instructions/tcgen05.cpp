// SPDX-License-Identifier: MIT
// The fifth generation of tensor cores (PTX ISA 9.0 section 9.7.16): tcgen05.alloc, dealloc,
// relinquish_alloc_permit, ld, st, wait, fence, cp, mma with block scales and without, and commit;
// also for pairs of CTAs (.cta_group::2), the even one of a cluster and the next.
//
// The descriptors of a product are values of registers, so what of them is not emulated is a
// finding when the product is issued. The rest is refused when the kernel is loaded.
#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/emulator/decode/decode.h"
#include "harness/emulator/decode/mma_forms.h"
#include "harness/emulator/instructions/whole_warp.h"
#include "harness/emulator/machine/access.h"
#include "harness/emulator/machine/cluster.h"
#include "harness/emulator/machine/mbarrier_phases.h"
#include "harness/emulator/machine/tensor_products.h"
#include "harness/emulator/memory/address_space.h"

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

// Inst::flags of mma: its kind, and where A is.
enum class ProductKind : u32 { f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4, mxf4nvf4 };
constexpr u32 kKindMask = 7, kTensorA = 8;
// And of the last three, how many scales a step of k has.
constexpr u32 kTwoScales = 16, kFourScales = 32;
// Of the others: Inst::list has the words of disable-output-lane.
constexpr u32 kDisablesLanes = 64;

constexpr bool has_scales(ProductKind kind) { return kind >= ProductKind::mxf8f6f4; }

// Of ld and st: the shape. The second half of 16x32bx2 begins so many columns further on (Inst::c).
enum class AccessShape : u32 { rows32x32, halves16x32, rows16x64, rows16x128, rows16x256 };
constexpr u32 kShapeMask = 7;

AccessShape shape_of(const Inst& inst) { return static_cast<AccessShape>(inst.flags & kShapeMask); }

// Registers for one repetition, and columns that they hold together.
constexpr int kRegisters[] = {1, 1, 1, 2, 4}, kColumns[] = {1, 1, 2, 4, 8};
// Of commit and alloc: the address is a generic one; commit has a mask of CTAs (Inst::b).
constexpr u32 kGeneric = 1, kMulticast = 2;
// Of alloc, mma, cp and commit: .cta_group::2.
constexpr u32 kPair = 1024;

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

// Of .cta_group::2, the other CTA. Null after a finding.
Cta* peer_of(Warp& warp, const Inst& inst, int lane) {
  Cta* const peer = warp.cta().peer();
  if (peer == nullptr) {
    fail(warp, inst, lane,
         fmt::format("says .cta_group::2, and CTA rank {} of a cluster of {} has no other one",
                     warp.cta().rank(), warp.cta().cluster().size()));
    return nullptr;
  }
  if (peer->finished()) {
    fail(warp, inst, lane, "says .cta_group::2, and the other CTA of the pair has exited");
    return nullptr;
  }
  return peer;
}

// --- allocation ---

// Of both CTAs of a pair, each of which executes the instruction: the first one allocates for both.
// nullopt where there is no room, or after a finding.
std::optional<int> allocate_for_pair(Warp& warp, const Inst& inst, int columns) {
  Cta* const peer = peer_of(warp, inst, 0);
  if (peer == nullptr) return std::nullopt;
  TensorMemory& own = warp.cta().tensor_memory();
  if (const auto made = own.take_expected()) {
    if (made->columns == columns) return made->column;
    fail(warp, inst, 0,
         fmt::format("allocates {} columns of tensor memory, and the other CTA of the pair {}",
                     columns, made->columns));
    return std::nullopt;
  }
  const std::optional<int> column = own.allocate(columns);
  if (!column) return std::nullopt;
  const std::optional<int> other = peer->tensor_memory().allocate(columns);
  if (other != column) {
    fail(warp, inst, 0, "the two CTAs of the pair have different columns of tensor memory free");
    return std::nullopt;
  }
  peer->tensor_memory().expect_alloc({*other, columns});
  return column;
}

void allocate(Warp& warp, const Inst& inst, u32 mask) {
  if (!whole_warp(warp, inst, mask)) return;
  TensorMemory& memory = warp.cta().tensor_memory();
  const int columns = static_cast<int>(lanes<u32>(warp, inst.b)[0]);
  if (columns < TensorMemory::kLeastColumns || columns > TensorMemory::kColumns ||
      !std::has_single_bit(static_cast<u32>(columns))) {
    return fail(warp, inst, 0,
                fmt::format("allocates {} columns of tensor memory; it has to be 32, "
                            "64, 128, 256 or 512",
                            columns));
  }
  if (!memory.note_request(columns)) {
    warp.report(FindingKind::bad_operand, inst, 0, [&] {
      return fmt::format(
          "allocates {} columns of tensor memory, more than an allocation before it; sizes may not "
          "grow (PTX ISA 9.0, tcgen05.alloc)",
          columns);
    });
  }
  if (!memory.permits_allocation())
    return fail(warp, inst, 0, "allocates tensor memory behind tcgen05.relinquish_alloc_permit");
  const std::optional<int> column =
      (inst.flags & kPair) != 0 ? allocate_for_pair(warp, inst, columns) : memory.allocate(columns);
  if (warp.cta().stopping()) return;
  if (!column) {
    return warp.fail(FindingKind::deadlock, inst, 0, [&] {
      return fmt::format(
          "waits for {} columns of tensor memory, and the CTA itself holds {} of 512", columns,
          memory.allocated());
    });
  }
  if (warp.counts_traffic()) count_tensor_columns(warp, memory.allocated());
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
  cta.each_pending_product([&](const TensorProduct& product) {
    if (cta.stopping() || !product.writes(static_cast<int>(address), columns)) return;
    warp.fail(FindingKind::missing_wait, inst, 0, [&] {
      return fmt::format("frees tensor memory that a {} is still to write", product.what());
    });
  });
}

void give_up_permit(Warp& warp, const Inst& inst, u32 mask) {
  if (whole_warp(warp, inst, mask)) warp.cta().tensor_memory().give_up_permit();
}

// --- ld, st and their waits ---

// What one register of an access moves to or from a column: as many rows of the warp's quarter, of
// threads side by side or, where four threads have a row, of every fourth thread.
struct Piece {
  int column, first_row, first_thread, count;
  bool every_fourth = false;

  u32 rows() const { return (count == 32 ? kFullMask : (u32{1} << count) - 1) << first_row; }

  // Of the piece's row number i. Rows 8 to 15 are those of the next thread.
  int thread(int i) const { return first_thread + (every_fourth ? 4 * (i % 8) + i / 8 : i); }

  // Of a mask of rows the first one's thread.
  int thread_of(u32 mask) const { return thread(std::countr_zero(mask) - first_row); }

  void move(const u32* of_threads, u32* of_rows) const {
    for (int i = 0; i < count; ++i) of_rows[first_row + i] = of_threads[thread(i)];
  }

  void move_back(const u32* of_rows, u32* of_threads) const {
    for (int i = 0; i < count; ++i) of_threads[thread(i)] = of_rows[first_row + i];
  }
};

// A product that is in flight has some of the columns: a finding.
void require_finished(Warp& warp, const Inst& inst, int column, int columns) {
  const TensorProduct* found = nullptr;
  warp.cta().each_pending_product([&](const TensorProduct& product) {
    if (found == nullptr && product.writes(column, columns)) found = &product;
  });
  if (found == nullptr) return;
  warp.report(FindingKind::missing_wait, inst, 0, [&] {
    return fmt::format(
        "accesses columns of tensor memory that a {} of warp {} lane {} is "
        "still to write; it is complete when the phase of its commit's mbarrier is",
        found->what(), found->warp->index(), found->lane);
  });
}

// Whether the access came before what the warp does now. What happened before the CTA began counts
// as ordered.
bool comes_before(const Warp& warp, const TensorAccess& access, int lane = -1) {
  const CtaClock& clock = warp.cta().shared().clock();
  if (access.tick == 0) return true;
  if (access.cta == clock.cta() && access.warp == warp.index()) {
    return lane < 0 || access.lane < 0 ||
           warp.cta().shared().order().lanes_ordered(warp.index(), lane, access.lane, access.tick);
  }
  return clock.knows(warp.index(), access.cta, access.warp, access.tick);
}

// What the warp does now.
TensorAccess access_by(Warp& warp, int lane = -1) {
  SharedMemory& shared = warp.cta().shared();
  shared.order().note_access(warp.index());
  return {shared.order().tick(), shared.clock().cta(), warp.index(), lane};
}

void report_race(Warp& warp, const Inst& inst, int lane, std::string_view what, int column,
                 const TensorAccess& other, std::string_view did) {
  warp.report(FindingKind::race, inst, lane, [&] {
    const bool own = other.cta == warp.cta().shared().clock().cta();
    return fmt::format(
        "{} column {} of tensor memory, which warp {}{}{} has {}, and nothing orders that before: "
        "commit to an mbarrier, and wait for its phase here",
        what, column, other.warp, other.lane < 0 ? "" : fmt::format(" lane {}", other.lane),
        own ? "" : " of the other CTA of the pair", did);
  });
}

// Who writes to a column of a CTA comes behind loads only where their warps have waited for them.
// Whether they have.
bool require_loaded(Warp& warp, const Inst& inst, int lane, std::string_view what, Cta& cta,
                    int column, const TensorMemory::Accesses& last) {
  if (last.loading == 0) return true;
  Warp& loader = *cta.warps()[static_cast<std::size_t>(std::countr_zero(last.loading))];
  const std::vector<TensorLoad>& loads = loader.tensor_accesses().loads;
  const auto load = std::ranges::find(loads, column, &TensorLoad::column);
  Finding* const finding = warp.report(FindingKind::missing_wait, inst, lane, [&] {
    return fmt::format(
        "{} column {} of tensor memory, which a tcgen05.ld of warp {} may still read; "
        "tcgen05.wait::ld is missing ahead of what orders the two",
        what, column, loader.index());
  });
  if (finding != nullptr && load != loads.end()) {
    finding->other =
        describe_access(warp.program(), load->at->index, "read", cta.position(), loader.index(), 0);
  }
  return false;
}

// Of warps that reach the same rows, or of a warp and products of another one. A store has to come
// behind loads, too. Each access is kept for those that follow.
void order_access(Warp& warp, const Inst& inst, const Piece& piece, bool writes) {
  Cta& cta = warp.cta();
  if (!cta.shared().check()) return;
  const TensorAccess now = access_by(warp);
  for (int half = 0; half < 2; ++half) {
    if ((piece.rows() >> 16 * half & 0xffff) == 0) continue;
    TensorMemory::Accesses& last =
        cta.tensor_memory().accesses(warp.index() % 4, piece.column, half);
    if (!comes_before(warp, last.write)) {
      report_race(warp, inst, 0, writes ? "writes" : "reads", piece.column, last.write, "written");
    } else if (writes && !comes_before(warp, last.load)) {
      report_race(warp, inst, 0, "writes", piece.column, last.load, "read");
    }
    if (writes) {
      require_loaded(warp, inst, 0, "writes", cta, piece.column, last);
    } else {
      last.loading |= 1u << warp.index();
      warp.tensor_accesses().loads.push_back({&inst, piece.column, half});
    }
    (writes ? last.write : last.load) = now;
  }
}

// Where an access begins.
struct Place {
  int column, row;  // of the quarter
};

// nullopt after a finding. Shapes of 16 rows begin in either half of the quarter.
std::optional<Place> place_of(Warp& warp, const Inst& inst) {
  const u64 address = address_of(warp, inst, 0);
  for (int lane = 1; lane < kLanes; ++lane) {
    if (address_of(warp, inst, lane) == address) continue;
    fail(warp, inst, lane, "the address of tensor memory differs between the lanes of a warp");
    return std::nullopt;
  }
  const auto shape = static_cast<std::size_t>(shape_of(inst));
  const bool halves = shape_of(inst) == AccessShape::halves16x32;
  const bool sixteen = shape_of(inst) != AccessShape::rows32x32;
  const int columns = static_cast<int>(inst.e) / kRegisters[shape] * kColumns[shape],
            split = static_cast<int>(inst.c);
  auto row = static_cast<int>(address >> 16 & 0xffff);
  const auto column = static_cast<int>(address & 0xffff);
  const int first = TensorMemory::kQuarter * (warp.index() % 4);
  // DeepGEMM's kernels, which run on B200, leave the warp's quarter out of the address.
  if (row < TensorMemory::kQuarter) row += first;
  if (row != first && !(sixteen && row == first + 16)) {
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

// Calls visit(piece, register) for every register of the access and column that it has. Thread t
// has (PTX ISA 9.0 section 9.7.16.2.3) of
//   32x32b     row t
//   16x32bx2   row t % 16; the upper half of the threads `split` columns further on
//   16x64b     row t / 4 + 8 (t % 2), column (t / 2) % 2 of two
//   16x128b    rows t / 4 and t / 4 + 8, column t % 4 of four
//   16x256b    the same rows, columns 2 (t % 4) and the next of eight
template <typename Visit>
void each_piece(const Inst& inst, const Place& place, Visit&& visit) {
  const auto shape = static_cast<std::size_t>(shape_of(inst));
  const int registers = kRegisters[shape], columns = kColumns[shape];
  for (int i = 0; i < static_cast<int>(inst.e); ++i) {
    const int first = place.column + i / registers * columns, own = i % registers;
    const Slot slot = inst.list[i];
    switch (shape_of(inst)) {
      case AccessShape::rows32x32:
        visit(Piece{first, 0, 0, 32}, slot);
        break;
      case AccessShape::halves16x32:
        visit(Piece{first, place.row, 0, 16}, slot);
        visit(Piece{first + static_cast<int>(inst.c), place.row, 16, 16}, slot);
        break;
      case AccessShape::rows16x64:
        for (int c = 0; c < 2; ++c) visit(Piece{first + c, place.row, 2 * c, 16, true}, slot);
        break;
      case AccessShape::rows16x128:
        for (int c = 0; c < 4; ++c) visit(Piece{first + c, place.row + 8 * own, c, 8, true}, slot);
        break;
      case AccessShape::rows16x256:
        for (int c = 0; c < 4; ++c)
          visit(Piece{first + 2 * c + own % 2, place.row + own / 2 * 8, c, 8, true}, slot);
        break;
    }
  }
}

void load(Warp& warp, const Inst& inst, u32 mask) {
  if (!whole_warp(warp, inst, mask)) return;
  const std::optional<Place> place = place_of(warp, inst);
  if (!place) return;
  if (warp.counts_traffic())
    count_tensor_memory(warp, inst, static_cast<int>(inst.e), Access::load);
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
    order_access(warp, inst, piece, false);
    piece.move_back(memory.quarter(quarter, piece.column), reinterpret_cast<u32*>(warp.slot(slot)));
  });
}

void store(Warp& warp, const Inst& inst, u32 mask) {
  if (!whole_warp(warp, inst, mask)) return;
  const std::optional<Place> place = place_of(warp, inst);
  if (!place) return;
  if (warp.counts_traffic())
    count_tensor_memory(warp, inst, static_cast<int>(inst.e), Access::store);
  each_piece(inst, *place, [&](const Piece& piece, Slot slot) {
    TensorStore& one = warp.tensor_accesses().stores.emplace_back();
    one.column = piece.column;
    one.rows = piece.rows();
    order_access(warp, inst, piece, true);
    piece.move(reinterpret_cast<const u32*>(warp.slot(slot)), one.value.lane);
    warp.cta().tensor_memory().stored(warp.index() % 4, one.column) |= one.rows;
  });
}

// Registers have their values already (tensor_accesses.h).
void wait_for_loads(Warp& warp, const Inst& inst, u32 mask) {
  if (!whole_warp(warp, inst, mask)) return;
  for (const TensorLoad& one : warp.tensor_accesses().loads)
    warp.cta().tensor_memory().accesses(warp.index() % 4, one.column, one.half).loading &=
        ~(1u << warp.index());
  warp.tensor_accesses().loads.clear();
}

void wait_for_stores(Warp& warp, const Inst& inst, u32 mask) {
  if (!whole_warp(warp, inst, mask)) return;
  TensorMemory& memory = warp.cta().tensor_memory();
  const TensorAccess now = access_by(warp);
  const int quarter = warp.index() % 4;
  for (const TensorStore& one : warp.tensor_accesses().stores) {
    for (u32 left = one.rows; left != 0; left &= left - 1) {
      const int row = std::countr_zero(left);
      memory.quarter(quarter, one.column)[row] = one.value.lane[row];
    }
    memory.written(quarter, one.column) |= one.rows;
    memory.stored(quarter, one.column) &= ~one.rows;
    for (int half = 0; half < 2; ++half) {
      if ((one.rows >> 16 * half & 0xffff) != 0)
        memory.accesses(quarter, one.column, half).write = now;
    }
  }
  warp.tensor_accesses().stores.clear();
}

void nothing(Warp&, const Inst&, u32) {}

// --- mma and commit ---

// Operands of 8 bits and less, as an instruction descriptor numbers them; f32 for what is none.
constexpr std::array<FormatId, 6> kNarrow = {FormatId::e4m3, FormatId::e5m2, FormatId::f32,
                                             FormatId::e2m3, FormatId::e3m2, FormatId::e2m1};

// The types that an instruction descriptor names; nullopt where they are not emulated.
std::optional<MmaKind> kind_of(int sm, ProductKind kind, u32 descriptor) {
  const u32 d = descriptor >> 4 & 3, a = descriptor >> 7 & 7, b = descriptor >> 10 & 7;
  const FormatId sums = d == 0 ? FormatId::f16 : d == 1 ? FormatId::f32 : FormatId::s32;
  if (d == 3 || (sums == FormatId::s32) != (kind == ProductKind::i8)) return std::nullopt;
  MmaKind out{{16, 8, 32}, FormatId::f16, FormatId::f16, sums};
  const auto take = [&](std::span<const FormatId> formats) {
    if (a >= formats.size() || b >= formats.size()) return false;
    out.a = formats[a];
    out.b = formats[b];
    return true;
  };
  bool known = false;
  switch (kind) {
    case ProductKind::f16:
      out.shape.k = 16;
      known = take(std::array{FormatId::f16, FormatId::bf16});
      break;
    case ProductKind::tf32:
      out.shape.k = 8;
      out.a = out.b = FormatId::tf32;
      known = a == 2 && b == 2;
      break;
    case ProductKind::f8f6f4:
      known = take(kNarrow);
      break;
    case ProductKind::i8:
      known = take(std::array{FormatId::u8, FormatId::s8});
      out.saturate = (descriptor >> 3 & 1) != 0;
      break;
    default:
      break;
  }
  if (!known || !mma_exists(out)) return std::nullopt;
  if (kind == ProductKind::i8) return out;
  const auto model = dot_model(sm, plumbline::Instruction::tcgen05, out.a, out.b, sums);
  if (!model) return std::nullopt;
  out.model = *model;
  return out;
}

// The same of a kind with that many scales for a step of k.
std::optional<MmaKind> scaled_kind_of(int sm, ProductKind kind, int scales, u32 descriptor) {
  const u32 a = descriptor >> 7 & 7, b = descriptor >> 10 & 7;
  const bool powers = (descriptor >> 23 & 1) != 0, bytes = kind == ProductKind::mxf8f6f4;
  MmaKind out{{16, 8, bytes ? 32 : 64}, FormatId::e2m1, FormatId::e2m1, FormatId::f32};
  if (bytes) {
    if (a >= kNarrow.size() || b >= kNarrow.size()) return std::nullopt;
    out.a = kNarrow[a];
    out.b = kNarrow[b];
    if (out.a == FormatId::f32 || out.b == FormatId::f32) return std::nullopt;
  } else if (a != 1 || b != 1) {
    return std::nullopt;
  }
  if (!powers && scales != 4) return std::nullopt;
  out.scale = {powers ? FormatId::ue8m0 : FormatId::e4m3, out.shape.k / scales};
  const auto node = scaled_node_model(sm, plumbline::Instruction::tcgen05, out.shape.k);
  if (!node) return std::nullopt;
  out.model.node = *node;
  return out;
}

// Bits of an instruction descriptor that have to be 0: sparsity and, but for the bytes of scales,
// what is reserved or not emulated.
constexpr u32 kNotEmulated = 0xc0000007, kNotEmulatedOfScaled = 0x8000004f;

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

// 32 rows to a column.
int scale_columns(int rows) { return (rows + 31) / 32; }

// Of what is issued: `what` are these columns.
bool require_columns(Warp& warp, Cta& cta, const Inst& inst, int lane, const char* what, int column,
                     int columns) {
  if (cta.tensor_memory().is_allocated(column, columns)) return true;
  warp.fail(FindingKind::out_of_bounds, inst, lane, [&] {
    return fmt::format("columns {} to {} of tensor memory, for {}, are not all allocated", column,
                       column + columns - 1, what);
  });
  return false;
}

// Stores that are not waited for may come behind the product.
void require_stored(Warp& warp, Cta& cta, const Inst& inst, int lane, int column, int columns) {
  TensorMemory& memory = cta.tensor_memory();
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
}

// What others did with these columns has to come before: writes, and loads where the product
// writes. `upper` as in TensorProduct; -1: all rows.
void order_product(Warp& warp, const TensorProduct& op, int column, int columns, bool writes,
                   int upper) {
  if (!op.cta->shared().check()) return;
  const TensorAccess now = access_by(warp, op.lane);
  bool told = false;
  for (int at = column; at < column + columns; ++at) {
    for (int piece = 0; piece < 8; ++piece) {
      if (upper >= 0 && piece % 2 != upper / 16) continue;
      TensorMemory::Accesses& last = op.cta->tensor_memory().accesses(piece / 2, at, piece % 2);
      const bool written = !comes_before(warp, last.write, op.lane);
      const bool read = writes && !comes_before(warp, last.load, op.lane);
      if (!told && (written || read)) {
        told = true;
        report_race(warp, *op.at, op.lane,
                    fmt::format("issues a {} that {}", op.what(), writes ? "writes" : "reads"), at,
                    written ? last.write : last.load, written ? "written" : "read");
      }
      if (!told && writes && last.loading != 0) {  // words are made only where they are said
        told =
            !require_loaded(warp, *op.at, op.lane,
                            fmt::format("issues a {} that writes", op.what()), *op.cta, at, last);
      }
      (writes ? last.write : last.load) = now;
    }
  }
}

// The columns of tensor memory that a product uses in its CTA. False after a finding that stops the
// launch.
bool check_columns(Warp& warp, const Inst& inst, const TensorProduct& op) {
  struct Range {
    const char* what;
    int column, columns;
  };

  std::vector<Range> ranges = {{op.copies ? "a copy" : "D", op.d, op.n}};
  if (op.scaled) {
    ranges.push_back({"the scales of A", op.scales_a.column, scale_columns(op.m)});
    ranges.push_back({"the scales of B", op.scales_b.column, scale_columns(op.n)});
  }
  if (op.a_in_tensor_memory) ranges.push_back({"A", static_cast<int>(op.a & 0xffff), 8});
  for (const Range& range : ranges) {
    if (!require_columns(warp, *op.cta, inst, op.lane, range.what, range.column, range.columns))
      return false;
  }
  for (const Range& range : ranges) {
    require_stored(warp, *op.cta, inst, op.lane, range.column, range.columns);
    const bool writes = &range == &ranges.front();
    order_product(warp, op, range.column, range.columns, writes,
                  writes && op.m == 64 ? op.upper : -1);
  }
  return true;
}

// One for each CTA of a pair.
void add_products(Warp& warp, const Inst& inst, TensorProduct op) {
  Cta& cta = warp.cta();
  if ((inst.flags & kPair) == 0) {
    op.cta = op.b_of[0] = op.b_of[1] = &cta;
    if (check_columns(warp, inst, op)) cta.tensor_products().add(op);
    return;
  }
  Cta* const peer = peer_of(warp, inst, op.lane);
  if (peer == nullptr) return;
  peer->note_visit(warp, inst, op.lane, cta.shared().order().tick());
  op.b_of = {&cta, peer};
  if (cta.rank() % 2 != 0) std::swap(op.b_of[0], op.b_of[1]);
  for (std::size_t half = 0; half < 2; ++half) {
    TensorProduct one = op;
    one.cta = op.b_of[half];
    if ((inst.flags & kDisablesLanes) != 0) {
      for (std::size_t word = 0; word < one.disabled.size(); ++word)
        one.disabled[word] = lanes<u32>(warp, inst.list[4 * half + word])[op.lane];
    }
    if (!check_columns(warp, inst, one)) return;
    cta.tensor_products().add(one);
  }
}

void issue_one(Warp& warp, const Inst& inst, int lane) {
  const auto kind = static_cast<ProductKind>(inst.flags & kKindMask);
  const bool pair = (inst.flags & kPair) != 0;
  const u32 descriptor = lanes<u32>(warp, inst.d)[lane];
  Cta& cta = warp.cta();
  TensorProduct op;
  op.at = &inst;
  op.warp = &warp;
  op.lane = lane;
  const int rows = static_cast<int>(descriptor >> 24 & 31) * 16;
  op.m = pair ? rows / 2 : rows;
  op.n = static_cast<int>(descriptor >> 17 & 63) * 8;
  op.adds = (warp.read(inst.p) >> lane & 1) != 0;
  const int sm = cta.launch().options.sm;
  op.scaled = has_scales(kind);
  const int scales = (inst.flags & kFourScales) != 0 ? 4 : (inst.flags & kTwoScales) != 0 ? 2 : 1;
  const auto types =
      op.scaled ? scaled_kind_of(sm, kind, scales, descriptor) : kind_of(sm, kind, descriptor);
  const u32 refused = descriptor & (op.scaled ? kNotEmulatedOfScaled : kNotEmulated);
  // Of 128 rows, a pair has 64 in each CTA, laid out in another way.
  const bool known_rows = pair ? rows == 256 : rows == 64 || rows == 128;
  const int multiple = pair ? 32 : op.m == 128 ? 16 : 8;
  if (!types || refused != 0 || !known_rows || (op.scaled && op.m != 128) || op.n < 8 ||
      op.n > 256 || op.n % multiple != 0) {
    return fail(warp, inst, lane,
                fmt::format("the instruction descriptor {:#x} has types or a shape ({}x{}) that "
                            "are not emulated",
                            descriptor, rows, op.n));
  }
  op.plan = plan_for(*types, cta.worker().tensor_plans);
  const u64 place = address_of(warp, inst, lane);
  op.d = static_cast<int>(place & 0xffff);
  op.upper = static_cast<int>(place >> 16 & 0xffff);
  if (op.upper != 0 && !(op.m == 64 && op.upper == 16))
    return fail(warp, inst, lane, fmt::format("D of {} rows begins in lane {}", op.m, op.upper));
  if (op.scaled) {
    // CUTLASS leaves the byte, which the instruction descriptor has, in the upper bits as well.
    constexpr u32 kAddress = 0x3fffffff;
    op.scales_a = {static_cast<int>(lanes<u32>(warp, inst.list[0])[lane] & kAddress),
                   static_cast<int>(descriptor >> 29 & 3)};
    op.scales_b = {static_cast<int>(lanes<u32>(warp, inst.list[1])[lane] & kAddress),
                   static_cast<int>(descriptor >> 4 & 3)};
    for (const TensorProduct::Scales& of : {op.scales_a, op.scales_b}) {
      if (of.column >> 16 == 0 && of.byte + scales <= 4) continue;
      return fail(
          warp, inst, lane,
          fmt::format("the scales at {:#x} from byte {} on do not begin in lane 0, or leave "
                      "the word of a step of k",
                      of.column, of.byte));
    }
  }
  if ((inst.flags & kDisablesLanes) != 0) {
    for (std::size_t word = 0; word < op.disabled.size(); ++word)
      op.disabled[word] = lanes<u32>(warp, inst.list[word])[lane];
  }
  op.a_in_tensor_memory = (inst.flags & kTensorA) != 0;
  op.a = op.a_in_tensor_memory ? lanes<u32>(warp, inst.b)[lane] + u32{inst.e}
                               : lanes<u64>(warp, inst.b)[lane];
  op.b = lanes<u64>(warp, inst.c)[lane];
  if (!check_descriptor(warp, inst, lane, op.b)) return;
  if (!op.a_in_tensor_memory) {
    if (!check_descriptor(warp, inst, lane, op.a)) return;
  } else if (op.m != 128 || op.a >> 16 != 0) {
    return fail(warp, inst, lane, "A in tensor memory is emulated for 128 rows from lane 0 on");
  }
  op.a_by_columns = (descriptor >> 15 & 1) != 0;
  op.b_by_rows = (descriptor >> 16 & 1) != 0;
  const auto only_along_k = [&](FormatId id) {
    return kind == ProductKind::tf32 || types->shape.k == 64 || narrow_bits(id) < 8;
  };
  if ((op.a_by_columns && only_along_k(types->a)) || (op.b_by_rows && only_along_k(types->b)))
    return fail(warp, inst, lane, "tiles of tf32, FP6 or FP4 along m or n are not emulated");
  if (op.a_in_tensor_memory && types->shape.k == 32 && narrow_bits(types->a) < 8)
    return fail(warp, inst, lane, "A of FP6 or FP4 in tensor memory is not emulated");
  const auto signs = [&](FormatId id) {
    return types->shape.k == 8    ? 0x80000000u
           : types->shape.k == 16 ? 0x80008000u
           : types->shape.k == 64 ? 0x88888888u
           : narrow_bits(id) < 8  ? 0x20202020u
                                  : 0x80808080u;
  };
  op.flip_a = (descriptor >> 13 & 1) != 0 ? signs(types->a) : 0;
  op.flip_b = (descriptor >> 14 & 1) != 0 ? signs(types->b) : 0;
  if (warp.counts_traffic())
    count_products(warp, inst, static_cast<u64>(rows * op.n * types->shape.k));
  add_products(warp, inst, op);
}

// Each CTA of a pair copies from its own shared memory to its own tensor memory.
void copy(Warp& warp, const Inst& inst, u32 mask) {
  constexpr int kWords = 4;
  for (u32 left = mask; left != 0 && !warp.cta().stopping(); left &= left - 1) {
    TensorProduct op;
    op.at = &inst;
    op.warp = &warp;
    op.lane = std::countr_zero(left);
    op.copies = true;
    op.n = kWords;
    const u64 place = address_of(warp, inst, op.lane);
    op.d = static_cast<int>(place & 0xffff);
    op.b = lanes<u64>(warp, inst.b)[op.lane];
    if (place >> 16 != 0)
      return fail(warp, inst, op.lane, "a copy to every quarter does not begin in lane 0");
    if (!check_descriptor(warp, inst, op.lane, op.b)) return;
    add_products(warp, inst, op);
  }
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
    u32 ctas = u32{1} << rank_of(address);
    if ((inst.flags & kMulticast) != 0) ctas = lanes<u32>(warp, inst.b)[lane] & 0xffff;
    if (ctas == 0 || ctas >> cta.cluster().size() != 0) {
      return fail(
          warp, inst, lane,
          fmt::format("a commit to the CTAs {:#x} of a cluster of {}", ctas, cta.cluster().size()));
    }
    for (; ctas != 0; ctas &= ctas - 1) {
      const auto rank = static_cast<u64>(std::countr_zero(ctas));
      Mbarrier* const barrier = mbarrier_at(
          warp, inst, lane, address - shared_window(rank_of(address)) + shared_window(rank));
      if (barrier == nullptr) return;
      if (!issue({&inst, &warp, lane, cta.tensor_products().behind_last_of(warp, lane),
                  (inst.flags & kPair) != 0},
                 *barrier))
        return;
    }
  }
}

// --- decoding ---

void decode_access(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                   bool loads, Inst& out) {
  if (!modifiers.take("sync") || !modifiers.take("aligned")) return;
  const int which_shape =
      modifiers.take_one_of("32x32b", "16x32bx2", "16x64b", "16x128b", "16x256b");
  if (which_shape < 0) return;
  const auto shape = static_cast<std::size_t>(which_shape);
  const bool halves = static_cast<AccessShape>(shape) == AccessShape::halves16x32;
  const std::size_t operands = halves ? 3 : 2;
  const int which = modifiers.take_one_of("x1", "x2", "x4", "x8", "x16", "x32", "x64", "x128");
  if (which < 0 || modifiers.take_type() != Type::b32 ||
      !decoder.require_operands(instruction, operands, operands))
    return;
  const std::span<const Operand> registers =
      decoder.elements(loads ? instruction.operands[0] : instruction.operands.back());
  const int wanted = kRegisters[shape] << which;
  if (wanted > 128) return decoder.refuse("an access has at most 128 registers");
  if (std::ssize(registers) != wanted)
    return decoder.refuse(fmt::format("it has {} registers, not {}", registers.size(), wanted));
  std::vector<Slot> list;
  for (const Operand& one : registers)
    list.push_back(loads ? decoder.destination(one, 32) : decoder.source(one, 32));
  out.list = decoder.keep(list);
  out.e = static_cast<Slot>(list.size());
  decoder.address(instruction.operands[loads ? 1 : 0], Space::generic, out);
  out.flags |= static_cast<u32>(shape);
  if (halves) {
    const Operand& split = instruction.operands[loads ? 2 : 1];
    if (split.kind != OperandKind::immediate || split.value >= TensorMemory::kColumns)
      return decoder.refuse("the columns between its halves have to be a constant below 512");
    out.c = static_cast<Slot>(split.value);
  }
  out.execute = loads ? load : store;
}

// .block_scale, and how many scales a step of k has: as .scale_vec or as .block, or as the kind has
// them.
bool take_scale_blocks(Decoder& decoder, Modifiers& modifiers, ProductKind kind, Inst& out) {
  if (!modifiers.take("block_scale")) return false;
  int given = modifiers.take_one_of("scale_vec::1X", "scale_vec::2X", "scale_vec::4X");
  const bool bytes = kind == ProductKind::mxf8f6f4;
  const int block = modifiers.take_one_of("block32", "block16");
  if (block >= 0) given = bytes ? 0 : block + 1;
  if (given < 0) given = bytes ? 0 : kind == ProductKind::mxf4 ? 1 : -1;
  const bool known = bytes                       ? given == 0 && block <= 0
                     : kind == ProductKind::mxf4 ? given == 1
                                                 : given == 1 || given == 2;
  if (!known) {
    decoder.refuse("there are no such scales of this kind");
    return false;
  }
  out.flags |= given == 1 ? kTwoScales : given == 2 ? kFourScales : 0;
  return true;
}

void decode_product(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                    Inst& out) {
  const int kind = modifiers.take_one_of("kind::f16", "kind::tf32", "kind::f8f6f4", "kind::i8",
                                         "kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4");
  if (kind < 0) return;
  const bool scaled = has_scales(static_cast<ProductKind>(kind));
  if (scaled && !take_scale_blocks(decoder, modifiers, static_cast<ProductKind>(kind), out)) return;
  modifiers.take_one_of("collector::a::fill", "collector::a::use", "collector::a::lastuse",
                        "collector::a::discard");
  // Without scales, disable-output-lane may stand ahead of enable-input-d.
  const std::size_t least = scaled ? 7 : 5, most = scaled ? 7 : 6;
  if (!decoder.require_operands(instruction, least, most)) return;
  const std::vector<Operand>& operands = instruction.operands;
  // enable-input-d is a predicate or a constant, and so is the last operand, but for scale-input-d.
  const bool disables = operands.size() == 6 && operands[4].kind == OperandKind::vector;
  if (!scaled && operands.size() == 6 && !disables)
    return decoder.refuse("scale-input-d is not emulated");
  decoder.address(operands[0], Space::generic, out);
  out.flags |= static_cast<u32>(kind);
  if (operands[1].kind == OperandKind::address) {
    const AddressOperand a = decoder.address(operands[1], Space::generic);
    if (a.wide) return decoder.refuse("the address of A has to have 32 bits");
    out.b = a.base;
    out.e = static_cast<Slot>(a.offset);
    out.flags |= kTensorA;
  } else {
    out.b = decoder.source(operands[1], 64);
  }
  out.c = decoder.source(operands[2], 64);
  out.d = decoder.source(operands[3], 32);
  out.p = decoder.predicate(operands.back());
  if (scaled) {
    std::vector<Slot> addresses;
    for (const std::size_t at : {4, 5}) {
      const AddressOperand scales = decoder.address(operands[at], Space::generic);
      if (scales.wide || scales.offset != 0)
        return decoder.refuse("the address of scales has to be a register of 32 bits");
      addresses.push_back(scales.base);
    }
    out.list = decoder.keep(addresses);
  } else if (disables) {
    const std::span<const Operand> words = decoder.elements(operands[4]);
    const std::size_t wanted = (out.flags & kPair) != 0 ? 8 : 4;
    if (words.size() != wanted)
      return decoder.refuse(
          fmt::format("disable-output-lane has {} registers, not {}", words.size(), wanted));
    std::vector<Slot> disabled;
    for (const Operand& word : words) disabled.push_back(decoder.source(word, 32));
    out.list = decoder.keep(disabled);
    out.flags |= kDisablesLanes;
  }
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

  enum { kAlloc, kDealloc, kPermit, kMma, kCommit, kCopy };

  const int which =
      modifiers.take_one_of("alloc", "dealloc", "relinquish_alloc_permit", "mma", "commit", "cp");
  if (which < 0) return;
  const int group = modifiers.take_one_of("cta_group::1", "cta_group::2");
  if (group < 0) return;
  int& kernel_group = decoder.program().tensor_group;
  if (kernel_group != 0 && kernel_group != group + 1) {
    return decoder.refuse(
        "a kernel's tcgen05 instructions have .cta_group::1 or .cta_group::2, not both");
  }
  kernel_group = group + 1;
  if (group == 1) out.flags |= kPair;
  if (which == kMma) return decode_product(decoder, instruction, modifiers, out);
  const std::vector<Operand>& operands = instruction.operands;
  if (which == kCopy) {
    if (!modifiers.take("32x128b") || !modifiers.take("warpx4"))
      return decoder.refuse("only the copy 32x128b.warpx4 is emulated");
    if (!decoder.require_operands(instruction, 2, 2)) return;
    decoder.address(operands[0], Space::generic, out);
    out.b = decoder.source(operands[1], 64);
    out.execute = copy;
    return;
  }
  if (which == kCommit) {
    if (!modifiers.take("mbarrier::arrive::one")) return;
    const bool shared = modifiers.take("shared::cluster");
    const bool multicast = modifiers.take("multicast::cluster");
    const std::size_t wanted = multicast ? 2 : 1;
    if (!modifiers.take("b64") || !decoder.require_operands(instruction, wanted, wanted)) return;
    decoder.address(operands[0], shared ? Space::shared : Space::generic, out);
    if (multicast) out.b = decoder.source(operands[1], 16);
    out.flags |= (shared ? 0 : kGeneric) | (multicast ? kMulticast : 0);
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
