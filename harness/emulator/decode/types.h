// SPDX-License-Identifier: MIT
// The types instructions name (.u32, .f16x2, .e4m3 ...), and the modifiers of one instruction as
// decode consumes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/emulator/frontend/module.h"

namespace plumbline::emulator {

enum class Type : std::uint8_t {
  none,
  pred,
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f16,
  f16x2,
  bf16,
  bf16x2,
  tf32,
  f32,
  f32x2,
  f64,
  e4m3,
  e5m2,
  e4m3x2,
  e5m2x2,
  s4,
  u4,
  e2m1,
  e2m1x2,
  e2m3,
  e2m3x2,
  e3m2,
  e3m2x2,
  ue8m0,
  ue8m0x2,
};

int bits(Type type);
bool is_signed(Type type);
bool is_float(Type type);
std::optional<Type> type_by_name(std::string_view name);

enum class RoundingMode : std::uint8_t { none, rn, rz, rm, rp };

// The modifiers of an instruction, in order; taking one removes it. An instruction is understood
// when none are left.
class Modifiers {
 public:
  explicit Modifiers(const Instruction& instruction) : left_(instruction.modifiers) {}

  // Removes the word if it is there.
  bool take(std::string_view word);

  // Removes the first of the words that is there, and says which.
  template <typename... Words>
  int take_one_of(const Words&... words) {
    int index = 0, found = -1;
    ((found < 0 && take(words) ? void(found = index) : void(), ++index), ...);
    return found;
  }

  // The first modifier that names a type.
  Type take_type();

  // .rn .rz .rm .rp
  RoundingMode take_rounding();

  // Modifiers that only advise the hardware: cache operators, eviction priorities, prefetch sizes,
  // .uni.
  void take_hints();

  // .L2::cache_hint: the last operand is a cache policy, which only advises the hardware, too.
  bool take_cache_policy() { return take("L2::cache_hint"); }

  // The first modifier, removed; empty when there is none.
  std::string take_first();

  bool empty() const { return left_.empty(); }

  const std::vector<std::string>& left() const { return left_; }

 private:
  std::vector<std::string> left_;
};

}  // namespace plumbline::emulator
