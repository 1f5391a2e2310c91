// SPDX-License-Identifier: MIT
// f32 and f64 arithmetic (PTX ISA 9.0 section 9.7.3). `.rn` runs on the processor's own operations,
// which are IEEE 754; the other rounding modes go through rounding.h. `.ftz` and `.sat` are flags
// of every f32 operation. add, sub and mul without a rounding mode mean .rn here; ptxas may
// contract such a pair into an fma, so kernels whose bits matter are compiled with -fmad=false
// (docs/numbers.md).
#include "harness/emulator/decode/families.h"
#include "harness/emulator/decode/rows.h"
#include "harness/emulator/instructions/approximate.h"
#include "harness/emulator/instructions/half.h"
#include "harness/emulator/instructions/random_arithmetic.h"
#include "harness/emulator/instructions/rounding.h"
#include "harness/emulator/machine/lanes.h"

#include <algorithm>
#include <cmath>

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;

template <bool Ftz, bool Sat>
[[gnu::always_inline]] inline u32 finish(float result) {
  u32 bits = flush_if<Ftz>(canonical(as_bits(result)));
  return Sat ? saturate(bits) : bits;
}

struct AddF {
  static float rn(float a, float b) { return a + b; }

  static float rounded(float a, float b, RoundingMode mode) { return add_rounded(a, b, mode); }
};

struct SubF {
  static float rn(float a, float b) { return a - b; }

  static float rounded(float a, float b, RoundingMode mode) { return add_rounded(a, -b, mode); }
};

struct MulF {
  static float rn(float a, float b) { return a * b; }

  static float rounded(float a, float b, RoundingMode mode) { return multiply_rounded(a, b, mode); }
};

struct DivF {
  static float rn(float a, float b) { return a / b; }

  static float rounded(float a, float b, RoundingMode mode) { return divide_rounded(a, b, mode); }
};

struct FmaF {
  static float rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

  static float rounded(float a, float b, float c, RoundingMode mode) {
    return fma_rounded(a, b, c, mode);
  }
};

struct RcpF {
  static float rn(float a) { return 1.0f / a; }

  static float rounded(float a, RoundingMode mode) { return divide_rounded(1.0f, a, mode); }
};

struct SqrtF {
  static float rn(float a) { return __builtin_sqrtf(a); }

  static float rounded(float a, RoundingMode mode) { return sqrt_rounded(a, mode); }
};

template <typename Op, bool Ftz, bool Sat>
struct Nearest {
  template <typename... T>
  [[gnu::always_inline]] static u32 apply(T... operand) {
    return finish<Ftz, Sat>(Op::rn(as_float(flush_if<Ftz>(operand))...));
  }
};

template <typename Op, RoundingMode Mode, bool Ftz, bool Sat>
struct Directed {
  template <typename... T>
  static u32 apply(T... operand) {
    return finish<Ftz, Sat>(Op::rounded(as_float(flush_if<Ftz>(operand))..., Mode));
  }
};

// One handler per flag combination; Map runs an operation over the lanes.
template <template <typename> typename Map, typename Op, bool Ftz, bool Sat>
HandlerSet by_rounding(RoundingMode mode) {
  switch (mode) {
    case RoundingMode::rz:
      return plain<&on_base<&Map<Directed<Op, RoundingMode::rz, Ftz, Sat>>::run>>;
    case RoundingMode::rm:
      return plain<&on_base<&Map<Directed<Op, RoundingMode::rm, Ftz, Sat>>::run>>;
    case RoundingMode::rp:
      return plain<&on_base<&Map<Directed<Op, RoundingMode::rp, Ftz, Sat>>::run>>;
    default:
      return handlers_of<&Map<Nearest<Op, Ftz, Sat>>::run>;
  }
}

template <template <typename> typename Map, typename Op>
HandlerSet by_flags(RoundingMode mode, bool ftz, bool sat) {
  if (ftz)
    return sat ? by_rounding<Map, Op, true, true>(mode) : by_rounding<Map, Op, true, false>(mode);
  return sat ? by_rounding<Map, Op, false, true>(mode) : by_rounding<Map, Op, false, false>(mode);
}

template <typename Op>
struct Map1 {
  [[gnu::always_inline]] static void run(Warp& warp, const Inst& inst, u32 mask) {
    map1<u32, u32, Op>(warp, inst, mask);
  }
};

