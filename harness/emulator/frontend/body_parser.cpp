// SPDX-License-Identifier: MIT
#include "harness/emulator/frontend/body_parser.h"

#include <fmt/format.h>

#include "harness/emulator/frontend/declaration_parser.h"
#include "harness/emulator/frontend/literal.h"
#include "harness/emulator/frontend/noise.h"
#include "harness/emulator/frontend/type_names.h"

namespace plumbline::emulator {
namespace {

// Where a blank is only layout: nvcc writes "( param0" across three lines.
bool needs_blank(char before, char after) {
  constexpr std::string_view kOpening = "([{";
  constexpr std::string_view kClosing = ")]},";
  return kOpening.find(before) == std::string_view::npos &&
         kClosing.find(after) == std::string_view::npos;
}

// The text between two places of the same PTX, without comments and with runs of blanks as one
// space.
std::string folded(const char* at, const char* end) {
  std::string result;
  result.reserve(static_cast<std::size_t>(end - at));
  bool blank = false;
  while (at != end) {
    const bool comment = *at == '/' && end - at > 1 && (at[1] == '/' || at[1] == '*');
    if (comment) {
      const bool line = at[1] == '/';
      for (at += 2; at != end; ++at) {
        if (line ? *at == '\n' : (*at == '/' && at[-1] == '*')) break;
      }
      if (at != end) ++at;
      blank = true;
    } else if (static_cast<unsigned char>(*at) <= ' ') {
      ++at;
      blank = true;
    } else {
      if (blank && !result.empty() && needs_blank(result.back(), *at)) result += ' ';
      blank = false;
      result += *at++;
    }
  }
  return result;
}

// N of .pragma "used_bytes_mask N", or 0 for any other pragma.
std::uint64_t used_bytes_mask(std::string_view pragma) {
  constexpr std::string_view kName = "used_bytes_mask";
  if (!pragma.starts_with(kName)) return 0;
  pragma.remove_prefix(kName.size());
  Cursor cursor(pragma, "pragma");
  const Literal mask = parse_literal(cursor);
  return cursor.failed() || mask.float_bits != 0 ? 0 : mask.value;
}

}  // namespace

void BodyParser::parse() {
  scope_.open(cursor_.current());
  cursor_.expect('{', "at the start of a function body");
  while (!cursor_.failed()) {
    if (cursor_.at('{')) {
      scope_.open(cursor_.take());
    } else if (cursor_.at('}')) {
      scope_.close();
      if (scope_.depth() == 0) break;
      cursor_.take();
    } else if (cursor_.at_end()) {
      cursor_.expected(fmt::format("\"}}\" at the end of function {}", in_quotes(function_.name)));
    } else {
      parse_statement();
    }
  }
  scope_.resolve_labels();
  cursor_.accept('}');
  function_.has_body = true;
}

void BodyParser::parse_statement() {
  if (cursor_.accept(';')) return;
  if (cursor_.at_directive()) return parse_directive();
  Instruction instruction;
  if (cursor_.at('@')) {
    parse_guard(instruction);
    const Token opcode = cursor_.expect_word("an instruction after the guard");
    return parse_instruction(std::move(instruction), opcode);
  }
  const Token word = cursor_.expect_word("an instruction, a label or a declaration");
  if (cursor_.failed()) return;
  if (cursor_.accept(':')) return parse_labeled(word);
  parse_instruction(std::move(instruction), word);
}

void BodyParser::parse_directive() {
  const Token directive = cursor_.take();
  if (directive.text == ".reg") return parse_registers();
  if (directive.text == ".param") return parse_variables(Space::param);
  if (directive.text == ".shared") return parse_variables(Space::shared);
  if (directive.text == ".local") return parse_variables(Space::local);
  if (directive.text == ".global") return parse_variables(Space::global);
  if (directive.text == ".const") return parse_variables(Space::constant);
  if (directive.text == ".loc") return parse_loc();
  if (directive.text == ".pragma") return parse_pragma();
  if (directive.text == ".file") return parse_file(cursor_, module_.module);
  if (directive.text == ".section") return skip_section(cursor_);
  const bool opens_list = directive.text == ".branchtargets" || directive.text == ".calltargets" ||
                          directive.text == ".callprototype";
  if (opens_list) {
    cursor_.fail(directive, fmt::format("{} needs a label before it", in_quotes(directive.text)));
    return;
  }
  skip_unknown(cursor_, directive, module_.module);
}

void BodyParser::parse_registers() {
  if (cursor_.at_directive(".v2") || cursor_.at_directive(".v4")) {
    cursor_.fail(cursor_.current(), "vector registers are not supported");
    return;
  }
  const Token type = cursor_.expect_directive("a register type such as .b32");
  const int bits = type_bits(type.text);
  if (bits == 0) {
    cursor_.fail(type, fmt::format("{} is not a register type", in_quotes(type.text)));
    return;
  }
  do {
    const Token name = cursor_.expect_word("the name of a register");
    if (cursor_.accept('<')) {
      const std::int64_t count =
          parse_integer(cursor_, "a register count", 1, std::int64_t{1} << 40);
      cursor_.expect('>', "after a register count");
      if (!cursor_.failed()) scope_.declare_register_range(name, bits, count);
    } else if (!cursor_.failed()) {
      scope_.declare_register(name, bits);
    }
  } while (cursor_.accept(','));
  cursor_.expect(';', "after a register declaration");
}

// .global and .const variables of a body last as long as the module: they go to its list, and only
// their name is local.
void BodyParser::parse_variables(Space space) {
  const bool lasting = space == Space::global || space == Space::constant;
  auto& variables = lasting ? module_.module.variables : function_.variables;
  const SymbolTable table = lasting ? SymbolTable::module : SymbolTable::variables;
  const DeclarationType type = parse_declaration_type(cursor_, space, false);
  do {
    Declaration declaration = parse_declarator(cursor_, type, &module_.initial_bytes_left);
    if (cursor_.failed()) return;
    scope_.declare_variable(declaration.name, table, static_cast<int>(variables.size()));
    variables.push_back(std::move(declaration.variable));
  } while (cursor_.accept(','));
  cursor_.expect(';', "after a variable declaration");
}

// .loc file line column [, function_name label [+ offset]] [, inlined_at file line column]
void BodyParser::parse_loc() {
  constexpr std::int64_t kMost = 0x7fffffff;
  const auto place = [&] {
    std::array<int, 3> at{};
    at[0] = static_cast<int>(parse_integer(cursor_, "a file number", 0, kMost));
    at[1] = static_cast<int>(parse_integer(cursor_, "a line number", 0, kMost));
    if (cursor_.current().kind == TokenKind::number)
      at[2] = static_cast<int>(parse_integer(cursor_, "a column number", 0, kMost));
    return at;
  };
  const std::array<int, 3> here = place();
  source_ = {here[0], here[1]};
  while (cursor_.accept(',')) {
    if (cursor_.expect_word("function_name or inlined_at").text == "inlined_at") {
      source_.calls = calls_from(place());
      continue;
    }
    cursor_.expect_word("a label");
    if (cursor_.accept('+')) parse_integer(cursor_, "an offset", 0, kMost);
  }
  places_[here] = source_;
}

// The call at this place, and those that led there.
std::shared_ptr<const std::vector<FileLine>> BodyParser::calls_from(
    const std::array<int, 3>& at) const {
  constexpr std::size_t kMostCalls = 64;  // far above what compilers inline
  std::vector<FileLine> calls = {{at[0], at[1]}};
  const auto call = places_.find(at);
  if (call != places_.end() && call->second.calls != nullptr) {
    const std::vector<FileLine>& further = *call->second.calls;
    if (further.size() < kMostCalls) calls.insert(calls.end(), further.begin(), further.end());
  }
  return std::make_shared<const std::vector<FileLine>>(std::move(calls));
}

void BodyParser::parse_pragma() {
  while (cursor_.current().kind == TokenKind::string) {
    const Token text = cursor_.take();
    const std::uint64_t mask = used_bytes_mask(text.text.substr(1, text.text.size() - 2));
    if (mask != 0) used_bytes_mask_ = mask;
    cursor_.accept(',');
  }
  cursor_.expect(';', "after .pragma");
}

// A label, or the name of a list: `targets: .branchtargets a, b;`.
void BodyParser::parse_labeled(const Token& name) {
  if (cursor_.accept_directive(".branchtargets")) {
    std::vector<Token> labels;
    do {
      labels.push_back(cursor_.expect_word("a label"));
    } while (cursor_.accept(','));
    cursor_.expect(';', "after .branchtargets");
    scope_.declare_branch_targets(name, std::move(labels));
  } else if (cursor_.at_directive(".callprototype") || cursor_.at_directive(".calltargets")) {
    skip_to_semicolon(cursor_);
    scope_.declare_prototype(name);
  } else {
    scope_.declare_label(name);
  }
}

void BodyParser::parse_guard(Instruction& instruction) {
  cursor_.take();
  instruction.guard_negated = cursor_.accept('!');
  const Token name = cursor_.expect_word("a predicate register after \"@\"");
  if (cursor_.failed()) return;
  const Operand guard = scope_.resolve(name);
  const bool predicate =
      guard.kind == OperandKind::reg && function_.registers[guard.index].is_predicate();
  if (!predicate && !cursor_.failed()) {
    cursor_.fail(name, fmt::format("{} is not a predicate register", in_quotes(name.text)));
  }
  instruction.guard = guard.index;
}

void BodyParser::parse_instruction(Instruction instruction, const Token& opcode) {
  instruction.opcode = opcode.text;
  instruction.line = opcode.line;
  instruction.column = opcode.column;
  instruction.source = source_;
  instruction.used_bytes_mask = used_bytes_mask_;
  used_bytes_mask_ = 0;
  while (cursor_.at_directive()) instruction.modifiers.emplace_back(cursor_.take().text.substr(1));
  instruction.operands = operands_.parse(opcode.text);
  const Token semicolon = cursor_.current();
  if (!cursor_.expect(';', "at the end of an instruction")) return;
  instruction.text = folded(opcode.text.data(), semicolon.text.data());
  function_.instructions.push_back(std::move(instruction));
}

}  // namespace plumbline::emulator
