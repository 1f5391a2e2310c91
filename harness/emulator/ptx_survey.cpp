// SPDX-License-Identifier: MIT
#include "harness/emulator/ptx_survey.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "harness/emulator/decode/decode.h"
#include "harness/emulator/decode/inline_calls.h"
#include "harness/emulator/decode/rows.h"

namespace plumbline::emulator {
namespace {

// "m16n8k16" among the modifiers of a matrix instruction.
bool is_shape(std::string_view modifier) {
  return modifier.size() > 1 && modifier[0] == 'm' &&
         std::isdigit(static_cast<unsigned char>(modifier[1])) != 0;
}

bool multiplies_matrices(const Instruction& instruction) {
  if (instruction.opcode == "mma") return true;
  return (instruction.opcode == "wmma" || instruction.opcode == "tcgen05" ||
          instruction.opcode == "wgmma") &&
         (instruction.has_modifier("mma") || instruction.has_modifier("mma_async"));
}

// The unit, the shape, and the types.
std::string unit_of(const Instruction& instruction) {
  std::string unit = instruction.opcode;
  std::vector<std::string_view> types;
  for (const std::string& modifier : instruction.modifiers) {
    if (is_shape(modifier)) unit += " " + modifier;
    if (type_by_name(modifier) || modifier == "ue4m3" || modifier.starts_with("kind::"))
      types.push_back(modifier);
  }
  return types.empty() ? unit : fmt::format("{} {}", unit, fmt::join(types, "."));
}

void add_missing(const Refusal& refusal, std::vector<MissingInstruction>& missing) {
  const std::string form = spelling(*refusal.instruction);
  const auto known = std::ranges::find(missing, form, &MissingInstruction::form);
  const int line = refusal.instruction->line;
  if (known == missing.end()) {
    missing.push_back({form, refusal.reason, 1, line});
  } else {
    ++known->count;
    known->first_line = std::min(known->first_line, line);
  }
}

EntrySurvey survey(const PtxModule& module, const Function& function) {
  EntrySurvey out;
  out.name = function.name;
  out.line = function.line;
  out.exact_threads = function.exact_threads;
  for (std::size_t i = 0; i < 3; ++i) {
    out.threads[i] = function.max_threads[i];
    out.cluster[i] = function.cluster[i];
  }
  for (const Variable& parameter : function.parameters)
    out.parameters.push_back({parameter.bytes, parameter.type, parameter.is_pointer});
  out.unreadable = function.unreadable;
  if (out.unreadable) return out;
  Function flat = function;
  if (has_calls(function)) {
    Result<Function> inlined = inline_calls(module, function);
    if (inlined) {
      flat = *std::move(inlined);
    } else if (inlined.error().kind == ErrorKind::bad_input) {
      out.unreadable = inlined.error();
      return out;
    } else {
      out.refused = inlined.error().text();
    }
  }
  for (const Instruction& instruction : flat.instructions) {
    if (multiplies_matrices(instruction)) ++out.units[unit_of(instruction)];
    out.asks_for_cooperation |= std::ranges::any_of(instruction.operands, [](const Operand& one) {
      return one.kind == OperandKind::special && (one.name == "%envreg1" || one.name == "%envreg2");
    });
  }
  ModuleLayout layout;
  layout.address.assign(module.variables.size(), 0);
  std::vector<Refusal> refusals;
  const Result<Program> program = Decoder(module, flat, layout, module.target_sm).decode(&refusals);
  if (program) {
    out.static_shared_bytes = program->static_shared_bytes;
    out.dynamic_shared = program->dynamic_shared_alignment > 0;
  } else if (out.refused.empty()) {
    out.refused = program.error().text();
  }
  for (const Refusal& refusal : refusals) {
    // Calls that were not resolved are the reason that is given for the entry.
    if (refusal.instruction->opcode == "call" && !out.refused.empty()) continue;
    add_missing(refusal, out.missing);
  }
  std::ranges::sort(out.missing, {}, &MissingInstruction::first_line);
  return out;
}

}  // namespace

Result<PtxSurvey> survey_ptx(std::string_view text, std::string_view file) {
  const Result<PtxModule> module = parse_ptx(
      text, file, {.wanted = [](const std::string&) { return true; }, .keeps_unreadable = true});
  if (!module) return module.error();
  PtxSurvey out;
  out.version = fmt::format("{}.{}", module->version_major, module->version_minor);
  out.target = module->target_text;
  out.target_sm = module->target_sm;
  for (const Function& function : module->functions) {
    if (function.is_entry && (function.has_body || function.unreadable))
      out.entries.push_back(survey(*module, function));
  }
  return out;
}

}  // namespace plumbline::emulator