template <typename Op>
struct Map2 {
  [[gnu::always_inline]] static void run(Warp& warp, const Inst& inst, u32 mask) {
    map2<u32, u32, u32, Op>(warp, inst, mask);
  }
};

template <typename Op>
struct Map3 {
  [[gnu::always_inline]] static void run(Warp& warp, const Inst& inst, u32 mask) {
    map3<u32, u32, u32, u32, Op>(warp, inst, mask);
  }
};

// A number wins over NaN, -0 is below +0. With .NaN, NaN wins.
template <bool Maximum, bool Ftz, bool Nan, bool XorSign>
struct Extreme {
  [[gnu::always_inline]] static u32 apply(u32 a, u32 b) {
    u32 x = flush_if<Ftz>(a), y = flush_if<Ftz>(b);
    const u32 sign = (x ^ y) & 0x80000000;
    if (XorSign) {
      x &= 0x7fffffff;
      y &= 0x7fffffff;
    }
    // Order of f32 values as integers: flip the magnitude of negatives.
    const auto p = static_cast<std::int32_t>(x ^ ((x >> 31) != 0 ? 0x7fffffffu : 0u));
    const auto q = static_cast<std::int32_t>(y ^ ((y >> 31) != 0 ? 0x7fffffffu : 0u));
    const bool first = Maximum ? p > q : p < q;
    u32 result = first ? x : y;
    const bool x_nan = is_nan_bits(x), y_nan = is_nan_bits(y);
    if (Nan) {
      result = x_nan || y_nan ? kCanonicalNan : result;
    } else {
      result = x_nan ? canonical(y) : (y_nan ? x : result);
    }
    return XorSign && !is_nan_bits(result) ? result | sign : result;
  }
};

template <bool Maximum>
HandlerSet extreme(bool ftz, bool nan, bool xor_sign) {
  constexpr HandlerSet table[] = {
      handlers_of<&Map2<Extreme<Maximum, false, false, false>>::run>,
      handlers_of<&Map2<Extreme<Maximum, true, false, false>>::run>,
      handlers_of<&Map2<Extreme<Maximum, false, true, false>>::run>,
      handlers_of<&Map2<Extreme<Maximum, true, true, false>>::run>,
      handlers_of<&Map2<Extreme<Maximum, false, false, true>>::run>,
      handlers_of<&Map2<Extreme<Maximum, true, false, true>>::run>,
      handlers_of<&Map2<Extreme<Maximum, false, true, true>>::run>,
      handlers_of<&Map2<Extreme<Maximum, true, true, true>>::run>,
  };
  return table[(ftz ? 1 : 0) + (nan ? 2 : 0) + (xor_sign ? 4 : 0)];
}

// Of three operands: the first two, and then the third.
template <bool Maximum, bool Ftz, bool Nan, bool Absolute>
struct ExtremeOfThree {
  [[gnu::always_inline]] static u32 apply(u32 a, u32 b, u32 c) {
    using Two = Extreme<Maximum, Ftz, Nan, false>;
    constexpr u32 kKept = Absolute ? 0x7fffffff : 0xffffffff;
    return Two::apply(Two::apply(a & kKept, b & kKept), c & kKept);
  }
};

template <bool Maximum>
HandlerSet extreme_of_three(bool ftz, bool nan, bool absolute) {
  constexpr HandlerSet table[] = {
      handlers_of<&Map3<ExtremeOfThree<Maximum, false, false, false>>::run>,
      handlers_of<&Map3<ExtremeOfThree<Maximum, true, false, false>>::run>,
      handlers_of<&Map3<ExtremeOfThree<Maximum, false, true, false>>::run>,
      handlers_of<&Map3<ExtremeOfThree<Maximum, true, true, false>>::run>,
      handlers_of<&Map3<ExtremeOfThree<Maximum, false, false, true>>::run>,
      handlers_of<&Map3<ExtremeOfThree<Maximum, true, false, true>>::run>,
      handlers_of<&Map3<ExtremeOfThree<Maximum, false, true, true>>::run>,
      handlers_of<&Map3<ExtremeOfThree<Maximum, true, true, true>>::run>,
  };
  return table[(ftz ? 1 : 0) + (nan ? 2 : 0) + (absolute ? 4 : 0)];
}

// --- f32x2: two f32 in 64 bits ---

