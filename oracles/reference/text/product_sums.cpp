// SPDX-License-Identifier: MIT
#include "oracles/reference/text/product_sums.h"

#include <algorithm>

namespace plumbline::text {
namespace {

// What a value is as a factor of a product.
struct Operand {
  bool any = false;  // 0, which every format has
  std::optional<FormatId> format;

  static Operand zero() { return {true, std::nullopt}; }

  // Either of both.
  Operand or_else(const Operand& other) const {
    if (any) return other;
    return other.any || other.format == format ? *this : Operand{};
  }
};

class Operands {
 public:
  Operands(const Program& program, const ProductSums::FormatOf& format_of)
      : program_(program), format_of_(format_of) {}

  Operand of(const Expression& node) const {
    switch (node.op) {
      case Op::constant:
        return node.number == 0 ? Operand::zero() : Operand{};
      case Op::input:
        return node.type == Type::real ? Operand{false, format_of_(node.id)} : Operand{};
      case Op::round_to:
        return {false, node.format};
      case Op::negate:
        return of(*node.children[0]);
      case Op::maximum:
      case Op::minimum:
        return of(*node.children[0]).or_else(of(*node.children[1]));
      case Op::where:
        return of(*node.children[1]).or_else(of(*node.children[2]));
      case Op::step: {
        Operand out = Operand::zero();
        for (const Piece& piece : program_.steps[static_cast<std::size_t>(node.id)].pieces)
          out = out.or_else(of(*piece.value));
        return out;
      }
      default:
        return {};
    }
  }

 private:
  const Program& program_;
  const ProductSums::FormatOf& format_of_;
};

template <typename Visit>
void visit_all(const Expression& node, const Visit& visit) {
  visit(node);
  for_each_child(node, [&](const Expression& child) { visit_all(child, visit); });
}

constexpr std::int64_t kMostParts = 16;

Contract contract_of(const ProductUnit& unit, bool flushed, bool in_order) {
  Contract contract;
  contract.unit = unit.unit.unit;
  contract.instruction = unit.unit.instruction;
  contract.instruction_k = unit.instruction_k;
  contract.schedule = in_order ? Schedule::runs : Schedule::any;
  contract.parts = in_order ? kMostParts : 0;
  contract.subnormals_flushed = flushed;
  return contract;
}

}  // namespace

ProductSums::ProductSums(const Instance& instance, const ProductUnit& unit, bool flushed)
    : ProductSums(instance.program(), unit, flushed, [&](int input) -> std::optional<FormatId> {
        const auto i = static_cast<std::size_t>(input);
        if (!instance.setting().present[i]) return std::nullopt;
        const Program& program = instance.program();
        const auto parameter = program.inputs[i].parameter - program.text.parameters.data();
        return instance.format_of(static_cast<int>(parameter));
      }) {}

ProductSums::ProductSums(const Program& program, const ProductUnit& unit, bool flushed,
                         const FormatOf& format_of) {
  if (unit.unit.unit != Unit::tensor_core) return;
  const Operands operands(program, format_of);
  const auto take = [&](const Expression& node) {
    const bool sum = node.op == Op::reduce && node.type == Type::real &&
                     node.id == static_cast<int>(Reduction::sum);
    if (!sum || node.children[0]->op != Op::product || node.children[0]->children.size() != 2)
      return;
    const Operand a = operands.of(*node.children[0]->children[0]),
                  b = operands.of(*node.children[0]->children[1]);
    // f32 is no operand: tf32 would lose bits before the product.
    if (!a.format || !b.format || a.format == FormatId::f32 || b.format == FormatId::f32) return;
    const bool in_order =
        node.ranges.size() == 1 && node.ranges[0].low == nullptr && !node.condition;
    const Contract contract = contract_of(unit, flushed, in_order);
    if (!contract.check(unit.sm, *a.format, *b.format)) return;
    const std::optional<BoundModel> model = bound_model(contract, unit.sm, *a.format, *b.format);
    if (model)
      sums_.emplace(&node, ProductSum{contract, unit.sm, *a.format, *b.format, *model, in_order});
  };
  for (const StepTensor& step : program.steps) {
    for (const Piece& piece : step.pieces) visit_all(*piece.value, take);
  }
}

}  // namespace plumbline::text
