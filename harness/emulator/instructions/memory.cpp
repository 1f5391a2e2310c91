// SPDX-License-Identifier: MIT
// ld and st (PTX ISA 9.0 section 9.7.9.8, .11): every space, 8 to 128 bits, one, two, four or
// (of global memory, 32 bytes) eight elements. Cache operators and .nc are hints. Acquire, release,
// relaxed and volatile accesses are performed in program order like all others; in shared memory
// they count as synchronization, in global memory they make CTAs take turns
// (Program::communicates).
#include "harness/emulator/decode/decode.h"
#include "harness/emulator/decode/families.h"
#include "harness/emulator/machine/access.h"
#include "harness/emulator/memory/address_space.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

template <typename T, typename D, int Count>
[[gnu::always_inline]] inline void move_in(Warp& warp, const Inst& inst, u32 mask,
                                           const Pointers& p) {
  alignas(64) T value[Count][kLanes];
  if (mask == kFullMask) {
    for (std::size_t i = 0; i < kLanes; ++i) {
      T element[Count];
      __builtin_memcpy(element, p.host[i], sizeof element);
      for (int k = 0; k < Count; ++k) value[k][i] = element[k];
    }
    for (int k = 0; k < Count; ++k) {
      const auto d = lanes<D>(warp, inst.list[k]);
#pragma GCC ivdep
      for (int i = 0; i < kLanes; ++i) d.set(i, static_cast<D>(value[k][i]));
    }
    return;
  }
  for (u32 left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    T element[Count];
    __builtin_memcpy(element, p.host[static_cast<std::size_t>(lane)], sizeof element);
    for (int k = 0; k < Count; ++k)
      lanes<D>(warp, inst.list[k]).set(lane, static_cast<D>(element[k]));
  }
}

template <typename T, typename D, int Count>
[[gnu::always_inline]] inline void move_out(Warp& warp, const Inst& inst, u32 mask,
                                            const Pointers& p) {
  const auto element_of = [&](int lane, T* element) {
    for (int k = 0; k < Count; ++k) element[k] = static_cast<T>(lanes<D>(warp, inst.list[k])[lane]);
  };
  const auto put = [&](int lane) __attribute__((always_inline)) {
    T element[Count];
    element_of(lane, element);
    __builtin_memcpy(p.host[static_cast<std::size_t>(lane)], element, sizeof element);
  };
  if (mask == kFullMask) {
    for (int lane = 0; lane < kLanes; ++lane) put(lane);
  } else {
    for (u32 left = mask; left != 0; left &= left - 1) put(std::countr_zero(left));
  }
  // Each lane behind the one before: nothing overlaps. Else what a later lane overwrote with
  // something else shows.
  bool apart = mask == kFullMask;
  for (std::size_t i = 0; i + 1 < kLanes; ++i)
    apart &= p.host[i + 1] >= p.host[i] + sizeof(T) * Count;
  if (apart) return;
  for (u32 left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    T element[Count];
    element_of(lane, element);
    if (__builtin_memcmp(p.host[static_cast<std::size_t>(lane)], element, sizeof element) != 0) {
      report_clash(warp, inst, mask, p, lane, sizeof element);
    }
  }
}

// Inst::helper resolves the addresses for the space of the access.
[[gnu::always_inline]] inline bool resolve_with_helper(Warp& warp, const Inst& inst, u32 mask) {
  gather_addresses(warp, inst, warp.pointers());
  inst.helper(warp, inst, mask);
  return warp.scratch() != 0;
}

template <typename T, typename D, int Count>
[[gnu::always_inline]] inline void load(Warp& warp, const Inst& inst, u32 mask) {
  if (resolve_with_helper(warp, inst, mask))
    move_in<T, D, Count>(warp, inst, mask, warp.pointers());
}

template <typename T, typename D, int Count>
[[gnu::always_inline]] inline void store(Warp& warp, const Inst& inst, u32 mask) {
  if (!resolve_with_helper(warp, inst, mask)) return;
  move_out<T, D, Count>(warp, inst, mask, warp.pointers());
  after_store(warp, inst);
}

// A kernel parameter at a fixed offset: one value for all lanes.
template <typename T, typename D, int Count>
[[gnu::always_inline]] inline void load_parameter(Warp& warp, const Inst& inst, u32 mask) {
  T element[Count];
  __builtin_memcpy(element, warp.cta().launch().parameters.data() + inst.immediate, sizeof element);
  for (int k = 0; k < Count; ++k) {
    const auto d = lanes<D>(warp, inst.list[k]);
    for (int i = 0; i < kLanes; ++i) d.set_if(i, (mask >> i & 1) != 0, static_cast<D>(element[k]));
  }
}

// --- one row per element type: how it lies in memory, how it arrives in a register ---

struct LoadRow {
  Type type;
  bool wide;               // into a 64-bit register
  HandlerSet by_count[4];  // 1, 2, 4, 8 elements
  HandlerSet parameter[4];
};

