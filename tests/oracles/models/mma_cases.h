// SPDX-License-Identifier: MIT
// Random fragments for comparing mma_fast() with mma_spec(): the kinds to run and the classes of
// values. What is hard for one format is hard for all, so classes are drawn as fields of the format
// rather than as numbers.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hwy/targets.h"

#include "oracles/base/random.h"
#include "oracles/formats/encode.h"
#include "oracles/models/generation.h"
#include "oracles/models/mma.h"

namespace plumbline {

struct Fragments {
  LaneRegister a[4] = {}, b[2] = {}, c[4] = {};
};

struct FragmentKind {
  std::string name;
  MmaKind mma;
};

inline FragmentKind float_kind(int sm, FormatId a, FormatId b, int k,
                               FormatId accumulator = FormatId::f32) {
  std::string name = "sm_" + std::to_string(sm) + "_" + std::string(format(a).name);
  if (a != b) name += "_" + std::string(format(b).name);
  if (accumulator == FormatId::f16) name += "_to_f16";
  const DotModel model = dot_model(sm, Instruction::mma_sync, a, b, accumulator).value();
  return {name + "_k" + std::to_string(k), {{16, 8, k}, a, b, accumulator, false, model}};
}

inline FragmentKind integer_kind(FormatId a, FormatId b, int k, bool saturate) {
  const std::string name = std::string(format(a).name) + "_" + std::string(format(b).name) +
                           (saturate ? "_satfinite" : "") + "_k" + std::to_string(k);
  return {name, {{16, 8, k}, a, b, FormatId::s32, saturate, {}}};
}

// Everything the vector path claims to do.
inline std::vector<FragmentKind> fast_kinds() {
  using enum FormatId;
  std::vector<FragmentKind> kinds;
  for (const int sm : {80, 90}) {
    for (const FormatId input : {bf16, f16}) {
      for (const int k : {16, 8}) kinds.push_back(float_kind(sm, input, input, k));
    }
  }
  for (const int sm : {89, 90, 120}) {
    for (const int k : {32, 16}) {
      kinds.push_back(float_kind(sm, e4m3, e4m3, k));
      kinds.push_back(float_kind(sm, e5m2, e5m2, k));
    }
    kinds.push_back(float_kind(sm, e4m3, e5m2, 32));
    kinds.push_back(float_kind(sm, e5m2, e4m3, 32));
  }
  for (const auto& [a, b] : {std::pair(e2m3, e2m3), std::pair(e3m2, e3m2), std::pair(e2m1, e2m1),
                             std::pair(e4m3, e2m1), std::pair(e3m2, e5m2)})
    kinds.push_back(float_kind(120, a, b, 32));
  for (const bool saturate : {false, true}) {
    for (const int k : {32, 16}) {
      kinds.push_back(integer_kind(s8, s8, k, saturate));
      kinds.push_back(integer_kind(u8, u8, k, saturate));
    }
    kinds.push_back(integer_kind(s8, u8, 32, saturate));
    kinds.push_back(integer_kind(u8, s8, 32, saturate));
  }
  return kinds;
}

// Runs as if the machine had nothing better than one instruction set.
class OnlyTarget {
 public:
  explicit OnlyTarget(std::int64_t target) { choose(target); }

  ~OnlyTarget() { choose(0); }

