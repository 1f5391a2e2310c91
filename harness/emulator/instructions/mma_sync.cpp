// SPDX-License-Identifier: MIT
// Warp-wide matrix instructions (PTX ISA 9.0 section 9.7.14.5): mma.sync, ldmatrix, stmatrix,
// movmatrix. An 8x8 matrix of 16-bit elements held "one register per lane" is 8 rows of 16 bytes in
// lane order:
//
//   row r = lanes 4r .. 4r+3, two elements each      register bytes = row 0 | row 1 | ... | row 7
//
// so ldmatrix copies 8 rows, one after the other, into the register; .trans transposes the 8x8 on
// the way. The arithmetic of mma is oracles/models/mma.h.
#include "harness/emulator/decode/decode.h"
#include "harness/emulator/decode/mma_forms.h"
#include "harness/emulator/instructions/matrix_8x8.h"
#include "harness/emulator/instructions/matrix_pieces.h"
#include "harness/emulator/machine/access.h"
#include "oracles/models/mma.h"
#include "oracles/models/random_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace plumbline::emulator {
namespace {

using u16 = std::uint16_t;
using u32 = std::uint32_t;

// --- ldmatrix, stmatrix, movmatrix ---

template <int Count>
constexpr u32 kAddressLanes = Count == 4 ? kFullMask : (u32{1} << (8 * Count)) - 1;

// The lanes whose row addresses count, resolved. False when the launch stops, or the lanes wait.
template <Space S, int Count>
[[gnu::always_inline]] inline bool rows(Warp& warp, const Inst& inst, u32& mask, Pointers& p,
                                        Intent intent) {
  if (mask != kFullMask) {
    mask = whole_warp(warp, inst, mask);
    if (mask == 0) return false;
  }
  if (intent == Intent::write) warp.note_meeting(mask);
  gather_addresses(warp, inst, p);
  if (warp.counts_traffic()) {
    count_access(warp, inst, mask & kAddressLanes<Count>, p.address, S, 16,
                 intent == Intent::read ? Access::load : Access::store);
  }
  return resolve<S, 16>(warp, inst, mask & kAddressLanes<Count>, p, intent);
}

template <Space S, int Count, bool Transposed>
[[gnu::always_inline]] inline void load_matrix(Warp& warp, const Inst& inst, u32 mask) {
  Pointers p;
  if (!rows<S, Count>(warp, inst, mask, p, Intent::read)) return;
  for (std::size_t j = 0; j < Count; ++j) {
    std::byte* const d = warp.slot(inst.list[j]);
    if (mask == kFullMask && !Transposed) {
      for (std::size_t r = 0; r < 8; ++r) __builtin_memcpy(d + 16 * r, p.host[8 * j + r], 16);
      continue;
    }
    alignas(64) std::byte matrix[128] = {};  // rows of lanes that are missing are zeros
    for (std::size_t r = 0; r < 8; ++r) {
      if (mask == kFullMask || (mask >> (8 * j + r) & 1) != 0)
        __builtin_memcpy(matrix + 16 * r, p.host[8 * j + r], 16);
    }
    if (mask == kFullMask) {
      transpose(matrix, d);
      continue;
    }
    alignas(64) std::byte out[128];
    if (Transposed) transpose(matrix, out);
    put(d, Transposed ? out : matrix, mask);
  }
  warp.note_meeting(mask);
}

template <Space S, int Count, bool Transposed>
[[gnu::always_inline]] inline void store_matrix(Warp& warp, const Inst& inst, u32 mask) {
  Pointers p;
  if (!rows<S, Count>(warp, inst, mask, p, Intent::write)) return;
  for (std::size_t j = 0; j < Count; ++j) {
    alignas(64) std::byte matrix[128];
    const std::byte* const a = warp.slot(inst.list[j]);
    if (Transposed) {
      transpose(a, matrix);
    } else {
      __builtin_memcpy(matrix, a, sizeof matrix);
    }
    for (std::size_t r = 0; r < 8; ++r) {
      if ((mask >> (8 * j + r) & 1) != 0) __builtin_memcpy(p.host[8 * j + r], matrix + 16 * r, 16);
    }
  }
  after_store(warp, inst);
}

[[gnu::always_inline]] inline void move_matrix(Warp& warp, const Inst& inst, u32 mask) {
  if (mask != kFullMask) {
    mask = whole_warp(warp, inst, mask);
    if (mask == 0) return;
  }
  warp.note_meeting(mask);
  alignas(64) std::byte out[128];
  transpose(warp.slot(inst.a), out);
  put(warp.slot(inst.d), out, mask);
}

template <Space S, bool Store, bool Transposed>
HandlerSet by_count(int count) {
  if constexpr (Store) {
    if (count == 1) return handlers_of<&store_matrix<S, 1, Transposed>>;
    if (count == 2) return handlers_of<&store_matrix<S, 2, Transposed>>;
    if (count == 4) return handlers_of<&store_matrix<S, 4, Transposed>>;
  } else {
    if (count == 1) return handlers_of<&load_matrix<S, 1, Transposed>>;
    if (count == 2) return handlers_of<&load_matrix<S, 2, Transposed>>;
    if (count == 4) return handlers_of<&load_matrix<S, 4, Transposed>>;
  }
  return {};
}

template <bool Store>
HandlerSet choose_matrix(Space space, int count, bool transposed) {
  if (space == Space::shared) {
    return transposed ? by_count<Space::shared, Store, true>(count)
                      : by_count<Space::shared, Store, false>(count);
  }
  return transposed ? by_count<Space::generic, Store, true>(count)
                    : by_count<Space::generic, Store, false>(count);
}

void decode_matrix_access(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                          Inst& out) {
  const bool store = instruction.opcode == "stmatrix";
  decoder.require_sm(store ? 90 : 75);
  const bool aligned =
      modifiers.take("sync") && modifiers.take("aligned") && modifiers.take("m8n8");
  const bool transposed = modifiers.take("trans");
  const int which = modifiers.take_one_of("x1", "x2", "x4");
  const bool in_shared = modifiers.take_one_of("shared", "shared::cta") >= 0;
  if (!aligned || which < 0 || modifiers.take_type() != Type::b16 ||
      !decoder.require_operands(instruction, 2, 2))
    return;
  const int count = 1 << which;
  const Space space = in_shared ? Space::shared : Space::generic;
  const std::span<const Operand> registers = decoder.elements(instruction.operands[store ? 1 : 0]);
  if (static_cast<int>(registers.size()) != count) {
    decoder.refuse(fmt::format("it has {} registers, not {}", registers.size(), count));
    return;
  }
  std::vector<Slot> list;
  for (const Operand& r : registers)
    list.push_back(store ? decoder.source(r, 32) : decoder.destination(r, 32));
  out.list = decoder.keep(list);
  decoder.address(instruction.operands[store ? 0 : 1], space, out);
  out.execute = pick(store ? choose_matrix<true>(space, count, transposed)
                           : choose_matrix<false>(space, count, transposed));
}

void decode_move_matrix(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                        Inst& out) {
  decoder.require_sm(75);
  if (!modifiers.take("sync") || !modifiers.take("aligned") || !modifiers.take("m8n8") ||
      !modifiers.take("trans") || modifiers.take_type() != Type::b16 ||
      !decoder.require_operands(instruction, 2, 2)) {
    return;
  }
  out.d = decoder.destination(instruction.operands[0], 32);
  out.a = decoder.source(instruction.operands[1], 32);
  out.execute = pick(handlers_of<&move_matrix>);
}

// --- mma ---

bool selector_exists(u32 byte, u32 thread, int bytes, int threads) {
  return byte % static_cast<u32>(bytes) == 0 && byte < 4 && thread < static_cast<u32>(threads);
}

std::string no_selector(u32 byte, u32 thread, int bytes) {
  return fmt::format("there is no byte {} of thread {} with {} scales", byte, thread, bytes);
}

// False after a finding.
bool take_scale(Warp& warp, const Inst& inst, u32 mask, const MmaOperation::Scale& of,
                MmaScales::Operand& out) {
  out = {reinterpret_cast<const LaneRegister*>(warp.slot(of.slot)), of.byte, of.thread};
  if (!of.ids) return true;
  const int first = std::countr_zero(mask);
  std::array<u32, 2> ids{};
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto values = lanes<u32>(warp, (*of.ids)[i]);
    ids[i] = values[first] & 0xffff;
    for (u32 left = mask; left != 0; left &= left - 1) {
      const int lane = std::countr_zero(left);
      if ((values[lane] & 0xffff) == ids[i]) continue;
      warp.fail(FindingKind::bad_operand, inst, lane,
                [] { return "its {byte-id, thread-id} differ between the lanes of a warp"; });
      return false;
    }
  }
  if (!selector_exists(ids[0], ids[1], of.bytes, of.threads)) {
    warp.fail(FindingKind::bad_operand, inst, first,
              [&] { return no_selector(ids[0], ids[1], of.bytes); });
    return false;
  }
  out.byte = static_cast<int>(ids[0]);
  out.thread = static_cast<int>(ids[1]);
  return true;
}

