// SPDX-License-Identifier: MIT
// cp.async.bulk and cp.async.bulk.tensor (PTX ISA 9.0 sections 9.7.9.25.4 and .5, what the TMA unit
// does), in tile mode: bytes or boxes from global to shared memory, counted by an mbarrier, to one
// CTA of the cluster or to several, and back, waited for by groups; and bytes from a CTA's shared
// memory to that of another. Not here: im2col, reductions.
//
// Issuing checks both ends. A load is performed when a thread asks for the phase that counts it
// (mbarriers.h), a store when its thread waits for its group, be it with .read or without.
#include "harness/emulator/machine/bulk_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "harness/emulator/decode/decode.h"
#include "harness/emulator/decode/families.h"
#include "harness/emulator/instructions/half.h"
#include "harness/emulator/instructions/rounding.h"
#include "harness/emulator/machine/access.h"
#include "harness/emulator/machine/cluster.h"
#include "harness/emulator/machine/mbarrier_phases.h"
#include "harness/emulator/memory/address_space.h"
#include "harness/emulator/memory/global_memory.h"
#include "harness/emulator/memory/tensor_map_code.h"

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

constexpr u64 kChunk = 16;
constexpr u64 kTensorAlignment = 128;  // of a box in shared memory

const BulkCopy& operation(const Warp& warp, const Inst& inst) {
  return *warp.program().bulk_copies[static_cast<std::size_t>(inst.immediate)];
}

// --- which bytes ---

// A generic address of a tensor map: a parameter, a constant, or global memory.
std::optional<TensorMap> read_tensor_map(Warp& warp, const Inst& inst, int lane, u64 address) {
  const auto l = static_cast<std::size_t>(lane);
  const u32 mask = u32{1} << lane;
  Pointers p{};
  EncodedTensorMap encoded;
  for (std::size_t at = 0; at < encoded.size(); at += kChunk) {
    p.address[l] = address + at;
    if (!resolve<Space::generic, 16>(warp, inst, mask, p, Intent::read)) return std::nullopt;
    std::memcpy(encoded.data() + at, p.host[l], kChunk);
  }
  const std::optional<TensorMap> map = decode_tensor_map(encoded);
  if (!map) {
    warp.fail(FindingKind::bad_operand, inst, lane,
              [&] { return fmt::format("there is no tensor map at {:#x}", address); });
    return std::nullopt;
  }
  if (const Status fine = check_tensor_map(*map); !fine) {  // a kernel may have changed it
    warp.fail(FindingKind::bad_operand, inst, lane, [&] {
      return fmt::format("the tensor map at {:#x}: {}", address, fine.error().message);
    });
    return std::nullopt;
  }
  return map;
}

// Two elements of 16 bits, or one of 32. The manual leaves the NaN open. A public probe of a chip
// of compute capability 12.1 saw this one in a tensor of f32. We know of no measurement on an H100,
// or for 16 bits.
u32 fill_of(const TensorMap& map) { return map.fill_nan ? 0x7ff77ff7 : 0; }

// The row of a box that begins at the coordinates: which of its bytes are the tensor's, and where.
// False when none are.
bool clip(const TensorMap& map, const std::array<i64, TensorMap::kMaxRank>& at, u64& address,
          BulkRow& row) {
  for (std::size_t d = 1; d < map.rank; ++d) {
    if (at[d] < 0 || at[d] >= map.dims[d]) return false;
  }
  const i64 first = std::max<i64>(at[0], 0), end = std::min(at[0] + map.box[0], map.dims[0]);
  if (first >= end) return false;
  row.before = static_cast<u32>(map.bytes(first - at[0]));
  row.copied = static_cast<u32>(map.bytes(end - first));
  address = map.address + static_cast<u64>(map.bytes(first));
  for (std::size_t d = 1; d < map.rank; ++d)
    address += static_cast<u64>(at[d]) * static_cast<u64>(map.strides[d]);
  return true;
}