 private:
  static void choose(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

// Highway's versions spell these names in two ways.
inline bool vectors_here() {
  const std::string_view target = mma_fast_target();
  return target != "Scalar" && target != "SCALAR" && target != "Emu128" && target != "EMU128";
}

// On every instruction set of this machine that has vectors.
template <typename Check>
void on_every_target(Check check) {
  for (std::int64_t rest = hwy::SupportedTargets(); rest != 0; rest &= rest - 1) {
    const OnlyTarget only(rest & -rest);
    if (!vectors_here()) continue;
    SCOPED_TRACE(mma_fast_target());
    check();
  }
}

enum class ValueMix {
  ordinary,    // about uniform in (-2, 2)
  wide,        // exponents over the middle of the format
  raw,         // any bits: Inf, NaN and subnormals among them
  cancelling,  // products in pairs that nearly cancel
  extreme,     // exponents near the ends of the range
  zero_c,      // ordinary with C = 0
  sparse,      // mostly zeros of either sign, whole rows and columns too
  whole,       // small integers
  largest,     // significands of all ones at one exponent: the widest carries
  exceptions,  // ordinary, but for a few elements of any bits or the highest exponent field
};

// Of the rows that records of GPUs hold.
constexpr ValueMix kValueMixes[] = {ValueMix::ordinary,   ValueMix::wide,    ValueMix::raw,
                                    ValueMix::cancelling, ValueMix::extreme, ValueMix::zero_c,
                                    ValueMix::sparse,     ValueMix::whole,   ValueMix::largest};

// Draws codes of one format.
class CodeSource {
 public:
  CodeSource(FormatId id, ValueMix mix, Random& random)
      : format_(format(id)), mix_(mix), random_(random) {}

  std::uint32_t draw() {
    if (format_.is_integer || mix_ == ValueMix::raw) return bits();
    switch (mix_) {
      case ValueMix::wide:
        return with_exponent(field_between(0.3, 0.7));
      case ValueMix::extreme: {
        if (random_.below(3) == 0) return ordinary();
        const bool low = random_.below(2) == 0;
        return with_exponent(low ? field_between(0, 0.1) : field_between(0.9, 1));
      }
      case ValueMix::sparse:
        return random_.below(8) == 0 ? ordinary() : encoded(random_.below(2) == 0 ? 0.0 : -0.0);
      case ValueMix::whole:
        return encoded(static_cast<double>(random_.between(-8, 8)));
      case ValueMix::largest:
        return with_exponent(format_.bias) | ((1u << format_.mantissa_bits) - 1)
                                                 << format_.padding_bits;
      case ValueMix::exceptions:
        if (random_.below(200) != 0) return ordinary();
        return random_.below(2) == 0 ? bits() : with_exponent((1 << format_.exponent_bits) - 1);
      default:
        return ordinary();
    }
  }

 private:
  std::uint32_t bits() {
    return static_cast<std::uint32_t>(random_.next() >> (64 - format_.storage_bits));
  }

  std::uint32_t encoded(double value) { return static_cast<std::uint32_t>(encode(format_, value)); }

  // A binade with the probability that a uniform variable falls into it.
  std::uint32_t ordinary() {
    const int field = format_.bias - std::countl_zero(random_.next());
    return with_exponent(std::max(field, 0));
  }

  // Between two fractions of the format's largest finite exponent field.
  int field_between(double low, double high) {
    const double top = (1 << format_.exponent_bits) - 2;
    const auto first = static_cast<int>(low * top);
    return static_cast<int>(random_.between(first, static_cast<int>(high * top)));
  }

  std::uint32_t with_exponent(int field) {
    const int shift = format_.mantissa_bits + format_.padding_bits;
    const std::uint32_t mask = ((1u << format_.exponent_bits) - 1) << shift;
    return (bits() & ~mask) | static_cast<std::uint32_t>(field) << shift;
  }

  const Format& format_;
  ValueMix mix_;
  Random& random_;
};

// Odd elements of A become those before them, negated and now and then one bit off; those of B
// repeat. Among operands of 8 bits, the sign of FP6 and FP4 is bit 5 of a byte.
inline void make_cancelling(FormatId id, Fragments& fragments, Random& random) {
  const int bits = format(id).storage_bits;
  const std::uint32_t even = bits == 16 ? 0x0000ffffu : 0x00ff00ffu;
  const std::uint32_t signs = bits == 16 ? 0x80000000u : is_fp8(id) ? 0x80008000u : 0x20002000u;
  const std::uint32_t last = bits == 16             ? 0x00010000u
                             : id == FormatId::e2m1 ? 0x04000400u
                                                    : 0x01000100u;
  for (auto& reg : fragments.a) {
    for (std::uint32_t& word : reg) {
      word = ((word & even) | (word & even) << bits) ^ signs;
      if (random.below(16) == 0) word ^= last;
    }
  }
  for (auto& reg : fragments.b) {
    for (std::uint32_t& word : reg) word = (word & even) | (word & even) << bits;
  }
}

// A whole row of A and C and a column of B: no products in some outputs, and nothing at all in
// others.
inline void clear_lines(Fragments& fragments, Random& random) {
  const auto row = static_cast<int>(random.below(8));
  const auto column = static_cast<int>(random.below(8));
  for (int t = 0; t < 4; ++t) {
    for (int reg = 0; reg < 4; ++reg) {
      fragments.a[reg][4 * row + t] = 0;
      fragments.c[reg][4 * row + t] = 0;
    }
    for (int reg = 0; reg < 2; ++reg) fragments.b[reg][4 * column + t] = 0;
  }
}

inline Fragments random_fragments(const MmaKind& kind, ValueMix mix, Random& random) {
  Fragments fragments;
  const auto fill = [&](LaneRegister* registers, int count, FormatId id, ValueMix how) {
    CodeSource source(id, how, random);
    const int bits = format(id).storage_bits;
    for (int reg = 0; reg < count; ++reg) {
      for (std::uint32_t& word : registers[reg]) {
        for (int at = 0; at < 32; at += bits) {
          const std::uint32_t code = source.draw();
          word |= (id == FormatId::e2m1 ? code << 2 & 0xff : code) << at;
        }
      }
    }
  };
  fill(fragments.a, a_registers(kind), kind.a, mix);
  fill(fragments.b, b_registers(kind), kind.b, mix);
  const bool raw_c = kind.accumulator == FormatId::s32;
  fill(fragments.c, c_registers(kind), kind.accumulator, raw_c ? ValueMix::raw : mix);

  const int bits = format(kind.a).storage_bits;
  if (mix == ValueMix::zero_c) std::memset(fragments.c, 0, sizeof fragments.c);
  if (mix == ValueMix::cancelling && bits < 32) make_cancelling(kind.a, fragments, random);
  if (mix == ValueMix::sparse) clear_lines(fragments, random);
  return fragments;
}

}  // namespace plumbline
