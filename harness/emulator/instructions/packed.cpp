// SPDX-License-Identifier: MIT
// f16, bf16 and their pairs (PTX ISA 9.0 section 9.7.4): add, sub, mul, fma, min, max, neg, abs.
// Each half is computed in f32, where sums and products of 16-bit values are exact or far wider
// than the result needs; fma through double. Every operation rounds once to nearest even. `.ftz`
// (f16 only) flushes subnormal f16 inputs and results.
#include "harness/emulator/decode/families.h"
#include "harness/emulator/decode/rows.h"
#include "harness/emulator/instructions/half.h"
#include "harness/emulator/instructions/random_arithmetic.h"
#include "harness/emulator/machine/lanes.h"
#include "oracles/formats/encode.h"
#include "oracles/formats/format.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace plumbline::emulator {
namespace {

using u16 = std::uint16_t;
using u32 = std::uint32_t;

struct F16 {
  static constexpr FormatId kFormat = FormatId::f16;
  static constexpr u16 kNan = 0x7fff;

  static float widen(u16 a) { return f16_to_f32(a); }

  static u16 narrow(float a) { return f32_to_f16(as_bits(a)); }

  static u16 narrow_exactly(double a) { return static_cast<u16>(encode(format(FormatId::f16), a)); }

  static u16 flush_half(u16 a) { return (a & 0x7c00) == 0 ? a & 0x8000 : a; }

  static constexpr u16 kOne = 0x3c00;
};

struct Bf16 {
  static constexpr FormatId kFormat = FormatId::bf16;
  static constexpr u16 kNan = 0x7fff;

  static float widen(u16 a) { return bf16_to_f32(a); }

  static u16 narrow(float a) { return f32_to_bf16(as_bits(a)); }

  static u16 narrow_exactly(double a) {
    return static_cast<u16>(encode(format(FormatId::bf16), a));
  }

  static u16 flush_half(u16 a) { return a; }

  static constexpr u16 kOne = 0x3f80;
};

enum Flag : u32 { kFtz = 1, kSat = 2, kRelu = 4, kNanWins = 8, kXorSign = 16 };

// Rounding a sum to the 24 bits of f32 and then to 11 or 8 bits gives the same as rounding once: 24
// >= 2 * 11 + 2 (Figueroa, "When is double rounding innocuous?", 1995). Where the result is
// subnormal the f32 sum is exact.
struct Add {
  template <typename H>
  static u16 apply(u16 a, u16 b) {
    return H::narrow(H::widen(a) + H::widen(b));
  }

  template <typename H>
  static ExactSum exact(u16 a, u16 b) {
    return exact_sum(H::widen(a), H::widen(b));
  }
};

struct Sub {
  template <typename H>
  static u16 apply(u16 a, u16 b) {
    return H::narrow(H::widen(a) - H::widen(b));
  }

  template <typename H>
  static ExactSum exact(u16 a, u16 b) {
    return exact_sum(H::widen(a), -H::widen(b));
  }
};

// f16 products are exact in f32. bf16 products may fall below its range, so they go through double.
struct Mul {
  template <typename H>
  static u16 apply(u16 a, u16 b) {
    if constexpr (std::is_same_v<H, F16>) return H::narrow(H::widen(a) * H::widen(b));
    return H::narrow_exactly(exact<H>(a, b).sum);
  }

  template <typename H>
  static ExactSum exact(u16 a, u16 b) {
    return exact_product(H::widen(a), H::widen(b));
  }
};

// a * b is exact in double; the sum is made odd where bits are lost, so that the second rounding
// decides right.
inline double odd_sum(const ExactSum& s) {
  if (s.error == 0 || !(s.sum - s.sum == 0)) return s.sum;
  const auto bits = __builtin_bit_cast(std::uint64_t, s.sum);
  if ((bits & 1) != 0) return s.sum;
  const bool grow = (s.error > 0) == (s.sum > 0);
  return __builtin_bit_cast(double, grow ? bits + 1 : bits - 1);
}

struct Fma {
  template <typename H>
  static u16 apply(u16 a, u16 b, u16 c) {
    return H::narrow_exactly(odd_sum(exact<H>(a, b, c)));
  }

