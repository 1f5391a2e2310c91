// SPDX-License-Identifier: MIT
// Every integer form against a plain host computation, over edge values and random ones.
#include <algorithm>
#include <functional>
#include <limits>

#include "oracles/base/random.h"
#include "tests/harness/emulator/emulator_run.h"

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
__extension__ using u128 = unsigned __int128;
__extension__ using s128 = __int128;

struct Case {
  const char* code;
  const char* shape;
  std::function<u64(u64, u64, u64, u64)> expected;
  int sm = 90;
};

std::vector<Operands> operand_rows() {
  constexpr u64 kEdges[] = {0,
                            1,
                            2,
                            3,
                            7,
                            8,
                            15,
                            16,
                            24,
                            31,
                            32,
                            33,
                            63,
                            64,
                            65,
                            127,
                            128,
                            255,
                            256,
                            0x7fff,
                            0x8000,
                            0xffff,
                            0x10000,
                            0x7fffffff,
                            0x80000000,
                            0xffffffff,
                            0x100000000,
                            0x7fffffffffffffff,
                            0x8000000000000000,
                            0xffffffffffffffff,
                            0xfffffffffffffffe,
                            0x123456789abcdef0};
  std::vector<Operands> rows;
  for (const u64 a : kEdges) {
    for (const u64 b : kEdges) rows.push_back({a, b, mix(a ^ b), mix(a + b) >> (a & 63)});
  }
  Random random(1);
  for (int i = 0; i < 512; ++i) {
    rows.push_back({random.next(), random.next() >> random.below(64),
                    random.next() >> random.below(64), random.next() >> random.below(64)});
  }
  return rows;
}

template <typename T>
u64 bits(T value) {
  return static_cast<u64>(value);
}

template <typename T>
u64 divide(T a, T b) {
  if (b == 0) return ~u64{0};
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return bits(u64{0} - static_cast<u64>(a));
  return bits(a / b);
}

template <typename T>
u64 remainder(T a, T b) {
  if (b == 0) return bits(a);
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
  return bits(a % b);
}

u64 shifted_left(u64 a, u32 b, int width) { return b >= static_cast<u32>(width) ? 0 : a << b; }

u64 shifted_right(u64 a, u32 b, int width) {
  const u64 kept = width == 64 ? a : a & ((u64{1} << width) - 1);
  return b >= static_cast<u32>(width) ? 0 : kept >> b;
}

u64 shifted_right_signed(s64 a, u32 b, int width) {
  return bits(a >> std::min<u32>(b, static_cast<u32>(width - 1)));
}

// bfi and bfe from their definition, bit by bit.
u64 insert_bits(u64 a, u64 b, u64 c, u64 d, int width) {
  const u64 position = c & 0xff, length = d & 0xff;
  for (u64 i = 0; i < length && position + i < static_cast<u64>(width); ++i) {
    const u64 bit = a >> i & 1;
    b = (b & ~(u64{1} << (position + i))) | bit << (position + i);
  }
  return b;
}

u64 extract_bits(u64 a, u64 b, u64 c, int width, bool is_signed) {
  const u64 position = b & 0xff, length = c & 0xff, top = static_cast<u64>(width) - 1;
  const u64 sign = is_signed && length != 0 ? a >> std::min(position + length - 1, top) & 1 : 0;
  u64 out = 0;
  for (u64 i = 0; i <= top; ++i) {
    const bool inside = i < length && position + i <= top;
    out |= (inside ? a >> (position + i) & 1 : sign) << i;
  }
  return out;
}

u64 permute(u64 a, u64 b, u64 c) {
  u8 bytes[8];
  for (int i = 0; i < 4; ++i) {
    bytes[i] = static_cast<u8>(a >> (8 * i));
    bytes[i + 4] = static_cast<u8>(b >> (8 * i));
  }
  u64 out = 0;
  for (int i = 0; i < 4; ++i) {
    const u64 selector = c >> (4 * i) & 15;
    u64 byte = bytes[selector & 7];
    if ((selector & 8) != 0) byte = byte >= 128 ? 255 : 0;
    out |= byte << (8 * i);
  }
  return out;
}

