// SPDX-License-Identifier: MIT
// atom and red (PTX ISA 9.0 section 9.7.13.5, .6). Lanes act one after the other in lane order. A
// kernel with atomics on global memory runs its CTAs on one worker in a fixed order
// (Program::communicates), so plain reads and writes are atomic and sums of floats come out the
// same every time. In shared memory an atomic counts as synchronization. f32 addition flushes
// subnormals in global memory and keeps them in shared memory, as the hardware does; through
// generic addresses, too.
#include "harness/emulator/decode/decode.h"
#include "harness/emulator/instructions/half.h"
#include "harness/emulator/instructions/random_arithmetic.h"
#include "harness/emulator/instructions/rounding.h"
#include "harness/emulator/machine/access.h"
#include "harness/emulator/memory/address_space.h"
#include "oracles/formats/decode.h"

#include <algorithm>

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

// old, b, c to new. Values are zero-extended to 64 bits.
using Update = u64 (*)(u64 old, u64 b, u64 c);

template <typename T>
T typed(u64 bits) {
  if constexpr (std::is_same_v<T, float>) {
    return as_float(static_cast<u32>(bits));
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<double>(bits);
  } else {
    return static_cast<T>(bits);
  }
}

template <typename T>
u64 untyped(T value) {
  return static_cast<u64>(static_cast<std::make_unsigned_t<T>>(value));
}

template <typename T>
u64 add(u64 old, u64 b, u64) {
  using U = std::make_unsigned_t<T>;
  return static_cast<U>(static_cast<U>(old) + static_cast<U>(b));
}

template <typename T>
u64 minimum(u64 old, u64 b, u64) {
  return untyped<T>(std::min(typed<T>(old), typed<T>(b)));
}

template <typename T>
u64 maximum(u64 old, u64 b, u64) {
  return untyped<T>(std::max(typed<T>(old), typed<T>(b)));
}

u64 bit_and(u64 old, u64 b, u64) { return old & b; }

u64 bit_or(u64 old, u64 b, u64) { return old | b; }

u64 bit_xor(u64 old, u64 b, u64) { return old ^ b; }

u64 exchange(u64, u64 b, u64) { return b; }

u64 compare_and_swap(u64 old, u64 b, u64 c) { return old == b ? c : old; }

u64 increment(u64 old, u64 b, u64) { return old >= b ? 0 : old + 1; }

u64 decrement(u64 old, u64 b, u64) { return old == 0 || old > b ? b : old - 1; }

u64 add_f32(u64 old, u64 b, u64) { return canonical(as_bits(typed<float>(old) + typed<float>(b))); }

u64 add_f32_flushing(u64 old, u64 b, u64) {
  const u32 sum =
      as_bits(as_float(flush(static_cast<u32>(old))) + as_float(flush(static_cast<u32>(b))));
  return flush(canonical(sum));
}

u64 add_f64(u64 old, u64 b, u64) {
  return hand_nan_on(typed<double>(old) + typed<double>(b), old, b);
}

u64 add_f16(u64 old, u64 b, u64) {
  const float sum =
      f16_to_f32(static_cast<std::uint16_t>(old)) + f16_to_f32(static_cast<std::uint16_t>(b));
  return f32_to_f16(as_bits(sum));
}

u64 add_bf16(u64 old, u64 b, u64) {
  const float sum =
      bf16_to_f32(static_cast<std::uint16_t>(old)) + bf16_to_f32(static_cast<std::uint16_t>(b));
  return f32_to_bf16(as_bits(sum));
}

template <Update Half>
u64 pair(u64 old, u64 b, u64) {
  return Half(old >> 16 & 0xffff, b >> 16 & 0xffff, 0) << 16 | Half(old & 0xffff, b & 0xffff, 0);
}

// The sum of `halves` floats side by side, each with its rounding moved; `usual` is what they come
// to undisturbed.
u64 add_randomly(FormatId id, int halves, u64 usual, u64 old, u64 b, Random& random) {
  const Format& f = format(id);
  u64 result = 0;
  for (int i = 0; i < halves; ++i) {
    const auto part = [&](u64 bits) {
      return bits >> (i * f.storage_bits) & (~u64{0} >> (64 - f.storage_bits));
    };
    const ExactSum exact = exact_sum(to_double(f, part(old)), to_double(f, part(b)));
    result |= encode_randomly(f, part(usual), exact.sum, exact.error, Rounding::nearest_even,
                              random.unit())
              << (i * f.storage_bits);
  }
  return result;
}

struct AtomicRow {
  std::string_view operation;
  Type type;
  Update update;
  int sm = 0;
};