  template <typename H>
  static ExactSum exact(u16 a, u16 b, u16 c) {
    return exact_fma(H::widen(a), H::widen(b), H::widen(c));
  }
};

template <bool Maximum>
struct Extreme {
  template <typename H>
  static u16 apply(u16 a, u16 b) {
    const bool a_nan = (H::widen(a) != H::widen(a)), b_nan = (H::widen(b) != H::widen(b));
    if (a_nan || b_nan) return a_nan ? (b_nan ? H::kNan : b) : a;
    const auto order = [](u16 x) { return (x & 0x8000) != 0 ? -1 - (x & 0x7fff) : x & 0x7fff; };
    return (order(a) > order(b)) == Maximum ? a : b;
  }
};

template <typename H>
u16 finish(u16 result, u32 flags, bool is_extreme) {
  const bool nan = H::widen(result) != H::widen(result);
  if (nan) return (flags & kSat) != 0 ? 0 : H::kNan;
  if ((flags & kFtz) != 0 && !is_extreme) result = H::flush_half(result);
  if ((flags & kSat) != 0) {
    if ((result & 0x8000) != 0) return 0;
    if (result > H::kOne) return H::kOne;
  }
  if ((flags & kRelu) != 0 && (result & 0x8000) != 0) return 0;
  return result;
}

// One half. `random` is null where results are rounded as they always are.
template <typename H, typename Op, bool IsExtreme, typename... T>
u16 one(u32 flags, Random* random, T... operand) {
  const auto flushed = [&](u16 a) { return (flags & kFtz) != 0 ? H::flush_half(a) : a; };
  if constexpr (IsExtreme) {
    if ((flags & kNanWins) != 0 && ((H::widen(operand) != H::widen(operand)) || ...))
      return H::kNan;
  }
  if constexpr (IsExtreme) {
    if ((flags & kXorSign) != 0) {
      const auto sign = static_cast<u16>((operand ^ ...) & 0x8000);
      const u16 magnitude = Op::template apply<H>(static_cast<u16>(flushed(operand) & 0x7fff)...);
      return H::widen(magnitude) != H::widen(magnitude) ? H::kNan
                                                        : static_cast<u16>(magnitude | sign);
    }
  }
  u16 result = Op::template apply<H>(flushed(operand)...);
  if constexpr (!IsExtreme) {
    if (random != nullptr) {
      const ExactSum exact = Op::template exact<H>(flushed(operand)...);
      result = static_cast<u16>(encode_randomly(format(H::kFormat), result, exact.sum, exact.error,
                                                Rounding::nearest_even, random->unit()));
    }
  }
  return finish<H>(result, flags, IsExtreme);
}

// Inst::flags: Flag; Pair: both halves of a 32-bit register.
template <typename H, typename Op, bool IsExtreme, bool Pair, int Sources>
[[gnu::always_inline]] inline void run_lane(Warp& warp, const Inst& inst, int lane,
                                            Random* random) {
  const auto d = lanes<u32>(warp, inst.d);
  const auto a = lanes<u32>(warp, inst.a);
  const auto b = lanes<u32>(warp, inst.b);
  const auto c = lanes<u32>(warp, inst.c);
  const auto half = [&](int shift) -> u32 {
    const auto part = [&](u32 value) { return static_cast<u16>(value >> shift); };
    if constexpr (Sources == 3) {
      return one<H, Op, IsExtreme>(inst.flags, random, part(a[lane]), part(b[lane]), part(c[lane]));
    } else {
      return one<H, Op, IsExtreme>(inst.flags, random, part(a[lane]), part(b[lane]));
    }
  };
  d.set(lane, Pair ? half(0) | half(16) << 16 : half(0));
}

template <typename H, typename Op, bool IsExtreme, bool Pair, int Sources>
void run(Warp& warp, const Inst& inst, u32 mask) {
  for (u32 left = mask; left != 0; left &= left - 1) {
    run_lane<H, Op, IsExtreme, Pair, Sources>(warp, inst, std::countr_zero(left), nullptr);
  }
}

template <typename H, typename Op, bool IsExtreme, bool Pair, int Sources>
void run_randomly(Warp& warp, const Inst& inst, u32 mask) {
  each_lane_randomly(warp, mask, [&](int lane, Random& random) {
    run_lane<H, Op, IsExtreme, Pair, Sources>(warp, inst, lane, &random);
  });
}

struct OperationRow {
  std::string_view opcode;
  int sources;
  Handler f16, f16x2, bf16, bf16x2;
};

template <typename Op, bool IsExtreme, int Sources>
constexpr OperationRow row(std::string_view opcode) {
  return {opcode,
          Sources,
          run<F16, Op, IsExtreme, false, Sources>,
          run<F16, Op, IsExtreme, true, Sources>,
          run<Bf16, Op, IsExtreme, false, Sources>,
          run<Bf16, Op, IsExtreme, true, Sources>};
}

template <typename Op, int Sources>
constexpr OperationRow random_row(std::string_view opcode) {
  return {opcode,
          Sources,
          run_randomly<F16, Op, false, false, Sources>,
          run_randomly<F16, Op, false, true, Sources>,
          run_randomly<Bf16, Op, false, false, Sources>,
          run_randomly<Bf16, Op, false, true, Sources>};
}

constexpr OperationRow kRows[] = {
    row<Add, false, 2>("add"),           row<Sub, false, 2>("sub"),
    row<Mul, false, 2>("mul"),           row<Fma, false, 3>("fma"),
    row<Extreme<false>, true, 2>("min"), row<Extreme<true>, true, 2>("max"),
};

// What rounds, with its rounding moved at random.
constexpr OperationRow kRandomRows[] = {
    random_row<Add, 2>("add"),
    random_row<Sub, 2>("sub"),
    random_row<Mul, 2>("mul"),
    random_row<Fma, 3>("fma"),
};

const OperationRow* find_row(std::span<const OperationRow> rows, std::string_view opcode) {
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const OperationRow& row) { return row.opcode == opcode; });
  return found == rows.end() ? nullptr : &*found;
}

