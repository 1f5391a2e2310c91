// SPDX-License-Identifier: MIT
// Integer arithmetic and bit operations (PTX ISA 9.0 section 9.7.1, 9.7.8): one struct per
// operation, one row per form. Signed and unsigned addition, subtraction and low products are the
// same bits, so they share the unsigned handler.
#include "harness/emulator/decode/rows.h"
#include "harness/emulator/instructions/products.h"
#include "harness/emulator/machine/lanes.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

namespace plumbline::emulator {
namespace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;

struct Add {
  template <typename T>
  static T apply(T a, T b) {
    return static_cast<T>(a + b);
  }
};

struct Sub {
  template <typename T>
  static T apply(T a, T b) {
    return static_cast<T>(a - b);
  }
};

template <typename D>
struct MulWide {
  template <typename T>
  static D apply(T a, T b) {
    return static_cast<D>(static_cast<D>(a) * static_cast<D>(b));
  }
};

struct MadLow {
  template <typename T>
  static T apply(T a, T b, T c) {
    return Add::apply(Mul::apply(a, b), c);
  }
};

struct MadHigh {
  template <typename T>
  static T apply(T a, T b, T c) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(static_cast<U>(MulHigh::apply(a, b)) + static_cast<U>(c)));
  }
};

template <typename D>
struct MadWide {
  template <typename T>
  static D apply(T a, T b, D c) {
    using U = std::make_unsigned_t<D>;
    return static_cast<D>(static_cast<U>(MulWide<D>::apply(a, b)) + static_cast<U>(c));
  }
};

// 24-bit products (mul24): bits 0..31 or 16..47 of the 48-bit product.
template <typename T>
constexpr s64 low24(T a) {
  return std::is_signed_v<T> ? static_cast<s64>(static_cast<s32>(static_cast<u32>(a) << 8) >> 8)
                             : static_cast<s64>(static_cast<u32>(a) & 0xffffff);
}

struct Mul24Low {
  template <typename T>
  static T apply(T a, T b) {
    return static_cast<T>(low24(a) * low24(b));
  }
};

struct Mul24High {
  template <typename T>
  static T apply(T a, T b) {
    return static_cast<T>(low24(a) * low24(b) >> 16);
  }
};

struct Mad24Low {
  template <typename T>
  static T apply(T a, T b, T c) {
    return static_cast<T>(static_cast<u32>(Mul24Low::apply(a, b)) + static_cast<u32>(c));
  }
};

// Division by zero gives all ones, the remainder the dividend: unspecified by the ISA, and what the
// hardware's sequence gives. The one signed quotient that overflows wraps.
struct Div {
  static constexpr const char* kVerb = "divides";

  template <typename T>
  static T apply(T a, T b) {
    if (b == 0) return static_cast<T>(~T{0});
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a));
    }
    return static_cast<T>(a / b);
  }
};

struct Rem {
  static constexpr const char* kVerb = "takes the remainder of";

  template <typename T>
  static T apply(T a, T b) {
    if (b == 0) return a;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;
    }
    return static_cast<T>(a % b);
  }
};

template <typename T, typename Op>
[[gnu::noinline]] void report_division(Warp& warp, const Inst& inst, std::uint32_t zero) {
  const int lane = std::countr_zero(zero);
  const T dividend = lanes<T>(warp, inst.a)[lane];
  warp.report(FindingKind::division_by_zero, inst, lane,
              [&] { return fmt::format("{} {} by 0", Op::kVerb, dividend); });
}

// A divisor of 0 is a finding even if no instruction uses the result: LLVM, which is behind nvcc
// and Triton, takes it for undefined behavior and so never computes a quotient ahead of the branch
// that asks for it.
template <typename T, typename Op>
void divide(Warp& warp, const Inst& inst, std::uint32_t mask) {
  const auto b = lanes<T>(warp, inst.b);
  const std::uint32_t zero = lanes_where([&](int i) { return b[i] == 0; }) & mask;
  if (zero != 0) report_division<T, Op>(warp, inst, zero);
  map2<T, T, T, Op>(warp, inst, mask);
}

struct Min {
  template <typename T>
  static T apply(T a, T b) {
    return a < b ? a : b;
  }
};

struct Max {
  template <typename T>
  static T apply(T a, T b) {
    return a < b ? b : a;
  }
};

