// SPDX-License-Identifier: MIT
// 32 lanes at a time. A family of instructions writes what one lane does as a small struct with
// `apply`; the templates here run it over the register file, branch-free for a full warp and
// blended where some lanes do not take part.
//
// A lane value narrower than 32 bits lives in the low bits of its 32-bit element; the bits above it
// mean nothing. Loads and stores go through memcpy: registers have no type of their own.
#pragma once

#include <cstdint>
#include <type_traits>

#include "harness/emulator/decode/isa.h"
#include "harness/emulator/decode/program.h"
#include "harness/emulator/machine/warp.h"

namespace plumbline::emulator {

constexpr int kLanes = 32;
constexpr std::uint32_t kFullMask = ~std::uint32_t{0};

// One slot (or two, for 64-bit T) as an array of 32 values.
template <typename T>
class Lanes {
 public:
  static constexpr int kStride = sizeof(T) <= 4 ? 4 : 8;

  [[gnu::always_inline]] explicit Lanes(std::byte* bytes) : bytes_(bytes) {}

  [[gnu::always_inline]] T operator[](int lane) const {
    if constexpr (sizeof(T) == 8) {
      T value;
      __builtin_memcpy(&value, bytes_ + lane * kStride, sizeof value);
      return value;
    } else {
      std::uint32_t bits;
      __builtin_memcpy(&bits, bytes_ + lane * kStride, sizeof bits);
      if constexpr (std::is_same_v<T, float>) {
        return __builtin_bit_cast(float, bits);
      } else {
        return static_cast<T>(bits);
      }
    }
  }

  [[gnu::always_inline]] void set(int lane, T value) const {
    if constexpr (sizeof(T) == 8) {
      __builtin_memcpy(bytes_ + lane * kStride, &value, sizeof value);
    } else {
      std::uint32_t bits;
      if constexpr (std::is_same_v<T, float>) {
        bits = __builtin_bit_cast(std::uint32_t, value);
      } else {
        bits = static_cast<std::uint32_t>(value);
      }
      __builtin_memcpy(bytes_ + lane * kStride, &bits, sizeof bits);
    }
  }

  // Where the lane does not take part all 32 bits stay, although T may be narrower: registers of
  // other widths have the same slot where a thread needs only one of them, and lanes may be at
  // different places.
  [[gnu::always_inline]] void set_if(int lane, bool taken, T value) const {
    if constexpr (sizeof(T) >= 4) {
      set(lane, taken ? value : (*this)[lane]);
    } else {
      const Lanes<std::uint32_t> whole(bytes_);
      whole.set(lane, taken ? static_cast<std::uint32_t>(value) : whole[lane]);
    }
  }

 private:
  std::byte* bytes_;
};

template <typename T>
[[gnu::always_inline]] inline Lanes<T> lanes(const Warp& warp, Slot slot) {
  return Lanes<T>(warp.slot(slot));
}

// A sum of 32 bits wraps around.
inline std::uint64_t address_at(const Warp& warp, const AddressOperand& where, int lane) {
  if (!where.wide) {
    return lanes<std::uint32_t>(warp, where.base)[lane] + static_cast<std::uint32_t>(where.offset);
  }
  return lanes<std::uint64_t>(warp, where.base)[lane] + static_cast<std::uint64_t>(where.offset);
}

// d = Op(a), lane by lane. Op::apply takes and returns plain values.
template <typename D, typename A, typename Op>
[[gnu::always_inline]] inline void map1(Warp& warp, const Inst& inst, std::uint32_t mask) {
  const auto d = lanes<D>(warp, inst.d);
  const auto a = lanes<A>(warp, inst.a);
  if (mask == kFullMask) {
#pragma GCC ivdep
    for (int i = 0; i < kLanes; ++i) d.set(i, Op::apply(a[i]));
  } else {
#pragma GCC ivdep
    for (int i = 0; i < kLanes; ++i) {
      const D result = Op::apply(a[i]);
      d.set_if(i, (mask >> i & 1) != 0, result);
    }
  }
}

template <typename D, typename A, typename B, typename Op>
[[gnu::always_inline]] inline void map2(Warp& warp, const Inst& inst, std::uint32_t mask) {
  const auto d = lanes<D>(warp, inst.d);
  const auto a = lanes<A>(warp, inst.a);
  const auto b = lanes<B>(warp, inst.b);
  if (mask == kFullMask) {
#pragma GCC ivdep
    for (int i = 0; i < kLanes; ++i) d.set(i, Op::apply(a[i], b[i]));
  } else {
#pragma GCC ivdep
    for (int i = 0; i < kLanes; ++i) {
      const D result = Op::apply(a[i], b[i]);
      d.set_if(i, (mask >> i & 1) != 0, result);
    }
  }
}

template <typename D, typename A, typename B, typename C, typename Op>
[[gnu::always_inline]] inline void map3(Warp& warp, const Inst& inst, std::uint32_t mask) {
  const auto d = lanes<D>(warp, inst.d);
  const auto a = lanes<A>(warp, inst.a);
  const auto b = lanes<B>(warp, inst.b);
  const auto c = lanes<C>(warp, inst.c);
  if (mask == kFullMask) {
#pragma GCC ivdep
    for (int i = 0; i < kLanes; ++i) d.set(i, Op::apply(a[i], b[i], c[i]));
  } else {
#pragma GCC ivdep
    for (int i = 0; i < kLanes; ++i) {
      const D result = Op::apply(a[i], b[i], c[i]);
      d.set_if(i, (mask >> i & 1) != 0, result);
    }
  }
}

template <typename D, typename A, typename B, typename C, typename E, typename Op>
[[gnu::always_inline]] inline void map4(Warp& warp, const Inst& inst, std::uint32_t mask) {
  const auto d = lanes<D>(warp, inst.d);
  const auto a = lanes<A>(warp, inst.a);
  const auto b = lanes<B>(warp, inst.b);
  const auto c = lanes<C>(warp, inst.c);
  const auto e = lanes<E>(warp, inst.e);
#pragma GCC ivdep
  for (int i = 0; i < kLanes; ++i) {
    const D result = Op::apply(a[i], b[i], c[i], e[i]);
    d.set_if(i, (mask >> i & 1) != 0, result);
  }
}

// The lanes, as a mask, for which `holds(lane)` is true. One byte per lane first: that loop
// vectorises, packing bits does not.
template <typename Holds>
[[gnu::always_inline]] inline std::uint32_t lanes_where(const Holds& holds) {
  alignas(32) std::uint8_t byte[kLanes];
  for (int i = 0; i < kLanes; ++i) byte[i] = holds(i) ? 1 : 0;
  std::uint32_t mask = 0;
  for (int group = 0; group < 4; ++group) {
    std::uint64_t eight;
    __builtin_memcpy(&eight, byte + 8 * group, sizeof eight);
    mask |= static_cast<std::uint32_t>((eight * 0x0102040810204080u) >> 56) << (8 * group);
  }
  return mask;
}

// The lanes for which Op(a, b) holds.
template <typename A, typename B, typename Op>
[[gnu::always_inline]] inline std::uint32_t compare(const Warp& warp, Slot a_slot, Slot b_slot) {
  const auto a = lanes<A>(warp, a_slot);
  const auto b = lanes<B>(warp, b_slot);
  return lanes_where([&](int i) { return Op::apply(a[i], b[i]); });
}

// Writes the lanes of `mask` into a predicate.
[[gnu::always_inline]] inline void blend(std::uint32_t& predicate, std::uint32_t value,
                                         std::uint32_t mask) {
  predicate = (predicate & ~mask) | (value & mask);
}

}  // namespace plumbline::emulator
