// SPDX-License-Identifier: MIT
// Instructions in which lanes of a warp exchange values (PTX ISA 9.0 sections 9.7.9.6,
// 9.7.13.8-12): shfl, vote, match, redux, activemask, elect. A `.sync` form waits until all live
// lanes of its member mask are at the instruction.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "harness/emulator/decode/decode.h"
#include "harness/emulator/instructions/member_masks.h"
#include "harness/emulator/instructions/rounding.h"
#include "harness/emulator/machine/cta.h"
#include "harness/emulator/machine/lanes.h"

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

// Runs action(lanes) for each set of lanes that is complete; `masks` holds the member masks.
template <typename Action>
void together(Warp& warp, const Inst& inst, u32 mask, Slot masks, const Action& action) {
  each_member_mask(warp, mask, masks, [&](u32 members, u32 group) {
    if (!warp.gather(inst, members, group)) return;
    warp.note_meeting(members);
    action(group);
  });
}

// --- shfl ---

enum class Shuffle { up, down, bfly, idx };

// Inst::a value, b lane operand, c clamp and segment, e member mask; d result, p in-range
// predicate.
template <Shuffle Mode>
void shuffle(Warp& warp, const Inst& inst, u32 mask) {
  together(warp, inst, mask, inst.e, [&](u32 group) {
    const auto d = lanes<u32>(warp, inst.d);
    const auto a = lanes<u32>(warp, inst.a);
    const auto b = lanes<u32>(warp, inst.b);
    const auto c = lanes<u32>(warp, inst.c);
    const u32 garbage = warp.cta().launch().register_garbage;
    u32 value[kLanes];
    for (int i = 0; i < kLanes; ++i) value[i] = a[i];
    u32 in_range = 0;
    for (u32 left = group; left != 0; left &= left - 1) {
      const int lane = std::countr_zero(left);
      const int shift = static_cast<int>(b[lane] & 31), clamp = static_cast<int>(c[lane] & 31);
      const int segment = static_cast<int>(c[lane] >> 8 & 31);
      const int highest = (lane & segment) | (clamp & ~segment), lowest = lane & segment;
      int from = lane;
      switch (Mode) {
        case Shuffle::up:
          from = lane - shift;
          break;
        case Shuffle::down:
          from = lane + shift;
          break;
        case Shuffle::bfly:
          from = lane ^ shift;
          break;
        case Shuffle::idx:
          from = lowest | (shift & ~segment);
          break;
      }
      const bool valid = Mode == Shuffle::up ? from >= highest : from <= highest;
      in_range |= static_cast<u32>(valid) << lane;
      if (!valid) from = lane;
      if ((group >> from & 1) == 0) {
        // Unpredictable (PTX ISA, shfl.sync), and harmless where nothing depends on it: trees over
        // a part of a warp read such lanes.
        warp.cta().worker().if_it_matters.emplace(inst.index, FindingKind::bad_operand);
        d.set(lane, garbage != 0 ? garbage * 0x01010101u : value[lane]);
        continue;
      }
      d.set(lane, value[from]);
    }
    blend(warp.predicate(inst.p), in_range, group);
  });
}

void decode_shuffle(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                    Inst& out) {
  constexpr Handler kModes[] = {shuffle<Shuffle::up>, shuffle<Shuffle::down>,
                                shuffle<Shuffle::bfly>, shuffle<Shuffle::idx>};
  const bool sync = modifiers.take("sync");
  const int mode = modifiers.take_one_of("up", "down", "bfly", "idx");
  if (!sync || mode < 0 || !modifiers.take("b32") || !decoder.require_operands(instruction, 5, 5))
    return;
  const std::span<const Operand> d = decoder.elements(instruction.operands[0]);
  out.d = decoder.destination(d[0], 32);
  out.p = d.size() > 1 ? decoder.predicate_destination(d[1]) : kSinkPredicate;
  out.a = decoder.source(instruction.operands[1], 32);
  out.b = decoder.source(instruction.operands[2], 32);
  out.c = decoder.source(instruction.operands[3], 32);
  out.e = decoder.source(instruction.operands[4], 32);
  out.execute = kModes[mode];
}

// --- vote, activemask, elect ---

enum class Vote { all, any, uni, ballot };

template <Vote Mode>
void vote(Warp& warp, const Inst& inst, u32 mask) {
  together(warp, inst, mask, inst.e, [&](u32 group) {
    const u32 yes = warp.read(inst.p) & group;
    if (Mode == Vote::ballot) {
      const auto d = lanes<u32>(warp, inst.d);
      for (int i = 0; i < kLanes; ++i) d.set_if(i, (group >> i & 1) != 0, yes);
      return;
    }
    const bool result = Mode == Vote::all
                            ? yes == group
                            : (Mode == Vote::any ? yes != 0 : yes == 0 || yes == group);
    blend(warp.predicate(static_cast<PredicateUse>(inst.d)), result ? kFullMask : 0, group);
  });
}