struct MinRelu {
  static s32 apply(s32 a, s32 b) { return Max::apply(Min::apply(a, b), 0); }
};

struct MaxRelu {
  static s32 apply(s32 a, s32 b) { return Max::apply(Max::apply(a, b), 0); }
};

template <typename T>
constexpr T clamp_to(s64 value) {
  return static_cast<T>(std::min<s64>(std::max<s64>(value, std::numeric_limits<T>::min()),
                                      std::numeric_limits<T>::max()));
}

struct AddSaturating {
  static s32 apply(s32 a, s32 b) { return clamp_to<s32>(s64{a} + b); }
};

struct SubSaturating {
  static s32 apply(s32 a, s32 b) { return clamp_to<s32>(s64{a} - b); }
};

struct Abs {
  template <typename T>
  static T apply(T a) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(a < 0 ? static_cast<U>(U{0} - static_cast<U>(a)) : static_cast<U>(a));
  }
};

struct Neg {
  template <typename T>
  static T apply(T a) {
    return static_cast<T>(T{0} - a);
  }
};

struct And {
  template <typename T>
  static T apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};

struct Or {
  template <typename T>
  static T apply(T a, T b) {
    return static_cast<T>(a | b);
  }
};

struct Xor {
  template <typename T>
  static T apply(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};

struct Not {
  template <typename T>
  static T apply(T a) {
    return static_cast<T>(~a);
  }
};

struct LogicalNot {
  template <typename T>
  static T apply(T a) {
    return a == 0 ? 1 : 0;
  }
};

// Shift amounts beyond the width count as the width.
struct ShiftLeft {
  template <typename T>
  static T apply(T a, u32 b) {
    constexpr u32 width = 8 * sizeof(T);
    return b >= width ? T{0} : static_cast<T>(a << (b & (width - 1)));
  }
};

struct ShiftRight {
  template <typename T>
  static T apply(T a, u32 b) {
    constexpr u32 width = 8 * sizeof(T);
    if constexpr (std::is_signed_v<T>) {
      return static_cast<T>(a >> (b >= width ? width - 1 : b));
    }
    return b >= width ? T{0} : static_cast<T>(a >> (b & (width - 1)));
  }
};

template <bool Wrap>
constexpr u32 funnel_amount(u32 c) {
  return Wrap ? c & 31 : (c < 32 ? c : 32);
}

template <bool Wrap>
struct FunnelLeft {
  static u32 apply(u32 a, u32 b, u32 c) {
    const u64 both = u64{b} << 32 | a;
    return static_cast<u32>(both << funnel_amount<Wrap>(c) >> 32);
  }
};

template <bool Wrap>
struct FunnelRight {
  static u32 apply(u32 a, u32 b, u32 c) {
    const u64 both = u64{b} << 32 | a;
    return static_cast<u32>(both >> funnel_amount<Wrap>(c));
  }
};

struct PopCount {
  template <typename T>
  static u32 apply(T a) {
    return static_cast<u32>(std::popcount(a));
  }
};

struct LeadingZeros {
  template <typename T>
  static u32 apply(T a) {
    return static_cast<u32>(std::countl_zero(a));
  }
};

// The most significant bit that differs from the sign; all ones where there is none.
template <bool ShiftAmount>
struct FindBit {
  template <typename T>
  static u32 apply(T a) {
    using U = std::make_unsigned_t<T>;
    constexpr u32 top = 8 * sizeof(T) - 1;
    const U u =
        static_cast<U>(std::is_signed_v<T> && a < 0 ? ~static_cast<U>(a) : static_cast<U>(a));
    if (u == 0) return ~u32{0};
    const u32 leading = static_cast<u32>(std::countl_zero(u));
    return ShiftAmount ? leading : top - leading;
  }
};

struct ReverseBits {
  static u64 apply(u64 a) {
    u64 r = __builtin_bswap64(a);
    r = (r >> 4 & 0x0f0f0f0f0f0f0f0f) | (r & 0x0f0f0f0f0f0f0f0f) << 4;
    r = (r >> 2 & 0x3333333333333333) | (r & 0x3333333333333333) << 2;
    return (r >> 1 & 0x5555555555555555) | (r & 0x5555555555555555) << 1;
  }

