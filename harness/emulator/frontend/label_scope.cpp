// SPDX-License-Identifier: MIT
#include "harness/emulator/frontend/label_scope.h"

#include <fmt/format.h>

#include "harness/emulator/frontend/similar_names.h"

namespace plumbline::emulator {

void LabelScope::open() {
  labels_.open();
  pending_.emplace_back();
}

void LabelScope::close() {
  resolve_pending();
  labels_.close();
  pending_.pop_back();
}

void LabelScope::declare(const Token& name, std::string unique_name) {
  const auto* known = labels_.find(name.text);
  if (known != nullptr && known->depth == labels_.depth()) {
    cursor_.fail(name, fmt::format("label {} is already defined in this scope, at line {}",
                                   in_quotes(name.text), function_.labels[known->value].line));
    return;
  }
  labels_.set(name.text, static_cast<int>(function_.labels.size()), labels_.depth());
  function_.labels.push_back(
      Label{std::move(unique_name), static_cast<int>(function_.instructions.size()), name.line});
}

Operand LabelScope::refer(const Token& name) {
  const auto reference = static_cast<int>(references_.size());
  pending_.back().push_back(reference);
  references_.push_back(Reference{name});
  Operand result;
  result.kind = OperandKind::label;
  result.index = reference;
  return result;
}

// Only labels of the closing scope itself count now: a scope between it and the one of an outer
// label may still declare a nearer one.
void LabelScope::resolve_pending() {
  const int depth = labels_.depth();
  for (const int reference : pending_.back()) {
    const auto* label = labels_.find(references_[reference].name.text);
    if (label != nullptr && label->depth == depth) {
      references_[reference].label = label->value;
    } else if (depth > 0) {
      pending_[depth - 1].push_back(reference);
    }
  }
}

void LabelScope::resolve() {
  if (cursor_.failed()) return;
  resolve_pending();
  for (const Reference& reference : references_) {
    if (reference.label < 0) return fail_unknown(reference);
  }
  const auto give_label = [&](Operand& operand) {
    if (operand.kind == OperandKind::label) operand.index = references_[operand.index].label;
  };
  for (Instruction& instruction : function_.instructions) {
    for (Operand& operand : instruction.operands) {
      give_label(operand);
      for (Operand& element : operand.elements) give_label(element);
    }
  }
}

void LabelScope::fail_unknown(const Reference& reference) {
  std::vector<std::string_view> candidates;
  std::string hint;
  for (const Label& label : function_.labels) {
    const std::string_view name = std::string_view(label.name).substr(0, label.name.find('@'));
    if (name == reference.name.text) {
      hint = fmt::format("the label of that name at line {} is inside another {{ }} scope",
                         label.line);
    }
    candidates.push_back(name);
  }
  if (hint.empty()) hint = similar_name(reference.name.text, std::move(candidates));
  cursor_.fail(reference.name,
               fmt::format("label {} is not defined", in_quotes(reference.name.text)),
               std::move(hint));
}

}  // namespace plumbline::emulator
