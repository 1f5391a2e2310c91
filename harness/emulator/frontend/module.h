// SPDX-License-Identifier: MIT
// A PTX module as the parser gives it: typed syntax, names resolved to indices, every line number
// kept. Registers are untyped containers of a width; the type of an operation is the instruction's
// (both nvcc dialects). Nothing here knows what an instruction means; that is decode.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oracles/base/result.h"

namespace plumbline::emulator {

enum class Space : std::uint8_t { reg, param, global, shared, local, constant, generic };

struct FileLine {
  int file = -1;  // index into Module::files
  int line = 0;
};

// A `.loc`: where the following instructions come from in the CUDA source.
struct SourceLine {
  int file = -1;
  int line = 0;
  // Where the function with that line was inlined, where that one was, and so on up to the kernel;
  // null where it was not.
  std::shared_ptr<const std::vector<FileLine>> calls = {};
};

struct Register {
  std::string name;  // as written; scoped names are made unique by the parser ("p@3")
  int bits = 32;     // 1 for predicates, 8, 16, 32, 64, 128

  bool is_predicate() const { return bits == 1; }
};

enum class OperandKind : std::uint8_t {
  reg,        // index into Function::registers
  immediate,  // value: integer bits, or the bits of a 0f / 0d float (is_float)
  symbol,     // address of a variable: index into the list that `table` says, plus offset
  label,      // index into Function::labels (branch target)
  special,    // %tid.x and friends: text in `name`
  address,    // [base + offset]; base is a register, a symbol, or none (immediate address)
  vector,     // {a, b, ...}: elements
  sink,       // _
  function,   // index into Module::functions (call target, or its address in a mov)
  prototype,  // the .callprototype of an indirect call: text in `name`
};

// Where a symbol's index points. Operand::global_scope is `table == SymbolTable::module`.
enum class SymbolTable : std::uint8_t { variables, parameters, results, module };

struct Operand {
  OperandKind kind = OperandKind::sink;
  bool negated = false;                        // !p
  bool is_float = false;                       // immediate written as 0f.. or 0d..
  bool global_scope = false;                   // symbol: index is into Module::variables
  SymbolTable table = SymbolTable::variables;  // symbol: which of the four lists index points into
  int float_bits = 0;  // immediate: 32 for 0f.., 64 for 0d.. and 1.5, 0 for integers
  int index = -1;
  std::uint64_t value = 0;  // immediate bits; for 0f the f32 bits in the low half
  std::int64_t offset = 0;  // address, symbol
  std::string name;         // special register, or symbol's name for messages
  // Vector elements; for address: elements[0] is the base, empty = immediate address (in `offset`),
  // and elements[1], where present, the coordinate vector of a tensor access [map, {x, y}]. brx.idx
  // has its targets as a vector of labels.
  std::vector<Operand> elements;
  // `d|p` double destinations are written as a vector of two with pipe = true.
  bool pipe = false;
};

// `call` always has three operands: vector of results, callee (function or register), vector of
// arguments; an indirect call has its prototype as the fourth.
struct Instruction {
  std::string opcode;                  // "mma"
  std::vector<std::string> modifiers;  // {"sync", "aligned", "m16n8k16", ...} in order
  std::vector<Operand> operands;
  int guard = -1;  // predicate register index of @p, or -1
  bool guard_negated = false;
  int line = 0;  // in the PTX text, from 1
  int column = 0;
  SourceLine source;
  std::string text;  // the instruction as written, without guard and `;`, spaces folded
  std::uint64_t used_bytes_mask = 0;  // from .pragma "used_bytes_mask N" before it; 0 = not given

  bool has_modifier(std::string_view modifier) const;
};

// An initial value that is an address: `bytes` bytes at `offset` point to a variable or function.
struct Relocation {
  std::int64_t offset = 0;
  int bytes = 8;
  std::string name;
  bool is_function = false;  // index is into Module::functions, else Module::variables
  int index = -1;
  std::int64_t addend = 0;
  bool generic = false;  // generic(name): the generic address, not that of its space
  int line = 0;          // of the name in the PTX text
  int column = 0;
};

// A variable: .shared, .local, .const, .global, .param (kernel parameters included).
struct Variable {
  std::string name;
  Space space = Space::global;
  std::int64_t bytes = 0;  // 0 for .extern .shared x[]
  std::int64_t alignment = 1;
  bool is_extern = false;
  std::vector<std::byte> initial;       // empty = none; shorter than `bytes` = the rest is zero
  std::string type;                     // of one element, as written: "b8", "u64"
  std::vector<Relocation> relocations;  // addresses inside `initial`
  bool is_pointer = false;              // .param .u64 .ptr: the kernel parameter is an address
  std::int64_t pointer_alignment = 0;   // what .ptr .align promises, 0 = nothing
  int register_index = -1;              // Space::reg (old-style .func parameters): its register
  int line = 0;
};

struct Label {
  std::string name;
  int target = 0;  // index of the first instruction after it; their number if there is none
  int line = 0;
};

struct Function {
  std::string name;
  bool is_entry = true;
  int line = 0;
  std::vector<Variable> parameters;
  std::vector<Variable> results;    // .func return parameters
  std::vector<Variable> variables;  // declared inside the body: .shared, .local, .param
  std::vector<Register> registers;  // only those an instruction mentions, in order of first mention
  std::vector<Label> labels;
  std::vector<Instruction> instructions;
  std::int64_t max_threads[3] = {0, 0, 0};  // .maxntid / .reqntid; 0 = not given
  bool exact_threads = false;               // .reqntid: the launch must have exactly max_threads
  std::int64_t cluster[3] = {0, 0, 0};      // .reqnctapercluster; 0 = not given
  bool explicit_cluster = false;            // .explicitcluster
  std::int64_t max_registers = 0;           // .maxnreg
  bool has_body = false;                    // false: a prototype (vprintf and other externs)
  bool body_skipped = false;                // defined, but not asked for (see ParseOptions)
  std::optional<Error> unreadable = {};     // why its body is left out (ParseOptions)
  int alias_of = -1;                        // .alias: the function that is meant
};

struct PtxModule {
  std::string file;  // as given to the parser, for messages
  int version_major = 0, version_minor = 0;
  int target_sm = 0;        // 80, 90, ...
  std::string target_text;  // "sm_90a"
  int address_size = 64;
  std::vector<std::string> files;   // `.file` table, index = number in .loc
  std::vector<Variable> variables;  // module scope
  std::vector<Function> functions;

  std::vector<std::string> skipped;  // unknown directives passed over, by place; at most 100

  const Function* entry(std::string_view name) const;
};

struct ParseOptions {
  // Parses only the bodies of these entries and of the functions that they reach. The others are
  // skimmed: files of 66 MB exist, and an entry that is not launched may hold anything. An empty
  // function parses all bodies.
  std::function<bool(const std::string& entry)> wanted = {};
  // An error in a wanted body is kept in Function::unreadable, and the others are parsed.
  bool keeps_unreadable = false;
};

// Parses a whole module. Errors carry "file:line:column". Instructions are not checked for meaning:
// an unknown opcode parses, and decoding the kernel that uses it fails.
Result<PtxModule> parse_ptx(std::string_view text, std::string_view file);
Result<PtxModule> parse_ptx(std::string_view text, std::string_view file,
                            const ParseOptions& options);

}  // namespace plumbline::emulator