  static u32 apply(u32 a) { return static_cast<u32>(apply(u64{a}) >> 32); }
};

template <typename T>
struct ExtractBits {
  static T apply(T a, u32 b, u32 c) {
    using U = std::make_unsigned_t<T>;
    constexpr u32 width = 8 * sizeof(T);
    const u32 position = b & 0xff, length = c & 0xff;
    if (length == 0) return 0;
    const u32 sign_bit = std::min(position + length - 1, width - 1);
    const bool fill = std::is_signed_v<T> && (static_cast<U>(a) >> sign_bit & 1) != 0;
    const U field = position >= width ? U{0} : static_cast<U>(static_cast<U>(a) >> position);
    const u32 present = position >= width ? 0 : std::min(length, width - position);
    const U mask = present >= width ? ~U{0} : static_cast<U>((U{1} << present) - 1);
    return static_cast<T>((field & mask) | (fill ? static_cast<U>(~mask) : U{0}));
  }
};

template <typename T>
struct InsertBits {
  static T apply(T a, T b, u32 c, u32 d) {
    constexpr u32 width = 8 * sizeof(T);
    const u32 position = c & 0xff, length = d & 0xff;
    if (position >= width || length == 0) return b;
    const u32 present = std::min(length, width - position);
    const T mask = static_cast<T>((present >= width ? ~T{0} : (T{1} << present) - 1) << position);
    return static_cast<T>((b & ~mask) | (static_cast<T>(a << position) & mask));
  }
};

struct BitMask {
  static u32 clamp(u32 a, u32 b) {
    const u32 position = std::min(a, u32{32}), length = std::min(b, u32{32});
    const u64 mask = ((u64{1} << length) - 1) << position;
    return static_cast<u32>(mask);
  }

