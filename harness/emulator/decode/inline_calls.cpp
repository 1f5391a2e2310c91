// SPDX-License-Identifier: MIT
#include "harness/emulator/decode/inline_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace plumbline::emulator {
namespace {

// A kernel that expands to more than this is beyond what calls are used for.
constexpr std::size_t kMostInstructions = 2'000'000;
constexpr std::size_t kMostNames = 8'000'000;  // registers, labels and variables
constexpr int kMostCalls = 100'000;
constexpr int kDeepestCall = 256;

// What the names of one copied body stand for in the expanded function.
struct Frame {
  const Function* function = nullptr;
  const Frame* caller = nullptr;
  int first_register = 0;
  int first_label = 0;
  std::vector<int> variables;      // by index into Function::variables
  std::vector<Operand> arguments;  // operands of the expanded function
  std::vector<Operand> results;
  int return_label = -1;  // -1: the kernel itself
  int depth = 0;

  bool is_kernel() const { return caller == nullptr; }
};

class Inliner {
 public:
  Inliner(const PtxModule& module, const Function& kernel) : module_(module), out_(kernel) {
    out_.registers.clear();
    out_.labels.clear();
    out_.variables.clear();
    out_.instructions.clear();
  }

  Result<Function> run(const Function& kernel) {
    Frame frame;
    frame.function = &kernel;
    expand(frame);
    if (error_) return *error_;
    return std::move(out_);
  }

 private:
  void expand(Frame& frame) {
    const Function& function = *frame.function;
    frame.first_register = static_cast<int>(out_.registers.size());
    for (Register reg : function.registers) {
      if (!frame.is_kernel()) reg.name = function.name + "/" + reg.name;
      out_.registers.push_back(std::move(reg));
    }
    frame.first_label = static_cast<int>(out_.labels.size());
    for (const Label& label : function.labels) out_.labels.push_back(label);
    for (std::size_t i = 0; i < function.variables.size(); ++i)
      frame.variables.push_back(place(function, i));
    pass_registers(frame);

    std::vector<int> start;
    for (const Instruction& instruction : function.instructions) {
      start.push_back(static_cast<int>(out_.instructions.size()));
      if (is_too_large())
        refuse(instruction, "with all its calls expanded, the kernel is too large to be emulated");
      if (error_) break;
      if (instruction.opcode == "call") {
        call(frame, instruction);
      } else if (instruction.opcode == "ret" && !frame.is_kernel()) {
        branch(instruction, frame.return_label, guard_of(frame, instruction),
               instruction.guard_negated);
      } else {
        copy(frame, instruction);
      }
    }
    start.push_back(static_cast<int>(out_.instructions.size()));
    for (std::size_t i = 0; i < function.labels.size(); ++i) {
      const auto target =
          std::min(static_cast<std::size_t>(function.labels[i].target), start.size() - 1);
      out_.labels[static_cast<std::size_t>(frame.first_label) + i].target = start[target];
    }
  }

  bool is_too_large() const {
    const std::size_t names = out_.registers.size() + out_.labels.size() + out_.variables.size();
    return out_.instructions.size() > kMostInstructions || names > kMostNames ||
           calls_ > kMostCalls;
  }

  // Static shared variables exist once however often their function is expanded; all others belong
  // to the copy.
  int place(const Function& function, std::size_t index) {
    Variable variable = function.variables[index];
    const auto key = std::make_pair(&function, index);
    if (variable.space == Space::shared) {
      const auto known = shared_.find(key);
      if (known != shared_.end()) return known->second;
      shared_[key] = static_cast<int>(out_.variables.size());
    }
    if (variable.space == Space::param) variable.space = Space::local;
    out_.variables.push_back(std::move(variable));
    return static_cast<int>(out_.variables.size()) - 1;
  }

  // Old-style .reg parameters.
  void pass_registers(const Frame& frame) {
    const Function& function = *frame.function;
    if (frame.is_kernel()) return;
    for (std::size_t i = 0; i < function.parameters.size(); ++i) {
      const int index = function.parameters[i].register_index;
      if (index >= 0 && i < frame.arguments.size())
        move(own_register(frame, index), frame.arguments[i]);
    }
  }

  static Operand own_register(const Frame& frame, int index) {
    Operand operand;
    operand.kind = OperandKind::reg;
    operand.index = index + frame.first_register;
    return operand;
  }

  void move(const Operand& to, const Operand& from) {
    Instruction mov;
    mov.opcode = "mov";
    const int bits = out_.registers[static_cast<std::size_t>(
                                        to.kind == OperandKind::reg ? to.index : from.index)]
                         .bits;
    mov.modifiers = {bits == 1 ? "pred" : fmt::format("b{}", std::max(bits, 16))};
    mov.operands = {to, from};
    mov.line = line_;
    mov.text = fmt::format("(argument of the call at line {})", line_);
    out_.instructions.push_back(std::move(mov));
  }