u64 truth_table(u64 a, u64 b, u64 c, u32 table) {
  u64 out = 0;
  for (int i = 0; i < 32; ++i) {
    const u64 index = (a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1);
    out |= u64{table >> index & 1} << i;
  }
  return out;
}

template <typename A, typename B>
u64 dot4(u64 a, u64 b, u64 c) {
  s64 sum = static_cast<s32>(c);
  for (int i = 0; i < 4; ++i)
    sum += s64{static_cast<A>(a >> (8 * i))} * s64{static_cast<B>(b >> (8 * i))};
  return bits(sum);
}

s64 clamp(s128 value, s64 low, s64 high) {
  return value < low ? low : (value > high ? high : static_cast<s64>(value));
}

const std::vector<Case>& cases() {
  using F = u64;
  static const std::vector<Case> kCases = {
      {"add.s16 d, a, b;", "h=hh", [](F a, F b, F, F) { return a + b; }},
      {"add.u32 d, a, b;", "w=ww", [](F a, F b, F, F) { return a + b; }},
      {"add.s64 d, a, b;", "x=xx", [](F a, F b, F, F) { return a + b; }},
      {"add.sat.s32 d, a, b;", "w=ww",
       [](F a, F b, F, F) { return bits(clamp(s128{s32(a)} + s32(b), INT32_MIN, INT32_MAX)); }},
      {"sub.u16 d, a, b;", "h=hh", [](F a, F b, F, F) { return a - b; }},
      {"sub.s32 d, a, b;", "w=ww", [](F a, F b, F, F) { return a - b; }},
      {"sub.s64 d, a, b;", "x=xx", [](F a, F b, F, F) { return a - b; }},
      {"sub.sat.s32 d, a, b;", "w=ww",
       [](F a, F b, F, F) { return bits(clamp(s128{s32(a)} - s32(b), INT32_MIN, INT32_MAX)); }},
      {"mul.lo.u16 d, a, b;", "h=hh", [](F a, F b, F, F) { return a * b; }},
      {"mul.lo.s32 d, a, b;", "w=ww", [](F a, F b, F, F) { return a * b; }},
      {"mul.lo.s64 d, a, b;", "x=xx", [](F a, F b, F, F) { return a * b; }},
      {"mul.hi.u16 d, a, b;", "h=hh", [](F a, F b, F, F) { return F(u16(a)) * u16(b) >> 16; }},
      {"mul.hi.s16 d, a, b;", "h=hh", [](F a, F b, F, F) { return bits(s64{s16(a)} * s16(b) >> 16); }},
      {"mul.hi.u32 d, a, b;", "w=ww", [](F a, F b, F, F) { return F(u32(a)) * u32(b) >> 32; }},
      {"mul.hi.s32 d, a, b;", "w=ww", [](F a, F b, F, F) { return bits(s64{s32(a)} * s32(b) >> 32); }},
      {"mul.hi.u64 d, a, b;", "x=xx", [](F a, F b, F, F) { return F(u128{a} * b >> 64); }},
      {"mul.hi.s64 d, a, b;", "x=xx", [](F a, F b, F, F) { return F(s128{s64(a)} * s64(b) >> 64); }},
      {"mul.wide.u16 d, a, b;", "w=hh", [](F a, F b, F, F) { return F(u16(a)) * u16(b); }},
      {"mul.wide.s16 d, a, b;", "w=hh", [](F a, F b, F, F) { return bits(s64{s16(a)} * s16(b)); }},
      {"mul.wide.u32 d, a, b;", "x=ww", [](F a, F b, F, F) { return F(u32(a)) * u32(b); }},
      {"mul.wide.s32 d, a, b;", "x=ww", [](F a, F b, F, F) { return bits(s64{s32(a)} * s32(b)); }},
      {"mad.lo.s16 d, a, b, c;", "h=hhh", [](F a, F b, F c, F) { return a * b + c; }},
      {"mad.lo.s32 d, a, b, c;", "w=www", [](F a, F b, F c, F) { return a * b + c; }},
      {"mad.lo.u64 d, a, b, c;", "x=xxx", [](F a, F b, F c, F) { return a * b + c; }},
      {"mad.hi.u32 d, a, b, c;", "w=www", [](F a, F b, F c, F) { return (F(u32(a)) * u32(b) >> 32) + c; }},
      {"mad.hi.s32 d, a, b, c;", "w=www", [](F a, F b, F c, F) { return bits(s64{s32(a)} * s32(b) >> 32) + c; }},
      {"mad.wide.u32 d, a, b, c;", "x=wwx", [](F a, F b, F c, F) { return F(u32(a)) * u32(b) + c; }},
      {"mad.wide.s32 d, a, b, c;", "x=wwx", [](F a, F b, F c, F) { return bits(s64{s32(a)} * s32(b)) + c; }},
      {"mad.wide.u16 d, a, b, c;", "w=hhw", [](F a, F b, F c, F) { return F(u16(a)) * u16(b) + c; }},
      {"mul24.lo.u32 d, a, b;", "w=ww", [](F a, F b, F, F) { return (a & 0xffffff) * (b & 0xffffff); }},
      {"mul24.hi.u32 d, a, b;", "w=ww", [](F a, F b, F, F) { return (a & 0xffffff) * (b & 0xffffff) >> 16; }},
      {"mul24.lo.s32 d, a, b;", "w=ww", [](F a, F b, F, F) { return bits((s64(a << 40) >> 40) * (s64(b << 40) >> 40)); }},
      {"mul24.hi.s32 d, a, b;", "w=ww",
       [](F a, F b, F, F) { return bits((s64(a << 40) >> 40) * (s64(b << 40) >> 40) >> 16); }},
      {"div.u16 d, a, b;", "h=hh", [](F a, F b, F, F) { return divide(u16(a), u16(b)); }},
      {"div.s16 d, a, b;", "h=hh", [](F a, F b, F, F) { return divide(s16(a), s16(b)); }},
      {"div.u32 d, a, b;", "w=ww", [](F a, F b, F, F) { return divide(u32(a), u32(b)); }},
      {"div.s32 d, a, b;", "w=ww", [](F a, F b, F, F) { return divide(s32(a), s32(b)); }},
      {"div.u64 d, a, b;", "x=xx", [](F a, F b, F, F) { return divide(a, b); }},
      {"div.s64 d, a, b;", "x=xx", [](F a, F b, F, F) { return divide(s64(a), s64(b)); }},
      {"rem.u32 d, a, b;", "w=ww", [](F a, F b, F, F) { return remainder(u32(a), u32(b)); }},
      {"rem.s32 d, a, b;", "w=ww", [](F a, F b, F, F) { return remainder(s32(a), s32(b)); }},
      {"rem.s16 d, a, b;", "h=hh", [](F a, F b, F, F) { return remainder(s16(a), s16(b)); }},
      {"rem.u64 d, a, b;", "x=xx", [](F a, F b, F, F) { return remainder(a, b); }},
      {"rem.s64 d, a, b;", "x=xx", [](F a, F b, F, F) { return remainder(s64(a), s64(b)); }},
      {"min.u16 d, a, b;", "h=hh", [](F a, F b, F, F) { return F(std::min(u16(a), u16(b))); }},
      {"min.s16 d, a, b;", "h=hh", [](F a, F b, F, F) { return bits(std::min(s16(a), s16(b))); }},
      {"min.u32 d, a, b;", "w=ww", [](F a, F b, F, F) { return F(std::min(u32(a), u32(b))); }},
      {"min.s32 d, a, b;", "w=ww", [](F a, F b, F, F) { return bits(std::min(s32(a), s32(b))); }},
      {"min.u64 d, a, b;", "x=xx", [](F a, F b, F, F) { return std::min(a, b); }},
      {"min.s64 d, a, b;", "x=xx", [](F a, F b, F, F) { return bits(std::min(s64(a), s64(b))); }},
      {"min.relu.s32 d, a, b;", "w=ww", [](F a, F b, F, F) { return bits(std::max(0, std::min(s32(a), s32(b)))); }},
      {"max.u32 d, a, b;", "w=ww", [](F a, F b, F, F) { return F(std::max(u32(a), u32(b))); }},
      {"max.s32 d, a, b;", "w=ww", [](F a, F b, F, F) { return bits(std::max(s32(a), s32(b))); }},
      {"max.s16 d, a, b;", "h=hh", [](F a, F b, F, F) { return bits(std::max(s16(a), s16(b))); }},
      {"max.u64 d, a, b;", "x=xx", [](F a, F b, F, F) { return std::max(a, b); }},
      {"max.s64 d, a, b;", "x=xx", [](F a, F b, F, F) { return bits(std::max(s64(a), s64(b))); }},
      {"abs.s16 d, a;", "h=h", [](F a, F, F, F) { return s16(a) < 0 ? 0 - a : a; }},
      {"abs.s32 d, a;", "w=w", [](F a, F, F, F) { return s32(a) < 0 ? 0 - a : a; }},
      {"abs.s64 d, a;", "x=x", [](F a, F, F, F) { return s64(a) < 0 ? 0 - a : a; }},
      {"neg.s16 d, a;", "h=h", [](F a, F, F, F) { return 0 - a; }},
      {"neg.s32 d, a;", "w=w", [](F a, F, F, F) { return 0 - a; }},
      {"neg.s64 d, a;", "x=x", [](F a, F, F, F) { return 0 - a; }},
      {"and.b16 d, a, b;", "h=hh", [](F a, F b, F, F) { return a & b; }},
      {"and.b32 d, a, b;", "w=ww", [](F a, F b, F, F) { return a & b; }},
      {"and.b64 d, a, b;", "x=xx", [](F a, F b, F, F) { return a & b; }},
      {"or.b16 d, a, b;", "h=hh", [](F a, F b, F, F) { return a | b; }},
      {"or.b32 d, a, b;", "w=ww", [](F a, F b, F, F) { return a | b; }},
      {"or.b64 d, a, b;", "x=xx", [](F a, F b, F, F) { return a | b; }},
      {"xor.b16 d, a, b;", "h=hh", [](F a, F b, F, F) { return a ^ b; }},
      {"xor.b32 d, a, b;", "w=ww", [](F a, F b, F, F) { return a ^ b; }},
      {"xor.b64 d, a, b;", "x=xx", [](F a, F b, F, F) { return a ^ b; }},
      {"not.b16 d, a;", "h=h", [](F a, F, F, F) { return ~a; }},
      {"not.b32 d, a;", "w=w", [](F a, F, F, F) { return ~a; }},
      {"not.b64 d, a;", "x=x", [](F a, F, F, F) { return ~a; }},
      {"cnot.b32 d, a;", "w=w", [](F a, F, F, F) { return F(u32(a) == 0); }},
      {"shl.b16 d, a, b;", "h=hw", [](F a, F b, F, F) { return shifted_left(a, u32(b), 16); }},
      {"shl.b32 d, a, b;", "w=ww", [](F a, F b, F, F) { return shifted_left(a, u32(b), 32); }},
      {"shl.b64 d, a, b;", "x=xw", [](F a, F b, F, F) { return shifted_left(a, u32(b), 64); }},
      {"shr.u16 d, a, b;", "h=hw", [](F a, F b, F, F) { return shifted_right(a, u32(b), 16); }},
      {"shr.u32 d, a, b;", "w=ww", [](F a, F b, F, F) { return shifted_right(a, u32(b), 32); }},
      {"shr.b64 d, a, b;", "x=xw", [](F a, F b, F, F) { return shifted_right(a, u32(b), 64); }},
      {"shr.s16 d, a, b;", "h=hw", [](F a, F b, F, F) { return shifted_right_signed(s16(a), u32(b), 16); }},
      {"shr.s32 d, a, b;", "w=ww", [](F a, F b, F, F) { return shifted_right_signed(s32(a), u32(b), 32); }},
      {"shr.s64 d, a, b;", "x=xw", [](F a, F b, F, F) { return shifted_right_signed(s64(a), u32(b), 64); }},
      {"shf.l.wrap.b32 d, a, b, c;", "w=www", [](F a, F b, F c, F) { return ((u32(b) * (F{1} << 32)) | u32(a)) << (c & 31) >> 32; }},
      {"shf.r.wrap.b32 d, a, b, c;", "w=www", [](F a, F b, F c, F) { return ((u32(b) * (F{1} << 32)) | u32(a)) >> (c & 31); }},
      {"shf.l.clamp.b32 d, a, b, c;", "w=www",
       [](F a, F b, F c, F) { return u32(c) >= 32 ? a : ((u32(b) * (F{1} << 32)) | u32(a)) << u32(c) >> 32; }},
      {"shf.r.clamp.b32 d, a, b, c;", "w=www",
       [](F a, F b, F c, F) { return u32(c) >= 32 ? b : ((u32(b) * (F{1} << 32)) | u32(a)) >> u32(c); }},
      {"popc.b32 d, a;", "w=w", [](F a, F, F, F) { return F(std::popcount(u32(a))); }},
      {"popc.b64 d, a;", "w=x", [](F a, F, F, F) { return F(std::popcount(a)); }},
      {"clz.b32 d, a;", "w=w", [](F a, F, F, F) { return F(std::countl_zero(u32(a))); }},
      {"clz.b64 d, a;", "w=x", [](F a, F, F, F) { return F(std::countl_zero(a)); }},
      {"bfind.u32 d, a;", "w=w", [](F a, F, F, F) { return u32(a) == 0 ? ~F{0} : F(std::bit_width(u32(a)) - 1); }},
      {"bfind.s32 d, a;", "w=w",
       [](F a, F, F, F) {
         const u32 v = s32(a) < 0 ? ~u32(a) : u32(a);
         return v == 0 ? ~F{0} : F(std::bit_width(v) - 1);
       }},
      {"bfind.shiftamt.u32 d, a;", "w=w", [](F a, F, F, F) { return u32(a) == 0 ? ~F{0} : F(std::countl_zero(u32(a))); }},
      {"bfind.u64 d, a;", "w=x", [](F a, F, F, F) { return a == 0 ? ~F{0} : F(std::bit_width(a) - 1); }},
      {"brev.b32 d, a;", "w=w",
       [](F a, F, F, F) {
         F out = 0;
         for (int i = 0; i < 32; ++i) out |= (a >> i & 1) << (31 - i);
         return out;
       }},
      {"bfe.u32 d, a, b, c;", "w=www", [](F a, F b, F c, F) { return extract_bits(a, b, c, 32, false); }},
      {"bfe.s32 d, a, b, c;", "w=www", [](F a, F b, F c, F) { return extract_bits(a, b, c, 32, true); }},
      {"bfe.u64 d, a, b, c;", "x=xww", [](F a, F b, F c, F) { return extract_bits(a, b, c, 64, false); }},
      {"bfe.s64 d, a, b, c;", "x=xww", [](F a, F b, F c, F) { return extract_bits(a, b, c, 64, true); }},
      {"bfi.b32 d, a, b, c, e;", "w=wwww", [](F a, F b, F c, F e) { return insert_bits(a, b, c, e, 32); }},
      {"bfi.b64 d, a, b, c, e;", "x=xxww", [](F a, F b, F c, F e) { return insert_bits(a, b, c, e, 64); }},
      {"bmsk.clamp.b32 d, a, b;", "w=ww",
       [](F a, F b, F, F) {
         F out = 0;
         for (F i = 0; i < 32; ++i) out |= F(i >= u32(a) && i - u32(a) < u32(b)) << i;
         return out;
       }},
      {"prmt.b32 d, a, b, c;", "w=www", [](F a, F b, F c, F) { return permute(a, b, c); }},
      {"lop3.b32 d, a, b, c, 0xE8;", "w=www", [](F a, F b, F c, F) { return truth_table(a, b, c, 0xe8); }},
      {"lop3.b32 d, a, b, c, 0x3A;", "w=www", [](F a, F b, F c, F) { return truth_table(a, b, c, 0x3a); }},
      {"sad.u32 d, a, b, c;", "w=www",
       [](F a, F b, F c, F) { return c + (u32(a) > u32(b) ? u32(a) - u32(b) : u32(b) - u32(a)); }},
      {"sad.s32 d, a, b, c;", "w=www", [](F a, F b, F c, F) { return c + bits(std::abs(s64{s32(a)} - s32(b))); }},
      {"dp4a.s32.s32 d, a, b, c;", "w=www", [](F a, F b, F c, F) { return dot4<s8, s8>(a, b, c); }},
      {"dp4a.s32.u32 d, a, b, c;", "w=www", [](F a, F b, F c, F) { return dot4<s8, u8>(a, b, c); }},
      {"dp4a.u32.u32 d, a, b, c;", "w=www", [](F a, F b, F c, F) { return dot4<u8, u8>(a, b, c); }},
      {"dp2a.lo.s32.s32 d, a, b, c;", "w=www",
       [](F a, F b, F c, F) { return c + bits(s64{s16(a)} * s8(b) + s64{s16(a >> 16)} * s8(b >> 8)); }},
      {"dp2a.hi.u32.u32 d, a, b, c;", "w=www",
       [](F a, F b, F c, F) { return c + F(u16(a)) * u8(b >> 16) + F(u16(a >> 16)) * u8(b >> 24); }},
      {"cvt.pack.sat.s8.s32.b32 d, a, b, c;", "w=www",
       [](F a, F b, F c, F) {
         return c << 16 | F(u8(clamp(s32(a), -128, 127))) << 8 | F(u8(clamp(s32(b), -128, 127)));
       }},
      {"selp.b32 d, a, b, 1;", "w=ww", [](F a, F, F, F) { return a; }},
      {"slct.s32.s32 d, a, b, c;", "w=www", [](F a, F b, F c, F) { return s32(c) >= 0 ? a : b; }},
  };
  return kCases;
}

