// SPDX-License-Identifier: MIT
#include "harness/emulator/frontend/function_scope.h"

#include <fmt/format.h>

#include <charconv>

#include "harness/emulator/frontend/similar_names.h"
#include "harness/emulator/frontend/special_registers.h"
#include "harness/emulator/frontend/type_names.h"

namespace plumbline::emulator {
namespace {

// Far above what compilers write (3 levels), far below what would hurt.
constexpr int kMaxScopes = 200;
constexpr std::int64_t kMaxRange = std::int64_t{1} << 24;
constexpr std::size_t kMaxTargets = std::size_t{1} << 20;

}  // namespace

FunctionScope::FunctionScope(Cursor& cursor, const ModuleScope& module, Function& function)
    : cursor_(cursor), module_(module), function_(function), labels_(cursor, function) {
  for (const SymbolTable table : {SymbolTable::parameters, SymbolTable::results}) {
    auto& variables = table == SymbolTable::parameters ? function.parameters : function.results;
    for (std::size_t i = 0; i < variables.size(); ++i) {
      Variable& variable = variables[i];
      const Token name{TokenKind::word, variable.name, variable.line, 1};
      if (variable.space == Space::reg) {
        variable.register_index = add_register(variable.name, type_bits("." + variable.type), 0);
        declare(name,
                Meaning{Kind::reg, {}, type_bits("." + variable.type), variable.register_index});
      } else if (variable.name != "_") {
        declare_variable(name, table, static_cast<int>(i));
      }
    }
  }
}

void FunctionScope::open(const Token& brace) {
  if (depth() + 1 > kMaxScopes) {
    cursor_.fail(brace, fmt::format("{{ }} nested more than {} deep", kMaxScopes));
    return;
  }
  meanings_.open();
  range_of_.open();
  labels_.open();
  scope_number_.push_back(++scopes_);
}

void FunctionScope::close() {
  meanings_.close();
  range_of_.close();
  labels_.close();
  scope_number_.pop_back();
}

void FunctionScope::declare(const Token& name, Meaning meaning) {
  const auto* known = meanings_.find(name.text);
  if (known != nullptr && known->depth == depth()) {
    cursor_.fail(name, fmt::format("{} is already declared in this scope", in_quotes(name.text)));
    return;
  }
  meanings_.set(name.text, meaning, depth());
}

void FunctionScope::declare_register(const Token& name, int bits) {
  declare(name, Meaning{Kind::reg, {}, bits, -1});
}

void FunctionScope::declare_register_range(const Token& prefix, int bits, std::int64_t count) {
  if (count > kMaxRange) {
    cursor_.fail(prefix, fmt::format("{}<{}> declares too many registers (at most {})", prefix.text,
                                     count, kMaxRange));
    return;
  }
  const auto* known = range_of_.find(prefix.text);
  if (known != nullptr && known->depth == depth()) {
    cursor_.fail(prefix, fmt::format("{}<{}> is already declared in this scope", prefix.text,
                                     ranges_[known->value].count));
    return;
  }
  ranges_.push_back(Range{bits, count, depth(), known == nullptr ? -1 : known->value});
  range_of_.set(prefix.text, static_cast<int>(ranges_.size()) - 1, depth());
  nested_ranges_ += depth() > 1 ? 1 : 0;
}

void FunctionScope::declare_variable(const Token& name, SymbolTable table, int index) {
  declare(name, Meaning{Kind::symbol, table, 0, index});
}

void FunctionScope::declare_prototype(const Token& name) {
  declare(name, Meaning{Kind::prototype, {}, 0, -1});
}

void FunctionScope::declare_branch_targets(const Token& name, std::vector<Token> labels) {
  declare(name, Meaning{Kind::branch_targets, {}, 0, static_cast<int>(target_lists_.size())});
  target_lists_.push_back(std::move(labels));
}

void FunctionScope::declare_label(const Token& name) {
  labels_.declare(name, unique(name.text, depth()));
}

// Names of the outermost body scope stay as written; inner ones get the number of their scope.
std::string FunctionScope::unique(std::string_view name, int at_depth) const {
  if (at_depth <= 1) return std::string(name);
  return fmt::format("{}@{}", name, scope_number_[at_depth]);
}

int FunctionScope::add_register(std::string_view name, int bits, int at_depth) {
  function_.registers.push_back(Register{unique(name, at_depth), bits});
  return static_cast<int>(function_.registers.size()) - 1;
}

// A range member is a prefix and a number without leading zeros; the prefix itself may end in
// digits, so every split is tried, and the innermost scope wins.
bool FunctionScope::find_in_range(std::string_view name, Meaning& meaning, int& found_depth) {
  std::size_t split = name.size();
  bool found = false;
  while (split > 1 && name[split - 1] >= '0' && name[split - 1] <= '9' && name.size() - split < 9) {
    --split;
    if (name[split] == '0' && split + 1 != name.size()) continue;
    const auto* innermost = range_of_.find(name.substr(0, split));
    if (innermost == nullptr) continue;
    std::int64_t number = 0;
    std::from_chars(name.data() + split, name.data() + name.size(), number);
    int range = innermost->value;
    while (range >= 0 && number >= ranges_[range].count) range = ranges_[range].hidden;
    if (range < 0 || (found && ranges_[range].depth <= found_depth)) continue;
    meaning = Meaning{Kind::reg, {}, ranges_[range].bits, -1};
    found_depth = ranges_[range].depth;
    found = true;
  }
  return found;
}

Operand FunctionScope::operand(const Token& name, Meaning& meaning, int at_depth) {
  Operand result;
  result.index = meaning.index;
  switch (meaning.kind) {
    case Kind::reg:
      if (meaning.index < 0) meaning.index = add_register(name.text, meaning.bits, at_depth);
      result.kind = OperandKind::reg;
      result.index = meaning.index;
      break;
    case Kind::symbol:
      result.kind = OperandKind::symbol;
      result.table = meaning.table;
      result.global_scope = meaning.table == SymbolTable::module;
      result.name = name.text;
      break;
    case Kind::prototype:
      result.kind = OperandKind::prototype;
      result.name = name.text;
      break;
    case Kind::branch_targets:
      cursor_.fail(name, fmt::format("{} is a list of branch targets; only brx.idx can use it",
                                     in_quotes(name.text)));
      break;
  }
  return result;
}

Operand FunctionScope::resolve(const Token& name) {
  auto* known = meanings_.find(name.text);
  if (known == nullptr || (nested_ranges_ > 0 && known->depth < depth())) {
    Meaning meaning;
    int found_depth = -1;
    if (find_in_range(name.text, meaning, found_depth) &&
        (known == nullptr || known->depth < found_depth)) {
      meanings_.set(name.text, meaning, found_depth);
      known = meanings_.find(name.text);
    }
  }
  if (known != nullptr) return operand(name, known->value, known->depth);

  Operand result;
  if (const auto variable = module_.variable(name.text)) {
    result.kind = OperandKind::symbol;
    result.table = SymbolTable::module;
    result.global_scope = true;
    result.index = *variable;
    result.name = name.text;
  } else if (const auto function = module_.function(name.text)) {
    result.kind = OperandKind::function;
    result.index = *function;
    result.name = name.text;
  } else if (is_special_register(name.text)) {
    result.kind = OperandKind::special;
    result.name = name.text;
  } else {
    fail_unknown(name);
  }
  return result;
}

Operand FunctionScope::branch_targets(const Token& name) {
  Operand result;
  result.kind = OperandKind::vector;
  const auto* known = meanings_.find(name.text);
  if (known == nullptr || known->value.kind != Kind::branch_targets) {
    cursor_.fail(name, fmt::format("{} is not a list of branch targets", in_quotes(name.text)),
                 fmt::format("declare it before: {}: .branchtargets label, ...;", name.text));
    return result;
  }
  const std::vector<Token>& labels = target_lists_[known->value.index];
  targets_expanded_ += labels.size();
  if (targets_expanded_ > kMaxTargets) {
    cursor_.fail(name, fmt::format("more than {} branch targets in one function", kMaxTargets));
    return result;
  }
  for (const Token& label : labels) result.elements.push_back(label_reference(label));
  return result;
}

void FunctionScope::fail_unknown(const Token& name) {
  const std::size_t stem = name.text.find_last_not_of("0123456789") + 1;
  if (stem < name.text.size()) {
    const std::string_view prefix = name.text.substr(0, stem);
    if (const auto* innermost = range_of_.find(prefix)) {
      const std::int64_t count = ranges_[innermost->value].count;
      cursor_.fail(name, fmt::format("register {} is not declared", in_quotes(name.text)),
                   fmt::format("{}<{}> ends at {}{}", prefix, count, prefix, count - 1));
      return;
    }
  }
  std::vector<std::string_view> candidates;
  meanings_.collect_names(candidates);
  for (const auto& [variable, index] : module_.variables) candidates.push_back(variable);
  for (const auto& [function, index] : module_.functions) candidates.push_back(function);
  const auto specials = special_registers();
  candidates.insert(candidates.end(), specials.begin(), specials.end());
  cursor_.fail(name, fmt::format("{} is not declared", in_quotes(name.text)),
               similar_name(name.text, std::move(candidates)));
}

}  // namespace plumbline::emulator