// Global memory may be used: bounds, and what else is watched. A load reads the tensor's bytes
// alone. A store writes whole chunks: where the tensor's row ends within one, it overwrites the
// rest of the chunk (seen on an H100 by scripts/gpu/tensor_copies.cu, and by others:
// https://github.com/triton-lang/triton/issues/11583).
bool resolve_row(Warp& warp, const Inst& inst, int lane, u64 address, BulkRow& row, Intent intent) {
  const auto l = static_cast<std::size_t>(lane);
  const u32 mask = u32{1} << lane;
  Pointers p{};
  p.address[l] = address;
  if (!resolve_global_slowly(warp, inst, mask, p, static_cast<int>(row.copied), intent))
    return false;
  row.global = p.host[l];
  if (warp.counts_traffic())
    count_bulk_range(warp, inst, address, row.copied, intent == Intent::read);
  const u64 over = intent == Intent::write ? (kChunk - row.copied % kChunk) % kChunk : 0;
  if (over == 0) return true;
  const u64 end = address + row.copied;
  const GlobalMemory& global = warp.cta().launch().global;
  if (const Allocation* allocation = global.find(end - 1); !allocation->holds(end, over)) {
    warp.fail(FindingKind::out_of_bounds, inst, lane, [&] {
      return fmt::format(
          "writes {} bytes of global memory behind the end of a tensor's row, because bulk copies "
          "to a tensor write whole chunks of 16 bytes; {}",
          over, global.describe(end));
    });
    return false;
  }
  p.address[l] = end;
  row.copied += static_cast<u32>(over);
  return resolve_global_slowly(warp, inst, mask, p, static_cast<int>(over), intent);
}

// Shared memory has room for a box. All CTAs of a cluster have the same.
bool check_room(Warp& warp, const Inst& inst, int lane, u64 shared, u64 bytes) {
  const Cta* const owner = shared_memory_at(warp, inst, lane, shared);
  if (owner == nullptr) return false;
  if (owner->shared().holds(shared, bytes)) return true;
  warp.fail(FindingKind::out_of_bounds, inst, lane, [&] {
    return fmt::format("a bulk copy of {} bytes at {:#x} of shared memory; {}", bytes, shared,
                       owner->shared().extent());
  });
  return false;
}

std::optional<BulkBox> tensor_box(Warp& warp, const Inst& inst, const BulkCopy& copy, int lane,
                                  u64 shared, Intent intent) {
  const std::optional<TensorMap> map =
      read_tensor_map(warp, inst, lane, address_at(warp, copy.global, lane));
  if (!map) return std::nullopt;
  if (map->rank != copy.coordinates.size()) {
    warp.fail(FindingKind::bad_operand, inst, lane, [&] {
      return fmt::format("a tensor map of {} dimensions, and {} coordinates", map->rank,
                         copy.coordinates.size());
    });
    return std::nullopt;
  }
  std::array<i64, TensorMap::kMaxRank> corner{};
  for (std::size_t d = 0; d < map->rank; ++d)
    corner[d] = lanes<std::int32_t>(warp, copy.coordinates[d])[lane];
  if (corner[0] * map->element_bits() % 8 != 0) {
    warp.fail(FindingKind::misaligned, inst, lane, [&] {
      return fmt::format("a bulk copy whose box begins at element {}, in the middle of a byte",
                         corner[0]);
    });
    return std::nullopt;
  }
  if (const i64 begin = map->bytes(corner[0]);
      intent != Intent::read && begin % static_cast<i64>(kChunk) != 0) {
    // An H100 stopped with an illegal instruction at -1.
    warp.fail(FindingKind::misaligned, inst, lane, [&] {
      return fmt::format(
          "a bulk copy to a tensor whose box begins at byte {} of the innermost dimension; it has "
          "to be a multiple of 16",
          begin);
    });
    return std::nullopt;
  }
  BulkBox box;
  if (map->integers == 0) box.format = map->format;
  box.row_bytes = static_cast<u32>(map->bytes(map->box[0]));
  box.swizzle = std::max(16u, static_cast<u32>(map->swizzle));
  box.fill = fill_of(*map);
  // Before the rows are listed: there may be 2^32 of them.
  u64 rows = 1;
  for (std::size_t d = 1; d < map->rank; ++d) rows *= static_cast<u64>(map->box[d]);
  if (!check_room(warp, inst, lane, shared, box.footprint(rows))) return std::nullopt;
  std::array<i64, TensorMap::kMaxRank> at = corner;
  for (std::size_t d = 0; d < map->rank;) {
    BulkRow& row = box.rows.emplace_back();
    row.shared = shared;
    shared += box.row_bytes;
    u64 address = 0;
    if (clip(*map, at, address, row) && !resolve_row(warp, inst, lane, address, row, intent))
      return std::nullopt;
    // The next row: the innermost of the outer dimensions goes first.
    for (d = 1; d < map->rank && ++at[d] == corner[d] + map->box[d]; ++d) at[d] = corner[d];
  }
  return box;
}

