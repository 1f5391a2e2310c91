// SPDX-License-Identifier: MIT
#include "harness/emulator/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "harness/emulator/body_parser.h"
#include "harness/emulator/literal.h"
#include "harness/emulator/noise.h"

namespace plumbline::emulator {
namespace {

// Versions whose syntax is known; what an instruction of a newer one means is for decode to refuse.
constexpr int kOldestVersion = 3;
constexpr int kNewestVersion = 9;
constexpr std::size_t kMaxText = std::size_t{1} << 31;

std::optional<int> find(const std::unordered_map<std::string_view, int>& map,
                        std::string_view name) {
  const auto found = map.find(name);
  if (found == map.end()) return std::nullopt;
  return found->second;
}

// Attributes of functions that say nothing about results.
bool is_known_attribute(std::string_view directive) {
  constexpr std::string_view kKnown[] = {
      ".minnctapersm",         ".maxnctapersm", ".maxclusterrank",
      ".explicitcluster",      ".pragma",       ".noreturn",
      ".blocksareclusters",    ".attribute",    ".abi_preserve",
      ".abi_preserve_control",
  };
  return std::find(std::begin(kKnown), std::end(kKnown), directive) != std::end(kKnown);
}

}  // namespace

std::optional<int> ModuleScope::variable(std::string_view name) const {
  return find(variables, name);
}

std::optional<int> ModuleScope::function(std::string_view name) const {
  return find(functions, name);
}

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
  if (!cursor_.failed()) require_header(cursor_.current());
  resolve_relocations();
  parse_reached_bodies();
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
  if (name == ".version") return parse_version(directive);
  if (name == ".target") return parse_target();
  if (name == ".address_size") return parse_address_size();
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
  if (!require_header(directive)) return;
  if (name == ".entry") return parse_function(true);
  if (name == ".func") return parse_function(false);
  if (name == ".global") return parse_variables(Space::global, is_extern);
  if (name == ".const") return parse_variables(Space::constant, is_extern);
  if (name == ".shared") return parse_variables(Space::shared, is_extern);
  parse_variables(Space::local, is_extern);
}

bool ModuleParser::require_header(const Token& at) {
  if (scope_.module.version_major == 0) {
    cursor_.fail(at, "there is no .version before this",
                 "PTX begins with .version, .target and .address_size");
  } else if (scope_.module.target_sm == 0) {
    cursor_.fail(at, "there is no .target before this", "such as .target sm_80");
  }
  return !cursor_.failed();
}

void ModuleParser::parse_version(const Token& directive) {
  const Token number = cursor_.current();
  if (number.kind != TokenKind::number) return cursor_.expected("a version such as 9.0");
  cursor_.take();
  const std::size_t dot = number.text.find('.');
  const auto part = [](std::string_view text) {
    int value = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? value : -1;
  };
  const int major = dot == std::string_view::npos ? -1 : part(number.text.substr(0, dot));
  const int minor = dot == std::string_view::npos ? -1 : part(number.text.substr(dot + 1));
  if (major < 0 || minor < 0) {
    cursor_.fail(number, fmt::format("{} is not a PTX version such as 9.0", quoted(number.text)));
  } else if (major < kOldestVersion || major > kNewestVersion) {
    cursor_.fail(number, fmt::format("PTX version {}.{} is not supported", major, minor),
                 fmt::format("versions {}.x to {}.x are", kOldestVersion, kNewestVersion));
  } else if (scope_.module.version_major != 0) {
    cursor_.fail(directive, "a second .version", "one PTX module per file");
  }
  if (cursor_.failed()) return;
  scope_.module.version_major = major;
  scope_.module.version_minor = minor;
}

// .target sm_90a, texmode_independent
void ModuleParser::parse_target() {
  do {
    const Token word = cursor_.expect_word("a target such as sm_80");
    if (!word.text.starts_with("sm_") || cursor_.failed()) continue;  // debug, texmode_...
    const std::string_view number = word.text.substr(3);
    int sm = 0;
    std::from_chars(number.data(), number.data() + number.size(), sm);
    if (sm <= 0)
      cursor_.fail(word, fmt::format("{} is not a target such as sm_80", quoted(word.text)));
    if (scope_.module.target_sm != 0) cursor_.fail(word, "a second target");
    scope_.module.target_sm = sm;
    scope_.module.target_text = word.text;
  } while (cursor_.accept(','));
}