template <typename Op>
struct Both {
  template <typename... T>
  [[gnu::always_inline]] static std::uint64_t apply(T... operand) {
    const std::uint64_t low = Op::apply(static_cast<u32>(operand)...);
    const std::uint64_t high = Op::apply(static_cast<u32>(operand >> 32)...);
    return high << 32 | low;
  }
};

template <typename Op>
struct Pair2 {
  [[gnu::always_inline]] static void run(Warp& warp, const Inst& inst, u32 mask) {
    using Bits = std::uint64_t;
    map2<Bits, Bits, Bits, Both<Op>>(warp, inst, mask);
  }
};

template <typename Op>
struct Pair3 {
  [[gnu::always_inline]] static void run(Warp& warp, const Inst& inst, u32 mask) {
    using Bits = std::uint64_t;
    map3<Bits, Bits, Bits, Bits, Both<Op>>(warp, inst, mask);
  }
};

struct PairRow {
  std::string_view opcode, shape;
  HandlerSet (*choose)(RoundingMode, bool ftz, bool sat);
};

constexpr PairRow kPairRows[] = {
    {"add", "x=xx", by_flags<Pair2, AddF>},
    {"sub", "x=xx", by_flags<Pair2, SubF>},
    {"mul", "x=xx", by_flags<Pair2, MulF>},
    {"fma", "x=xxx", by_flags<Pair3, FmaF>},
};

void decode_pair(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                 Inst& out) {
  decoder.require_sm(100);
  for (const PairRow& row : kPairRows) {
    if (row.opcode != instruction.opcode) continue;
    const RoundingMode mode = modifiers.take_rounding();
    const bool ftz = modifiers.take("ftz");
    place_operands(row.shape, decoder, instruction, out);
    out.execute = pick(row.choose(mode, ftz, false));
    return;
  }
  decoder.refuse("no such f32x2 operation");
}

// --- f32 and a 16-bit operand, or two of them as factors, which become f32 first ---

template <typename Op, float (*Widen)(std::uint16_t)>
struct FirstIsHalf {
  [[gnu::always_inline]] static u32 apply(u32 a, u32 c) {
    return Op::apply(as_bits(Widen(static_cast<std::uint16_t>(a))), c);
  }
};

template <typename Op, float (*Widen)(std::uint16_t)>
struct FactorsAreHalves {
  [[gnu::always_inline]] static u32 apply(u32 a, u32 b, u32 c) {
    return Op::apply(as_bits(Widen(static_cast<std::uint16_t>(a))),
                     as_bits(Widen(static_cast<std::uint16_t>(b))), c);
  }
};

template <float (*Widen)(std::uint16_t)>
struct Mixed {
  template <typename Op>
  struct Two {
    [[gnu::always_inline]] static void run(Warp& warp, const Inst& inst, u32 mask) {
      map2<u32, u32, u32, FirstIsHalf<Op, Widen>>(warp, inst, mask);
    }
  };

  template <typename Op>
  struct Three {
    [[gnu::always_inline]] static void run(Warp& warp, const Inst& inst, u32 mask) {
      map3<u32, u32, u32, u32, FactorsAreHalves<Op, Widen>>(warp, inst, mask);
    }
  };
};

struct MixedRow {
  std::string_view opcode, shape;
  HandlerSet (*f16)(RoundingMode, bool ftz, bool sat);
  HandlerSet (*bf16)(RoundingMode, bool ftz, bool sat);
};

constexpr MixedRow kMixedRows[] = {
    {"add", "w=hw", by_flags<Mixed<f16_to_f32>::Two, AddF>,
     by_flags<Mixed<bf16_to_f32>::Two, AddF>},
    {"sub", "w=hw", by_flags<Mixed<f16_to_f32>::Two, SubF>,
     by_flags<Mixed<bf16_to_f32>::Two, SubF>},
    {"fma", "w=hhw", by_flags<Mixed<f16_to_f32>::Three, FmaF>,
     by_flags<Mixed<bf16_to_f32>::Three, FmaF>},
};

void decode_mixed(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers, Type half,
                  Inst& out) {
  decoder.require_sm(100);
  for (const MixedRow& row : kMixedRows) {
    if (row.opcode != instruction.opcode) continue;
    const RoundingMode mode = modifiers.take_rounding();
    const bool sat = modifiers.take("sat");
    place_operands(row.shape, decoder, instruction, out);
    out.execute = pick((half == Type::f16 ? row.f16 : row.bf16)(mode, false, sat));
    return;
  }
  decoder.refuse("no such operation of f32 and 16 bits");
}

