// SPDX-License-Identifier: MIT
// Wrong arithmetic: an operation left out or mistaken for its opposite, operands in the wrong
// order, constants off by one, another rounding.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>

#include "harness/emulator/decode/types.h"
#include "harness/mutation/operators.h"
#include "oracles/base/text.h"

namespace plumbline {
namespace {

using emulator::Operand;
using emulator::OperandKind;
using emulator::Type;

// --- an operation left out ---

// Their result becomes a source: the first of two, the addend of three.
constexpr std::string_view kTwoSources[] = {"add", "sub", "mul", "div", "rem", "min",
                                            "max", "and", "or",  "xor", "shl", "shr"};
constexpr std::string_view kOneSource[] = {"neg", "abs", "not"};
constexpr std::string_view kThreeSources[] = {"fma", "mad"};

void leave_out(const Site& site, Replacements& out) {
  if (site.operands() == 3 && site.is_one_of(kTwoSources)) out.add(site.moves(1));
  if (site.operands() == 2 && site.is_one_of(kOneSource)) out.add(site.moves(1));
  if (site.operands() == 4 && site.is_one_of(kThreeSources)) out.add(site.moves(3));
}

// --- mistaken for another ---

void change_sign(const Site& site, Replacements& out) {
  if (site.operands() != 3) return;
  if (site.is("add")) out.add(site.with_opcode("sub"));
  if (site.is("sub")) out.add(site.with_opcode("add"));
}

void change_extremum(const Site& site, Replacements& out) {
  const bool atomic = site.is("atom") || site.is("red");
  if (site.is("min")) out.add(site.with_opcode("max"));
  if (site.is("max")) out.add(site.with_opcode("min"));
  if (atomic && site.has("min")) out.add(site.with_word("min", "max"));
  if (atomic && site.has("max")) out.add(site.with_word("max", "min"));
}

// --- operands in the wrong order ---

constexpr std::string_view kNotCommutative[] = {"sub", "div", "rem", "shl", "shr", "selp"};
constexpr std::string_view kSymmetric[] = {"eq", "ne", "equ", "neu", "num", "nan"};

bool may_swap(const Site& site, std::size_t a, std::size_t b) {
  const bool same_width = site.kind(a) != OperandKind::reg || site.kind(b) != OperandKind::reg ||
                          site.register_bits(a) == site.register_bits(b);
  return site.text(a) != site.text(b) && same_width;
}

void swap_operands(const Site& site, Replacements& out) {
  if (site.operands() < 3) return;
  // A shift's count has 32 bits for every type.
  const bool wide_shift = (site.is("shl") || site.is("shr")) && site.register_bits(0) != 32;
  if (site.is_one_of(kNotCommutative) && !wide_shift && may_swap(site, 1, 2))
    out.add(site.with_swapped(1, 2));
  if (site.is("setp") && may_swap(site, 1, 2)) {
    for (const std::string_view comparison : kSymmetric) {
      if (site.has(comparison)) return;
    }
    out.add(site.with_swapped(1, 2));
  }
  const bool three = site.is_one_of(kThreeSources) && site.operands() == 4 && !site.has("wide");
  if (three && may_swap(site, 2, 3)) out.add(site.with_swapped(2, 3));
}

// --- constants ---

constexpr std::string_view kWithConstants[] = {"add", "sub", "mul", "mad", "fma",  "div",
                                               "rem", "min", "max", "and", "or",   "xor",
                                               "shl", "shr", "set", "mov", "setp", "selp"};

// The text of a constant plus `step`; nullopt where that is the same number, or none.
std::optional<std::string> shifted_constant(const Operand& constant, std::string_view text,
                                            int step) {
  if (constant.is_float && constant.float_bits == 32) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(constant.value));
    const float other = value + static_cast<float>(step);
    if (!std::isfinite(other) || other == value) return std::nullopt;
    return fmt::format("0f{:08X}", std::bit_cast<std::uint32_t>(other));
  }
  if (constant.is_float) {
    const double value = std::bit_cast<double>(constant.value);
    const double other = value + step;
    if (!std::isfinite(other) || other == value) return std::nullopt;
    return fmt::format("0d{:016X}", std::bit_cast<std::uint64_t>(other));
  }
  const auto value = parse_number<std::int64_t>(text);
  return value ? std::optional(fmt::format("{}", *value + step)) : std::nullopt;
}

void change_constant(const Site& site, Replacements& out) {
  if (!site.is_one_of(kWithConstants) || site.register_bits(0) == 1) {
    if (!site.is("setp")) return;
  }
  for (std::size_t i = 1; i < site.operands(); ++i) {
    if (site.kind(i) != OperandKind::immediate) continue;
    for (const int step : {1, -1}) {
      const auto other = shifted_constant(site.instruction.operands[i], site.text(i), step);
      if (other) out.add(site.with_operand(i, *other));
    }
  }
}

// --- rounding ---

constexpr std::string_view kRounded[] = {"add", "sub", "mul", "fma", "div", "sqrt", "rcp"};

// The formats that every conversion rounds to in both ways; to eight bits there is only one.
constexpr Type kConvertsEitherWay[] = {Type::f32,   Type::f64,  Type::f16,
                                       Type::f16x2, Type::bf16, Type::bf16x2};

void change_rounding(const Site& site, Replacements& out) {
  if (site.is("cvt")) {
    if (site.has("rni")) out.add(site.with_word("rni", "rzi"));
    const Type to = emulator::Modifiers(site.instruction).take_type();
    const bool either = std::find(std::begin(kConvertsEitherWay), std::end(kConvertsEitherWay),
                                  to) != std::end(kConvertsEitherWay);
    if (site.has("rn") && either) out.add(site.with_word("rn", "rz"));
    return;
  }
  const bool wide = site.has("f32") || site.has("f64");
  if (site.is_one_of(kRounded) && wide && site.has("rn")) out.add(site.with_word("rn", "rz"));
}

// A fused multiply-add rounds once, its two halves twice.
void split_fma(const Site& site, Replacements& out) {
  if (!site.is("fma") || site.operands() != 4) return;
  const std::string_view type = site.has("f32") ? "f32" : site.has("f64") ? "f64" : "";
  if (type.empty()) return;
  Statement product = site.statement, sum = site.statement;
  product.guard.clear();
  sum.guard.clear();
  product.words[0] = "mul";
  product.operands = {"%mutant", site.text(1), site.text(2)};
  sum.words[0] = "add";
  sum.operands = {site.text(0), "%mutant", site.text(3)};
  const auto without_end = [](std::string text) {
    text.pop_back();
    return text;
  };
  out.add(site.in_scope(type, {without_end(product.text()), without_end(sum.text())}));
}

constexpr std::array<FaultOperator, 7> kOperators = {{
    {"operation", "an operation is left out: its result is one of its sources", leave_out},
    {"sign", "add becomes subtract, subtract becomes add", change_sign},
    {"extremum", "min becomes max, max becomes min", change_extremum},
    {"operands", "sources of an operation that is not commutative change places", swap_operands},
    {"constant", "a constant is one more or one less", change_constant},
    {"rounding", "round to nearest becomes toward zero", change_rounding},
    {"fused", "a fused multiply-add becomes a multiplication and an addition", split_fma},
}};

}  // namespace

std::span<const FaultOperator> arithmetic_operators() { return kOperators; }

}  // namespace plumbline
