// SPDX-License-Identifier: MIT
// Tensor maps that a kernel changes (PTX ISA 9.0 sections 9.7.9, tensormap.replace, and 9.7.13,
// tensormap.cp_fenceproxy). A map is what tensor_map_code.h makes of it: its 128 bytes may be
// copied by any loads and stores, and change field by field, as one weak access of all of them.
//
// The accesses of the copying unit to a map are in order here without the fences that a chip needs
// (fence.proxy.tensormap).
#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>

#include "harness/emulator/decode/decode.h"
#include "harness/emulator/instructions/whole_warp.h"
#include "harness/emulator/machine/access.h"
#include "harness/emulator/memory/address_space.h"
#include "harness/emulator/memory/tensor_map_code.h"

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr std::size_t kMapBytes = 128;
constexpr std::size_t kPiece = 16;

using MapBytes = std::array<std::byte, kMapBytes>;

// Calls move(host bytes, offset) for the pieces of the 128 bytes at a generic address. False when
// the launch stops.
template <typename Move>
bool each_piece(Warp& warp, const Inst& inst, int lane, u64 address, Intent intent,
                const Move& move) {
  const auto l = static_cast<std::size_t>(lane);
  if (address % kMapBytes != 0) {
    warp.fail(FindingKind::misaligned, inst, lane, [&] {
      return fmt::format("a tensor map at {:#x}, which is not a multiple of 128", address);
    });
    return false;
  }
  Pointers p{};
  for (std::size_t at = 0; at < kMapBytes; at += kPiece) {
    p.address[l] = address + at;
    if (!resolve<Space::generic, kPiece>(warp, inst, u32{1} << lane, p, intent)) return false;
    move(p.host[l], at);
    if (intent == Intent::write) after_store(warp, inst);
  }
  return true;
}

bool read(Warp& warp, const Inst& inst, int lane, u64 address, MapBytes& bytes) {
  return each_piece(
      warp, inst, lane, address, Intent::read,
      [&](const std::byte* from, std::size_t at) { std::memcpy(bytes.data() + at, from, kPiece); });
}

bool write(Warp& warp, const Inst& inst, int lane, u64 address, const MapBytes& bytes) {
  return each_piece(warp, inst, lane, address, Intent::write, [&](std::byte* to, std::size_t at) {
    std::memcpy(to, bytes.data() + at, kPiece);
  });
}

// --- tensormap.replace ---

// Inst::a + immediate: the map. Inst::b: the value, in 64 bits where kWide. Inst::e: the ordinal.
constexpr u32 kField = 0xff;
constexpr u32 kWide = 0x1000;
constexpr u32 kShared = 0x2000;  // the address is one of shared memory

u64 address_of(Warp& warp, const Inst& inst, int lane) {
  const AddressOperand where{inst.a, (inst.flags & kAddress32) == 0, inst.immediate};
  return address_at(warp, where, lane) + ((inst.flags & kShared) != 0 ? kSharedWindow : 0);
}

void replace(Warp& warp, const Inst& inst, u32 mask) {
  for (u32 left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const u64 address = address_of(warp, inst, lane);
    const u64 value = (inst.flags & kWide) != 0 ? lanes<u64>(warp, inst.b)[lane]
                                                : u64{lanes<u32>(warp, inst.b)[lane]};
    MapBytes bytes;
    if (!read(warp, inst, lane, address, bytes)) return;
    const Status done = replace_in_tensor_map(
        bytes, static_cast<TensorMapField>(inst.flags & kField), inst.e, value);
    if (!done) {
      return warp.fail(FindingKind::bad_operand, inst, lane, [&] {
        return fmt::format("the tensor map at {:#x}: {}", address, done.error().message);
      });
    }
    if (!write(warp, inst, lane, address, bytes)) return;
  }
}

// --- tensormap.cp_fenceproxy ---

// Inst::a + immediate: destination in global memory. Inst::b + e (signed): source in shared memory.
// All lanes give the same.
constexpr u32 kSource32 = 0x4000;

void copy(Warp& warp, const Inst& inst, u32 mask) {
  if (!has_all_lanes(warp, inst, mask, warp.live(), "tensormap.cp_fenceproxy")) return;
  const int lane = std::countr_zero(mask);
  const AddressOperand source{inst.b, (inst.flags & kSource32) == 0,
                              static_cast<std::int32_t>(inst.e)};
  MapBytes bytes;
  if (!read(warp, inst, lane, address_at(warp, source, lane) + kSharedWindow, bytes)) return;
  write(warp, inst, lane, address_of(warp, inst, lane), bytes);
}

