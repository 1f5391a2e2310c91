// SPDX-License-Identifier: MIT
#include "harness/emulator/frontend/parser.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/emulator/frontend/body_parser.h"
#include "harness/emulator/frontend/header_parser.h"
#include "harness/emulator/frontend/literal.h"
#include "harness/emulator/frontend/noise.h"

namespace plumbline::emulator {
namespace {

constexpr std::size_t kMaxText = std::size_t{1} << 31;

// Attributes of functions that say nothing about results.
bool is_known_attribute(std::string_view directive) {
  constexpr std::string_view kKnown[] = {
      ".minnctapersm", ".maxnctapersm", ".maxclusterrank",
      ".pragma",       ".noreturn",     ".blocksareclusters",
      ".attribute",    ".abi_preserve", ".abi_preserve_control",
  };
  return std::find(std::begin(kKnown), std::end(kKnown), directive) != std::end(kKnown);
}

}  // namespace

ModuleParser::ModuleParser(std::string_view text, std::string_view file,
                           const ParseOptions& options)
    : text_(text), options_(options), cursor_(text, file) {
  scope_.module.file = file;
  scope_.initial_bytes_left = 16 * static_cast<std::int64_t>(text.size()) + (std::int64_t{1} << 20);
}

Result<PtxModule> ModuleParser::parse() {
  if (text_.size() >= kMaxText) {
    return Error{ErrorKind::bad_input, "the file is larger than 2 GiB", scope_.module.file, ""};
  }
  while (!cursor_.at_end()) {
    if (cursor_.at_directive()) {
      parse_directive();
    } else if (!cursor_.accept(';')) {
      cursor_.expected("a directive such as .visible .entry");
    }
  }
  if (!cursor_.failed()) require_header(cursor_, cursor_.current(), scope_.module);
  resolve_relocations(cursor_, scope_);
  if (!cursor_.failed()) parse_reachable_bodies(cursor_, scope_, options_, skimmed_);
  if (cursor_.failed()) return cursor_.error();
  return std::move(scope_.module);
}

void ModuleParser::parse_directive() {
  bool is_extern = false;
  Token directive = cursor_.take();
  while (directive.text == ".visible" || directive.text == ".weak" || directive.text == ".extern" ||
         directive.text == ".common") {
    is_extern |= directive.text == ".extern";
    directive = cursor_.expect_directive("a function or variable");
    if (cursor_.failed()) return;
  }
  const std::string_view name = directive.text;
  if (name == ".version") return parse_version(cursor_, directive, scope_.module);
  if (name == ".target") return parse_target(cursor_, scope_.module);
  if (name == ".address_size") return parse_address_size(cursor_, scope_.module);
  if (name == ".file") return parse_file(cursor_, scope_.module);
  if (name == ".section") return skip_section(cursor_);
  if (name == ".pragma") return skip_to_semicolon(cursor_);
  if (name == ".alias") return parse_alias();
  if (name == ".tex") {
    cursor_.fail(directive, "the .tex space is not supported");
    return;
  }
  const bool needs_header = name == ".entry" || name == ".func" || name == ".global" ||
                            name == ".const" || name == ".shared" || name == ".local";
  if (!needs_header) return skip_unknown(cursor_, directive, scope_.module);
  if (!require_header(cursor_, directive, scope_.module)) return;
  if (name == ".entry") return parse_function(true);
  if (name == ".func") return parse_function(false);
  if (name == ".global") return parse_variables(Space::global, is_extern);
  if (name == ".const") return parse_variables(Space::constant, is_extern);
  if (name == ".shared") return parse_variables(Space::shared, is_extern);
  parse_variables(Space::local, is_extern);
}

// .alias name, function;
void ModuleParser::parse_alias() {
  const Token name = cursor_.expect_word("the name of an alias");
  cursor_.expect(',', "after the name of an alias");
  const Token function = cursor_.expect_word("the function that is meant");
  cursor_.expect(';', "after .alias");
  if (cursor_.failed()) return;
  const auto target = scope_.function(function.text);
  if (!target) {
    cursor_.fail(function, fmt::format("{} is not declared", in_quotes(function.text)));
    return;
  }
  auto alias = scope_.function(name.text);
  if (!alias) {
    Function declared;
    declared.is_entry = false;
    declared.line = name.line;
    alias = add_function(std::move(declared), name);
  }
  scope_.module.functions[*alias].alias_of = *target;
}

void ModuleParser::parse_variables(Space space, bool is_extern) {
  const DeclarationType type = parse_declaration_type(cursor_, space, is_extern);
  do {
    Declaration declaration = parse_declarator(cursor_, type, &scope_.initial_bytes_left);
    if (cursor_.failed()) return;
    add_variable(std::move(declaration));
  } while (cursor_.accept(','));
  cursor_.expect(';', "after a variable declaration");
}

// A definition takes the place of an .extern declaration before it.
void ModuleParser::add_variable(Declaration declaration) {
  auto& variables = scope_.module.variables;
  const std::string_view name = declaration.name.text;
  if (const auto known = scope_.variable(name)) {
    Variable& before = variables[*known];
    if (!before.is_extern && !declaration.variable.is_extern) {
      cursor_.fail(declaration.name,
                   fmt::format("{} is already declared at line {}", in_quotes(name), before.line));
      return;
    }
    if (before.is_extern) before = std::move(declaration.variable);
    return;
  }
  if (scope_.function(name)) {
    cursor_.fail(declaration.name,
                 fmt::format("{} is already declared as a function", in_quotes(name)));
    return;
  }
  scope_.variables.emplace(name, static_cast<int>(variables.size()));
  variables.push_back(std::move(declaration.variable));
}

// The index of the function of this name, new or (after a prototype) known.
int ModuleParser::add_function(Function function, const Token& name) {
  function.name = name.text;
  if (const auto known = scope_.function(name.text)) return *known;
  if (scope_.variable(name.text)) {
    cursor_.fail(name, fmt::format("{} is already declared as a variable", in_quotes(name.text)));
  }
  const auto index = static_cast<int>(scope_.module.functions.size());
  scope_.functions.emplace(name.text, index);
  scope_.module.functions.push_back(std::move(function));
  return index;
}

void ModuleParser::parse_function(bool is_entry) {
  Function function;
  function.is_entry = is_entry;
  parse_function_attributes(function);
  if (!is_entry) function.results = parse_parameters(cursor_);
  const Token name = cursor_.expect_word("the name of a function");
  if (cursor_.failed()) return;
  function.name = name.text;
  function.line = name.line;
  function.parameters = parse_parameters(cursor_);
  parse_function_attributes(function);
  if (cursor_.failed()) return;

  const int index = add_function(function, name);
  if (cursor_.accept(';') || cursor_.failed()) return;
  const Function& known = scope_.module.functions[index];
  if (known.has_body || known.body_skipped) {
    cursor_.fail(name, fmt::format("function {} is already defined at line {}",
                                   in_quotes(name.text), known.line));
    return;
  }
  if (options_.wanted) {
    scope_.module.functions[index] = std::move(function);
    return skim_body(index);
  }
  BodyParser(cursor_, scope_, function).parse();
  scope_.module.functions[index] = std::move(function);
}

// Performance directives up to the name, body or ";".
void ModuleParser::parse_function_attributes(Function& function) {
  constexpr std::int64_t kMost = 0x7fffffff;
  while (cursor_.at_directive()) {
    const Token directive = cursor_.take();
    if (directive.text == ".maxntid" || directive.text == ".reqntid") {
      parse_threads(function.max_threads);
      function.exact_threads = directive.text == ".reqntid";
    } else if (directive.text == ".reqnctapercluster") {
      parse_threads(function.cluster);
    } else if (directive.text == ".explicitcluster") {
      function.explicit_cluster = true;
    } else if (directive.text == ".maxnreg") {
      function.max_registers = parse_integer(cursor_, "a register count", 0, kMost);
    } else {
      // .minnctapersm 2, .pragma "...";, .noreturn, .attribute(...), and those to come
      if (!is_known_attribute(directive.text)) note_skipped(cursor_, directive, scope_.module);
      if (cursor_.at('(') && directive.text == ".attribute") skip_balanced(cursor_, '(', ')');
      while (cursor_.current().kind == TokenKind::number ||
             cursor_.current().kind == TokenKind::string || cursor_.at(',')) {
        cursor_.take();
      }
      if (directive.text == ".pragma") cursor_.accept(';');
    }
  }
}

// x [, y [, z]], the rest 1
void ModuleParser::parse_threads(std::int64_t (&extent)[3]) {
  constexpr std::int64_t kMost = 0x7fffffff;
  for (int i = 0; i < 3; ++i) {
    extent[i] = i == 0 || cursor_.accept(',') ? parse_integer(cursor_, "an extent", 1, kMost) : 1;
  }
}

void ModuleParser::skim_body(int function) {
  const Token brace = cursor_.current();
  if (!brace.is('{')) return cursor_.expected("\"{\" at the start of a function body");
  skip_balanced(cursor_, '{', '}');
  const auto start = static_cast<std::size_t>(brace.text.data() - text_.data());
  skimmed_.push_back({function, text_.substr(start), brace.line, brace.column});
  scope_.module.functions[function].body_skipped = true;
}

}  // namespace plumbline::emulator