TEST(Integer, EveryFormComputesWhatItsDefinitionSays) {
  const std::vector<Operands> rows = operand_rows();
  for (const Case& one : cases()) {
    const std::vector<u64> got = apply(one.code, one.shape, rows, one.sm);
    const u64 mask = one.shape[0] == 'x' ? ~u64{0} : (one.shape[0] == 'w' ? 0xffffffff : 0xffff);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Operands& r = rows[i];
      const u64 want = one.expected(r[0], r[1], r[2], r[3]) & mask;
      ASSERT_EQ(got[i] & mask, want)
          << fmt::format("{} a {:#x} b {:#x} c {:#x} e {:#x}: got {:#x}, expected {:#x}", one.code,
                         r[0], r[1], r[2], r[3], got[i] & mask, want);
    }
  }
}

TEST(Integer, PermutationModesPickTheBytesTheIsaLists) {
  struct Mode {
    const char* name;
    u64 want[4];  // for c = 0..3, of a = 0x03020100, b = 0x07060504
  };

  constexpr Mode kModes[] = {
      {"f4e", {0x03020100, 0x04030201, 0x05040302, 0x06050403}},
      {"b4e", {0x05060700, 0x06070001, 0x07000102, 0x00010203}},
      {"rc8", {0x00000000, 0x01010101, 0x02020202, 0x03030303}},
      {"ecl", {0x03020100, 0x03020101, 0x03020202, 0x03030303}},
      {"ecr", {0x00000000, 0x01010100, 0x02020100, 0x03020100}},
      {"rc16", {0x01000100, 0x03020302, 0x01000100, 0x03020302}},
  };
  for (const Mode& mode : kModes) {
    std::vector<Operands> rows;
    for (u64 c = 0; c < 4; ++c) rows.push_back({0x03020100, 0x07060504, c, 0});
    const std::vector<u64> got =
        apply(fmt::format("prmt.b32.{} d, a, b, c;", mode.name), "w=www", rows);
    for (std::size_t c = 0; c < 4; ++c) EXPECT_EQ(got[c], mode.want[c]) << mode.name << " " << c;
  }
}