// --- decoding ---

struct FieldRow {
  std::string_view name;
  TensorMapField field;
  bool wide;     // .b64
  bool ordinal;  // one dimension of several
  bool fixed;    // the value is written in the instruction
};

// clang-format off
constexpr FieldRow kFields[] = {
    {"global_address",    TensorMapField::global_address,    true,  false, false},
    {"rank",              TensorMapField::rank,              false, false, false},
    {"box_dim",           TensorMapField::box_dim,           false, true,  false},
    {"global_dim",        TensorMapField::global_dim,        false, true,  false},
    {"global_stride",     TensorMapField::global_stride,     true,  true,  false},
    {"element_stride",    TensorMapField::element_stride,    false, true,  false},
    {"elemtype",          TensorMapField::elemtype,          false, false, true},
    {"interleave_layout", TensorMapField::interleave_layout, false, false, true},
    {"swizzle_mode",      TensorMapField::swizzle_mode,      false, false, true},
    {"swizzle_atomicity", TensorMapField::swizzle_atomicity, false, false, true},
    {"fill_mode",         TensorMapField::fill_mode,         false, false, true},
};
// clang-format on

void decode_replace(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                    Inst& out) {
  if (!modifiers.take("tile")) return decoder.refuse("only .tile is emulated");
  const FieldRow* row = nullptr;
  for (const FieldRow& one : kFields) {
    if (modifiers.take(one.name)) row = &one;
  }
  if (row == nullptr) return decoder.refuse("a tensor map has no such field");
  const int space = modifiers.take_one_of("shared::cta", "global");
  if (!modifiers.take("b1024") || !modifiers.take(row->wide ? "b64" : "b32")) return;
  const std::size_t operands = row->ordinal ? 3 : 2;
  if (!decoder.require_operands(instruction, operands, operands)) return;
  decoder.address(instruction.operands[0],
                  space < 0    ? Space::generic
                  : space == 0 ? Space::shared
                               : Space::global,
                  out);
  const std::int64_t ordinal = row->ordinal ? decoder.immediate(instruction.operands[1]) : 0;
  const Operand& value = instruction.operands.back();
  // What cannot be done to any map is refused here.
  MapBytes map{};
  const std::int64_t known = row->fixed ? decoder.immediate(value) : 1;
  const Status possible = replace_in_tensor_map(map, row->field, ordinal, static_cast<u64>(known));
  if (!possible) return decoder.refuse(possible.error().message);
  out.b = decoder.source(value, row->wide ? 64 : 32);
  out.e = static_cast<Slot>(ordinal);
  out.flags |= static_cast<u32>(row->field) | (row->wide ? kWide : 0) | (space == 0 ? kShared : 0);
  out.execute = replace;
}

void decode_copy(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                 Inst& out) {
  const bool places = modifiers.take("global") && modifiers.take("shared::cta");
  const bool fence = modifiers.take("tensormap::generic") && modifiers.take("release") &&
                     modifiers.take_one_of("cta", "cluster", "gpu", "sys") >= 0;
  if (!places || !fence || !modifiers.take("sync") || !modifiers.take("aligned") ||
      !decoder.require_operands(instruction, 3, 3)) {
    return;
  }
  if (decoder.immediate(instruction.operands[2]) != 128)
    return decoder.refuse("a map is 128 bytes");
  Inst source;
  decoder.address(instruction.operands[1], Space::shared, source);
  decoder.address(instruction.operands[0], Space::global, out);
  out.b = source.a;
  out.e = static_cast<Slot>(static_cast<std::int32_t>(source.immediate));
  if ((source.flags & kAddress32) != 0) out.flags |= kSource32;
  out.execute = copy;
}

void decode_tensormap(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                      Inst& out) {
  decoder.require_sm(90);
  if (modifiers.take("replace")) return decode_replace(decoder, instruction, modifiers, out);
  if (modifiers.take("cp_fenceproxy")) decode_copy(decoder, instruction, modifiers, out);
}

}  // namespace

std::span<const Family> tensor_map_families() {
  static constexpr Family kFamilies[] = {{"tensormap", decode_tensormap}};
  return kFamilies;
}

}  // namespace plumbline::emulator