// clang-format off
constexpr AtomicRow kRows[] = {
  {"add", Type::u32, add<u32>}, {"add", Type::s32, add<u32>}, {"add", Type::u64, add<u64>}, {"add", Type::s64, add<u64>},
  {"add", Type::f32, add_f32}, {"add", Type::f64, add_f64},
  {"add", Type::f16, add_f16, 70}, {"add", Type::f16x2, pair<add_f16>, 60},
  {"add", Type::bf16, add_bf16, 90}, {"add", Type::bf16x2, pair<add_bf16>, 90},
  {"min", Type::u32, minimum<u32>}, {"min", Type::s32, minimum<std::int32_t>},
  {"min", Type::u64, minimum<u64>}, {"min", Type::s64, minimum<std::int64_t>},
  {"max", Type::u32, maximum<u32>}, {"max", Type::s32, maximum<std::int32_t>},
  {"max", Type::u64, maximum<u64>}, {"max", Type::s64, maximum<std::int64_t>},
  {"inc", Type::u32, increment}, {"dec", Type::u32, decrement},
  {"and", Type::b32, bit_and}, {"and", Type::b64, bit_and},
  {"or",  Type::b32, bit_or},  {"or",  Type::b64, bit_or},
  {"xor", Type::b32, bit_xor}, {"xor", Type::b64, bit_xor},
  {"exch", Type::b32, exchange}, {"exch", Type::b64, exchange},
  {"exch", Type::u32, exchange}, {"exch", Type::u64, exchange}, {"exch", Type::s32, exchange}, {"exch", Type::f32, exchange},
  {"cas", Type::b16, compare_and_swap, 70}, {"cas", Type::b32, compare_and_swap}, {"cas", Type::b64, compare_and_swap},
  {"cas", Type::u32, compare_and_swap}, {"cas", Type::u64, compare_and_swap}, {"cas", Type::s32, compare_and_swap},
};
// clang-format on

// Inst::flags
constexpr u32 kReturns = 1;
constexpr u32 kFlushes = 2;  // f32 addition that may be one in global memory

// Inst::a address; Inst::list an operand for each of Inst::d elements, then a result for each;
// Inst::c the last operand of cas; Inst::helper the resolver; Inst::e indexes kRows.

constexpr u32 kMostElements = 8;

// combine(lane, element, old, b, c) is what goes to memory.
template <typename T, typename Combine>
[[gnu::always_inline]] inline void update_each(Warp& warp, const Inst& inst, u32 mask,
                                               const Combine& combine) {
  using Container = std::conditional_t<sizeof(T) == 8, u64, u32>;
  gather_addresses(warp, inst, warp.pointers());
  inst.helper(warp, inst, mask);
  if (warp.scratch() == 0) return;
  const auto c = lanes<Container>(warp, inst.c);
  u64 changes = 0;
  for (u32 left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    std::byte* at = warp.pointers().host[static_cast<std::size_t>(lane)];
    T old[kMostElements];  // a result may be the register of a later operand
    for (u32 k = 0; k < inst.d; ++k, at += sizeof(T)) {
      __builtin_memcpy(&old[k], at, sizeof(T));
      const auto b = static_cast<T>(lanes<Container>(warp, inst.list[k])[lane]);
      const T result = static_cast<T>(combine(lane, k, old[k], b, static_cast<T>(c[lane])));
      changes += result != old[k];
      __builtin_memcpy(at, &result, sizeof result);
    }
    if ((inst.flags & kReturns) == 0) continue;
    for (u32 k = 0; k < inst.d; ++k)
      lanes<Container>(warp, inst.list[inst.d + k]).set(lane, old[k]);
  }
  warp.cta().worker().changes += changes;
}

bool flushes(Warp& warp, const Inst& inst, int lane) {
  return (inst.flags & kFlushes) != 0 &&
         space_of(warp.pointers().address[static_cast<std::size_t>(lane)]) == Space::global;
}

Update update_of(const Inst& inst, bool flushing) {
  return flushing ? add_f32_flushing : kRows[inst.e].update;
}

template <typename T>
void update_lanes(Warp& warp, const Inst& inst, u32 mask) {
  update_each<T>(warp, inst, mask, [&](int lane, u32, u64 old, u64 b, u64 c) {
    return update_of(inst, flushes(warp, inst, lane))(old, b, c);
  });
}

// Sums of floats of up to 32 bits, their roundings moved at random. Subnormals that are flushed
// stay flushed.
template <typename T>
void add_lanes_randomly(Warp& warp, const Inst& inst, u32 mask) {
  const Type type = kRows[inst.e].type;
  const FormatId id =
      type == Type::f32
          ? FormatId::f32
          : (type == Type::f16 || type == Type::f16x2 ? FormatId::f16 : FormatId::bf16);
  const int halves = bits(type) / format(id).storage_bits;
  const Random random = warp.next_random();
  update_each<T>(warp, inst, mask, [&](int lane, u32 element, u64 old, u64 b, u64 c) {
    Random stream = random.fork(u64{kLanes} * element + static_cast<u64>(lane));
    const bool flushing = flushes(warp, inst, lane);
    const auto source = [&](u64 value) {
      return flushing ? u64{flush(static_cast<u32>(value))} : value;
    };
    return source(add_randomly(id, halves, update_of(inst, flushing)(old, b, c), source(old),
                               source(b), stream));
  });
}