void decode_vote(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                 Inst& out) {
  constexpr Handler kModes[] = {vote<Vote::all>, vote<Vote::any>, vote<Vote::uni>,
                                vote<Vote::ballot>};
  const bool sync = modifiers.take("sync");
  const int mode = modifiers.take_one_of("all", "any", "uni", "ballot");
  const bool ballot = mode == 3;
  if (!sync || mode < 0 || !modifiers.take(ballot ? "b32" : "pred") ||
      !decoder.require_operands(instruction, 3, 3))
    return;
  out.d = ballot ? decoder.destination(instruction.operands[0], 32)
                 : decoder.predicate_destination(instruction.operands[0]);
  out.p = decoder.predicate(instruction.operands[1]);
  out.e = decoder.source(instruction.operands[2], 32);
  out.execute = kModes[mode];
}

void active_mask(Warp& warp, const Inst& inst, u32 mask) {
  const auto d = lanes<u32>(warp, inst.d);
  for (int i = 0; i < kLanes; ++i) d.set_if(i, (mask >> i & 1) != 0, mask);
}

void decode_active_mask(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                        Inst& out) {
  if (!modifiers.take("b32") || !decoder.require_operands(instruction, 1, 1)) return;
  out.d = decoder.destination(instruction.operands[0], 32);
  out.execute = active_mask;
}

// The lowest lane of the member mask is elected.
void elect(Warp& warp, const Inst& inst, u32 mask) {
  together(warp, inst, mask, inst.e, [&](u32 group) {
    const int leader = std::countr_zero(group);
    const auto d = lanes<u32>(warp, inst.d);
    for (int i = 0; i < kLanes; ++i) d.set_if(i, (group >> i & 1) != 0, static_cast<u32>(leader));
    blend(warp.predicate(inst.p), u32{1} << leader, group);
  });
}

void decode_elect(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                  Inst& out) {
  decoder.require_sm(90);
  if (!modifiers.take("sync") || !decoder.require_operands(instruction, 2, 2)) return;
  const std::span<const Operand> d = decoder.elements(instruction.operands[0]);
  if (d.size() != 2) return;
  out.d = decoder.destination(d[0], 32);
  out.p = decoder.predicate_destination(d[1]);
  out.e = decoder.source(instruction.operands[1], 32);
  out.execute = elect;
}

// --- match ---

template <typename T, bool All>
void match(Warp& warp, const Inst& inst, u32 mask) {
  together(warp, inst, mask, inst.e, [&](u32 group) {
    const auto d = lanes<u32>(warp, inst.d);
    const auto a = lanes<T>(warp, inst.a);
    u32 result[kLanes] = {};
    u32 all_equal = 0;
    for (u32 left = group; left != 0; left &= left - 1) {
      const int lane = std::countr_zero(left);
      u32 equal = 0;
      for (int i = 0; i < kLanes; ++i) equal |= static_cast<u32>(a[i] == a[lane]) << i;
      equal &= group;
      all_equal |= equal == group ? kFullMask : 0;
      result[lane] = All ? (equal == group ? group : 0) : equal;
    }
    for (int i = 0; i < kLanes; ++i) d.set_if(i, (group >> i & 1) != 0, result[i]);
    if (All) blend(warp.predicate(inst.p), all_equal, group);
  });
}

void decode_match(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                  Inst& out) {
  decoder.require_sm(70);
  const bool all = modifiers.take("all");
  if ((!all && !modifiers.take("any")) || !modifiers.take("sync")) return;
  const int width = bits(modifiers.take_type());
  if ((width != 32 && width != 64) || !decoder.require_operands(instruction, 3, 3)) return;
  const std::span<const Operand> d = decoder.elements(instruction.operands[0]);
  out.d = decoder.destination(d[0], 32);
  out.p = d.size() > 1 ? decoder.predicate_destination(d[1]) : kSinkPredicate;
  out.a = decoder.source(instruction.operands[1], width);
  out.e = decoder.source(instruction.operands[2], 32);
  if (width == 32) out.execute = all ? match<u32, true> : match<u32, false>;
  if (width == 64) out.execute = all ? match<u64, true> : match<u64, false>;
}

// --- redux ---