std::optional<BulkBox> plain_box(Warp& warp, const Inst& inst, const BulkCopy& copy, int lane,
                                 u64 shared, Intent intent) {
  const u64 address = address_at(warp, copy.global, lane);
  const u32 bytes = lanes<u32>(warp, copy.bytes)[lane];
  if (bytes % kChunk != 0 || address % kChunk != 0) {
    warp.fail(FindingKind::misaligned, inst, lane, [&] {
      return fmt::format(
          "a bulk copy of {} bytes at {:#x} of global memory; both have to be "
          "multiples of 16",
          bytes, address);
    });
    return std::nullopt;
  }
  BulkBox box;
  box.row_bytes = bytes;
  if (!check_room(warp, inst, lane, shared, bytes)) return std::nullopt;
  BulkRow& row = box.rows.emplace_back();
  row.shared = shared;
  row.copied = bytes;
  if (bytes != 0 && !resolve_row(warp, inst, lane, address, row, intent)) return std::nullopt;
  return box;
}

std::optional<BulkBox> box_of(Warp& warp, const Inst& inst, const BulkCopy& copy, int lane,
                              Intent intent) {
  const bool tensor = !copy.coordinates.empty();
  const u64 shared = address_at(warp, copy.shared, lane);
  const u64 alignment = tensor ? kTensorAlignment : kChunk;
  if (shared % alignment != 0) {
    warp.fail(FindingKind::misaligned, inst, lane, [&] {
      return fmt::format("a bulk copy at {:#x} of shared memory, which is not a multiple of {}",
                         shared, alignment);
    });
    return std::nullopt;
  }
  return tensor ? tensor_box(warp, inst, copy, lane, shared, intent)
                : plain_box(warp, inst, copy, lane, shared, intent);
}

// Calls visit(shared bytes, offset in the row) for every chunk of a row.
template <typename Visit>
void each_chunk(SharedMemory& shared, const BulkBox& box, const BulkRow& row, Visit&& visit) {
  for (u32 at = 0; at < box.row_bytes; at += kChunk)
    visit(shared.data(swizzled(row.shared + at, box.swizzle)), at);
}

// --- loads ---

// The box with its rows in another CTA's shared memory.
BulkBox moved(BulkBox box, u64 by) {
  for (BulkRow& row : box.rows) row.shared += by;
  return box;
}

// The copy to one CTA. False after a finding that stops the launch.
bool load_to(Warp& warp, const Inst& inst, int lane, u64 to, u64 at, BulkLoad load) {
  Mbarrier* const barrier = mbarrier_at(warp, inst, lane, at);
  Cta* const owner = barrier != nullptr ? shared_memory_at(warp, inst, lane, to) : nullptr;
  if (owner == nullptr) return false;
  const bool pair = operation(warp, inst).pair;
  const auto group = [&](u64 address) { return pair ? rank_of(address) / 2 : rank_of(address); };
  if (group(to) != group(at)) {
    warp.fail(FindingKind::bad_operand, inst, lane, [&] {
      return fmt::format(
          "a bulk copy to CTA rank {} of the cluster, with an mbarrier in CTA rank {}; both have "
          "to be in the same {}",
          rank_of(to), rank_of(at), pair ? "pair of CTAs" : "CTA");
    });
    return false;
  }
  const u64 bytes = load.box.footprint();
  issue_copy(std::move(load), *barrier, to, bytes);
  return true;
}