TEST(Integer, CarriesPassFromWordToWord) {
  // A sum, a difference and a product of two numbers of two words each; d is a word of them, or
  // what is carried out of the last.
  const std::vector<Operands> rows = operand_rows();
  const std::string sum = "add.cc.u64 l, a, c; addc.cc.u64 h, b, e; addc.u64 o, 0, 0; ";
  const std::string difference = "sub.cc.u64 l, a, c; subc.cc.s64 h, b, e; subc.u64 o, 0, 0; ";
  const auto word = [&](const std::string& code, const char* name) {
    return apply(".reg .b64 l, h, o; " + code + "mov.b64 d, " + name + ";", "x=xxxx", rows);
  };
  const std::vector<u64> sums[] = {word(sum, "l"), word(sum, "h"), word(sum, "o")};
  const std::vector<u64> differences[] = {word(difference, "l"), word(difference, "h"),
                                          word(difference, "o")};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const u128 x = u128{rows[i][1]} << 64 | rows[i][0], y = u128{rows[i][3]} << 64 | rows[i][2];
    EXPECT_EQ(u128{sums[1][i]} << 64 | sums[0][i], x + y) << i;
    EXPECT_EQ(sums[2][i], x + y < x ? 1u : 0u) << i;
    EXPECT_EQ(u128{differences[1][i]} << 64 | differences[0][i], x - y) << i;
    EXPECT_EQ(differences[2][i], x < y ? ~u64{0} : 0u) << i;
  }
  // The carry of a difference is set where nothing is borrowed; nvcc divides 128 bits with it.
  const std::vector<u64> carried = word("sub.cc.u64 l, a, c; addc.u64 o, 0, 0; ", "o");
  const std::vector<u64> borrowed = word("add.cc.u64 l, a, c; subc.u64 o, 0, 0; ", "o");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(carried[i], rows[i][0] >= rows[i][2] ? 1u : 0u) << i;
    EXPECT_EQ(borrowed[i], rows[i][0] + rows[i][2] < rows[i][0] ? 0u : ~u64{0}) << i;
  }
  // a * b + (c, e) in two words of 32 bits each, unsigned and signed.
  const auto product = [&](const char* type) {
    return apply(fmt::format(".reg .b32 l, h; mad.lo.cc.{0} l, a, b, c; madc.hi.{0} h, a, b, e; "
                             "mov.b64 d, {{l, h}};",
                             type),
                 "x=wwww", rows);
  };
  const std::vector<u64> plain = product("u32"), with_sign = product("s32");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto low = [&](std::size_t k) { return static_cast<u32>(rows[i][k]); };
    const u64 added = u64{low(3)} << 32 | low(2);
    EXPECT_EQ(plain[i], u64{low(0)} * low(1) + added) << i;
    EXPECT_EQ(with_sign[i], bits(s64{static_cast<s32>(low(0))} * static_cast<s32>(low(1))) + added)
        << i;
  }
  // Of lanes that do not take part the flag stays.
  EXPECT_EQ(apply(".reg .b32 l; add.cc.u32 l, a, b; setp.ne.u32 p, a, a; @p add.cc.u32 l, b, b; "
                  "addc.u32 d, b, 0;",
                  "w=ww", {{0xffffffff, 1}})[0],
            2u);
}