template <typename T, T (*Combine)(T, T)>
void reduce(Warp& warp, const Inst& inst, u32 mask) {
  together(warp, inst, mask, inst.e, [&](u32 group) {
    const auto d = lanes<T>(warp, inst.d);
    const auto a = lanes<T>(warp, inst.a);
    T result = a[std::countr_zero(group)];
    for (u32 left = group & (group - 1); left != 0; left &= left - 1)
      result = Combine(result, a[std::countr_zero(left)]);
    for (int i = 0; i < kLanes; ++i) d.set_if(i, (group >> i & 1) != 0, result);
  });
}

u32 sum(u32 a, u32 b) { return a + b; }

template <typename T>
T smaller(T a, T b) {
  return std::min(a, b);
}

template <typename T>
T larger(T a, T b) {
  return std::max(a, b);
}

u32 both(u32 a, u32 b) { return a & b; }

u32 either(u32 a, u32 b) { return a | b; }

u32 odd(u32 a, u32 b) { return a ^ b; }

// +0 is above -0; a number wins over NaN, unless .NaN is there.
template <bool Maximum, bool Absolute, bool Nan>
void reduce_floats(Warp& warp, const Inst& inst, u32 mask) {
  together(warp, inst, mask, inst.e, [&](u32 group) {
    const auto d = lanes<u32>(warp, inst.d);
    const auto a = lanes<u32>(warp, inst.a);
    const auto order = [](u32 x) {
      return static_cast<std::int32_t>(x ^ ((x >> 31) != 0 ? 0x7fffffffu : 0u));
    };
    u32 result = kCanonicalNan;
    bool any_nan = false;
    for (u32 left = group; left != 0; left &= left - 1) {
      const u32 x = Absolute ? a[std::countr_zero(left)] & 0x7fffffff : a[std::countr_zero(left)];
      if (is_nan_bits(x)) {
        any_nan = true;
      } else if (is_nan_bits(result) ||
                 (Maximum ? order(x) > order(result) : order(x) < order(result))) {
        result = x;
      }
    }
    if (Nan && any_nan) result = kCanonicalNan;
    for (int i = 0; i < kLanes; ++i) d.set_if(i, (group >> i & 1) != 0, result);
  });
}

template <bool Maximum>
constexpr Handler kFloatReductions[] = {
    reduce_floats<Maximum, false, false>, reduce_floats<Maximum, true, false>,
    reduce_floats<Maximum, false, true>, reduce_floats<Maximum, true, true>};

struct ReduceRow {
  std::string_view operation;
  Type type;
  Handler handler;
};

constexpr ReduceRow kReductions[] = {
    {"add", Type::u32, reduce<u32, sum>},
    {"add", Type::s32, reduce<u32, sum>},
    {"min", Type::u32, reduce<u32, smaller<u32>>},
    {"min", Type::s32, reduce<std::int32_t, smaller<std::int32_t>>},
    {"max", Type::u32, reduce<u32, larger<u32>>},
    {"max", Type::s32, reduce<std::int32_t, larger<std::int32_t>>},
    {"and", Type::b32, reduce<u32, both>},
    {"or", Type::b32, reduce<u32, either>},
    {"xor", Type::b32, reduce<u32, odd>},
};

void decode_reduce(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                   Inst& out) {
  decoder.require_sm(80);
  if (!modifiers.take("sync") || !decoder.require_operands(instruction, 3, 3)) return;
  const Type type = modifiers.take_type();
  const std::string operation = modifiers.take_first();
  if (type == Type::f32 && (operation == "min" || operation == "max")) {
    decoder.require_sm(100);
    const int which = (modifiers.take("abs") ? 1 : 0) + (modifiers.take("NaN") ? 2 : 0);
    out.d = decoder.destination(instruction.operands[0], 32);
    out.a = decoder.source(instruction.operands[1], 32);
    out.e = decoder.source(instruction.operands[2], 32);
    out.execute =
        operation == "max" ? kFloatReductions<true>[which] : kFloatReductions<false>[which];
    return;
  }
  for (const ReduceRow& row : kReductions) {
    if (row.operation != operation || row.type != type) continue;
    out.d = decoder.destination(instruction.operands[0], 32);
    out.a = decoder.source(instruction.operands[1], 32);
    out.e = decoder.source(instruction.operands[2], 32);
    out.execute = row.handler;
    return;
  }
  decoder.refuse("no such reduction");
}

}  // namespace

std::span<const Family> warp_families() {
  static constexpr Family kFamilies[] = {
      {"shfl", decode_shuffle}, {"vote", decode_vote},   {"activemask", decode_active_mask},
      {"elect", decode_elect},  {"match", decode_match}, {"redux", decode_reduce},
  };
  return kFamilies;
}

}  // namespace plumbline::emulator