// The CTAs that a multicast goes to, as a mask; 0 after a finding.
u32 targets(Warp& warp, const Inst& inst, const BulkCopy& copy, int lane) {
  const u32 ctas = lanes<u32>(warp, copy.ctas)[lane] & 0xffff;
  const std::size_t size = warp.cta().cluster().size();
  if (ctas != 0 && ctas >> size == 0) return ctas;
  warp.fail(FindingKind::bad_operand, inst, lane,
            [&] { return fmt::format("a copy to the CTAs {:#x} of a cluster of {}", ctas, size); });
  return 0;
}

void load(Warp& warp, const Inst& inst, u32 mask) {
  const BulkCopy& copy = operation(warp, inst);
  for (u32 left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const u64 to = address_at(warp, copy.shared, lane), at = address_at(warp, copy.barrier, lane);
    std::optional<BulkBox> box = box_of(warp, inst, copy, lane, Intent::read);
    if (!box) return;
    if (warp.counts_traffic()) count_bulk(warp, inst, *box, true);
    const BulkLoad load{&inst, &warp, lane, std::move(*box)};
    if (!copy.multicast) {
      if (!load_to(warp, inst, lane, to, at, load)) return;
      continue;
    }
    // To the same place of each CTA, and counted by the mbarrier at the same place.
    for (u32 ctas = targets(warp, inst, copy, lane); ctas != 0; ctas &= ctas - 1) {
      const auto rank = static_cast<u64>(std::countr_zero(ctas));
      const u64 by = shared_window(rank) - shared_window(rank_of(to));
      BulkLoad one = load;
      one.box = moved(std::move(one.box), by);
      // Of a pair, the one that the instruction names: the even or the odd one.
      const u64 counts = copy.pair ? rank / 2 * 2 + rank_of(at) % 2 : rank;
      const u64 barrier = at - shared_window(rank_of(at)) + shared_window(counts);
      if (!load_to(warp, inst, lane, to + by, barrier, std::move(one))) return;
    }
    if (warp.cta().stopping()) return;
  }
}

// From the CTA's own shared memory to that of the cluster.
void load_shared(Warp& warp, const Inst& inst, u32 mask) {
  const BulkCopy& copy = operation(warp, inst);
  for (u32 left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const u64 to = address_at(warp, copy.shared, lane), at = address_at(warp, copy.barrier, lane),
              from = address_at(warp, copy.global, lane);
    const u32 bytes = lanes<u32>(warp, copy.bytes)[lane];
    if ((to | from | bytes) % kChunk != 0) {
      return warp.fail(FindingKind::misaligned, inst, lane, [&] {
        return fmt::format(
            "a bulk copy of {} bytes from {:#x} to {:#x} of shared memory; all three have to be "
            "multiples of 16",
            bytes, from, to);
      });
    }
    SharedMemory& own = warp.cta().shared();
    if (!own.holds(from, bytes)) {
      out_of_bounds(warp, inst, lane, from, Space::shared, static_cast<int>(bytes), Intent::read);
      return;
    }
    if (!check_room(warp, inst, lane, to, bytes)) return;
    if (own.check()) {
      Accessor who = accessor(warp);
      who.lane = lane;
      const auto problem = own.explain_issue(who, from, static_cast<int>(bytes));
      if (problem) shared_problem(warp, inst, lane, *problem);
    }
    BulkLoad load{&inst, &warp, lane};
    load.box.row_bytes = bytes;
    BulkRow& row = load.box.rows.emplace_back();
    row.shared = to;
    row.copied = bytes;
    load.from = from;
    if (!load_to(warp, inst, lane, to, at, std::move(load))) return;
  }
}

// --- stores and reductions ---

bool can_add(FormatId id) {
  return id == FormatId::f32 || id == FormatId::f16 || id == FormatId::bf16 || id == FormatId::s32;
}