TEST(Integer, ClocksHaveTwoHalves) {
  // A launch as short as these has not filled the lower one.
  for (const char* name : {"%clock_hi", "%globaltimer_hi"})
    EXPECT_EQ(apply(fmt::format("mov.u32 d, {};", name), "w=w", {{}})[0], 0u) << name;
  for (const char* name : {"%clock", "%globaltimer_lo"})
    EXPECT_NE(apply(fmt::format("mov.u32 d, {};", name), "w=w", {{}})[0], 0u) << name;
}

TEST(Integer, MovesPackAndUnpack) {
  const std::vector<Operands> rows = {{0x1111222233334444, 0x5555666677778888, 0, 0}};
  EXPECT_EQ(apply("mov.b64 d, {a, b};", "x=ww", rows)[0], 0x7777888833334444u);
  EXPECT_EQ(apply("mov.b32 d, {a, b};", "w=hh", rows)[0], 0x88884444u);
  EXPECT_EQ(apply("mov.b64 d, {a, b, a, b};", "x=hh", rows)[0], 0x8888444488884444u);
  EXPECT_EQ(apply(".reg .b32 l, h; mov.b64 {l, h}, a; mov.b64 d, {h, l};", "x=x", rows)[0],
            0x3333444411112222u);
  EXPECT_EQ(apply(".reg .b16 l, h; mov.b32 {l, h}, a; mov.b32 d, {h, l};", "w=w", rows)[0],
            0x44443333u);
  EXPECT_EQ(apply(".reg .b16 l, m, n, h; mov.b64 {l, m, n, h}, a; mov.b64 d, {h, n, m, l};", "x=x",
                  rows)[0],
            0x4444333322221111u);
}

}  // namespace
}  // namespace plumbline::emulator
