// SPDX-License-Identifier: MIT
// What must hold of every module the parser accepts, and of every error it gives, for every text.
// Used by the fuzzer and by the test that replays its corpus.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "harness/emulator/decode/liveness.h"
#include "harness/emulator/frontend/module.h"

namespace plumbline::emulator::test {

template <typename List>
inline bool is_index(int index, const List& list) {
  return index >= 0 && index < static_cast<int>(list.size());
}

inline bool symbol_is_valid(const Operand& operand, const PtxModule& module,
                            const Function& function) {
  switch (operand.table) {
    case SymbolTable::variables:
      return is_index(operand.index, function.variables);
    case SymbolTable::parameters:
      return is_index(operand.index, function.parameters);
    case SymbolTable::results:
      return is_index(operand.index, function.results);
    case SymbolTable::module:
      return is_index(operand.index, module.variables);
  }
  return false;
}

inline bool operand_is_valid(const Operand& operand, const PtxModule& module,
                             const Function& function) {
  const bool nests = operand.kind == OperandKind::vector || operand.kind == OperandKind::address;
  if (!nests && !operand.elements.empty()) return false;
  for (const Operand& element : operand.elements) {
    if (!operand_is_valid(element, module, function)) return false;
  }
  switch (operand.kind) {
    case OperandKind::reg:
      return is_index(operand.index, function.registers);
    case OperandKind::label:
      return is_index(operand.index, function.labels);
    case OperandKind::function:
      return is_index(operand.index, module.functions);
    case OperandKind::symbol:
      return symbol_is_valid(operand, module, function);
    default:
      return true;
  }
}

inline bool overlap(const LiveInterval& a, const LiveInterval& b) {
  return !a.empty() && !b.empty() && a.first <= b.last && b.first <= a.last;
}

// Registers of a function that are alive together must not share storage.
inline bool slots_are_disjoint(const Function& function) {
  const SlotMap map = assign_slots(function);
  const auto intervals = live_intervals(function, control_flow(function), default_role);
  constexpr std::size_t kMost = 300;  // compared pair by pair
  const std::size_t count = std::min(intervals.size(), kMost);
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      if (!overlap(intervals[a], intervals[b])) continue;
      const Register& x = function.registers[a];
      const Register& y = function.registers[b];
      if (x.is_predicate() != y.is_predicate()) continue;
      const auto& slots = x.is_predicate() ? map.predicate_slot : map.slot;
      const int x_end = slots[a] + std::max(1, x.bits / 32);
      const int y_end = slots[b] + std::max(1, y.bits / 32);
      if (slots[a] < y_end && slots[b] < x_end) return false;
    }
  }
  return true;
}

inline std::string check_function(const PtxModule& module, const Function& function) {
  const auto count = static_cast<int>(function.instructions.size());
  for (const Label& label : function.labels) {
    if (label.target < 0 || label.target > count)
      return "label outside its function: " + label.name;
  }
  for (const Instruction& instruction : function.instructions) {
    if (instruction.line < 1 || instruction.column < 1 || instruction.text.empty()) {
      return "instruction without position or text in " + function.name;
    }
    if (instruction.guard >= 0 && !is_index(instruction.guard, function.registers)) {
      return "bad guard: " + instruction.text;
    }
    for (const Operand& operand : instruction.operands) {
      if (!operand_is_valid(operand, module, function)) return "bad operand: " + instruction.text;
    }
  }
  if (!slots_are_disjoint(function)) return "registers share storage in " + function.name;
  return {};
}

// "file:line:column", or the file alone for what concerns all of it.
inline bool names_a_place(const Error& error, std::string_view text) {
  constexpr std::string_view kPrefix = "corpus:";
  if (!error.where.starts_with(kPrefix) || error.message.empty()) return false;
  const long lines = std::count(text.begin(), text.end(), '\n') + 1;
  const long line = std::stol(error.where.substr(kPrefix.size()));
  return line >= 1 && line <= lines;
}

// Empty, or what is wrong.
inline std::string check_parse(std::string_view text) {
  const auto module = parse_ptx(text, "corpus");
  if (!module)
    return names_a_place(module.error(), text) ? ""
                                               : "error without a place: " + module.error().text();
  for (const Function& function : module->functions) {
    if (std::string wrong = check_function(*module, function); !wrong.empty()) return wrong;
  }
  // Parsing one entry alone gives the same entry.
  for (const Function& function : module->functions) {
    if (!function.is_entry) continue;
    ParseOptions options;
    options.wanted = [&](const std::string& entry) { return entry == function.name; };
    const auto alone = parse_ptx(text, "corpus", options);
    if (!alone) return "only alone: " + alone.error().text();
    const Function* same = alone->entry(function.name);
    if (same == nullptr || same->instructions.size() != function.instructions.size() ||
        same->registers.size() != function.registers.size()) {
      return "alone it gives another " + function.name;
    }
    break;
  }
  return {};
}

}  // namespace plumbline::emulator::test