// How many elements each lane updates.
std::size_t take_vector(Modifiers& modifiers) {
  constexpr std::size_t kCounts[] = {2, 4, 8};
  const int vector = modifiers.take_one_of("v2", "v4", "v8");
  return vector < 0 ? 1 : kCounts[vector];
}

void decode_atomic(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                   Inst& out) {
  const bool returns = instruction.opcode == "atom";
  if (modifiers.take("async")) return decoder.refuse("asynchronous reductions are not emulated");
  const int order = modifiers.take_one_of("relaxed", "acquire", "release", "acq_rel");
  const int scope = modifiers.take_one_of("cta", "cluster", "gpu", "sys");
  if (order >= 2 && scope != 0) out.flags |= kReleases;
  if ((order == 1 || order == 3) && scope != 0) out.flags |= kAcquires;
  if (scope == 0) out.flags |= kCtaScope;
  constexpr Space kSpaces[] = {Space::global, Space::shared, Space::shared, Space::shared};
  const int where = modifiers.take_one_of("global", "shared", "shared::cta", "shared::cluster");
  const Space space = where < 0 ? Space::generic : kSpaces[where];
  modifiers.take("noftz");
  modifiers.take_hints();
  const bool has_policy = modifiers.take_cache_policy();
  const std::size_t vector = take_vector(modifiers);
  const Type type = modifiers.take_type();
  const std::string operation = modifiers.take_first();
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows), [&](const AtomicRow& r) {
    return r.operation == operation && r.type == type;
  });
  const std::size_t operands = (operation == "cas" ? 3u : 2u) + (returns ? 1u : 0u);
  const std::size_t written = operands + (has_policy ? 1u : 0u);
  const int bytes = bits(type) / 8 * static_cast<int>(vector);
  const bool exists = row != std::end(kRows) &&
                      (vector == 1 || (operation == "add" && is_float(type) && type != Type::f64 &&
                                       bytes <= 16 && space != Space::shared));
  if (!exists || !decoder.require_operands(instruction, written, written)) {
    decoder.refuse("no such atomic operation");
    return;
  }
  decoder.require_sm(vector > 1 ? 90 : row->sm);
  if (is_float(type)) out.flags |= kData;
  if (space != Space::shared) decoder.program().communicates = true;
  const std::vector<Operand>& all = instruction.operands;
  const std::size_t address = returns ? 1 : 0;
  const std::span<const Operand> sources = decoder.elements(all[address + 1]),
                                 results = decoder.elements(all[0]);
  if (sources.size() != vector || (returns && results.size() != vector)) {
    return decoder.refuse("the vector has another number of elements than the instruction says");
  }
  std::vector<Slot> list;
  for (const Operand& source : sources) list.push_back(decoder.source(source, bits(type)));
  if (returns) {
    for (const Operand& result : results) list.push_back(decoder.destination(result, bits(type)));
    out.flags |= kReturns;
  }
  if (!returns ||
      std::ranges::none_of(results, [&](const Operand& result) { return decoder.is_read(result); }))
    out.flags |= kUnread;
  out.list = decoder.keep(list);
  out.d = static_cast<Slot>(vector);
  decoder.address(all[address], space, out);
  if (operation == "cas") out.c = decoder.source(all[address + 2], bits(type));
  out.e = static_cast<Slot>(row - std::begin(kRows));
  if (type == Type::f32 && operation == "add" && space != Space::shared) out.flags |= kFlushes;
  out.helper = resolver(space, bytes, Intent::update);
  switch (bits(type)) {
    case 16:
      out.execute = update_lanes<std::uint16_t>;
      break;
    case 32:
      out.execute = update_lanes<u32>;
      break;
    default:
      out.execute = update_lanes<u64>;
      break;
  }
  if (decoder.rounds_randomly() && is_float(type) && operation == "add" && bits(type) <= 32) {
    out.execute = bits(type) == 16 ? add_lanes_randomly<std::uint16_t> : add_lanes_randomly<u32>;
  }
}

}  // namespace

std::span<const Family> atomic_families() {
  static constexpr Family kFamilies[] = {{"atom", decode_atomic}, {"red", decode_atomic}};
  return kFamilies;
}

}  // namespace plumbline::emulator