// neg and abs touch the sign bits only.
template <u32 And, u32 Xor>
struct Signs {
  static u32 apply(u32 a) { return (a & And) ^ Xor; }
};

constexpr Row kSignRows[] = {
    {"neg.f16", "h=h", handlers_of<&map1<u32, u32, Signs<0xffff, 0x8000>>>},
    {"neg.bf16", "h=h", handlers_of<&map1<u32, u32, Signs<0xffff, 0x8000>>>, 80},
    {"neg.f16x2", "w=w", handlers_of<&map1<u32, u32, Signs<0xffffffff, 0x80008000>>>},
    {"neg.bf16x2", "w=w", handlers_of<&map1<u32, u32, Signs<0xffffffff, 0x80008000>>>, 80},
    {"abs.f16", "h=h", handlers_of<&map1<u32, u32, Signs<0x7fff, 0>>>},
    {"abs.bf16", "h=h", handlers_of<&map1<u32, u32, Signs<0x7fff, 0>>>, 80},
    {"abs.f16x2", "w=w", handlers_of<&map1<u32, u32, Signs<0x7fff7fff, 0>>>},
    {"abs.bf16x2", "w=w", handlers_of<&map1<u32, u32, Signs<0x7fff7fff, 0>>>, 80},
};

}  // namespace

void decode_packed(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                   Inst& out) {
  const std::string_view opcode = instruction.opcode;
  if (opcode == "neg" || opcode == "abs") {
    decode_row(kSignRows, decoder, instruction, modifiers, out);
    return;
  }
  const Type type = modifiers.take_type();
  const bool is_bf16 = type == Type::bf16 || type == Type::bf16x2;
  const bool pair = type == Type::f16x2 || type == Type::bf16x2;
  modifiers.take("rn");
  out.flags = (modifiers.take("ftz") ? kFtz : 0u) | (modifiers.take("sat") ? kSat : 0u) |
              (modifiers.take("relu") ? kRelu : 0u) | (modifiers.take("NaN") ? kNanWins : 0u);
  if (opcode == "min" || opcode == "max") {
    if (modifiers.take("xorsign") && modifiers.take("abs")) {
      out.flags |= kXorSign;
      decoder.require_sm(86);
    }
  }
  if (is_bf16 && (out.flags & (kFtz | kSat)) != 0) decoder.refuse("bf16 has no .ftz and no .sat");
  decoder.require_sm(is_bf16 ? (opcode == "fma" || opcode == "min" || opcode == "max" ? 80 : 90)
                             : 53);
  const OperationRow* known = decoder.rounds_randomly() ? find_row(kRandomRows, opcode) : nullptr;
  if (known == nullptr) known = find_row(kRows, opcode);
  if (known == nullptr) {
    decoder.refuse("no such 16-bit operation");
    return;
  }
  if (known->sources == 3) {
    place_operands(pair ? "w=www" : "h=hhh", decoder, instruction, out);
  } else {
    place_operands(pair ? "w=ww" : "h=hh", decoder, instruction, out);
  }
  out.execute = is_bf16 ? (pair ? known->bf16x2 : known->bf16) : (pair ? known->f16x2 : known->f16);
}

}  // namespace plumbline::emulator