template <typename T, typename D>
constexpr LoadRow load_row(Type type) {
  constexpr bool wide = sizeof(D) == 8;
  LoadRow row{type,
              wide,
              {handlers_of<&load<T, D, 1>>, handlers_of<&load<T, D, 2>>, {}, {}},
              {plain<&on_base<&load_parameter<T, D, 1>>>,
               plain<&on_base<&load_parameter<T, D, 2>>>,
               {},
               {}}};
  if constexpr (sizeof(T) <= 4) {
    row.by_count[2] = handlers_of<&load<T, D, 4>>;
    row.parameter[2] = plain<&on_base<&load_parameter<T, D, 4>>>;
  }
  if constexpr (sizeof(T) == 8) row.by_count[2] = handlers_of<&load<T, D, 4>>;
  if constexpr (sizeof(T) == 4) row.by_count[3] = handlers_of<&load<T, D, 8>>;
  return row;
}

// Registers are bits: b, u and f types of one size are the same; s types extend their sign in wider
// registers.
constexpr LoadRow kLoads[] = {
    load_row<std::uint8_t, u32>(Type::u8),   load_row<std::int8_t, u32>(Type::s8),
    load_row<std::uint16_t, u32>(Type::u16), load_row<std::int16_t, u32>(Type::s16),
    load_row<u32, u32>(Type::u32),           load_row<u64, u64>(Type::u64),
    load_row<std::uint8_t, u64>(Type::u8),   load_row<std::int8_t, u64>(Type::s8),
    load_row<std::uint16_t, u64>(Type::u16), load_row<std::int16_t, u64>(Type::s16),
    load_row<u32, u64>(Type::u32),           load_row<std::int32_t, u64>(Type::s32),
};

Type storage_type(Type type, bool wide) {
  if (type == Type::s8 || type == Type::s16 || (type == Type::s32 && wide)) return type;
  switch (bits(type)) {
    case 8:
      return Type::u8;
    case 16:
      return Type::u16;
    case 32:
      return Type::u32;
    case 64:
      return Type::u64;
    default:
      return Type::none;
  }
}

int count_index(int count) { return std::countr_zero(static_cast<unsigned>(count)); }

HandlerSet choose_load(Type type, int count, bool fixed, bool wide) {
  for (const LoadRow& row : kLoads) {
    if (row.type != storage_type(type, wide) || row.wide != wide) continue;
    return (fixed ? row.parameter : row.by_count)[count_index(count)];
  }
  return {};
}

template <typename T, typename D>
HandlerSet choose_store(int count) {
  if (count == 1) return handlers_of<&store<T, D, 1>>;
  if (count == 2) return handlers_of<&store<T, D, 2>>;
  if (count == 4) return handlers_of<&store<T, D, 4>>;
  if constexpr (sizeof(T) == 4) return handlers_of<&store<T, D, 8>>;
  return {};
}

// `wide`: out of 64-bit registers, of which the low bits are stored.
HandlerSet choose_store(Type type, int count, bool wide) {
  switch (bits(type)) {
    case 8:
      return wide ? choose_store<std::uint8_t, u64>(count) : choose_store<std::uint8_t, u32>(count);
    case 16:
      return wide ? choose_store<std::uint16_t, u64>(count)
                  : choose_store<std::uint16_t, u32>(count);
    case 32:
      return wide ? choose_store<u32, u64>(count) : choose_store<u32, u32>(count);
    case 64:
      return choose_store<u64, u64>(count);
    default:
      return {};
  }
}

struct Access {
  Space space = Space::generic;
  int count = 1;
  Type type = Type::none;
  bool synchronises = false;
  bool releases = false, acquires = false;  // beyond the CTA
  bool cta_scope = false;
  std::size_t operands = 2;  // 3 with a cache policy
};

Access take_access(Decoder& decoder, Modifiers& modifiers) {
  Access access;
  // A cluster is one CTA here.
  constexpr Space kSpaces[] = {Space::global, Space::shared, Space::shared,  Space::shared,
                               Space::local,  Space::param,  Space::constant};
  const int space = modifiers.take_one_of("global", "shared", "shared::cta", "shared::cluster",
                                          "local", "param", "const");
  if (space >= 0) access.space = kSpaces[space];
  access.count = 1 << (modifiers.take_one_of("v2", "v4", "v8") + 1);
  const bool weak = modifiers.take("weak");
  const bool is_volatile = modifiers.take("volatile");
  const int order = modifiers.take_one_of("relaxed", "acquire", "release");
  const int scope = order >= 0 ? modifiers.take_one_of("cta", "cluster", "gpu", "sys") : -1;
  access.synchronises = !weak && (is_volatile || order >= 0);
  access.acquires = order == 1 && scope != 0;
  access.releases = order == 2 && scope != 0;
  access.cta_scope = scope == 0;
  if (access.synchronises && (access.space == Space::global || access.space == Space::generic)) {
    decoder.program().communicates = true;
  }
  modifiers.take_hints();
  if (modifiers.take_cache_policy()) access.operands = 3;
  access.type = modifiers.take_type();
  const int bytes = bits(access.type) / 8 * access.count;
  if (access.type == Type::b128 && access.count > 1) decoder.refuse("128 bits are the most");
  if (bytes > 16) {
    decoder.require_sm(100);
    const bool anywhere = access.space == Space::global || access.space == Space::generic;
    if (bytes > 32 || !anywhere) decoder.refuse("32 bytes are the most, and in global memory");
  }
  return access;
}

