// SPDX-License-Identifier: MIT
// Integer arithmetic of more than one word (PTX ISA 9.0 section 9.7.2): add, sub and mad that leave
// a carry in CC.CF (.cc) and addc, subc, madc that add it. CC.CF is a predicate of the program.
#include <bit>
#include <string>
#include <type_traits>

#include "harness/emulator/decode/families.h"
#include "harness/emulator/instructions/products.h"
#include "harness/emulator/machine/lanes.h"

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s32 = std::int32_t;
using s64 = std::int64_t;

constexpr u32 kTakes = 1;  // Inst::flags: adds the carry
constexpr u32 kGives = 2;  // and leaves one
constexpr u32 kOne = 4;    // begins with a carry: sub.cc

// The sum x + y + carry; `carry` becomes what is carried out of it.
template <typename T>
T add_with(T x, T y, bool& carry) {
  T sum = 0;
  const bool first = __builtin_add_overflow(x, y, &sum);
  carry = __builtin_add_overflow(sum, static_cast<T>(carry), &sum) || first;
  return sum;
}

// The difference, as chips take it: x + ~y + carry, so that the carry is set where nothing is
// borrowed. sub.cc, which takes none, counts one. (The ISA speaks of a borrow; nvcc's division of
// 128 bits has addc behind sub.cc, and ptxas makes of it what is here.)
template <typename T>
T subtract_with(T x, T y, bool& carry) {
  return add_with(x, static_cast<T>(~y), carry);
}

// compute(lane, carry) gives what goes to Inst::d.
template <typename T, typename Compute>
[[gnu::always_inline]] inline void each_lane(Warp& warp, const Inst& inst, u32 mask,
                                             const Compute& compute) {
  const auto d = lanes<T>(warp, inst.d);
  const u32 before = (inst.flags & kTakes) != 0 ? warp.read(inst.p)
                     : (inst.flags & kOne) != 0 ? ~0u
                                                : 0;
  u32 after = 0;
  for (u32 left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    bool carry = (before >> lane & 1) != 0;
    d.set(lane, compute(lane, carry));
    after |= static_cast<u32>(carry) << lane;
  }
  if ((inst.flags & kGives) != 0) blend(warp.predicate(inst.p), after, mask);
}

template <typename T, T (*Combine)(T, T, bool&)>
void combine(Warp& warp, const Inst& inst, u32 mask) {
  const auto a = lanes<T>(warp, inst.a), b = lanes<T>(warp, inst.b);
  each_lane<T>(warp, inst, mask,
               [&](int lane, bool& carry) { return Combine(a[lane], b[lane], carry); });
}

template <typename T, typename Product>
void multiply(Warp& warp, const Inst& inst, u32 mask) {
  using U = std::make_unsigned_t<T>;
  const auto a = lanes<T>(warp, inst.a), b = lanes<T>(warp, inst.b);
  const auto c = lanes<U>(warp, inst.c);
  each_lane<U>(warp, inst, mask, [&](int lane, bool& carry) {
    return add_with(static_cast<U>(Product::apply(a[lane], b[lane])), c[lane], carry);
  });
}

// T has the sign of the type: high halves differ.
template <typename T>
Handler choose(std::string_view operation, bool is_high) {
  using U = std::make_unsigned_t<T>;
  if (operation == "add") return combine<U, add_with<U>>;
  if (operation == "sub") return combine<U, subtract_with<U>>;
  return is_high ? multiply<T, MulHigh> : multiply<U, Mul>;
}

Handler choose(std::string_view operation, Type type, bool is_high) {
  if (bits(type) == 64)
    return is_signed(type) ? choose<s64>(operation, is_high) : choose<u64>(operation, is_high);
  return is_signed(type) ? choose<s32>(operation, is_high) : choose<u32>(operation, is_high);
}

}  // namespace

void decode_carry(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                  Inst& out) {
  std::string operation = instruction.opcode;
  if (operation.back() == 'c') {
    operation.pop_back();
    out.flags |= kTakes;
  }
  if (modifiers.take("cc")) out.flags |= kGives;
  if (operation == "sub" && (out.flags & kTakes) == 0) out.flags |= kOne;
  const bool multiplies = operation == "mad";
  const int part = modifiers.take_one_of("lo", "hi");
  const Type type = modifiers.take_type();
  const int width = bits(type);
  if ((width != 32 && width != 64) || is_float(type) || multiplies != (part >= 0)) {
    return decoder.refuse("the emulator has no such form");
  }
  if (!decoder.require_operands(instruction, multiplies ? 4 : 3, multiplies ? 4 : 3)) return;
  out.d = decoder.destination(instruction.operands[0], width);
  out.a = decoder.source(instruction.operands[1], width);
  out.b = decoder.source(instruction.operands[2], width);
  if (multiplies) out.c = decoder.source(instruction.operands[3], width);
  out.p = decoder.carry();
  out.execute = choose(operation, type, part == 1);
}

std::span<const Family> carry_families() {
  static constexpr Family kFamilies[] = {
      {"addc", decode_carry}, {"subc", decode_carry}, {"madc", decode_carry}};
  return kFamilies;
}

}  // namespace plumbline::emulator
