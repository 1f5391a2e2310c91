// SPDX-License-Identifier: MIT
// cvt (PTX ISA 9.0 section 9.7.9.21), integers, floats and packed pairs. The frequent forms have vector handlers; all
// others decode to an exact value and round once, with oracles/formats.
#include "harness/emulator/decode.h"
#include "harness/emulator/families.h"
#include "harness/emulator/half.h"
#include "harness/emulator/lanes.h"
#include "harness/emulator/rows.h"

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

template <typename D>
struct ToInteger {
  template <typename A>
  static D apply(A a) {
    return static_cast<D>(a);
  }
};

template <typename D, typename A>
constexpr HandlerSet resize = handlers_of<&map1<D, A, ToInteger<D>>>;

template <typename D>
HandlerSet resize_from(Type a) {
  switch (a) {
    case Type::u8: return resize<D, u8>;
    case Type::s8: return resize<D, s8>;
    case Type::u16: return resize<D, u16>;
    case Type::s16: return resize<D, s16>;
    case Type::u32: return resize<D, u32>;
    case Type::s32: return resize<D, s32>;
    case Type::u64: return resize<D, u64>;
    case Type::s64: return resize<D, s64>;
    default: return {};
  }
}

HandlerSet choose_resize(Type d, Type a) {
  switch (d) {
    case Type::u8: return resize_from<u8>(a);
    case Type::s8: return resize_from<s8>(a);
    case Type::u16: return resize_from<u16>(a);
    case Type::s16: return resize_from<s16>(a);
    case Type::u32: return resize_from<u32>(a);
    case Type::s32: return resize_from<s32>(a);
    case Type::u64: return resize_from<u64>(a);
    case Type::s64: return resize_from<s64>(a);
    default: return {};
  }
}

struct ToBf16 {
  [[gnu::always_inline]] static u32 apply(u32 a) { return f32_to_bf16(a); }
};

struct ToBf16x2 {
  [[gnu::always_inline]] static u32 apply(u32 a, u32 b) { return u32{f32_to_bf16(a)} << 16 | f32_to_bf16(b); }
};

constexpr Row kRows[] = {
    {"cvt.rn.bf16.f32", "h=w", handlers_of<&map1<u32, u32, ToBf16>>, 80},
    {"cvt.rn.bf16x2.f32", "w=ww", handlers_of<&map2<u32, u32, u32, ToBf16x2>>, 80},
};

void decode_convert(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers, Inst& out) {
  Modifiers types = modifiers;
  if (!is_float(types.take_type()) && instruction.modifiers.size() == 2) {
    const Type d = modifiers.take_type(), a = modifiers.take_type();
    if (!decoder.require_operands(instruction, 2, 2)) return;
    out.d = decoder.destination(instruction.operands[0], bits(d));
    out.a = decoder.source(instruction.operands[1], bits(a));
    out.execute = pick(choose_resize(d, a));
    return;
  }
  decode_row(kRows, decoder, instruction, modifiers, out);
}

}  // namespace

std::span<const Family> convert_families() {
  static constexpr Family kFamilies[] = {{"cvt", decode_convert}};
  return kFamilies;
}

}  // namespace plumbline::emulator