template <bool Ftz>
struct AbsF {
  [[gnu::always_inline]] static u32 apply(u32 a) { return flush_if<Ftz>(a) & 0x7fffffff; }
};

template <bool Ftz>
struct NegF {
  [[gnu::always_inline]] static u32 apply(u32 a) { return flush_if<Ftz>(a) ^ 0x80000000; }
};

struct CopySign {
  [[gnu::always_inline]] static u32 apply(u32 a, u32 b) {
    return (a & 0x80000000) | (b & 0x7fffffff);
  }
};

// --- f64: nearest only ---

struct Add64 {
  static double rn(double a, double b) { return a + b; }
};

struct Sub64 {
  static double rn(double a, double b) { return a - b; }
};

struct Mul64 {
  static double rn(double a, double b) { return a * b; }
};

struct Div64 {
  static double rn(double a, double b) { return a / b; }
};

struct Fma64 {
  static double rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
};

struct Rcp64 {
  static double rn(double a) { return 1.0 / a; }
};

struct Sqrt64 {
  static double rn(double a) { return __builtin_sqrt(a); }
};

// A NaN stays as it is, says the manual.
struct Abs64 {
  static std::uint64_t apply(std::uint64_t a) {
    return is_nan_bits(a) ? a : a & 0x7fffffffffffffff;
  }
};

struct Neg64 {
  static std::uint64_t apply(std::uint64_t a) { return a ^ 0x8000000000000000; }
};

template <bool Maximum>
struct Extreme64 {
  static double rn(double a, double b) {
    if (a != a) return b;
    if (b != b) return a;
    if (a == b) return std::signbit(a) == Maximum ? b : a;
    return (a > b) == Maximum ? a : b;
  }
};

template <typename Op>
struct Plain64 {
  template <typename... T>
  [[gnu::always_inline]] static std::uint64_t apply(T... operand) {
    return hand_nan_on(Op::rn(__builtin_bit_cast(double, operand)...), operand...);
  }
};

using u64 = std::uint64_t;
template <typename Op>
constexpr HandlerSet bits64 = handlers_of<&map1<u64, u64, Op>>;
template <typename Op>
constexpr HandlerSet one64 = handlers_of<&map1<u64, u64, Plain64<Op>>>;
template <typename Op>
constexpr HandlerSet two64 = handlers_of<&map2<u64, u64, u64, Plain64<Op>>>;
template <typename Op>
constexpr HandlerSet three64 = handlers_of<&map3<u64, u64, u64, u64, Plain64<Op>>>;

struct DoubleRow {
  std::string_view opcode, shape;
  HandlerSet handler;
  bool needs_rounding;  // .rn must be written
};

constexpr DoubleRow kDoubleRows[] = {
    {"add", "x=xx", two64<Add64>, false},
    {"sub", "x=xx", two64<Sub64>, false},
    {"mul", "x=xx", two64<Mul64>, false},
    {"fma", "x=xxx", three64<Fma64>, true},
    {"mad", "x=xxx", three64<Fma64>, true},
    {"div", "x=xx", two64<Div64>, true},
    {"rcp", "x=x", one64<Rcp64>, true},
    {"sqrt", "x=x", one64<Sqrt64>, true},
    {"abs", "x=x", bits64<Abs64>, false},
    {"neg", "x=x", bits64<Neg64>, false},
    {"min", "x=xx", two64<Extreme64<false>>, false},
    {"max", "x=xx", two64<Extreme64<true>>, false},
};

void decode_double(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                   Inst& out) {
  for (const DoubleRow& row : kDoubleRows) {
    if (row.opcode != instruction.opcode) continue;
    if (!modifiers.take("rn") && row.needs_rounding)
      decoder.refuse("f64 is emulated with .rn only");
    place_operands(row.shape, decoder, instruction, out);
    out.execute = pick(row.handler);
    return;
  }
  decoder.refuse("no such f64 operation");
}

// --- f32, one row per operation ---

struct SingleRow {
  std::string_view opcode, shape;
  HandlerSet (*choose)(RoundingMode, bool ftz, bool sat);
  bool has_saturation;
};