// The registers of an access, in 64-bit halves where it is one of 128 bits.
std::vector<Slot> registers_of(Decoder& decoder, std::span<const Operand> operands, Access& access,
                               int width, bool written) {
  std::vector<Slot> list;
  if (access.type == Type::b128) {
    for (const Slot slot : decoder.halves_of_128(operands[0])) list.push_back(slot);
    access.type = Type::b64;
    access.count = 2;
    return list;
  }
  for (const Operand& one : operands)
    list.push_back(written ? decoder.destination(one, width) : decoder.source(one, width));
  return list;
}

void decode_load(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                 Inst& out) {
  Access access = take_access(decoder, modifiers);
  if (!decoder.require_operands(instruction, access.operands, access.operands)) return;
  const std::span<const Operand> destinations = decoder.elements(instruction.operands[0]);
  if (static_cast<int>(destinations.size()) != access.count) {
    decoder.refuse("the vector has another number of elements than the instruction says");
    return;
  }
  bool wide = bits(access.type) >= 64;
  for (const Operand& d : destinations) wide = wide || decoder.register_bits(d) == 64;
  out.list = decoder.keep(
      registers_of(decoder, destinations, access, wide ? 64 : bits(access.type), true));
  const Operand& address = instruction.operands[1];
  decoder.address(address, access.space, out);
  bool fixed = false;
  if (access.space == Space::param && address.elements.size() == 1 &&
      address.elements[0].kind == OperandKind::symbol) {
    fixed = true;
    out.immediate = decoder.parameter_offset(address, bits(access.type) / 8 * access.count);
  }
  if (instruction.used_bytes_mask != 0) {
    out.flags |= kSomeBytes;
    out.e = static_cast<Slot>(instruction.used_bytes_mask);
  }
  if (access.acquires) out.flags |= kAcquires;
  if (access.cta_scope) out.flags |= kCtaScope;
  if (instruction.has_modifier("nc") || instruction.opcode == "ldu") {
    out.flags |= kReadOnly;
    decoder.program().reads_only = true;
  }
  if (access.synchronises && (access.space == Space::global || access.space == Space::generic))
    decoder.program().loads_strongly = true;
  const Intent intent = access.synchronises ? Intent::synchronise : Intent::read;
  out.helper = resolver(access.space, bits(access.type) / 8 * access.count, intent);
  out.execute = pick(choose_load(access.type, access.count, fixed, wide));
}

void decode_store(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                  Inst& out) {
  if (modifiers.take("async")) return decode_async_store(decoder, instruction, modifiers, out);
  Access access = take_access(decoder, modifiers);
  if (!decoder.require_operands(instruction, access.operands, access.operands)) return;
  if (access.space == Space::param || access.space == Space::constant) {
    decoder.refuse(access.space == Space::param ? "calls are not emulated"
                                                : "constant memory is read-only");
    return;
  }
  const std::span<const Operand> sources = decoder.elements(instruction.operands[1]);
  if (static_cast<int>(sources.size()) != access.count) {
    decoder.refuse("the vector has another number of elements than the instruction says");
    return;
  }
  const auto is_wide = [&](const Operand& source) { return decoder.register_bits(source) == 64; };
  const bool wide = std::any_of(sources.begin(), sources.end(), is_wide);
  if (wide && !std::all_of(sources.begin(), sources.end(), is_wide)) {
    decoder.refuse("some of its registers have 64 bits and others have not");
    return;
  }
  out.list =
      decoder.keep(registers_of(decoder, sources, access, wide ? 64 : bits(access.type), false));
  decoder.address(instruction.operands[0], access.space, out);
  if (access.releases) out.flags |= kReleases;
  if (access.cta_scope) out.flags |= kCtaScope;
  const Intent intent = access.synchronises ? Intent::publish : Intent::write;
  out.helper = resolver(access.space, bits(access.type) / 8 * access.count, intent);
  out.execute = pick(choose_store(access.type, access.count, wide));
}

}  // namespace

std::span<const Family> memory_families() {
  static constexpr Family kFamilies[] = {
      {"ld", decode_load}, {"ldu", decode_load}, {"st", decode_store}};
  return kFamilies;
}

}  // namespace plumbline::emulator
