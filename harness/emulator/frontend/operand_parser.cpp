// SPDX-License-Identifier: MIT
#include "harness/emulator/frontend/operand_parser.h"

#include <fmt/format.h>

#include "harness/emulator/frontend/literal.h"
#include "harness/emulator/frontend/special_registers.h"

namespace plumbline::emulator {
namespace {

Operand vector_of(std::vector<Operand> elements) {
  Operand result;
  result.kind = OperandKind::vector;
  result.elements = std::move(elements);
  return result;
}

}  // namespace

std::vector<Operand> OperandParser::parse(std::string_view opcode) {
  std::vector<Operand> operands;
  if (cursor_.at(';')) return operands;
  if (cursor_.at('}') || cursor_.at_end()) {
    cursor_.expected("\";\" at the end of an instruction");
    return operands;
  }
  if (opcode == "call") return parse_call();
  const bool branches = opcode == "bra" || opcode == "brx";
  do {
    if (opcode == "bra") {
      operands.push_back(scope_.label_reference(cursor_.expect_word("a label")));
    } else if (branches && operands.size() == 1) {
      operands.push_back(scope_.branch_targets(cursor_.expect_word("a list of branch targets")));
    } else {
      operands.push_back(parse_operand());
    }
  } while (cursor_.accept(','));
  return operands;
}

Operand OperandParser::parse_operand() {
  if (cursor_.at('[')) return parse_address();
  if (cursor_.at('{')) return parse_vector();
  Operand first = parse_simple();
  if (!cursor_.accept('|')) return first;
  std::vector<Operand> pair;
  pair.push_back(std::move(first));
  pair.push_back(parse_simple());
  Operand result = vector_of(std::move(pair));
  result.pipe = true;
  return result;
}

// What may also stand inside a vector.
Operand OperandParser::parse_simple() {
  if (starts_constant(cursor_)) return parse_immediate();
  const bool negated = cursor_.accept('!');
  if (!cursor_.at_word()) {
    cursor_.expected(negated ? "a predicate register" : "an operand");
    return {};
  }
  Operand operand = parse_name();
  operand.negated = negated;
  return operand;
}

Operand OperandParser::parse_name() {
  const Token name = cursor_.take();
  if (name.text == "_") return {};
  Operand operand = scope_.resolve(name);
  if (operand.kind == OperandKind::special && has_parts(name.text)) {
    const Token part = cursor_.current();
    const bool known = part.is_directive(".x") || part.is_directive(".y") ||
                       part.is_directive(".z") || part.is_directive(".w");
    if (known) operand.name += cursor_.take().text;
  }
  if (cursor_.at_directive()) {
    cursor_.fail(cursor_.current(),
                 fmt::format("{}{} selects a part of an operand, which is not supported",
                             in_quotes(name.text), cursor_.current().text));
  }
  if (operand.kind == OperandKind::symbol) operand.offset = parse_offset(cursor_);
  return operand;
}

Operand OperandParser::parse_immediate() {
  const Literal literal = parse_constant(cursor_).literal;
  Operand operand;
  operand.kind = OperandKind::immediate;
  operand.value = literal.value;
  operand.is_float = literal.float_bits != 0;
  operand.float_bits = literal.float_bits;
  return operand;
}

Operand OperandParser::parse_vector() {
  cursor_.take();
  std::vector<Operand> elements;
  do {
    elements.push_back(parse_simple());
  } while (cursor_.accept(','));
  cursor_.expect('}', "or \",\" in a vector operand");
  return vector_of(std::move(elements));
}

Operand OperandParser::parse_address() {
  cursor_.take();
  Operand address;
  address.kind = OperandKind::address;
  if (starts_constant(cursor_)) {
    const Token start = cursor_.current();
    const Literal literal = parse_constant(cursor_).literal;
    if (literal.float_bits != 0) cursor_.fail(start, "an address is an integer");
    address.offset = static_cast<std::int64_t>(literal.value);
  } else {
    const Token start = cursor_.expect_word("a register, a variable or a number in an address");
    if (cursor_.failed()) return address;
    Operand base = scope_.resolve(start);
    if (base.kind != OperandKind::reg && base.kind != OperandKind::symbol && !cursor_.failed()) {
      cursor_.fail(start,
                   fmt::format("{} is neither a register nor a variable, so it has no address",
                               in_quotes(start.text)));
      return address;
    }
    address.elements.push_back(std::move(base));
    address.offset = parse_offset(cursor_);
    if (cursor_.accept(',')) {
      if (!cursor_.at('{')) cursor_.expected("\"{\" before the coordinates of a tensor access");
      if (!cursor_.failed()) address.elements.push_back(parse_vector());
    }
  }
  cursor_.expect(']', "at the end of an address");
  return address;
}

// call (results), callee, (arguments), prototype; everything but the callee may be missing.
std::vector<Operand> OperandParser::parse_call() {
  std::vector<Operand> operands;
  const bool has_results = cursor_.at('(');
  operands.push_back(has_results ? parse_call_list() : vector_of({}));
  if (has_results) cursor_.expect(',', "after the results of a call");
  operands.push_back(parse_callee());
  if (cursor_.accept(',')) {
    if (cursor_.at('(')) {
      operands.push_back(parse_call_list());
      if (!cursor_.accept(',')) return operands;
    } else {
      operands.push_back(vector_of({}));
    }
    const Token name = cursor_.expect_word("the prototype of an indirect call");
    if (cursor_.failed()) return operands;
    operands.push_back(scope_.resolve(name));
    if (operands.back().kind != OperandKind::prototype && !cursor_.failed()) {
      cursor_.fail(name, fmt::format("{} is not a call prototype", in_quotes(name.text)));
    }
  } else {
    operands.push_back(vector_of({}));
  }
  return operands;
}

Operand OperandParser::parse_callee() {
  const Token name = cursor_.expect_word("the function to call");
  if (cursor_.failed()) return {};
  Operand callee = scope_.resolve(name);
  if (callee.kind != OperandKind::function && callee.kind != OperandKind::reg &&
      !cursor_.failed()) {
    cursor_.fail(name, fmt::format("{} is not a function", in_quotes(name.text)));
  }
  return callee;
}

Operand OperandParser::parse_call_list() {
  cursor_.take();
  std::vector<Operand> elements;
  if (cursor_.accept(')')) return vector_of({});
  do {
    elements.push_back(parse_simple());
  } while (cursor_.accept(','));
  cursor_.expect(')', "or \",\" in the list of a call");
  return vector_of(std::move(elements));
}

}  // namespace plumbline::emulator