// Elements of that format to those in memory. Sums of f32 flush subnormals, as red.add does in
// global memory.
void add_to(std::byte* memory, const std::byte* from, u32 bytes, FormatId id) {
  const auto each = [&]<typename T>(T, auto&& sum) {
    for (u32 at = 0; at + sizeof(T) <= bytes; at += sizeof(T)) {
      T old, own;
      std::memcpy(&old, memory + at, sizeof(T));
      std::memcpy(&own, from + at, sizeof(T));
      const T result = sum(old, own);
      std::memcpy(memory + at, &result, sizeof(T));
    }
  };
  switch (id) {
    case FormatId::f32:
      return each(u32{}, [](u32 old, u32 own) {
        return flush(canonical(as_bits(as_float(flush(old)) + as_float(flush(own)))));
      });
    case FormatId::f16:
      return each(std::uint16_t{}, [](std::uint16_t old, std::uint16_t own) {
        return static_cast<std::uint16_t>(f32_to_f16(as_bits(f16_to_f32(old) + f16_to_f32(own))));
      });
    case FormatId::bf16:
      return each(std::uint16_t{}, [](std::uint16_t old, std::uint16_t own) {
        return static_cast<std::uint16_t>(
            f32_to_bf16(as_bits(bf16_to_f32(old) + bf16_to_f32(own))));
      });
    default:
      return each(u32{}, [](u32 old, u32 own) { return old + own; });
  }
}

void store(Warp& warp, const Inst& inst, u32 mask) {
  for (u32 left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const BulkCopy& copy = operation(warp, inst);
    std::optional<BulkBox> box =
        box_of(warp, inst, copy, lane, copy.adds ? Intent::update : Intent::write);
    if (!box) return;
    std::optional<FormatId> adds;
    if (copy.adds) {
      adds = copy.coordinates.empty() ? copy.added : box->format;
      if (!adds || !can_add(*adds)) {
        warp.fail(FindingKind::bad_operand, inst, lane, [] {
          return "a reduction of a tensor whose elements are not f32, f16, bf16 or s32: others are "
                 "not emulated";
        });
        return;
      }
    }
    if (warp.counts_traffic()) count_bulk(warp, inst, *box, false);
    const SharedMemory& shared = warp.cta().shared();
    if (shared.check() && !box->rows.empty()) {
      Accessor who = accessor(warp);
      who.lane = lane;
      const auto bytes = static_cast<int>(box->footprint());
      const auto problem = shared.explain_issue(who, box->rows.front().shared, bytes);
      if (problem) shared_problem(warp, inst, lane, *problem);
    }
    BulkStore store;
    store.at = &inst;
    store.issued = warp.cta().shared().order().next_tick();
    store.box = std::move(*box);
    store.adds = adds;
    warp.bulk_stores().add(lane, std::move(store));
  }
}

void perform(Warp& warp, const BulkStore& store) {
  SharedMemory& shared = warp.cta().shared();
  const BulkBox& box = store.box;
  if (shared.check() && !box.rows.empty()) {
    Accessor who = accessor(warp);
    who.lane = store.lane;
    who.inst = store.at;
    const auto bytes = static_cast<int>(box.footprint());
    const u64 from = box.rows.front().shared;
    auto problem = shared.explain_async_read(who, from, bytes);
    if (!problem) problem = shared.written_since(from, bytes, store.issued);
    if (problem) shared_problem(warp, *store.at, store.lane, *problem);
  }
  std::vector<std::byte> bytes(box.row_bytes);
  for (const BulkRow& row : box.rows) {
    if (row.global == nullptr) continue;
    each_chunk(shared, box, row,
               [&](const std::byte* from, u32 at) { std::memcpy(&bytes[at], from, kChunk); });
    if (store.adds) {
      add_to(row.global, &bytes[row.before], row.copied, *store.adds);
    } else {
      std::memcpy(row.global, &bytes[row.before], row.copied);
    }
  }
}

void commit(Warp& warp, const Inst&, u32 mask) { warp.bulk_stores().commit(mask); }

void wait(Warp& warp, const Inst& inst, u32 mask) {
  if (warp.counts_traffic()) count_exchange(warp);
  warp.bulk_stores().wait(mask, static_cast<u32>(inst.immediate),
                          [&](const BulkStore& store) { perform(warp, store); });
}

