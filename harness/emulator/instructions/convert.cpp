// SPDX-License-Identifier: MIT
// cvt (PTX ISA 9.0 section 9.7.9.21): integers, floats, and pairs. The frequent forms have vector
// handlers, in one table; all others decode to an exact value and round once (convert_exact.h).
//
// Pairs: in `cvt.f16x2.f32 d, a, b` the first source becomes the upper half; in `cvt.f16x2.e4m3x2`
// upper stays upper.
#include "harness/emulator/decode/convert_exact.h"
#include "harness/emulator/decode/families.h"
#include "harness/emulator/decode/rows.h"
#include "harness/emulator/instructions/half.h"
#include "harness/emulator/instructions/random_arithmetic.h"
#include "harness/emulator/machine/lanes.h"

#include <algorithm>
#include <cmath>

namespace plumbline::emulator {
namespace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s8 = std::int8_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;

// --- vector handlers ---

template <typename D>
struct Resize {
  template <typename A>
  static D apply(A a) {
    return static_cast<D>(a);
  }
};

template <typename D, typename A>
constexpr HandlerSet resize = handlers_of<&map1<D, A, Resize<D>>>;

struct F32ToBf16 {
  [[gnu::always_inline]] static u32 apply(u32 a) { return f32_to_bf16(a); }
};

struct F32ToF16 {
  [[gnu::always_inline]] static u32 apply(u32 a) { return f32_to_f16(a); }
};

struct F32ToBf16x2 {
  [[gnu::always_inline]] static u32 apply(u32 a, u32 b) {
    return u32{f32_to_bf16(a)} << 16 | f32_to_bf16(b);
  }
};

struct F32ToF16x2 {
  [[gnu::always_inline]] static u32 apply(u32 a, u32 b) {
    return u32{f32_to_f16(a)} << 16 | f32_to_f16(b);
  }
};

struct F32ToE4m3x2 {
  [[gnu::always_inline]] static u32 apply(u32 a, u32 b) {
    return u32{f32_to_e4m3(a)} << 8 | f32_to_e4m3(b);
  }
};

struct F32ToE5m2x2 {
  [[gnu::always_inline]] static u32 apply(u32 a, u32 b) {
    return u32{f32_to_e5m2(a)} << 8 | f32_to_e5m2(b);
  }
};

struct Bf16ToF32 {
  [[gnu::always_inline]] static u32 apply(u32 a) {
    return as_bits(bf16_to_f32(static_cast<u16>(a)));
  }
};

struct F16ToF32 {
  [[gnu::always_inline]] static u32 apply(u32 a) {
    return as_bits(f16_to_f32(static_cast<u16>(a)));
  }
};

struct S32ToF32 {
  [[gnu::always_inline]] static u32 apply(s32 a) { return as_bits(static_cast<float>(a)); }
};

struct U32ToF32 {
  // Both halves are exact; their sum is rounded once.
  [[gnu::always_inline]] static u32 apply(u32 a) {
    return as_bits(static_cast<float>(static_cast<s32>(a >> 16)) * 65536.0f +
                   static_cast<float>(static_cast<s32>(a & 0xffff)));
  }
};

// clang-format off
constexpr Row kRows[] = {
  {"cvt.u16.u8",  "h=h", resize<u16, u8>},  {"cvt.u32.u8",  "w=h", resize<u32, u8>},  {"cvt.u64.u8",  "x=h", resize<u64, u8>},
  {"cvt.s16.s8",  "h=h", resize<s16, s8>},  {"cvt.s32.s8",  "w=h", resize<s32, s8>},  {"cvt.s64.s8",  "x=h", resize<s64, s8>},
  {"cvt.u32.u16", "w=h", resize<u32, u16>}, {"cvt.u64.u16", "x=h", resize<u64, u16>}, {"cvt.s32.u16", "w=h", resize<u32, u16>},
  {"cvt.s32.s16", "w=h", resize<s32, s16>}, {"cvt.s64.s16", "x=h", resize<s64, s16>}, {"cvt.u32.s16", "w=h", resize<s32, s16>},
  {"cvt.u64.u32", "x=w", resize<u64, u32>}, {"cvt.s64.u32", "x=w", resize<u64, u32>},
  {"cvt.s64.s32", "x=w", resize<s64, s32>}, {"cvt.u64.s32", "x=w", resize<s64, s32>},
  {"cvt.u32.u64", "w=x", resize<u32, u64>}, {"cvt.s32.s64", "w=x", resize<u32, u64>}, {"cvt.u32.s64", "w=x", resize<u32, u64>},
  {"cvt.u16.u32", "h=w", resize<u16, u32>}, {"cvt.u16.u64", "h=x", resize<u16, u64>}, {"cvt.s16.s32", "h=w", resize<s16, u32>},
  {"cvt.u8.u32",  "h=w", resize<u8, u32>},  {"cvt.s8.s32",  "h=w", resize<s8, u32>},
  {"cvt.f32.f16",  "w=h", handlers_of<&map1<u32, u32, F16ToF32>>},
  {"cvt.f32.bf16", "w=h", handlers_of<&map1<u32, u32, Bf16ToF32>>, 80},
  {"cvt.rn.f16.f32",  "h=w", handlers_of<&map1<u32, u32, F32ToF16>>},
  {"cvt.rn.bf16.f32", "h=w", handlers_of<&map1<u32, u32, F32ToBf16>>, 80},
  {"cvt.rn.f16x2.f32",  "w=ww", handlers_of<&map2<u32, u32, u32, F32ToF16x2>>, 80},
  {"cvt.rn.bf16x2.f32", "w=ww", handlers_of<&map2<u32, u32, u32, F32ToBf16x2>>, 80},
  {"cvt.rn.satfinite.e4m3x2.f32", "h=ww", handlers_of<&map2<u32, u32, u32, F32ToE4m3x2>>, 89},
  {"cvt.rn.satfinite.e5m2x2.f32", "h=ww", handlers_of<&map2<u32, u32, u32, F32ToE5m2x2>>, 89},
  {"cvt.rn.f32.s32", "w=w", handlers_of<&map1<u32, s32, S32ToF32>>},
  {"cvt.rn.f32.u32", "w=w", handlers_of<&map1<u32, u32, U32ToF32>>},
};
// clang-format on

bool decode_frequent(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                     Inst& out) {
  const std::string form = spelling(instruction);
  const Row* row = std::find_if(std::begin(kRows), std::end(kRows),
                                [&](const Row& r) { return r.form == form; });
  if (row == std::end(kRows) || instruction.operands.size() != row->operands.size() - 1)
    return false;
  // Wider registers than the types (a 64-bit source of .u8) are left to the exact path.
  const std::size_t sources = row->operands.size() - 2;
  for (std::size_t i = 0; i <= sources; ++i) {
    if (decoder.register_bits(instruction.operands[i]) == 8) return false;
    const int wide = row->operands[i == 0 ? 0 : i + 1] == 'x' ? 64 : 32;
    if ((decoder.register_bits(instruction.operands[i]) == 64) != (wide == 64) &&
        instruction.operands[i].kind == OperandKind::reg) {
      return false;
    }
  }
  decode_row(kRows, decoder, instruction, modifiers, out);
  return true;
}

// --- the exact path, which random rounding takes with every form ---

// Inst::immediate indexes Program::conversions; Inst::flags says how registers lie.
constexpr u32 kWideSource = 1, kWideDestination = 2;

u64 read_lane(const Warp& warp, Slot slot, bool wide, int lane) {
  return wide ? lanes<u64>(warp, slot)[lane] : u64{lanes<u32>(warp, slot)[lane]};
}

void write_lane(const Warp& warp, Slot slot, bool wide, int lane, u64 value) {
  if (wide) {
    lanes<u64>(warp, slot).set(lane, value);
  } else {
    lanes<u32>(warp, slot).set(lane, static_cast<u32>(value));
  }
}

const Conversion& conversion(const Warp& warp, const Inst& inst) {
  return warp.program().conversions[static_cast<std::size_t>(inst.immediate)];
}

// `convert_one` takes and gives the bits of one value; it is called for every lane of `mask` in
// turn.
template <typename Convert>
void convert_scalar(Warp& warp, const Inst& inst, int lane, const Convert& convert_one) {
  const u64 source = read_lane(warp, inst.a, (inst.flags & kWideSource) != 0, lane);
  write_lane(warp, inst.d, (inst.flags & kWideDestination) != 0, lane, convert_one(source));
}

// Two f32 into a pair: a above b.
template <typename Convert>
void convert_into_pair(Warp& warp, const Inst& inst, int lane, const Convert& convert_one) {
  const u64 high = convert_one(read_lane(warp, inst.a, false, lane));
  const u64 low = convert_one(read_lane(warp, inst.b, false, lane));
  write_lane(warp, inst.d, false, lane, high << bits(conversion(warp, inst).to) | low);
}

// A pair into a pair.
template <typename Convert>
void convert_pair(Warp& warp, const Inst& inst, int lane, const Convert& convert_one) {
  const Conversion& how = conversion(warp, inst);
  const u64 source = read_lane(warp, inst.a, false, lane);
  const u64 high = convert_one(source >> bits(how.from));
  const u64 low = convert_one(source);
  write_lane(warp, inst.d, false, lane, high << bits(how.to) | low);
}

enum class Registers : std::uint8_t { scalar, into_pair, pair };

template <Registers R, typename Convert>
void convert_lane(Warp& warp, const Inst& inst, int lane, const Convert& convert_one) {
  if constexpr (R == Registers::scalar) convert_scalar(warp, inst, lane, convert_one);
  if constexpr (R == Registers::into_pair) convert_into_pair(warp, inst, lane, convert_one);
  if constexpr (R == Registers::pair) convert_pair(warp, inst, lane, convert_one);
}

template <Registers R>
void convert_lanes(Warp& warp, const Inst& inst, u32 mask) {
  const Conversion& how = conversion(warp, inst);
  for (u32 left = mask; left != 0; left &= left - 1) {
    convert_lane<R>(warp, inst, std::countr_zero(left),
                    [&](u64 source) { return convert(how, source); });
  }
}

template <Registers R>
void convert_lanes_randomly(Warp& warp, const Inst& inst, u32 mask) {
  const Conversion& how = conversion(warp, inst);
  each_lane_randomly(warp, mask, [&](int lane, Random& random) {
    convert_lane<R>(warp, inst, lane,
                    [&](u64 source) { return convert_randomly(how, source, random); });
  });
}

Handler handler_of(Registers registers, bool random) {
  switch (registers) {
    case Registers::scalar:
      return random ? convert_lanes_randomly<Registers::scalar> : convert_lanes<Registers::scalar>;
    case Registers::into_pair:
      return random ? convert_lanes_randomly<Registers::into_pair>
                    : convert_lanes<Registers::into_pair>;
    case Registers::pair:
      return random ? convert_lanes_randomly<Registers::pair> : convert_lanes<Registers::pair>;
  }
  return nullptr;
}

// The element of a packed type; none for scalars.
Type element_of(Type type) {
  switch (type) {
    case Type::f16x2:
      return Type::f16;
    case Type::bf16x2:
      return Type::bf16;
    case Type::e4m3x2:
      return Type::e4m3;
    case Type::e5m2x2:
      return Type::e5m2;
    case Type::e2m1x2:
      return Type::e2m1;
    case Type::e2m3x2:
      return Type::e2m3;
    case Type::e3m2x2:
      return Type::e3m2;
    case Type::ue8m0x2:
      return Type::ue8m0;
    default:
      return Type::none;
  }
}

ConvertRounding take_rounding(Modifiers& modifiers) {
  const int which =
      modifiers.take_one_of("rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi");
  return static_cast<ConvertRounding>(which + 1);
}

// What the ISA asks for where a conversion may lose bits; without it ptxas refuses the instruction
// too.
bool rounding_is_missing(const Conversion& how) {
  if (how.rounding != ConvertRounding::none) return false;
  if (is_float(how.from) != is_float(how.to)) return true;
  return is_float(how.to) && bits(how.to) < bits(how.from);
}

// A rounding that such a conversion has not: ptxas refuses it.
bool rounding_is_wrong(const Conversion& how, bool scalar) {
  if (how.rounding == ConvertRounding::none) return false;
  const bool integral = how.rounding >= ConvertRounding::rni;
  if (!is_float(how.from)) return is_float(how.to) && integral;
  if (!is_float(how.to)) return !integral;
  if (how.to == how.from) return !integral;
  if (how.rounding == ConvertRounding::rna) return how.to != Type::tf32;
  return integral || (scalar && bits(how.to) > bits(how.from));
}

// Formats of 4 and 6 bits, and powers of two.
bool is_narrow(Type type) {
  return type == Type::e2m1 || type == Type::e2m3 || type == Type::e3m2 || type == Type::ue8m0;
}

// Only f32 and f16 pairs become numbers of 4 and 6 bits, which become pairs of f16; powers of two
// come from f32 and bf16 pairs, rounded toward zero or up, and become pairs of bf16.
bool narrow_form_exists(const Conversion& how, Type to, Type from) {
  if (is_narrow(how.to)) {
    const bool power = how.to == Type::ue8m0;
    const bool rounding =
        power ? how.rounding == ConvertRounding::rz || how.rounding == ConvertRounding::rp
              : how.rounding == ConvertRounding::rn && how.satfinite;
    return rounding && element_of(to) != Type::none && !(power && how.relu) &&
           (from == Type::f32 || from == (power ? Type::bf16x2 : Type::f16x2));
  }
  return how.rounding == ConvertRounding::rn &&
         to == (how.from == Type::ue8m0 ? Type::bf16x2 : Type::f16x2) &&
         element_of(from) != Type::none;
}

int first_target(const Conversion& how, Type to, Type from) {
  if (is_narrow(how.to) || is_narrow(how.from)) return 100;
  const bool small = bits(how.to) == 8 && is_float(how.to);
  if (small || (bits(how.from) == 8 && is_float(how.from))) return 89;
  // The manual asks for sm_90 wherever bf16 is the source; ptxas takes it into f32 from sm_80 on,
  // and asks for sm_90 between bf16 and anything but f32.
  if (how.from == Type::bf16 && how.to != Type::f32) return 90;
  if (how.to == Type::bf16 && how.from != Type::f32) return 90;
  if (how.to == Type::tf32) return how.rounding == ConvertRounding::rna && !how.satfinite ? 80 : 90;
  if (how.to == Type::bf16 || element_of(to) != Type::none || element_of(from) != Type::none)
    return 80;
  return 0;
}

// Registers of 8 bits hold 8 bits; most often they lie in one of 16.
int register_width(Type type, int register_bits) {
  return register_bits == 8 ? 8 : std::max(bits(type), 16);
}

void decode_exact(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                  Inst& out) {
  Conversion how;
  how.rounding = take_rounding(modifiers);
  how.ftz = modifiers.take("ftz");
  how.sat = modifiers.take("sat");
  how.satfinite = modifiers.take("satfinite");
  how.relu = modifiers.take("relu");
  const Type to = modifiers.take_type(), from = modifiers.take_type();
  const Type to_element = element_of(to), from_element = element_of(from);
  how.to = to_element == Type::none ? to : to_element;
  how.from = from_element == Type::none ? from : from_element;
  const bool into_pair = to_element != Type::none && from == Type::f32;
  const bool pair = to_element != Type::none && from_element != Type::none;
  const bool scalar = to_element == Type::none && from_element == Type::none;
  const bool narrow = is_narrow(how.to) || is_narrow(how.from);
  const bool known =
      (narrow ? narrow_form_exists(how, to, from) : bits(how.to) >= 8 && bits(how.from) >= 8) &&
      how.to != Type::pred && how.from != Type::tf32;
  if (!known || !(into_pair || pair || scalar) || rounding_is_missing(how) ||
      rounding_is_wrong(how, scalar)) {
    decoder.refuse("the emulator has no such conversion");
    return;
  }
  decoder.require_sm(first_target(how, to, from));
  const std::size_t operands = into_pair ? 3 : 2;
  if (!decoder.require_operands(instruction, operands, operands)) return;
  const Operand& d = instruction.operands[0];
  const Operand& a = instruction.operands[1];
  // Registers may be wider than the types; the value then lies in the low bits, and results are
  // extended.
  const bool wide_source = decoder.register_bits(a) == 64 || bits(from) == 64;
  const bool wide_destination = decoder.register_bits(d) == 64 || bits(to) == 64;
  if ((decoder.register_bits(d) == 8 && bits(to) > 8) ||
      (decoder.register_bits(a) == 8 && bits(from) > 8)) {
    decoder.refuse("a register has 8 bits, and the type has more");
  }
  out.flags = (wide_source ? kWideSource : 0) | (wide_destination ? kWideDestination : 0);
  out.d =
      decoder.destination(d, wide_destination ? 64 : register_width(to, decoder.register_bits(d)));
  out.a = decoder.source(a, wide_source ? 64 : register_width(from, decoder.register_bits(a)));
  if (into_pair) out.b = decoder.source(instruction.operands[2], 32);
  out.immediate = static_cast<std::int64_t>(decoder.program().conversions.size());
  decoder.program().conversions.push_back(how);
  const Registers registers =
      into_pair ? Registers::into_pair : (pair ? Registers::pair : Registers::scalar);
  out.execute = handler_of(registers, decoder.rounds_randomly() && is_float(how.to));
}

void decode_convert(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                    Inst& out) {
  if (!instruction.modifiers.empty() && instruction.modifiers.front() == "pack") {
    decode_integer(decoder, instruction, modifiers, out);
  } else if (decoder.rounds_randomly() || !decode_frequent(decoder, instruction, modifiers, out)) {
    decode_exact(decoder, instruction, modifiers, out);
  }
}

}  // namespace

std::span<const Family> convert_families() {
  static constexpr Family kFamilies[] = {{"cvt", decode_convert}};
  return kFamilies;
}

}  // namespace plumbline::emulator