// False after a finding.
bool take_scales(Warp& warp, const Inst& inst, u32 mask, const MmaOperation& op, MmaScales& out) {
  return take_scale(warp, inst, mask, op.scales[0], out.a) &&
         take_scale(warp, inst, mask, op.scales[1], out.b);
}

template <bool Scaled>
[[gnu::always_inline]] inline void multiply(Warp& warp, const Inst& inst, u32 mask) {
  if (mask != kFullMask) {
    mask = whole_warp(warp, inst, mask);
    if (mask == 0) return;
  }
  warp.note_meeting(mask);
  const bool whole = mask == kFullMask;
  const MmaOperation& op = warp.program().mma[static_cast<std::size_t>(inst.immediate)];
  MmaScales scales;
  if (Scaled && !take_scales(warp, inst, mask, op, scales)) return;
  alignas(64) LaneRegister copies[4][MmaOperation::kMostRegisters];
  LaneRegister* const result = whole && op.in_place[0] != kSinkSlot
                                   ? reinterpret_cast<LaneRegister*>(warp.slot(op.in_place[0]))
                                   : copies[0];
  if (warp.counts_traffic()) count_products(warp, inst, macs_of_a_piece(op));
  WorkerState& worker = warp.cta().worker();
  const bool same_a =
      op.same_a && whole && worker.last_mma == &inst - 1 && worker.last_mma_warp == &warp;
  op.plan->run(collect(warp, op, 1, copies[1]), collect(warp, op, 2, copies[2]),
               collect(warp, op, 3, copies[3]), result, worker.mma, same_a,
               Scaled ? &scales : nullptr);
  worker.last_mma = whole ? &inst : nullptr;
  worker.last_mma_warp = &warp;
  if (result == copies[0]) distribute(warp, op, mask, copies[0]);
}