// --- decoding ---

// Takes .1d to .5d; 0: none.
std::size_t take_rank(Modifiers& modifiers) {
  return static_cast<std::size_t>(modifiers.take_one_of("1d", "2d", "3d", "4d", "5d") + 1);
}

void decode_coordinates(Decoder& decoder, const Operand& tensor, std::size_t rank, BulkCopy& copy) {
  if (tensor.elements.size() != 2 || tensor.elements[1].elements.size() != rank)
    return decoder.refuse(
        fmt::format("a tensor of {} dimensions needs [map, {{coordinates}}]", rank));
  for (const Operand& coordinate : tensor.elements[1].elements)
    copy.coordinates.push_back(decoder.source(coordinate, 32));
}

void decode_group(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                  Handler handler, Inst& out) {
  const bool waits = handler == wait;
  if (waits) modifiers.take("read");
  const std::size_t operands = waits ? 1 : 0;
  if (!decoder.require_operands(instruction, operands, operands)) return;
  if (waits) out.immediate = decoder.immediate(instruction.operands[0]);
  out.execute = handler;
}

void nothing(Warp&, const Inst&, u32) {}

}  // namespace

void issue_copy(BulkLoad load, Mbarrier& barrier, u64 to, u64 bytes) {
  Warp& warp = *load.warp;
  SharedMemory& shared = warp.cta().cluster().ctas()[rank_of(to)]->shared();
  if (shared.check()) {
    shared.order().begin_asynchronous();
    Accessor who = accessor(warp, shared);
    who.lane = load.lane;
    who.inst = load.at;
    const auto problem = shared.explain_copy(who, to, static_cast<int>(bytes), kInBulk);
    if (problem) shared_problem(warp, *load.at, load.lane, *problem);
    shared.order().end_asynchronous();
  }
  issue(std::move(load), barrier);
}

Cta& destination(const BulkLoad& load) {
  const bool is_value = load.stored != 0 || load.box.rows.empty();
  const u64 to = is_value ? load.to : load.box.rows.front().shared;
  return *load.warp->cta().cluster().ctas()[rank_of(to)];
}

void perform(const BulkLoad& load) {
  SharedMemory& shared = destination(load).shared();
  if (load.from != 0) {
    SharedMemory& source = load.warp->cta().shared();
    const auto bytes = static_cast<int>(load.box.row_bytes);
    if (source.check()) {
      Accessor who = accessor(*load.warp);
      who.lane = load.lane;
      who.inst = load.at;
      const auto problem = source.explain_async_read(who, load.from, bytes);
      if (problem) shared_problem(*load.warp, *load.at, load.lane, *problem);
    }
    const u64 to = load.box.rows.front().shared;
    std::memcpy(shared.data(to), source.data(load.from), load.box.row_bytes);
    return shared.mark_written(to, bytes);
  }
  if (load.stored != 0) {
    std::memcpy(shared.data(load.to), load.value.data(), load.stored);
    return shared.mark_written(load.to, static_cast<int>(load.stored));
  }
  const BulkBox& box = load.box;
  std::vector<std::byte> bytes(box.row_bytes);
  for (const BulkRow& row : box.rows) {
    for (u32 at = 0; at < box.row_bytes; at += 4) std::memcpy(&bytes[at], &box.fill, 4);
    if (row.global != nullptr) std::memcpy(&bytes[row.before], row.global, row.copied);
    each_chunk(shared, box, row,
               [&](std::byte* to, u32 at) { std::memcpy(to, &bytes[at], kChunk); });
  }
  if (!box.rows.empty())
    shared.mark_written(box.rows.front().shared, static_cast<int>(box.footprint()));
}

