// SPDX-License-Identifier: MIT
// mov, selp, slct, cvta, mapa (PTX ISA 9.0 section 9.7.9). Registers are bits: a move copies them
// as they are, for every type.
#include <fmt/format.h>

#include <bit>

#include "harness/emulator/decode/decode.h"
#include "harness/emulator/decode/rows.h"
#include "harness/emulator/machine/cta.h"
#include "harness/emulator/machine/lanes.h"
#include "harness/emulator/memory/address_space.h"

namespace plumbline::emulator {
namespace {

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

struct Same {
  template <typename T>
  static T apply(T a) {
    return a;
  }
};

struct Pack32 {
  static u32 apply(u32 low, u32 high) { return (low & 0xffff) | high << 16; }
};

struct Pack16From8 {
  static u32 apply(u32 low, u32 high) { return (low & 0xff) | (high & 0xff) << 8; }
};

struct Pack64 {
  static u64 apply(u32 low, u32 high) { return u64{high} << 32 | low; }
};

struct Pack32From8 {
  static u32 apply(u32 a, u32 b, u32 c, u32 d) {
    return (a & 0xff) | (b & 0xff) << 8 | (c & 0xff) << 16 | d << 24;
  }
};

struct Pack64From16 {
  static u64 apply(u32 a, u32 b, u32 c, u32 d) {
    return u64{a & 0xffff} | u64{b & 0xffff} << 16 | u64{c & 0xffff} << 32 | u64{d} << 48;
  }
};

// The i-th part of `PartBits` of a register into list[i].
template <typename T, int PartBits, int Parts>
[[gnu::always_inline]] inline void unpack(Warp& warp, const Inst& inst, u32 mask) {
  const auto a = lanes<T>(warp, inst.a);
  T whole[kLanes];
  for (int i = 0; i < kLanes; ++i) whole[i] = a[i];
  for (int part = 0; part < Parts; ++part) {
    const auto d = lanes<u32>(warp, inst.list[part]);
    for (int i = 0; i < kLanes; ++i) {
      const u32 value = static_cast<u32>(whole[i] >> (PartBits * part)) &
                        static_cast<u32>((u64{1} << PartBits) - 1);
      d.set_if(i, (mask >> i & 1) != 0, value);
    }
  }
}

void move_predicate(Warp& warp, const Inst& inst, u32 mask) {
  blend(warp.predicate(static_cast<PredicateUse>(inst.d)), warp.read(inst.p), mask);
}

template <typename T>
[[gnu::always_inline]] inline void select(Warp& warp, const Inst& inst, u32 mask) {
  const u32 p = warp.read(inst.p);
  const auto d = lanes<T>(warp, inst.d);
  const auto a = lanes<T>(warp, inst.a);
  const auto b = lanes<T>(warp, inst.b);
#pragma GCC ivdep
  for (int i = 0; i < kLanes; ++i) {
    const T x = a[i], y = b[i], old = d[i];
    const T chosen = (p >> i & 1) != 0 ? x : y;
    d.set(i, (mask >> i & 1) != 0 ? chosen : old);
  }
}

struct SelectBySign {
  template <typename T>
  static T apply(T a, T b, u32 c) {
    return static_cast<std::int32_t>(c) >= 0 ? a : b;
  }
};

template <bool ToSpace>
struct Convert {
  static u64 apply(u64 a, u64 window) { return ToSpace ? a - window : a + window; }
};

// %clock, %clock64, %globaltimer: a count that grows; one step per reading. Of the halves that end
// in _hi, the upper one.
template <typename T, int Shift>
void read_clock(Warp& warp, const Inst& inst, u32 mask) {
  const u64 now = warp.next_clock() >> Shift;
  const auto d = lanes<T>(warp, inst.d);
  for (int i = 0; i < kLanes; ++i) d.set_if(i, (mask >> i & 1) != 0, static_cast<T>(now));
}

void decode_clock(Decoder& decoder, const Operand& d, std::string_view name, int width, Inst& out) {
  out.d = decoder.destination(d, width);
  if (name.ends_with("_hi")) {
    out.execute = width == 64 ? read_clock<u64, 32> : read_clock<u32, 32>;
  } else {
    out.execute = width == 64 ? read_clock<u64, 0> : read_clock<u32, 0>;
  }
}

// What the parts of a packed register have; 0 where they are not 2 or 4.
int width_of_parts(Decoder& decoder, std::span<const Operand> parts, int width) {
  if (parts.size() == 2 || parts.size() == 4) return width / static_cast<int>(parts.size());
  decoder.refuse(fmt::format("it has {} parts, not 2 or 4", parts.size()));
  return 0;
}

void decode_pack(Decoder& decoder, const Operand& d, std::span<const Operand> parts, int width,
                 Inst& out) {
  const int part_width = width_of_parts(decoder, parts, width);
  if (part_width == 0) return;
  out.d = decoder.destination(d, width);
  Slot* const places[] = {&out.a, &out.b, &out.c, &out.e};
  for (std::size_t i = 0; i < parts.size(); ++i) *places[i] = decoder.source(parts[i], part_width);
  if (parts.size() == 2 && width == 16)
    out.execute = pick(handlers_of<&map2<u32, u32, u32, Pack16From8>>);
  if (parts.size() == 2 && width == 32)
    out.execute = pick(handlers_of<&map2<u32, u32, u32, Pack32>>);
  if (parts.size() == 2 && width == 64)
    out.execute = pick(handlers_of<&map2<u64, u32, u32, Pack64>>);
  if (parts.size() == 4 && width == 32)
    out.execute = pick(handlers_of<&map4<u32, u32, u32, u32, u32, Pack32From8>>);
  if (parts.size() == 4 && width == 64)
    out.execute = pick(handlers_of<&map4<u64, u32, u32, u32, u32, Pack64From16>>);
}

void decode_unpack(Decoder& decoder, std::span<const Operand> parts, const Operand& a, int width,
                   Inst& out) {
  const int part_width = width_of_parts(decoder, parts, width);
  if (part_width == 0) return;
  out.a = decoder.source(a, width);
  std::vector<Slot> list;
  for (const Operand& part : parts) list.push_back(decoder.destination(part, part_width));
  out.list = decoder.keep(list);
  if (parts.size() == 2 && width == 16) out.execute = pick(handlers_of<&unpack<u32, 8, 2>>);
  if (parts.size() == 2 && width == 32) out.execute = pick(handlers_of<&unpack<u32, 16, 2>>);
  if (parts.size() == 2 && width == 64) out.execute = pick(handlers_of<&unpack<u64, 32, 2>>);
  if (parts.size() == 4 && width == 32) out.execute = pick(handlers_of<&unpack<u32, 8, 4>>);
  if (parts.size() == 4 && width == 64) out.execute = pick(handlers_of<&unpack<u64, 16, 4>>);
}

// b128 is two neighbors of 64 bits; Inst::list has where both come from, and where they go.
void move_128(Warp& warp, const Inst& inst, u32 mask) {
  u64 value[2][kLanes];
  for (int half = 0; half < 2; ++half) {
    const auto a = lanes<u64>(warp, inst.list[half]);
    for (int i = 0; i < kLanes; ++i) value[half][i] = a[i];
  }
  for (int half = 0; half < 2; ++half) {
    const auto d = lanes<u64>(warp, inst.list[2 + half]);
    for (int i = 0; i < kLanes; ++i) d.set_if(i, (mask >> i & 1) != 0, value[half][i]);
  }
}

void decode_move_128(Decoder& decoder, const Operand& d, const Operand& a, Inst& out) {
  decoder.require_sm(70);
  std::vector<Slot> list;
  for (const auto& [operand, written] : {std::pair(&a, false), std::pair(&d, true)}) {
    if (operand->kind != OperandKind::vector) {
      for (const Slot slot : decoder.halves_of_128(*operand)) list.push_back(slot);
      continue;
    }
    if (operand->elements.size() != 2) return decoder.refuse("128 bits have two parts of 64");
    for (const Operand& part : operand->elements)
      list.push_back(written ? decoder.destination(part, 64) : decoder.source(part, 64));
  }
  out.list = decoder.keep(list);
  out.execute = move_128;
}

void decode_move(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                 Inst& out) {
  const Type type = modifiers.take_type();
  if (!decoder.require_operands(instruction, 2, 2)) return;
  const Operand& d = instruction.operands[0];
  const Operand& a = instruction.operands[1];
  if (type == Type::pred) {
    out.d = decoder.predicate_destination(d);
    out.p = decoder.predicate(a);
    out.execute = move_predicate;
    return;
  }
  if (type == Type::b128) return decode_move_128(decoder, d, a, out);
  const int width = bits(type);
  if (a.kind == OperandKind::vector) {
    decode_pack(decoder, d, a.elements, width, out);
    return;
  }
  if (d.kind == OperandKind::vector) {
    decode_unpack(decoder, d.elements, a, width, out);
    return;
  }
  if (a.kind == OperandKind::special &&
      (a.name.starts_with("%clock") || a.name.starts_with("%globaltimer"))) {
    decode_clock(decoder, d, a.name, width, out);
    return;
  }
  out.d = decoder.destination(d, width);
  out.a = decoder.source(a, width);
  if (width == 16 || width == 32) out.execute = pick(handlers_of<&map1<u32, u32, Same>>);
  if (width == 64) out.execute = pick(handlers_of<&map1<u64, u64, Same>>);
}

void decode_select(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                   Inst& out) {
  const int width = bits(modifiers.take_type());
  if (width != 16 && width != 32 && width != 64) return;
  place_operands(width == 64 ? "x=xxp" : (width == 32 ? "w=wwp" : "h=hhp"), decoder, instruction,
                 out);
  out.execute = width == 64 ? pick(handlers_of<&select<u64>>) : pick(handlers_of<&select<u32>>);
}

// cvta.space: into the generic window; cvta.to.space: out of it.
void decode_cvta(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                 Inst& out) {
  const bool to_space = modifiers.take("to");
  const Space spaces[] = {Space::global, Space::shared, Space::local, Space::constant,
                          Space::param,  Space::shared, Space::shared};
  const int which = modifiers.take_one_of("global", "shared", "local", "const", "param",
                                          "shared::cta", "shared::cluster");
  modifiers.take("entry");
  const int width = bits(modifiers.take_type());
  if (which < 0 || width != 64 || !decoder.require_operands(instruction, 2, 2)) {
    decoder.refuse("only 64-bit addresses of global, shared, local, const and param are emulated");
    return;
  }
  out.d = decoder.destination(instruction.operands[0], 64);
  out.a = decoder.source(instruction.operands[1], 64);
  out.b = decoder.constant(window_of(spaces[which]), 64);
  out.execute = to_space ? pick(handlers_of<&map2<u64, u64, u64, Convert<true>>>)
                         : pick(handlers_of<&map2<u64, u64, u64, Convert<false>>>);
}

template <Space S>
[[gnu::always_inline]] inline void is_space(Warp& warp, const Inst& inst, u32 mask) {
  const auto a = lanes<u64>(warp, inst.a);
  u32 result = 0;
  for (int i = 0; i < kLanes; ++i) result |= static_cast<u32>(space_of(a[i]) == S) << i;
  blend(warp.predicate(inst.p), result, mask);
}

// Of the own CTA, not of others of the cluster.
void is_own_shared(Warp& warp, const Inst& inst, u32 mask) {
  const auto a = lanes<u64>(warp, inst.a);
  const auto own = static_cast<u64>(warp.cta().rank());
  u32 result = 0;
  for (int i = 0; i < kLanes; ++i) {
    const bool is = space_of(a[i]) == Space::shared && rank_of(a[i]) == own;
    result |= static_cast<u32>(is) << i;
  }
  blend(warp.predicate(inst.p), result, mask);
}

void decode_is_space(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                     Inst& out) {
  constexpr HandlerSet handlers[] = {
      plain<&on_base<&is_space<Space::global>>>, plain<&on_base<&is_own_shared>>,
      plain<&on_base<&is_space<Space::local>>>,  plain<&on_base<&is_space<Space::constant>>>,
      plain<&on_base<&is_space<Space::param>>>,  plain<&on_base<&is_own_shared>>,
      plain<&on_base<&is_space<Space::shared>>>};
  const int which = modifiers.take_one_of("global", "shared", "local", "const", "param",
                                          "shared::cta", "shared::cluster");
  if (which < 0) return;
  place_operands("p=x", decoder, instruction, out);
  out.execute = pick(handlers[which]);
}

// mapa: an address of shared memory as the CTA Inst::b of the cluster has it. Where the cluster has
// no such CTA, only an access is a finding: kernels compute such addresses in lanes that do not use
// them.
template <typename T>
void map_address(Warp& warp, const Inst& inst, u32 mask) {
  const auto d = lanes<T>(warp, inst.d);
  const auto a = lanes<T>(warp, inst.a);
  const auto rank = lanes<u32>(warp, inst.b);
  for (int i = 0; i < kLanes; ++i) {
    const u64 moved = a[i] - shared_window(rank_of(a[i])) + shared_window(rank[i] & 0xff);
    d.set_if(i, (mask >> i & 1) != 0, static_cast<T>(moved));
  }
}

void decode_map_address(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                        Inst& out) {
  decoder.require_sm(90);
  modifiers.take("shared::cluster");
  const int width = bits(modifiers.take_type());
  if ((width != 32 && width != 64) || !decoder.require_operands(instruction, 3, 3)) return;
  out.d = decoder.destination(instruction.operands[0], width);
  out.a = decoder.source(instruction.operands[1], width);
  out.b = decoder.source(instruction.operands[2], 32);
  out.execute = width == 64 ? map_address<u64> : map_address<u32>;
}

// getctarank: of an address of shared memory.
template <typename T>
void find_rank(Warp& warp, const Inst& inst, u32 mask) {
  const auto d = lanes<u32>(warp, inst.d);
  const auto a = lanes<T>(warp, inst.a);
  for (int i = 0; i < kLanes; ++i)
    d.set_if(i, (mask >> i & 1) != 0, static_cast<u32>(rank_of(a[i])));
}

void decode_rank(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                 Inst& out) {
  decoder.require_sm(90);
  modifiers.take("shared::cluster");
  const int width = bits(modifiers.take_type());
  if ((width != 32 && width != 64) || !decoder.require_operands(instruction, 2, 2)) return;
  out.d = decoder.destination(instruction.operands[0], 32);
  out.a = decoder.source(instruction.operands[1], width);
  out.execute = width == 64 ? find_rank<u64> : find_rank<u32>;
}

// createpolicy: a cache policy means nothing here; any value will do.
void decode_policy(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                   Inst& out) {
  while (!modifiers.empty()) modifiers.take_first();
  if (!decoder.require_operands(instruction, 1, 4)) return;
  out.d = decoder.destination(instruction.operands[0], 64);
  out.a = decoder.constant(0, 64);
  out.execute = pick(handlers_of<&map1<u64, u64, Same>>);
}

constexpr Row kRows[] = {
    {"slct.b32.s32", "w=www", handlers_of<&map3<u32, u32, u32, u32, SelectBySign>>},
    {"slct.u32.s32", "w=www", handlers_of<&map3<u32, u32, u32, u32, SelectBySign>>},
    {"slct.s32.s32", "w=www", handlers_of<&map3<u32, u32, u32, u32, SelectBySign>>},
    {"slct.f32.s32", "w=www", handlers_of<&map3<u32, u32, u32, u32, SelectBySign>>},
    {"slct.b64.s32", "x=xxw", handlers_of<&map3<u64, u64, u64, u32, SelectBySign>>},
};

void decode_slct(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                 Inst& out) {
  decode_row(kRows, decoder, instruction, modifiers, out);
}

}  // namespace

std::span<const Family> move_families() {
  static constexpr Family kFamilies[] = {
      {"mov", decode_move},         {"selp", decode_select},
      {"slct", decode_slct},        {"createpolicy", decode_policy},
      {"cvta", decode_cvta},        {"isspacep", decode_is_space},
      {"mapa", decode_map_address}, {"getctarank", decode_rank},
  };
  return kFamilies;
}

}  // namespace plumbline::emulator