// The same with roundings that are moved at random.
template <bool Centered>
void multiply_randomly(Warp& warp, const Inst& inst, u32 mask) {
  if (mask != kFullMask) {
    mask = whole_warp(warp, inst, mask);
    if (mask == 0) return;
  }
  warp.note_meeting(mask);
  const MmaOperation& op = warp.program().mma[static_cast<std::size_t>(inst.immediate)];
  const bool scaled = op.plan->kind().scale.block != 0;
  MmaScales scales;
  if (scaled && !take_scales(warp, inst, mask, op, scales)) return;
  if (warp.counts_traffic()) count_products(warp, inst, macs_of_a_piece(op));
  alignas(64) LaneRegister copies[4][MmaOperation::kMostRegisters];
  mma_randomly(op.plan->kind(), collect(warp, op, 1, copies[1]), collect(warp, op, 2, copies[2]),
               collect(warp, op, 3, copies[3]), copies[0], {warp.next_random(), Centered},
               scaled ? &scales : nullptr);
  distribute(warp, op, mask, copies[0]);
}

Handler handler_of(const Decoder& decoder, const MmaKind& kind) {
  switch (decoder.random_rounding()) {
    case RandomRounding::off:
      return pick(kind.scale.block != 0 ? handlers_of<&multiply<true>>
                                        : handlers_of<&multiply<false>>);
    case RandomRounding::unbiased_nodes:
      return multiply_randomly<true>;
    case RandomRounding::on:
      break;
  }
  return multiply_randomly<false>;
}

// Whether an mma finds A as the one right before it, which has the same handler, left it. A guard
// might skip it: then A could change before it is next reached by a branch.
bool has_same_a(const Program& program, const Instruction& instruction, Handler handler,
                const MmaOperation& operation) {
  if (instruction.guard >= 0 || program.code.empty() || program.code.back().execute != handler)
    return false;
  const MmaOperation& before = program.mma[static_cast<std::size_t>(program.code.back().immediate)];
  const auto& [d, a, b, c] = before.fragments;
  if (a.slot != operation.fragments[1].slot || !before.plan->unpacks_a_as(*operation.plan))
    return false;
  for (int i = 0; i < d.count; ++i) {
    if (std::find(a.slot.begin(), a.slot.begin() + a.count, d.slot[static_cast<std::size_t>(i)]) !=
        a.slot.begin() + a.count) {
      return false;
    }
  }
  return true;
}

// D, A, B and C. False: refused.
bool take_fragments(Decoder& decoder, const Instruction& instruction, const MmaKind& kind,
                    MmaOperation& operation) {
  operation.plan = plan_for(kind, decoder.program());
  const int counts[] = {c_registers(kind), a_registers(kind), b_registers(kind), c_registers(kind)};
  for (std::size_t f = 0; f < 4; ++f) {
    const std::span<const Operand> registers = decoder.elements(instruction.operands[f]);
    if (static_cast<int>(registers.size()) != counts[f]) {
      decoder.refuse(
          fmt::format("operand {} has {} registers, not {}", f + 1, registers.size(), counts[f]));
      return false;
    }
    MmaOperation::Fragment& fragment = operation.fragments[f];
    fragment.count = counts[f];
    bool neighbors = true;
    for (std::size_t i = 0; i < registers.size(); ++i) {
      fragment.slot[i] =
          f == 0 ? decoder.destination(registers[i], 32) : decoder.source(registers[i], 32);
      neighbors = neighbors && fragment.slot[i] == fragment.slot[0] + static_cast<Slot>(i);
    }
    if (neighbors) operation.in_place[f] = fragment.slot[0];
  }
  return true;
}