  static u32 apply(u32 a, u32 b) { return clamp(a, b); }
};

struct BitMaskWrap {
  static u32 apply(u32 a, u32 b) { return BitMask::clamp(a & 31, b & 31); }
};

// prmt without a mode: every nibble of c picks a byte of {b, a}; its top bit replicates the byte's
// sign.
struct PermuteBytes {
  static u32 apply(u32 a, u32 b, u32 c) {
    const u64 bytes = u64{b} << 32 | a;
    u32 out = 0;
    for (u32 i = 0; i < 4; ++i) {
      const u32 selector = c >> (4 * i) & 0xf;
      u32 byte = static_cast<u32>(bytes >> (8 * (selector & 7))) & 0xff;
      if ((selector & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
      out |= byte << (8 * i);
    }
    return out;
  }
};

enum class PermuteMode { f4e, b4e, rc8, ecl, ecr, rc16 };

template <PermuteMode Mode>
struct PermuteBytesMode {
  static u32 selectors(u32 n) {
    // PTX ISA 9.0 section 9.7.9.7: the byte each result byte takes, lowest first, as nibbles.
    constexpr u32 table[6][4] = {
        {0x3210, 0x4321, 0x5432, 0x6543}, {0x5670, 0x6701, 0x7012, 0x0123},
        {0x0000, 0x1111, 0x2222, 0x3333}, {0x3210, 0x3211, 0x3222, 0x3333},
        {0x0000, 0x1110, 0x2210, 0x3210}, {0x1010, 0x3232, 0x1010, 0x3232},
    };
    return table[static_cast<int>(Mode)][n & 3];
  }

  static u32 apply(u32 a, u32 b, u32 c) { return PermuteBytes::apply(a, b, selectors(c)); }
};

// Any function of three bits, its truth table in the fourth operand.
struct Lop3 {
  static u32 apply(u32 a, u32 b, u32 c, u32 table) {
    u32 out = 0;
    for (u32 i = 0; i < 8; ++i) {
      const u32 minterm =
          ((i & 4) != 0 ? a : ~a) & ((i & 2) != 0 ? b : ~b) & ((i & 1) != 0 ? c : ~c);
      out |= minterm & (0u - (table >> i & 1));
    }
    return out;
  }
};

struct SumOfAbsoluteDifferences {
  template <typename T>
  static T apply(T a, T b, T c) {
    using U = std::make_unsigned_t<T>;
    const U difference = a < b ? static_cast<U>(static_cast<U>(b) - static_cast<U>(a))
                               : static_cast<U>(static_cast<U>(a) - static_cast<U>(b));
    return static_cast<T>(static_cast<U>(static_cast<U>(c) + difference));
  }
};

// dp4a / dp2a: A and B say whether the pieces of a and b are signed.
template <bool A, bool B>
struct DotBytes {
  static u32 apply(u32 a, u32 b, u32 c) {
    for (u32 i = 0; i < 4; ++i) {
      const u32 x = a >> (8 * i) & 0xff, y = b >> (8 * i) & 0xff;
      const s32 p = A ? static_cast<std::int8_t>(x) : static_cast<s32>(x);
      const s32 q = B ? static_cast<std::int8_t>(y) : static_cast<s32>(y);
      c += static_cast<u32>(p * q);
    }
    return c;
  }
};

template <bool A, bool B, int High>
struct DotHalves {
  static u32 apply(u32 a, u32 b, u32 c) {
    for (u32 i = 0; i < 2; ++i) {
      const u32 x = a >> (16 * i) & 0xffff, y = b >> (8 * i + 16 * High) & 0xff;
      const s32 p = A ? static_cast<s16>(x) : static_cast<s32>(x);
      const s32 q = B ? static_cast<std::int8_t>(y) : static_cast<s32>(y);
      c += static_cast<u32>(p) * static_cast<u32>(q);
    }
    return c;
  }
};

// cvt.pack.sat: {a, b} saturated into the low bytes, what was in c moved up (8-bit form), or two
// halves (16-bit form).
template <typename T>
struct PackBytes {
  static u32 apply(s32 a, s32 b, u32 c) {
    const u32 high = static_cast<u8>(clamp_to<T>(a)), low = static_cast<u8>(clamp_to<T>(b));
    return c << 16 | high << 8 | low;
  }
};

template <typename T>
struct PackHalves {
  static u32 apply(s32 a, s32 b) {
    const u32 high = static_cast<u16>(clamp_to<T>(a)), low = static_cast<u16>(clamp_to<T>(b));
    return high << 16 | low;
  }
};

// Short names for the table below.
template <typename T, typename Op>
constexpr HandlerSet unary = handlers_of<&map1<T, T, Op>>;
template <typename T, typename Op>
constexpr HandlerSet binary = handlers_of<&map2<T, T, T, Op>>;
template <typename T, typename Op>
constexpr HandlerSet division = handlers_of<&divide<T, Op>>;
template <typename T, typename Op>
constexpr HandlerSet ternary = handlers_of<&map3<T, T, T, T, Op>>;
template <typename D, typename T>
constexpr HandlerSet wide = handlers_of<&map2<D, T, T, MulWide<D>>>;
template <typename D, typename T>
constexpr HandlerSet mad_wide = handlers_of<&map3<D, T, T, D, MadWide<D>>>;
template <typename T, typename Op>
constexpr HandlerSet shift = handlers_of<&map2<T, T, u32, Op>>;
template <typename T, typename Op>
constexpr HandlerSet count = handlers_of<&map1<u32, T, Op>>;

// clang-format off
constexpr Row kRows[] = {
  {"add.u16", "h=hh", binary<u16, Add>}, {"add.s16", "h=hh", binary<u16, Add>},
  {"add.u32", "w=ww", binary<u32, Add>}, {"add.s32", "w=ww", binary<u32, Add>},
  {"add.u64", "x=xx", binary<u64, Add>}, {"add.s64", "x=xx", binary<u64, Add>},
  {"add.sat.s32", "w=ww", binary<s32, AddSaturating>},
  {"sub.u16", "h=hh", binary<u16, Sub>}, {"sub.s16", "h=hh", binary<u16, Sub>},
  {"sub.u32", "w=ww", binary<u32, Sub>}, {"sub.s32", "w=ww", binary<u32, Sub>},
  {"sub.u64", "x=xx", binary<u64, Sub>}, {"sub.s64", "x=xx", binary<u64, Sub>},
  {"sub.sat.s32", "w=ww", binary<s32, SubSaturating>},
  {"mul.lo.u16", "h=hh", binary<u16, Mul>}, {"mul.lo.s16", "h=hh", binary<u16, Mul>},
  {"mul.lo.u32", "w=ww", binary<u32, Mul>}, {"mul.lo.s32", "w=ww", binary<u32, Mul>},
  {"mul.lo.u64", "x=xx", binary<u64, Mul>}, {"mul.lo.s64", "x=xx", binary<u64, Mul>},
  {"mul.hi.u16", "h=hh", binary<u16, MulHigh>}, {"mul.hi.s16", "h=hh", binary<s16, MulHigh>},
  {"mul.hi.u32", "w=ww", binary<u32, MulHigh>}, {"mul.hi.s32", "w=ww", binary<s32, MulHigh>},
  {"mul.hi.u64", "x=xx", binary<u64, MulHigh>}, {"mul.hi.s64", "x=xx", binary<s64, MulHigh>},
  {"mul.wide.u16", "w=hh", wide<u32, u16>}, {"mul.wide.s16", "w=hh", wide<s32, s16>},
  {"mul.wide.u32", "x=ww", wide<u64, u32>}, {"mul.wide.s32", "x=ww", wide<s64, s32>},
  {"mad.lo.u16", "h=hhh", ternary<u16, MadLow>}, {"mad.lo.s16", "h=hhh", ternary<u16, MadLow>},
  {"mad.lo.u32", "w=www", ternary<u32, MadLow>}, {"mad.lo.s32", "w=www", ternary<u32, MadLow>},
  {"mad.lo.u64", "x=xxx", ternary<u64, MadLow>}, {"mad.lo.s64", "x=xxx", ternary<u64, MadLow>},
  {"mad.hi.u32", "w=www", ternary<u32, MadHigh>}, {"mad.hi.s32", "w=www", ternary<s32, MadHigh>},
  {"mad.hi.u64", "x=xxx", ternary<u64, MadHigh>}, {"mad.hi.s64", "x=xxx", ternary<s64, MadHigh>},
  {"mad.wide.u16", "w=hhw", mad_wide<u32, u16>}, {"mad.wide.s16", "w=hhw", mad_wide<s32, s16>},
  {"mad.wide.u32", "x=wwx", mad_wide<u64, u32>}, {"mad.wide.s32", "x=wwx", mad_wide<s64, s32>},
  {"mul24.lo.u32", "w=ww", binary<u32, Mul24Low>}, {"mul24.lo.s32", "w=ww", binary<s32, Mul24Low>},
  {"mul24.hi.u32", "w=ww", binary<u32, Mul24High>}, {"mul24.hi.s32", "w=ww", binary<s32, Mul24High>},
  {"mad24.lo.u32", "w=www", ternary<u32, Mad24Low>}, {"mad24.lo.s32", "w=www", ternary<s32, Mad24Low>},
  {"div.u16", "h=hh", division<u16, Div>}, {"div.s16", "h=hh", division<s16, Div>},
  {"div.u32", "w=ww", division<u32, Div>}, {"div.s32", "w=ww", division<s32, Div>},
  {"div.u64", "x=xx", division<u64, Div>}, {"div.s64", "x=xx", division<s64, Div>},
  {"rem.u16", "h=hh", division<u16, Rem>}, {"rem.s16", "h=hh", division<s16, Rem>},
  {"rem.u32", "w=ww", division<u32, Rem>}, {"rem.s32", "w=ww", division<s32, Rem>},
  {"rem.u64", "x=xx", division<u64, Rem>}, {"rem.s64", "x=xx", division<s64, Rem>},
  {"min.u16", "h=hh", binary<u16, Min>}, {"min.s16", "h=hh", binary<s16, Min>},
  {"min.u32", "w=ww", binary<u32, Min>}, {"min.s32", "w=ww", binary<s32, Min>},
  {"min.u64", "x=xx", binary<u64, Min>}, {"min.s64", "x=xx", binary<s64, Min>},
  {"min.relu.s32", "w=ww", binary<s32, MinRelu>, 90},
  {"max.u16", "h=hh", binary<u16, Max>}, {"max.s16", "h=hh", binary<s16, Max>},
  {"max.u32", "w=ww", binary<u32, Max>}, {"max.s32", "w=ww", binary<s32, Max>},
  {"max.u64", "x=xx", binary<u64, Max>}, {"max.s64", "x=xx", binary<s64, Max>},
  {"max.relu.s32", "w=ww", binary<s32, MaxRelu>, 90},
  {"abs.s16", "h=h", unary<s16, Abs>}, {"abs.s32", "w=w", unary<s32, Abs>}, {"abs.s64", "x=x", unary<s64, Abs>},
  {"neg.s16", "h=h", unary<u16, Neg>}, {"neg.s32", "w=w", unary<u32, Neg>}, {"neg.s64", "x=x", unary<u64, Neg>},
  {"and.b16", "h=hh", binary<u16, And>}, {"and.b32", "w=ww", binary<u32, And>}, {"and.b64", "x=xx", binary<u64, And>},
  {"or.b16", "h=hh", binary<u16, Or>}, {"or.b32", "w=ww", binary<u32, Or>}, {"or.b64", "x=xx", binary<u64, Or>},
  {"xor.b16", "h=hh", binary<u16, Xor>}, {"xor.b32", "w=ww", binary<u32, Xor>}, {"xor.b64", "x=xx", binary<u64, Xor>},
  {"not.b16", "h=h", unary<u16, Not>}, {"not.b32", "w=w", unary<u32, Not>}, {"not.b64", "x=x", unary<u64, Not>},
  {"cnot.b16", "h=h", unary<u16, LogicalNot>}, {"cnot.b32", "w=w", unary<u32, LogicalNot>},
  {"cnot.b64", "x=x", unary<u64, LogicalNot>},
  {"shl.b16", "h=hw", shift<u16, ShiftLeft>}, {"shl.b32", "w=ww", shift<u32, ShiftLeft>},
  {"shl.b64", "x=xw", shift<u64, ShiftLeft>},
  {"shr.b16", "h=hw", shift<u16, ShiftRight>}, {"shr.b32", "w=ww", shift<u32, ShiftRight>},
  {"shr.b64", "x=xw", shift<u64, ShiftRight>},
  {"shr.u16", "h=hw", shift<u16, ShiftRight>}, {"shr.u32", "w=ww", shift<u32, ShiftRight>},
  {"shr.u64", "x=xw", shift<u64, ShiftRight>},
  {"shr.s16", "h=hw", shift<s16, ShiftRight>}, {"shr.s32", "w=ww", shift<s32, ShiftRight>},
  {"shr.s64", "x=xw", shift<s64, ShiftRight>},
  {"shf.l.clamp.b32", "w=www", ternary<u32, FunnelLeft<false>>}, {"shf.l.wrap.b32", "w=www", ternary<u32, FunnelLeft<true>>},
  {"shf.r.clamp.b32", "w=www", ternary<u32, FunnelRight<false>>}, {"shf.r.wrap.b32", "w=www", ternary<u32, FunnelRight<true>>},
  {"popc.b32", "w=w", count<u32, PopCount>}, {"popc.b64", "w=x", count<u64, PopCount>},
  {"clz.b32", "w=w", count<u32, LeadingZeros>}, {"clz.b64", "w=x", count<u64, LeadingZeros>},
  {"bfind.u32", "w=w", count<u32, FindBit<false>>}, {"bfind.s32", "w=w", count<s32, FindBit<false>>},
  {"bfind.u64", "w=x", count<u64, FindBit<false>>}, {"bfind.s64", "w=x", count<s64, FindBit<false>>},
  {"bfind.shiftamt.u32", "w=w", count<u32, FindBit<true>>}, {"bfind.shiftamt.s32", "w=w", count<s32, FindBit<true>>},
  {"bfind.shiftamt.u64", "w=x", count<u64, FindBit<true>>}, {"bfind.shiftamt.s64", "w=x", count<s64, FindBit<true>>},
  {"brev.b32", "w=w", unary<u32, ReverseBits>}, {"brev.b64", "x=x", unary<u64, ReverseBits>},
  {"bfe.u32", "w=www", handlers_of<&map3<u32, u32, u32, u32, ExtractBits<u32>>>},
  {"bfe.s32", "w=www", handlers_of<&map3<s32, s32, u32, u32, ExtractBits<s32>>>},
  {"bfe.u64", "x=xww", handlers_of<&map3<u64, u64, u32, u32, ExtractBits<u64>>>},
  {"bfe.s64", "x=xww", handlers_of<&map3<s64, s64, u32, u32, ExtractBits<s64>>>},
  {"bfi.b32", "w=wwww", handlers_of<&map4<u32, u32, u32, u32, u32, InsertBits<u32>>>},
  {"bfi.b64", "x=xxww", handlers_of<&map4<u64, u64, u64, u32, u32, InsertBits<u64>>>},
  {"bmsk.clamp.b32", "w=ww", binary<u32, BitMask>}, {"bmsk.wrap.b32", "w=ww", binary<u32, BitMaskWrap>},
  {"prmt.b32", "w=www", ternary<u32, PermuteBytes>},
  {"prmt.b32.f4e", "w=www", ternary<u32, PermuteBytesMode<PermuteMode::f4e>>},
  {"prmt.b32.b4e", "w=www", ternary<u32, PermuteBytesMode<PermuteMode::b4e>>},
  {"prmt.b32.rc8", "w=www", ternary<u32, PermuteBytesMode<PermuteMode::rc8>>},
  {"prmt.b32.ecl", "w=www", ternary<u32, PermuteBytesMode<PermuteMode::ecl>>},
  {"prmt.b32.ecr", "w=www", ternary<u32, PermuteBytesMode<PermuteMode::ecr>>},
  {"prmt.b32.rc16", "w=www", ternary<u32, PermuteBytesMode<PermuteMode::rc16>>},
  {"lop3.b32", "w=wwww", handlers_of<&map4<u32, u32, u32, u32, u32, Lop3>>},
  {"sad.u16", "h=hhh", ternary<u16, SumOfAbsoluteDifferences>}, {"sad.s16", "h=hhh", ternary<s16, SumOfAbsoluteDifferences>},
  {"sad.u32", "w=www", ternary<u32, SumOfAbsoluteDifferences>}, {"sad.s32", "w=www", ternary<s32, SumOfAbsoluteDifferences>},
  {"sad.u64", "x=xxx", ternary<u64, SumOfAbsoluteDifferences>}, {"sad.s64", "x=xxx", ternary<s64, SumOfAbsoluteDifferences>},
  {"dp4a.s32.s32", "w=www", ternary<u32, DotBytes<true, true>>}, {"dp4a.s32.u32", "w=www", ternary<u32, DotBytes<true, false>>},
  {"dp4a.u32.s32", "w=www", ternary<u32, DotBytes<false, true>>}, {"dp4a.u32.u32", "w=www", ternary<u32, DotBytes<false, false>>},
  {"dp2a.lo.s32.s32", "w=www", ternary<u32, DotHalves<true, true, 0>>}, {"dp2a.hi.s32.s32", "w=www", ternary<u32, DotHalves<true, true, 1>>},
  {"dp2a.lo.s32.u32", "w=www", ternary<u32, DotHalves<true, false, 0>>}, {"dp2a.hi.s32.u32", "w=www", ternary<u32, DotHalves<true, false, 1>>},
  {"dp2a.lo.u32.s32", "w=www", ternary<u32, DotHalves<false, true, 0>>}, {"dp2a.hi.u32.s32", "w=www", ternary<u32, DotHalves<false, true, 1>>},
  {"dp2a.lo.u32.u32", "w=www", ternary<u32, DotHalves<false, false, 0>>}, {"dp2a.hi.u32.u32", "w=www", ternary<u32, DotHalves<false, false, 1>>},
  {"cvt.pack.sat.s8.s32.b32", "w=www", handlers_of<&map3<u32, s32, s32, u32, PackBytes<std::int8_t>>>},
  {"cvt.pack.sat.u8.s32.b32", "w=www", handlers_of<&map3<u32, s32, s32, u32, PackBytes<std::uint8_t>>>},
  {"cvt.pack.sat.s16.s32", "w=ww", handlers_of<&map2<u32, s32, s32, PackHalves<s16>>>},
  {"cvt.pack.sat.u16.s32", "w=ww", handlers_of<&map2<u32, s32, s32, PackHalves<u16>>>},
};
// clang-format on

}  // namespace

void decode_integer(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                    Inst& out) {
  decode_row(kRows, decoder, instruction, modifiers, out);
}

std::span<const Family> integer_families() {
  static constexpr Family kFamilies[] = {
      {"mul24", decode_integer}, {"mad24", decode_integer}, {"rem", decode_integer},
      {"cnot", decode_integer},  {"shl", decode_integer},   {"shr", decode_integer},
      {"shf", decode_integer},   {"popc", decode_integer},  {"clz", decode_integer},
      {"bfind", decode_integer}, {"brev", decode_integer},  {"bfe", decode_integer},
      {"bfi", decode_integer},   {"bmsk", decode_integer},  {"prmt", decode_integer},
      {"lop3", decode_integer},  {"sad", decode_integer},   {"dp4a", decode_integer},
      {"dp2a", decode_integer},
  };
  return kFamilies;
}

}  // namespace plumbline::emulator
