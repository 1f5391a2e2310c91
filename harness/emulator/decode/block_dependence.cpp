// SPDX-License-Identifier: MIT
#include "harness/emulator/decode/block_dependence.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string_view>

#include "harness/emulator/decode/operand_roles.h"
#include "harness/emulator/decode/types.h"

namespace plumbline::emulator {
namespace {

constexpr std::int64_t kSector = 32;     // bytes
constexpr std::int64_t kAllBanks = 128;  // bytes, after which the banks of shared memory repeat

// What is known of a register, for all threads of all blocks.
struct Value {
  bool known = true;
  BlockSteps step{};                         // by which it grows from block to block
  std::optional<std::int64_t> number = {};   // one for all threads; its step is 0
  std::optional<std::int64_t> at_most = {};  // of a value from 0 on; its step is 0
  std::int64_t multiple_of = 1;              // a power of two
  int fixed_low_bits = 0;                    // of what is not known: so many are alike
  // Of a value that is 0 in the first block of the grid, in all threads: its steps, also along axes
  // on which the box has one block.
  std::optional<BlockSteps> whole = {};

  bool grows() const { return step != BlockSteps{}; }

  bool alike() const { return known && !grows(); }

  bool operator==(const Value&) const = default;
};

const Value kUnknown{.known = false};

std::int64_t power_of_two_in(std::int64_t number) {
  constexpr std::int64_t kMost = std::int64_t{1} << 32;
  return number == 0 ? kMost : std::min(number & -number, kMost);
}

Value number(std::int64_t n) {
  Value value{.number = n, .multiple_of = power_of_two_in(n)};
  if (n == 0) value.whole = BlockSteps{};
  if (n >= 0) value.at_most = n;
  return value;
}

Value up_to(std::int64_t most) { return most == 0 ? number(0) : Value{.at_most = most}; }

std::optional<std::int64_t> combined(const std::optional<std::int64_t>& a,
                                     const std::optional<std::int64_t>& b,
                                     std::int64_t (*op)(std::int64_t, std::int64_t)) {
  if (!a || !b) return std::nullopt;
  return op(*a, *b);
}

// Sums and products wrap around, as those of registers do.
std::int64_t sum_of(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

std::int64_t product_of(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

BlockSteps sum_of(BlockSteps a, const BlockSteps& b) {
  for (std::size_t i = 0; i < kBlockAxes; ++i) a[i] = sum_of(a[i], b[i]);
  return a;
}

BlockSteps product_of(std::int64_t a, BlockSteps b) {
  for (std::int64_t& step : b) step = product_of(a, step);
  return b;
}

// Low bits that are the same in all blocks.
int fixed_bits(const Value& a) {
  if (!a.known) return a.fixed_low_bits;
  std::int64_t bits = 0;
  for (const std::int64_t step : a.step) bits |= step;
  return std::countr_zero(static_cast<std::uint64_t>(bits));
}

// What sums, products and bitwise operations leave of it.
Value unknown_from(const Value& a, const Value& b) {
  return {.known = false, .fixed_low_bits = std::min(fixed_bits(a), fixed_bits(b))};
}

Value sum(const Value& a, const Value& b) {
  if (!a.known || !b.known) return unknown_from(a, b);
  Value out;
  out.step = sum_of(a.step, b.step);
  if (a.whole && b.whole) out.whole = sum_of(*a.whole, *b.whole);
  out.number = combined(a.number, b.number, sum_of);
  out.at_most = combined(a.at_most, b.at_most, sum_of);
  out.multiple_of = std::min(a.multiple_of, b.multiple_of);
  return out;
}

Value product(const Value& a, const Value& b) {
  if (!a.known || !b.known) return unknown_from(a, b);
  if (!a.number && b.number) return product(b, a);
  if (!a.number) return a.grows() || b.grows() ? unknown_from(a, b) : Value{};
  Value out;
  out.step = product_of(*a.number, b.step);
  if (b.whole) out.whole = product_of(*a.number, *b.whole);
  out.number = combined(a.number, b.number, product_of);
  if (*a.number >= 0) out.at_most = combined(a.number, b.at_most, product_of);
  out.multiple_of = power_of_two_in(product_of(a.multiple_of, b.multiple_of));
  return out;
}

Value negative(const Value& a) { return product(number(-1), a); }

// Of two ways to one place.
Value either(const Value& a, const Value& b) {
  if (!a.known || !b.known || a.step != b.step) return unknown_from(a, b);
  Value out{.step = a.step, .multiple_of = std::min(a.multiple_of, b.multiple_of)};
  if (a.number == b.number) out.number = a.number;
  if (a.at_most == b.at_most) out.at_most = a.at_most;
  if (a.whole == b.whole) out.whole = a.whole;
  return out;
}

// A sum, where no bit is set in both.
Value bitwise_or(const Value& a, const Value& b) {
  if (a.alike() && b.alike()) return {};
  const auto lies_below = [](const Value& low, const Value& high) {
    return low.at_most && *low.at_most < high.multiple_of;
  };
  return lies_below(a, b) || lies_below(b, a) ? sum(a, b) : unknown_from(a, b);
}

Value bitwise_and(const Value& mask, const Value& other) {
  if (!mask.number && other.number) return bitwise_and(other, mask);
  if (mask.number && *mask.number >= 0 &&
      static_cast<int>(std::bit_width(static_cast<std::uint64_t>(*mask.number))) <=
          fixed_bits(other))
    return up_to(*mask.number);
  return mask.alike() && other.alike() ? Value{} : unknown_from(mask, other);
}

bool is_integer(std::string_view name) {
  const std::optional<Type> type = type_by_name(name);
  return type && *type >= Type::b8 && *type <= Type::s64;
}

// Of a type that is known.
int bits_of(std::string_view name) { return bits(*type_by_name(name)); }

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

bool on_integers(const Instruction& one) {
  return !one.modifiers.empty() && is_integer(one.modifiers.back());
}

Comparing comparing(const Instruction& one) {
  if (!on_integers(one)) return Comparing::no;
  if (one.opcode == "setp") {
    const bool ordered = std::ranges::any_of(one.modifiers, [](std::string_view m) {
      return is_one_of(m, {"lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"});
    });
    return ordered ? Comparing::comparison : Comparing::no;
  }
  if (!is_one_of(one.opcode, {"min", "max"}) || one.modifiers.size() != 1) return Comparing::no;
  const int bits = bits_of(one.modifiers[0]);
  if (bits == 64) return Comparing::choice64;
  return bits == 32 ? Comparing::choice32 : Comparing::no;
}

class Analysis {
 public:
  Analysis(const BlockLaunch& launch, const BlockAxes& axes, const BlockBox& box,
           const BlockWay& way)
      : launch_(launch), program_(launch.program), axes_(axes), box_(box), way_(way) {}

  BlockDependence run() {
    // A value is only ever replaced by one that says less.
    do {
      changed_ = false;
      for (at_ = 0; at_ < program_.origin.size(); ++at_) {
        if (is_on_the_way(at_)) follow(*program_.origin[at_]);
      }
    } while (changed_);
    for (std::size_t i = 0; i < program_.origin.size(); ++i) {
      const std::string_view what = is_on_the_way(i) ? obstacle(*program_.origin[i]) : "";
      if (what.empty()) continue;
      const CodePlace place = program_.place(i);
      const std::string line = place.source_line > 0
                                   ? fmt::format("{} of {}", place.source_line, place.source_file)
                                   : fmt::format("{} of the PTX", place.ptx_line);
      return {fmt::format("{} of `{}` at line {} depends on more than even steps of the block",
                          what, program_.origin[i]->text, line),
              division_};
    }
    return {};
  }

 private:
  bool is_on_the_way(std::size_t i) const {
    return program_.origin[i] != nullptr && way_.executions[i] != 0;
  }

  Value of_register(int index) const {
    const auto i = static_cast<std::size_t>(index);
    return i < registers_.size() && registers_[i] ? *registers_[i] : Value{};
  }

  Value of_special(std::string_view name) const {
    const std::size_t dot = std::min(name.find('.'), name.size());
    const std::size_t axis = std::string_view(".x.y.z").find(name.substr(dot)) / 2;
    const std::string_view base = name.substr(0, dot);
    if (dot < name.size() && axis < 3) {
      if (is_one_of(base, {"%ctaid", "%clusterid"})) {
        return launch_.grid[axis] == 1 ? number(0) : of_number(axis);
      }
      if (base == "%tid") return up_to(launch_.block[axis] - 1);
      if (base == "%ntid") return number(launch_.block[axis]);
      if (is_one_of(base, {"%nctaid", "%nclusterid"})) return number(launch_.grid[axis]);
      if (base == "%cluster_ctaid") return number(0);
      if (base == "%cluster_nctaid") return number(1);
    }
    if (name == "%laneid") return up_to(31);
    if (name == "%cluster_ctarank") return number(0);
    if (name == "%cluster_nctarank") return number(1);
    const bool alike =
        is_one_of(name, {"%warpid", "%nwarpid", "%lanemask_eq", "%lanemask_le", "%lanemask_lt",
                         "%lanemask_ge", "%lanemask_gt", "%is_explicit_cluster",
                         "%dynamic_smem_size", "%total_smem_size"});
    return alike ? Value{} : kUnknown;
  }

  // One of BlockAxes::numbers. Along an axis of one block it does not grow.
  Value of_number(std::size_t index) const {
    Value value;
    value.step = in_box(axes_.numbers()[index].steps);
    value.whole = axes_.numbers()[index].steps;
    return value;
  }

  BlockSteps in_box(BlockSteps steps) const {
    for (std::size_t axis = 0; axis < kBlockAxes; ++axis) {
      if (box_.extent(axis) == 1) steps[axis] = 0;
    }
    return steps;
  }

  // A quotient, or what it leaves, of one of BlockAxes::numbers.
  Value divided(std::size_t index, std::int64_t divisor, bool quotient) const {
    const BlockAxes::Number& own = axes_.numbers()[index];
    if (divisor >= own.extent) return quotient ? number(0) : of_number(index);
    if (own.divisor == 0) {
      if (!division_) division_ = {index, divisor};
      return kUnknown;
    }
    if (own.divisor == divisor) return of_number(quotient ? own.high : own.low);
    if (divisor % own.divisor == 0) {
      const Value high = divided(own.high, divisor / own.divisor, quotient);
      return quotient ? high : sum(of_number(own.low), product(number(own.divisor), high));
    }
    if (own.divisor % divisor != 0) return kUnknown;
    const Value low = divided(own.low, divisor, quotient);
    if (!quotient) return low;
    return sum(low, product(number(own.divisor / divisor), of_number(own.high)));
  }

  Value divided(const Value& a, const Value& by, bool quotient) const {
    if (!by.number || *by.number <= 0) return a.alike() && by.alike() ? Value{} : kUnknown;
    if (a.number && *a.number >= 0)
      return number(quotient ? *a.number / *by.number : *a.number % *by.number);
    if (a.at_most)
      return up_to(quotient ? *a.at_most / *by.number : std::min(*a.at_most, *by.number - 1));
    for (std::size_t i = 0; i < axes_.numbers().size(); ++i) {
      if (a.whole == axes_.numbers()[i].steps) return divided(i, *by.number, quotient);
    }
    return a.alike() ? Value{} : kUnknown;
  }

  Value of(const Operand& operand) const {
    switch (operand.kind) {
      case OperandKind::reg:
        return of_register(operand.index);
      case OperandKind::immediate:
        return number(static_cast<std::int64_t>(operand.value));
      case OperandKind::special:
        return of_special(operand.name);
      case OperandKind::address:
      case OperandKind::vector: {
        if (operand.elements.size() == 1) return of(operand.elements[0]);
        const bool alike =
            std::ranges::all_of(operand.elements, [&](const Operand& e) { return of(e).alike(); });
        return alike ? Value{} : kUnknown;
      }
      default:
        return {};  // the address of a variable, a label
    }
  }

  Value parameter(const Instruction& one) const {
    const Operand& address = one.operands[1];
    if (address.elements.size() != 1 || !on_integers(one)) return {};
    const Operand& symbol = address.elements[0];
    const auto found = std::ranges::find(program_.parameters, symbol.name, &Parameter::name);
    if (symbol.kind != OperandKind::symbol || found == program_.parameters.end()) return {};
    const int bits = bits_of(one.modifiers.back());
    const auto bytes = static_cast<std::size_t>(bits / 8);
    const auto begin = static_cast<std::size_t>(found->offset + address.offset + symbol.offset);
    if (bytes > 8 || begin + bytes > launch_.parameters.size()) return {};
    std::uint64_t value = 0;
    std::memcpy(&value, launch_.parameters.data() + begin, bytes);
    const int unused = 64 - bits;
    return number(is_signed(*type_by_name(one.modifiers.back()))
                      ? static_cast<std::int64_t>(value << unused) >> unused
                      : static_cast<std::int64_t>(value));
  }

  Value comparison(const Instruction& one) const {
    const Value a = of(one.operands[1]), b = of(one.operands[2]);
    if (!a.known || !b.known) return kUnknown;
    if (one.operands.size() > 3 && !of(one.operands[3]).known) return kUnknown;
    if (a.step == b.step && (on_integers(one) || a.alike())) return {};
    return comparing(one) == Comparing::comparison ? Value{} : kUnknown;
  }

  Value choice(const Instruction& one) const {
    const Value a = of(one.operands[1]), b = of(one.operands[2]);
    if (comparing(one) == Comparing::no || !a.known || !b.known) return either(a, b);
    if (way_.chosen[at_] == (kTookFirst | kTookSecond)) return either(a, b);
    return way_.chosen[at_] == kTookSecond ? b : a;
  }

  // Of arithmetic on integers that keeps even steps; nothing: of something else.
  std::optional<Value> even(const Instruction& one) const {
    const std::string& op = one.opcode;
    const auto operand = [&](std::size_t i) { return of(one.operands[i]); };
    // Narrow ones may well wrap around.
    const bool narrow = std::ranges::any_of(
        one.modifiers, [](std::string_view m) { return is_integer(m) && bits_of(m) < 32; });
    if (narrow) return std::nullopt;
    if (op == "mov" || op == "cvta") return operand(1);
    if (op == "cvt" && one.modifiers.size() == 2 && is_integer(one.modifiers[0])) return operand(1);
    if (op == "min" || op == "max") return choice(one);
    if (op == "or") return bitwise_or(operand(1), operand(2));
    if (op == "and") {
      const Value a = operand(1), mask = operand(2), low = bitwise_and(a, mask);
      const bool is_remainder = mask.number && *mask.number > 0 &&
                                std::has_single_bit(static_cast<std::uint64_t>(*mask.number) + 1);
      return low.known || !is_remainder ? low : divided(a, number(*mask.number + 1), false);
    }
    if (op == "neg") return negative(operand(1));
    if (op == "shl" || op == "shr") {
      const Value a = operand(1), by = operand(2);
      if (!by.number || *by.number < 0 || *by.number > 62) return std::nullopt;
      if (op == "shl") return product(a, number(std::int64_t{1} << *by.number));
      return divided(a, number(std::int64_t{1} << *by.number), true);
    }
    if (op == "div") return divided(operand(1), operand(2), true);
    if (op == "rem") return divided(operand(1), operand(2), false);
    if (one.has_modifier("cc") || one.has_modifier("hi")) return std::nullopt;
    if (op == "add") return sum(operand(1), operand(2));
    if (op == "sub") return sum(operand(1), negative(operand(2)));
    if (op == "mul") return product(operand(1), operand(2));
    if (op == "mad") return sum(product(operand(1), operand(2)), operand(3));
    return std::nullopt;
  }

  Value result(const Instruction& one) const {
    const std::string& op = one.opcode;
    if (op == "ld") {
      if (one.has_modifier("param")) return parameter(one);
      return one.has_modifier("const") && of(one.operands[1]).alike() ? Value{} : kUnknown;
    }
    // What the block did before decides these.
    if (is_one_of(op, {"mbarrier", "elect", "activemask"})) return {};
    if (is_one_of(op, {"atom", "clusterlaunchcontrol", "ldmatrix", "ldu", "mma", "red", "tcgen05",
                       "wgmma", "wmma"}))
      return kUnknown;
    if (op == "setp") return comparison(one);
    if (op == "selp") {
      const Value a = of(one.operands[1]), b = of(one.operands[2]);
      return of(one.operands[3]).known ? either(a, b) : kUnknown;
    }
    if (on_integers(one)) {
      if (const std::optional<Value> value = even(one)) return *value;
    }
    for (std::size_t i = 1; i < one.operands.size(); ++i) {
      if (!of(one.operands[i]).alike()) return kUnknown;
    }
    return {};
  }

  void give(const Operand& to, const Value& value) {
    if (to.kind == OperandKind::vector) {
      // Both of d|p have it; parts of a value that grows do not grow evenly.
      const Value part = to.pipe ? value : value.alike() ? Value{} : kUnknown;
      for (const Operand& element : to.elements) give(element, part);
    }
    if (to.kind != OperandKind::reg) return;
    const auto index = static_cast<std::size_t>(to.index);
    if (index >= registers_.size()) registers_.resize(index + 1);
    std::optional<Value>& have = registers_[index];
    const Value merged = have ? either(*have, value) : value;
    if (have == merged) return;
    have = merged;
    changed_ = true;
  }

  void follow(const Instruction& one) {
    for (std::size_t i = 0; i < one.operands.size(); ++i) {
      if (one.operands[i].kind == OperandKind::address) continue;
      if (default_role(one, i) != OperandRole::read) give(one.operands[i], result(one));
    }
  }

  // What is not even; empty: nothing.
  std::string_view obstacle(const Instruction& one) const {
    if (one.guard >= 0 && !of_register(one.guard).known) return "the guard";
    if (is_one_of(one.opcode, {"call", "tex", "clusterlaunchcontrol"})) return "the outcome";
    if (one.opcode == "brx" && !of(one.operands[0]).alike()) return "the target";
    // Addresses of tensor memory and of matrices in descriptors are not counted.
    if (is_one_of(one.opcode, {"tcgen05", "wgmma", "prefetch"})) return "";
    for (const Operand& operand : one.operands) {
      if (operand.kind == OperandKind::address) {
        if (const std::string_view what = address_obstacle(one, operand); !what.empty())
          return what;
      } else if (one.opcode == "cp" && !of(operand).alike()) {
        return "an operand";  // how many bytes are copied
      }
    }
    return "";
  }

  std::string_view address_obstacle(const Instruction& one, const Operand& operand) const {
    if (operand.elements.empty()) return "";
    if (operand.elements.size() > 1) {
      for (const Operand& coordinate : operand.elements[1].elements) {
        if (!of(coordinate).known) return "a coordinate";
      }
    }
    const Value address = of(operand.elements[0]);
    if (!address.known) return "the address";
    const bool generic = std::ranges::none_of(one.modifiers, [](std::string_view m) {
      return m.starts_with("shared") || is_one_of(m, {"local", "param", "const"});
    });
    if (address.grows() && !generic && !one.has_modifier("global")) return "the address";
    // A copy has an address of either memory.
    const std::int64_t repeats = one.opcode == "cp" ? kAllBanks : kSector;
    for (const std::int64_t step : address.step) {
      if (step % repeats != 0) return "the step of the address";
    }
    return "";
  }

  const BlockLaunch& launch_;
  const Program& program_;
  const BlockAxes& axes_;
  const BlockBox& box_;
  const BlockWay& way_;
  std::vector<std::optional<Value>> registers_;
  std::size_t at_ = 0;  // the instruction that is followed
  bool changed_ = false;
  mutable std::optional<std::pair<std::size_t, std::int64_t>> division_;  // that is wanted
};

}  // namespace

std::vector<Comparing> comparing_instructions(const Program& program) {
  std::vector<Comparing> all(program.origin.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (program.origin[i] != nullptr) all[i] = comparing(*program.origin[i]);
  }
  return all;
}

BlockDependence dependence_on_block(const BlockLaunch& launch, const BlockAxes& axes,
                                    const BlockBox& box, const BlockWay& way) {
  return Analysis(launch, axes, box, way).run();
}

}  // namespace plumbline::emulator