void add_operation(Decoder& decoder, const Instruction& instruction, const MmaKind& kind,
                   MmaOperation& operation, Inst& out) {
  out.execute = handler_of(decoder, kind);
  operation.same_a = has_same_a(decoder.program(), instruction, out.execute, operation);
  out.immediate = static_cast<std::int64_t>(decoder.program().mma.size());
  decoder.program().mma.push_back(operation);
}

// {byte-id, thread-id}, numbers or registers. `bytes`: of the word that are taken together. The
// word may stand in braces of its own.
void take_scale_selector(Decoder& decoder, const Operand& word, const Operand& selector, int bytes,
                         int threads, MmaOperation::Scale& out) {
  const std::span<const Operand> ids = decoder.elements(selector), words = decoder.elements(word);
  if (ids.size() != 2 || words.size() != 1)
    return decoder.refuse("its scales are not a register and {byte-id, thread-id}");
  out.slot = decoder.source(words[0], 32);
  out.bytes = bytes;
  out.threads = threads;
  if (ids[0].kind != OperandKind::immediate || ids[1].kind != OperandKind::immediate) {
    out.ids = {decoder.source(ids[0], 16), decoder.source(ids[1], 16)};
    return;
  }
  const auto byte = static_cast<std::uint32_t>(ids[0].value),
             thread = static_cast<std::uint32_t>(ids[1].value);
  if (!selector_exists(byte, thread, bytes, threads))
    return decoder.refuse(no_selector(byte, thread, bytes));
  out.byte = static_cast<int>(byte);
  out.thread = static_cast<int>(thread);
}

// .kind::f8f6f4, with or without block scales, and the 4-bit kinds, which have them.
void decode_narrow_mma(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                       int k, int word, Inst& out) {
  const bool scaled = word > 0;
  if (scaled != modifiers.take("block_scale")) return;
  const int given =
      scaled ? modifiers.take_one_of("scale_vec::1X", "scale_vec::2X", "scale_vec::4X") : -1;
  NarrowForm form{.k = k, .scales = given < 0 ? 0 : 1 << given};
  form.kind = static_cast<NarrowKind>(word);
  form.d = modifiers.take_type();
  form.a = modifiers.take_type();
  form.b = modifiers.take_type();
  form.c = modifiers.take_type();
  if (modifiers.take("ue8m0")) form.scale = FormatId::ue8m0;
  if (modifiers.take("ue4m3")) form.scale = FormatId::e4m3;  // whose sign is ignored
  const auto kind = narrow_mma_kind(decoder, form);
  const std::size_t operands = scaled ? 8 : 4;
  if (!kind || !decoder.require_operands(instruction, operands, operands)) return;
  MmaOperation operation;
  if (!take_fragments(decoder, instruction, *kind, operation)) return;
  if (scaled) {
    const int bytes = k / kind->scale.block;
    const auto& operand = instruction.operands;
    take_scale_selector(decoder, operand[4], operand[5], bytes, 2, operation.scales[0]);
    take_scale_selector(decoder, operand[6], operand[7], bytes, 4, operation.scales[1]);
  }
  add_operation(decoder, instruction, *kind, operation, out);
}

void decode_mma(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers, Inst& out) {
  if (!modifiers.take("sync") || !modifiers.take("aligned") || !modifiers.take("row") ||
      !modifiers.take("col"))
    return;
  const int which = modifiers.take_one_of("m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32", "m16n8k64");
  const int narrow =
      modifiers.take_one_of("kind::f8f6f4", "kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4");
  if (narrow >= 0 && which >= 0)
    return decode_narrow_mma(decoder, instruction, modifiers, 4 << which, narrow, out);
  const bool saturate = modifiers.take("satfinite");
  const Type d = modifiers.take_type(), a = modifiers.take_type(), b = modifiers.take_type(),
             c = modifiers.take_type();
  if (which < 0 || !decoder.require_operands(instruction, 4, 4)) {
    decoder.refuse("no such shape");
    return;
  }
  const auto kind =
      mma_kind(decoder, plumbline::Instruction::mma_sync, {d, a, b, c, 4 << which}, saturate);
  if (!kind) return;
  MmaOperation operation;
  if (!take_fragments(decoder, instruction, *kind, operation)) return;
  add_operation(decoder, instruction, *kind, operation, out);
}

}  // namespace

std::span<const Family> matrix_families() {
  static constexpr Family kFamilies[] = {{"mma", decode_mma},
                                         {"ldmatrix", decode_matrix_access},
                                         {"stmatrix", decode_matrix_access},
                                         {"movmatrix", decode_move_matrix}};
  return kFamilies;
}

}  // namespace plumbline::emulator
