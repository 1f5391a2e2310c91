// SPDX-License-Identifier: MIT
// setp, set and predicate logic (PTX ISA 9.0 section 9.7.5). A comparison is a mask of lanes;
// combining it with another predicate is one integer operation.
#include "harness/emulator/decode/families.h"
#include "harness/emulator/decode/rows.h"
#include "harness/emulator/instructions/half.h"
#include "harness/emulator/instructions/rounding.h"
#include "harness/emulator/machine/lanes.h"

#include <array>
#include <cmath>
#include <functional>

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

enum Comparison : int {
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  equ,
  neu,
  ltu,
  leu,
  gtu,
  geu,
  num,
  nan_,
  kComparisons
};

constexpr std::array<std::string_view, kComparisons> kNames = {
    "eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

// lo, ls, hi, hs are the unsigned spellings of lt, le, gt, ge.
constexpr std::pair<std::string_view, Comparison> kUnsignedNames[] = {
    {"lo", lt}, {"ls", le}, {"hi", gt}, {"hs", ge}};

template <Comparison C>
struct Compare {
  template <typename T>
  [[gnu::always_inline]] static bool apply(T a, T b) {
    switch (C) {
      case eq:
        return a == b;
      case ne:
        return a != b;
      case lt:
        return a < b;
      case le:
        return a <= b;
      case gt:
        return a > b;
      case ge:
        return a >= b;
      default:
        return false;
    }
  }
};

// Floats: the plain comparisons are false with a NaN, the `u` ones true. `ne` is ordered too.
template <Comparison C, typename T>
[[gnu::always_inline]] inline bool compare_floats(T a, T b) {
  const bool ordered = a == a && b == b;
  switch (C) {
    case eq:
      return a == b;
    case ne:
      return ordered && a != b;
    case lt:
      return a < b;
    case le:
      return a <= b;
    case gt:
      return a > b;
    case ge:
      return a >= b;
    case equ:
      return !ordered || a == b;
    case neu:
      return a != b;
    case ltu:
      return !(a >= b);
    case leu:
      return !(a > b);
    case gtu:
      return !(a <= b);
    case geu:
      return !(a < b);
    case num:
      return ordered;
    case nan_:
      return !ordered;
    default:
      return false;
  }
}

template <Comparison C, bool Ftz>
struct CompareF32 {
  [[gnu::always_inline]] static bool apply(u32 a, u32 b) {
    return compare_floats<C>(as_float(flush_if<Ftz>(a)), as_float(flush_if<Ftz>(b)));
  }
};

template <Comparison C>
struct CompareF64 {
  [[gnu::always_inline]] static bool apply(u64 a, u64 b) {
    return compare_floats<C>(__builtin_bit_cast(double, a), __builtin_bit_cast(double, b));
  }
};

template <Comparison C>
struct CompareF16 {
  static bool apply(std::uint16_t a, std::uint16_t b) {
    return compare_floats<C>(f16_to_f32(a), f16_to_f32(b));
  }
};

template <Comparison C>
struct CompareBf16 {
  static bool apply(std::uint16_t a, std::uint16_t b) {
    return compare_floats<C>(bf16_to_f32(a), bf16_to_f32(b));
  }
};

enum Combine : u32 { combine_none, combine_and, combine_or, combine_xor };

[[gnu::always_inline]] inline u32 combine(u32 how, u32 holds, u32 with) {
  switch (how) {
    case combine_and:
      return holds & with;
    case combine_or:
      return holds | with;
    case combine_xor:
      return holds ^ with;
    default:
      return holds;
  }
}

// Comparers leave the mask of lanes for which the comparison holds in the warp's scratch word; the
// instruction around them (setp, set) decides what becomes of it. One comparer per type and
// comparison, one handler per instruction.
template <typename A, typename Op>
[[gnu::always_inline]] inline void compare_lanes(Warp& warp, const Inst& inst, u32) {
  warp.scratch() = compare<A, A, Op>(warp, inst.a, inst.b);
}

using Comparers = std::array<HandlerSet, kComparisons>;

template <typename A, template <Comparison> typename Op, int Count>
constexpr Comparers comparers() {
  return []<int... I>(std::integer_sequence<int, I...>) {
    return Comparers{handlers_of<&compare_lanes<A, Op<static_cast<Comparison>(I)>>>...};
  }(std::make_integer_sequence<int, Count>());
}

// Inst::helper: the comparer; Inst::flags: Combine; Inst::p: what to combine with.
// Inst::d and Inst::e: the two predicate destinations.
void set_predicate(Warp& warp, const Inst& inst, u32 mask) {
  inst.helper(warp, inst, mask);
  const u32 holds = warp.scratch();
  const u32 with = warp.read(inst.p);
  blend(warp.predicate(static_cast<PredicateUse>(inst.d)), combine(inst.flags, holds, with), mask);
  if (inst.e != kSinkPredicate) {
    blend(warp.predicate(static_cast<PredicateUse>(inst.e)), combine(inst.flags, ~holds, with),
          mask);
  }
}

// Inst::e: what the register gets where the comparison holds.
void set_value(Warp& warp, const Inst& inst, u32 mask) {
  inst.helper(warp, inst, mask);
  const u32 holds = combine(inst.flags, warp.scratch(), warp.read(inst.p));
  const auto d = lanes<u32>(warp, inst.d);
  for (int i = 0; i < kLanes; ++i) {
    const u32 value = (holds >> i & 1) != 0 ? inst.e : 0;
    d.set_if(i, (mask >> i & 1) != 0, value);
  }
}

template <Comparison C>
using CompareKeep = CompareF32<C, false>;
template <Comparison C>
using CompareFlush = CompareF32<C, true>;

constexpr int kIntegerComparisons = ge + 1;

struct ComparerRow {
  Type type;
  bool ftz;
  Comparers comparers;
};

constexpr ComparerRow kComparers[] = {
    {Type::u16, false, comparers<std::uint16_t, Compare, kIntegerComparisons>()},
    {Type::s16, false, comparers<std::int16_t, Compare, kIntegerComparisons>()},
    {Type::u32, false, comparers<u32, Compare, kIntegerComparisons>()},
    {Type::s32, false, comparers<std::int32_t, Compare, kIntegerComparisons>()},
    {Type::u64, false, comparers<u64, Compare, kIntegerComparisons>()},
    {Type::s64, false, comparers<std::int64_t, Compare, kIntegerComparisons>()},
    {Type::f32, false, comparers<u32, CompareKeep, kComparisons>()},
    {Type::f32, true, comparers<u32, CompareFlush, kComparisons>()},
    {Type::f64, false, comparers<u64, CompareF64, kComparisons>()},
    {Type::f16, false, comparers<std::uint16_t, CompareF16, kComparisons>()},
    {Type::bf16, false, comparers<std::uint16_t, CompareBf16, kComparisons>()},
};

// Bit types compare as unsigned ones (eq and ne only, which ptxas checks).
Type as_number(Type type) {
  switch (type) {
    case Type::b16:
      return Type::u16;
    case Type::b32:
      return Type::u32;
    case Type::b64:
      return Type::u64;
    default:
      return type;
  }
}

Comparison take_comparison(Decoder& decoder, Modifiers& modifiers, bool is_float_type) {
  for (int c = 0; c < kComparisons; ++c) {
    if (!modifiers.take(kNames[static_cast<std::size_t>(c)])) continue;
    if (c > ge && !is_float_type)
      decoder.refuse("unordered comparisons are for floating-point types");
    return static_cast<Comparison>(c);
  }
  for (const auto& [name, comparison] : kUnsignedNames) {
    if (modifiers.take(name)) return comparison;
  }
  decoder.refuse("the comparison is missing");
  return eq;
}

// Finds the comparer and places the sources; refuses where there is none.
void place_comparison(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                      Type type, Inst& out) {
  const bool ftz = modifiers.take("ftz");
  out.flags = static_cast<u32>(modifiers.take_one_of("and", "or", "xor") + 1);
  const Comparison comparison = take_comparison(decoder, modifiers, is_float(type));
  const std::size_t operands = out.flags == combine_none ? 3 : 4;
  if (!decoder.require_operands(instruction, operands, operands)) return;
  out.a = decoder.source(instruction.operands[1], bits(type));
  out.b = decoder.source(instruction.operands[2], bits(type));
  if (operands == 4) out.p = decoder.predicate(instruction.operands[3]);
  for (const ComparerRow& row : kComparers) {
    if (row.type != as_number(type) || row.ftz != ftz) continue;
    out.helper = pick(row.comparers[static_cast<std::size_t>(comparison)]);
    return;
  }
  decoder.refuse("no such comparison");
}

template <float (*Widen)(std::uint16_t), bool Ftz>
float widened(u32 a, int shift) {
  const auto half = static_cast<std::uint16_t>(a >> shift);
  return Widen(Ftz && (half & 0x7c00) == 0 ? half & 0x8000 : half);
}

// setp of pairs: the low halves decide over Inst::d, the high ones over Inst::e.
template <Comparison C, float (*Widen)(std::uint16_t), bool Ftz>
void set_predicates_of_pair(Warp& warp, const Inst& inst, u32 mask) {
  const auto a = lanes<u32>(warp, inst.a);
  const auto b = lanes<u32>(warp, inst.b);
  const u32 with = warp.read(inst.p);
  const std::array<Slot, 2> destinations = {inst.d, inst.e};
  std::array<u32, 2> holds{};
  for (std::size_t half = 0; half < 2; ++half) {
    const int shift = static_cast<int>(16 * half);
    holds[half] = lanes_where([&](int i) {
      return compare_floats<C>(widened<Widen, Ftz>(a[i], shift), widened<Widen, Ftz>(b[i], shift));
    });
  }
  for (std::size_t half = 0; half < 2; ++half) {
    blend(warp.predicate(static_cast<PredicateUse>(destinations[half])),
          combine(inst.flags, holds[half], with), mask);
  }
}

template <float (*Widen)(std::uint16_t), bool Ftz>
constexpr std::array<Handler, kComparisons> pair_setters = [] {
  return []<int... I>(std::integer_sequence<int, I...>) {
    return std::array<Handler, kComparisons>{
        set_predicates_of_pair<static_cast<Comparison>(I), Widen, Ftz>...};
  }(std::make_integer_sequence<int, kComparisons>());
}();

void decode_setp_pair(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                      Type type, Inst& out) {
  const bool is_f16 = type == Type::f16x2;
  decoder.require_sm(is_f16 ? 53 : 90);
  const bool ftz = is_f16 && modifiers.take("ftz");
  out.flags = static_cast<u32>(modifiers.take_one_of("and", "or", "xor") + 1);
  const auto c = static_cast<std::size_t>(take_comparison(decoder, modifiers, true));
  const std::size_t operands = out.flags == combine_none ? 3 : 4;
  if (!decoder.require_operands(instruction, operands, operands)) return;
  const std::span<const Operand> destinations = decoder.elements(instruction.operands[0]);
  if (destinations.size() != 2) return decoder.refuse("pairs need two predicates, p|q");
  out.d = decoder.predicate_destination(destinations[0]);
  out.e = decoder.predicate_destination(destinations[1]);
  out.a = decoder.source(instruction.operands[1], 32);
  out.b = decoder.source(instruction.operands[2], 32);
  if (operands == 4) out.p = decoder.predicate(instruction.operands[3]);
  out.execute = !is_f16 ? pair_setters<bf16_to_f32, false>[c]
                : ftz   ? pair_setters<f16_to_f32, true>[c]
                        : pair_setters<f16_to_f32, false>[c];
}

void decode_setp(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                 Inst& out) {
  const Type type = modifiers.take_type();
  if (type == Type::f16x2 || type == Type::bf16x2) {
    decode_setp_pair(decoder, instruction, modifiers, type, out);
    return;
  }
  place_comparison(decoder, instruction, modifiers, type, out);
  if (decoder.refused()) return;
  const std::span<const Operand> destinations = decoder.elements(instruction.operands[0]);
  out.d = decoder.predicate_destination(destinations[0]);
  out.e = destinations.size() > 1 ? decoder.predicate_destination(destinations[1]) : kSinkPredicate;
  out.execute = set_predicate;
}

// Each half of an f16x2 or bf16x2 pair on its own.
template <Comparison C, float (*Widen)(std::uint16_t)>
struct ComparePair {
  static u32 apply(u32 a, u32 b) {
    const auto low = compare_floats<C>(Widen(static_cast<std::uint16_t>(a)),
                                       Widen(static_cast<std::uint16_t>(b)));
    const auto high = compare_floats<C>(Widen(static_cast<std::uint16_t>(a >> 16)),
                                        Widen(static_cast<std::uint16_t>(b >> 16)));
    return (low ? 0x0000ffffu : 0) | (high ? 0xffff0000u : 0);
  }
};

// As 1.0 in both halves, for set.*.f16x2.f16x2 and set.*.bf16x2.bf16x2.
template <Comparison C, float (*Widen)(std::uint16_t), u32 Ones>
struct ComparePairOnes {
  static u32 apply(u32 a, u32 b) { return ComparePair<C, Widen>::apply(a, b) & Ones; }
};

template <Comparison C>
using PairF16 = ComparePair<C, f16_to_f32>;
template <Comparison C>
using PairBf16 = ComparePair<C, bf16_to_f32>;
template <Comparison C>
using PairF16Ones = ComparePairOnes<C, f16_to_f32, 0x3c003c00>;
template <Comparison C>
using PairBf16Ones = ComparePairOnes<C, bf16_to_f32, 0x3f803f80>;

template <template <Comparison> typename Op>
constexpr std::array<HandlerSet, kComparisons> pair_handlers = [] {
  return []<int... I>(std::integer_sequence<int, I...>) {
    return std::array<HandlerSet, kComparisons>{
        plain<&on_base<&map2<u32, u32, u32, Op<static_cast<Comparison>(I)>>>>...};
  }(std::make_integer_sequence<int, kComparisons>());
}();

struct SetRow {
  Type result;
  u32 yes;
};

// All ones, or 1.0.
constexpr SetRow kSetRows[] = {
    {Type::u32, 0xffffffff}, {Type::s32, 0xffffffff}, {Type::u16, 0xffff}, {Type::s16, 0xffff},
    {Type::f32, 0x3f800000}, {Type::f16, 0x3c00},     {Type::bf16, 0x3f80}};

void decode_set_pair(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                     Type result, Type type, Inst& out) {
  const auto c = static_cast<std::size_t>(take_comparison(decoder, modifiers, true));
  const bool is_f16 = type == Type::f16x2;
  if (result == Type::u32 || result == Type::s32) {
    out.execute = pick(is_f16 ? pair_handlers<PairF16>[c] : pair_handlers<PairBf16>[c]);
  } else if (result == type) {
    out.execute = pick(is_f16 ? pair_handlers<PairF16Ones>[c] : pair_handlers<PairBf16Ones>[c]);
  }
  place_operands("w=ww", decoder, instruction, out);
}

void decode_set(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers, Inst& out) {
  const Type result = modifiers.take_type();
  const Type type = modifiers.take_type();
  if (type == Type::f16x2 || type == Type::bf16x2) {
    decode_set_pair(decoder, instruction, modifiers, result, type, out);
    return;
  }
  place_comparison(decoder, instruction, modifiers, type, out);
  if (decoder.refused()) return;
  for (const SetRow& row : kSetRows) {
    if (row.result != result) continue;
    out.e = row.yes;
    out.d = decoder.destination(instruction.operands[0], bits(result));
    out.execute = set_value;
    return;
  }
  decoder.refuse("no such comparison");
}

// --- predicate logic: Inst::d destination, Inst::p and Inst::e sources ---

template <typename Op>
void logic(Warp& warp, const Inst& inst, u32 mask) {
  const u32 value = Op{}(warp.read(inst.p), warp.read(static_cast<PredicateUse>(inst.e)));
  blend(warp.predicate(static_cast<PredicateUse>(inst.d)), value, mask);
}

void logic_not(Warp& warp, const Inst& inst, u32 mask) {
  blend(warp.predicate(static_cast<PredicateUse>(inst.d)), ~warp.read(inst.p), mask);
}

}  // namespace

void decode_predicate(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                      Inst& out) {
  modifiers.take("pred");
  const bool is_not = instruction.opcode == "not";
  if (!decoder.require_operands(instruction, is_not ? 2 : 3, is_not ? 2 : 3)) return;
  out.d = decoder.predicate_destination(instruction.operands[0]);
  out.p = decoder.predicate(instruction.operands[1]);
  if (!is_not) out.e = decoder.predicate(instruction.operands[2]);
  if (is_not) out.execute = logic_not;
  if (instruction.opcode == "and") out.execute = logic<std::bit_and<u32>>;
  if (instruction.opcode == "or") out.execute = logic<std::bit_or<u32>>;
  if (instruction.opcode == "xor") out.execute = logic<std::bit_xor<u32>>;
}

std::span<const Family> compare_families() {
  static constexpr Family kFamilies[] = {{"setp", decode_setp}, {"set", decode_set}};
  return kFamilies;
}

}  // namespace plumbline::emulator