void finish_stores(Warp& warp, u32 lanes) {
  for (const BulkStore& store : warp.bulk_stores().pending()) {
    if ((lanes >> store.lane & 1) == 0) continue;
    warp.report(FindingKind::missing_wait, *store.at, store.lane, [] {
      return std::string(
          "the thread exits without cp.async.bulk.wait_group, and the copy may read "
          "shared memory that is no longer there");
    });
  }
  // It is found, so the rest of the kernel may be seen as on a chip that copies in time.
  warp.bulk_stores().commit(lanes);
  warp.bulk_stores().wait(lanes, 0, [&](const BulkStore& store) { perform(warp, store); });
}

void report_unfinished(const BulkLoad& load) {
  load.warp->report(FindingKind::missing_wait, *load.at, load.lane, [] {
    return std::string(
        "its mbarrier is gone, or the CTA, and no thread has waited there for this copy");
  });
}

void decode_bulk(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                 bool reduces, Inst& out) {
  decoder.require_sm(90);
  if (modifiers.take("commit_group"))
    return decode_group(decoder, instruction, modifiers, commit, out);
  if (modifiers.take("wait_group")) return decode_group(decoder, instruction, modifiers, wait, out);
  if (modifiers.take("prefetch")) {
    while (!modifiers.empty()) modifiers.take_first();
    out.execute = nothing;
    return;
  }
  const bool tensor = modifiers.take("tensor");
  const std::size_t rank = tensor ? take_rank(modifiers) : 0;
  if (tensor && rank == 0) return decoder.refuse("the number of dimensions is missing");
  modifiers.take("tile");
  const bool to_global = !modifiers.left().empty() && modifiers.left().front() == "global";
  modifiers.take("global");
  auto copy = std::make_unique<BulkCopy>();
  copy->adds = reduces;
  if (reduces) {
    if (!to_global || !modifiers.take("add"))
      return decoder.refuse("bulk reductions are emulated to global memory, and as additions");
    modifiers.take("noftz");
    const int type = tensor ? 0 : modifiers.take_one_of("f32", "f16", "bf16", "u32", "s32");
    if (type < 0) return decoder.refuse("bulk reductions are emulated of f32, f16, bf16 and s32");
    copy->added = std::array{FormatId::f32, FormatId::f16, FormatId::bf16, FormatId::s32,
                             FormatId::s32}[static_cast<std::size_t>(type)];
    decoder.program().communicates = true;
  }
  const bool to_cluster = modifiers.take("shared::cluster");
  const bool names_own = modifiers.take("shared::cta");
  const bool from_shared = to_cluster && names_own && !tensor && !to_global;
  copy->multicast = modifiers.take("multicast::cluster");
  copy->pair = modifiers.take_one_of("cta_group::1", "cta_group::2") == 1;
  const bool hinted = modifiers.take_cache_policy();
  if (!modifiers.take(to_global ? "bulk_group" : "mbarrier::complete_tx::bytes")) return;
  if (copy->pair && (!tensor || to_global))
    return decoder.refuse(".cta_group is for copies of tensors to shared memory");

  // Destination, source, the size of plain bytes, the mbarrier of a load, the CTAs of a multicast.
  const std::size_t expected =
      2 + (tensor ? 0 : 1) + (to_global ? 0 : 1) + (copy->multicast ? 1 : 0) + (hinted ? 1 : 0);
  if (!decoder.require_operands(instruction, expected, expected)) return;
  const std::vector<Operand>& operands = instruction.operands;
  const Operand &shared = operands[to_global ? 1 : 0], &global = operands[to_global ? 0 : 1];
  copy->shared = decoder.address(shared, Space::shared);
  copy->global = decoder.address(
      global, tensor ? Space::generic : (from_shared ? Space::shared : Space::global));
  if (tensor) decode_coordinates(decoder, global, rank, *copy);
  std::size_t next = 2;
  if (!tensor) copy->bytes = decoder.source(operands[next++], 32);
  if (!to_global) copy->barrier = decoder.address(operands[next++], Space::shared);
  if (copy->multicast) copy->ctas = decoder.source(operands[next], 16);
  out.immediate = static_cast<i64>(decoder.program().bulk_copies.size());
  decoder.program().bulk_copies.push_back(std::move(copy));
  out.execute = to_global ? store : (from_shared ? load_shared : load);
}

}  // namespace plumbline::emulator