  void call(const Frame& frame, const Instruction& instruction) {
    line_ = instruction.line;
    const Operand& callee_operand = instruction.operands[1];
    const Function* callee = nullptr;
    if (callee_operand.kind == OperandKind::function) callee = &target(callee_operand.index);
    if (callee == nullptr) return refuse(instruction, "indirect calls are not emulated");
    if (callee->unreadable && !error_) error_ = callee->unreadable;
    if (!callee->has_body) return copy(frame, instruction);
    for (const Frame* up = &frame; up != nullptr; up = up->caller) {
      if (up->function == callee) return refuse(instruction, "recursion is not emulated");
    }
    if (frame.depth == kDeepestCall)
      return refuse(instruction,
                    fmt::format("calls more than {} deep are not emulated", kDeepestCall));
    ++calls_;
    const int returned = add_label(instruction), skipped = add_label(instruction);
    if (instruction.guard >= 0)
      branch(instruction, skipped, guard_of(frame, instruction), !instruction.guard_negated);
    Frame inner;
    inner.function = callee;
    inner.caller = &frame;
    inner.depth = frame.depth + 1;
    inner.return_label = returned;
    for (const Operand& operand : instruction.operands[0].elements)
      inner.results.push_back(renamed(frame, operand));
    for (const Operand& operand : instruction.operands[2].elements)
      inner.arguments.push_back(renamed(frame, operand));
    if (inner.arguments.size() != callee->parameters.size() ||
        inner.results.size() != callee->results.size()) {
      return refuse(instruction, "the call does not fit the function's parameters");
    }
    expand(inner);
    line_ = instruction.line;
    define_label(returned);
    for (std::size_t i = 0; i < callee->results.size(); ++i) {
      const int index = callee->results[i].register_index;
      if (index >= 0) move(inner.results[i], own_register(inner, index));
    }
    define_label(skipped);
  }

  int add_label(const Instruction& call) {
    out_.labels.push_back({fmt::format("(behind the call at line {})", call.line), 0, call.line});
    return static_cast<int>(out_.labels.size()) - 1;
  }

  // The label is here.
  void define_label(int label) {
    out_.labels[static_cast<std::size_t>(label)].target =
        static_cast<int>(out_.instructions.size());
  }

  const Function& target(int index) const {
    const Function& function = module_.functions[static_cast<std::size_t>(index)];
    return function.alias_of >= 0 ? module_.functions[static_cast<std::size_t>(function.alias_of)]
                                  : function;
  }

  void branch(const Instruction& at, int label, int guard, bool negated) {
    Instruction bra;
    bra.opcode = "bra";
    bra.guard = guard;
    bra.guard_negated = negated;
    bra.line = at.line;
    bra.column = at.column;
    bra.source = at.source;
    bra.text = at.text;
    Operand operand;
    operand.kind = OperandKind::label;
    operand.index = label;
    bra.operands = {operand};
    out_.instructions.push_back(std::move(bra));
  }

  void copy(const Frame& frame, const Instruction& instruction) {
    Instruction own = instruction;
    own.guard = guard_of(frame, instruction);
    for (Operand& operand : own.operands) operand = renamed(frame, operand);
    if (names_local(own)) {
      for (std::string& modifier : own.modifiers) {
        if (modifier == "param" || modifier == "param::func") modifier = "local";
      }
    }
    out_.instructions.push_back(std::move(own));
  }

  // Whether a .param access now means a variable in local memory.
  static bool names_local(const Instruction& instruction) {
    return std::any_of(instruction.operands.begin(), instruction.operands.end(),
                       [](const Operand& operand) {
                         return operand.kind == OperandKind::address && !operand.elements.empty() &&
                                operand.elements[0].kind == OperandKind::symbol &&
                                operand.elements[0].table == SymbolTable::variables;
                       });
  }

  static int guard_of(const Frame& frame, const Instruction& instruction) {
    return instruction.guard < 0 ? -1 : instruction.guard + frame.first_register;
  }

  Operand renamed(const Frame& frame, Operand operand) const {
    for (Operand& element : operand.elements) element = renamed(frame, element);
    if (operand.kind == OperandKind::reg) operand.index += frame.first_register;
    if (operand.kind == OperandKind::label) operand.index += frame.first_label;
    if (operand.kind != OperandKind::symbol) return operand;
    const auto index = static_cast<std::size_t>(operand.index);
    if (operand.table == SymbolTable::variables) operand.index = frame.variables[index];
    const bool passed =
        operand.table == SymbolTable::parameters || operand.table == SymbolTable::results;
    if (!passed || frame.is_kernel()) return operand;
    const std::vector<Operand>& given =
        operand.table == SymbolTable::parameters ? frame.arguments : frame.results;
    Operand meant = given[index];
    meant.offset += operand.offset;
    return meant;
  }

  void refuse(const Instruction& instruction, std::string reason) {
    if (error_) return;
    error_ = Error{ErrorKind::cannot_run,
                   fmt::format("unsupported instruction `{}`: {}", instruction.text, reason),
                   fmt::format("{}:{}:{}", module_.file, instruction.line, instruction.column), ""};
  }

  const PtxModule& module_;
  Function out_;
  std::map<std::pair<const Function*, std::size_t>, int> shared_;
  std::optional<Error> error_;
  int line_ = 0;
  int calls_ = 0;
};

}  // namespace

bool has_calls(const Function& function) {
  return std::any_of(function.instructions.begin(), function.instructions.end(),
                     [](const Instruction& instruction) { return instruction.opcode == "call"; });
}

Result<Function> inline_calls(const PtxModule& module, const Function& function) {
  return Inliner(module, function).run(function);
}

}  // namespace plumbline::emulator