void ModuleParser::parse_address_size() {
  const Token at = cursor_.current();
  const std::int64_t size = parse_integer(cursor_, "an address size", 32, 64);
  if (size != 64) cursor_.fail(at, "only 64-bit addresses are supported", "compile for 64 bits");
  scope_.module.address_size = static_cast<int>(size);
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
    cursor_.fail(function, fmt::format("{} is not declared", quoted(function.text)));
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
                   fmt::format("{} is already declared at line {}", quoted(name), before.line));
      return;
    }
    if (before.is_extern) before = std::move(declaration.variable);
    return;
  }
  if (scope_.function(name)) {
    cursor_.fail(declaration.name,
                 fmt::format("{} is already declared as a function", quoted(name)));
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
    cursor_.fail(name, fmt::format("{} is already declared as a variable", quoted(name.text)));
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
    cursor_.fail(name, fmt::format("function {} is already defined at line {}", quoted(name.text),
                                   known.line));
    return;
  }
  if (!options_.only_entry.empty()) {
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

// From the wanted entry along calls, function addresses and tables of function addresses.
void ModuleParser::parse_reached_bodies() {
  PtxModule& module = scope_.module;
  std::unordered_map<int, const Skimmed*> bodies;
  for (const Skimmed& skimmed : skimmed_) bodies.emplace(skimmed.function, &skimmed);
  std::vector<bool> seen_function(module.functions.size());
  std::vector<bool> seen_variable(module.variables.size());
  std::vector<int> functions;
  const auto reach_function = [&](int index) {
    if (!seen_function[index]) functions.push_back(index);
    seen_function[index] = true;
  };
  const auto reach_variable = [&](int index) {
    std::vector<int> variables = {index};
    while (!variables.empty()) {
      const int variable = variables.back();
      variables.pop_back();
      if (seen_variable[variable]) continue;
      seen_variable[variable] = true;
      for (const Relocation& relocation : module.variables[variable].relocations) {
        if (relocation.is_function) {
          reach_function(relocation.index);
        } else {
          variables.push_back(relocation.index);
        }
      }
    }
  };
  const auto reach_operand = [&](const Operand& operand) {
    if (operand.kind == OperandKind::function) reach_function(operand.index);
    if (operand.kind == OperandKind::symbol && operand.global_scope) reach_variable(operand.index);
  };

  if (const auto entry = scope_.function(options_.only_entry)) reach_function(*entry);
  while (!functions.empty() && !cursor_.failed()) {
    Function& function = module.functions[functions.back()];
    const auto body = bodies.find(functions.back());
    functions.pop_back();
    if (function.alias_of >= 0) reach_function(function.alias_of);
    if (body == bodies.end()) continue;
    function.body_skipped = false;
    const Skimmed& skimmed = *body->second;
    Cursor cursor(skimmed.text, cursor_.file(), skimmed.line, skimmed.column);
    BodyParser(cursor, scope_, function).parse();
    if (cursor.failed()) return cursor_.fail(cursor.error());
    for (const Instruction& instruction : function.instructions) {
      for (const Operand& operand : instruction.operands) {
        reach_operand(operand);
        for (const Operand& element : operand.elements) reach_operand(element);
      }
    }
  }
}

// Addresses in initial values may name what is declared later.
void ModuleParser::resolve_relocations() {
  for (Variable& variable : scope_.module.variables) {
    for (Relocation& relocation : variable.relocations) {
      const auto target = scope_.variable(relocation.name);
      const auto function = scope_.function(relocation.name);
      if (!target && !function) {
        cursor_.fail(Token{TokenKind::word, relocation.name, relocation.line, relocation.column},
                     fmt::format("{} is not declared", quoted(relocation.name)));
        return;
      }
      relocation.is_function = !target;
      relocation.index = target ? *target : *function;
    }
  }
}

}  // namespace plumbline::emulator