constexpr SingleRow kSingleRows[] = {
    {"add", "w=ww", by_flags<Map2, AddF>, true},  {"sub", "w=ww", by_flags<Map2, SubF>, true},
    {"mul", "w=ww", by_flags<Map2, MulF>, true},  {"fma", "w=www", by_flags<Map3, FmaF>, true},
    {"mad", "w=www", by_flags<Map3, FmaF>, true}, {"div", "w=ww", by_flags<Map2, DivF>, false},
    {"rcp", "w=w", by_flags<Map1, RcpF>, false},  {"sqrt", "w=w", by_flags<Map1, SqrtF>, false},
};

void decode_single(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                   Inst& out) {
  const std::string_view opcode = instruction.opcode;
  const int half = modifiers.take_one_of("f16", "bf16");
  if (half >= 0) {
    decode_mixed(decoder, instruction, modifiers, half == 0 ? Type::f16 : Type::bf16, out);
    return;
  }
  const bool ftz = modifiers.take("ftz");
  if (modifiers.take("approx") || modifiers.take("full")) {
    decode_approximate(decoder, instruction, modifiers, ftz, out);
    return;
  }
  if (opcode == "min" || opcode == "max") {
    const bool nan = modifiers.take("NaN");
    if (instruction.operands.size() == 4) {
      decoder.require_sm(100);
      const bool absolute = modifiers.take("abs");
      place_operands("w=www", decoder, instruction, out);
      out.execute = pick(opcode == "max" ? extreme_of_three<true>(ftz, nan, absolute)
                                         : extreme_of_three<false>(ftz, nan, absolute));
      return;
    }
    const bool xor_sign = modifiers.take("xorsign") && modifiers.take("abs");
    decoder.require_sm(xor_sign ? 86 : (nan ? 80 : 0));
    place_operands("w=ww", decoder, instruction, out);
    out.execute = pick(opcode == "max" ? extreme<true>(ftz, nan, xor_sign)
                                       : extreme<false>(ftz, nan, xor_sign));
    return;
  }
  if (opcode == "abs" || opcode == "neg") {
    place_operands("w=w", decoder, instruction, out);
    if (opcode == "abs") {
      out.execute =
          pick(ftz ? handlers_of<&Map1<AbsF<true>>::run> : handlers_of<&Map1<AbsF<false>>::run>);
    } else {
      out.execute =
          pick(ftz ? handlers_of<&Map1<NegF<true>>::run> : handlers_of<&Map1<NegF<false>>::run>);
    }
    return;
  }
  if (opcode == "copysign") {
    place_operands("w=ww", decoder, instruction, out);
    out.execute = pick(handlers_of<&Map2<CopySign>::run>);
    return;
  }
  constexpr std::string_view kMustSay[] = {"fma", "mad", "div", "rcp", "sqrt"};
  const auto has = [&](std::string_view word) { return instruction.has_modifier(word); };
  if (std::ranges::find(kMustSay, opcode) != std::end(kMustSay) && !has("rn") && !has("rz") &&
      !has("rm") && !has("rp"))
    return decoder.refuse("it does not say how it rounds, and ptxas refuses it, too");
  if (decoder.rounds_randomly()) {
    decode_random_single(decoder, instruction, modifiers, ftz, out);
    return;
  }
  for (const SingleRow& row : kSingleRows) {
    if (row.opcode != opcode) continue;
    const RoundingMode mode = modifiers.take_rounding();
    const bool sat = row.has_saturation && modifiers.take("sat");
    place_operands(row.shape, decoder, instruction, out);
    out.execute = pick(row.choose(mode, ftz, sat));
    return;
  }
  decoder.refuse("no such f32 operation");
}

}  // namespace

void decode_float(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                  Inst& out) {
  if (modifiers.take("f64")) {
    decode_double(decoder, instruction, modifiers, out);
  } else if (modifiers.take("f32")) {
    decode_single(decoder, instruction, modifiers, out);
  } else if (modifiers.take("f32x2")) {
    decode_pair(decoder, instruction, modifiers, out);
  } else if (decode_approximate_half(decoder, instruction, modifiers, out)) {
    return;
  } else {
    decoder.refuse("the emulator has no such form");
  }
}

std::span<const Family> float_families() {
  static constexpr Family kFamilies[] = {
      {"rcp", decode_float}, {"sqrt", decode_float}, {"rsqrt", decode_float},
      {"ex2", decode_float}, {"lg2", decode_float},  {"sin", decode_float},
      {"cos", decode_float}, {"tanh", decode_float}, {"copysign", decode_float},
  };
  return kFamilies;
}

}  // namespace plumbline::emulator
