// SPDX-License-Identifier: MIT
#include "harness/launch/unit_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <string>
#include <vector>

#include "harness/launch/manifest_place.h"
#include "harness/launch/named_entries.h"
#include "oracles/bounds/contract/describe.h"

namespace plumbline {
namespace {

struct UnitUse {
  std::string unit;  // the contract's word for it
  std::string text;
  int line = 0;
  std::int64_t k = 0;        // of its shape; 0: not known
  std::int64_t usual_k = 0;  // of the shape that its formats usually have
  std::string sums;          // "f32", "f16"; empty: integers, or the PTX does not say
};

// "m16n8k8" -> 8.
std::int64_t k_of_shape(std::string_view shape) {
  const std::size_t at = shape.find('k');
  std::int64_t k = 0;
  if (!shape.starts_with('m') || at == std::string_view::npos) return 0;
  std::from_chars(shape.data() + at + 1, shape.data() + shape.size(), k);
  return k;
}

// A node takes 32 bytes of each vector from the usual shapes: m16n8k8 of tf32, k16 of 16-bit and
// k32 of 8-bit elements.
std::int64_t usual_k(std::string_view type) {
  if (type == "tf32") return 8;
  if (type == "f16" || type == "bf16") return 16;
  return type == "e4m3" || type == "e5m2" ? 32 : 0;
}

// D's type is the first that is named.
std::string type_of_sums(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "f32" || word == "f16") return word;
    if (word == "s32") break;
  }
  return "";
}

// Of an instruction with block scales: 64 for two operands of e2m1, unless it takes them as others
// of 8 bits.
void set_scaled_shape(const std::vector<std::string>& words, UnitUse& use) {
  const bool narrow = std::ranges::count(words, "e2m1") == 2;
  use.unit += ".block_scale";
  use.usual_k = narrow ? 64 : 32;
}

std::vector<UnitUse> uses_in(const emulator::PtxModule& ptx) {
  std::vector<UnitUse> uses;
  for_each_instruction(ptx, [&](const emulator::Instruction& instruction) {
    UnitUse use;
    const std::vector<std::string>& words = instruction.modifiers;
    if (instruction.opcode == "mma" ||
        (instruction.opcode == "wmma" && !words.empty() && words[0] == "mma")) {
      use.unit = "mma.sync";
    } else if (instruction.opcode == "wgmma" && !words.empty() && words[0] == "mma_async") {
      use.unit = "wgmma";
    } else if (instruction.opcode == "tcgen05" && !words.empty() && words[0] == "mma") {
      use.unit = "tcgen05";
    } else {
      return;
    }
    use.text = fmt::format("{}.{}", instruction.opcode, fmt::join(words, "."));
    use.line = instruction.line;
    for (const std::string& word : words) {
      if (use.k == 0) use.k = k_of_shape(word);
      if (use.usual_k == 0) use.usual_k = usual_k(word);
    }
    if (instruction.has_modifier("block_scale")) set_scaled_shape(words, use);
    use.sums = type_of_sums(words);
    if (use.sums.empty() || instruction.has_modifier("sp")) use.k = use.usual_k = 0;
    uses.push_back(std::move(use));
  });
  return uses;
}

const UnitUse* shortest(const std::vector<UnitUse>& uses) {
  const UnitUse* found = nullptr;
  for (const UnitUse& use : uses) {
    if (use.k > 0 && use.k < use.usual_k && (found == nullptr || use.k < found->k)) found = &use;
  }
  return found;
}

// What the contract says of units, by output or as a term.
std::set<std::string> promised_units(const Manifest& kernel) {
  std::set<std::string> units;
  if (!kernel.operation->terms().empty()) {
    for (const Field& term : kernel.operation->terms()) {
      if (term.name == "unit") units.emplace(kernel.terms.word("unit"));
    }
    return units;
  }
  const auto add = [&](const Contract& contract) { units.emplace(word_of(unit_of(contract))); };
  add(kernel.promised.contract);
  for (const auto& [output, promised] : kernel.promised_for) add(promised.contract);
  return units;
}

bool is_tensor_core(std::string_view unit) {
  return unit.starts_with("mma.sync") || unit == "wgmma" || unit.starts_with("tcgen05");
}

// Whether the PTX has products that add as the contract of one output, or of all others, says.
Status check_sums(const Manifest& kernel, const std::string& output, const Contract& contract,
                  const std::vector<UnitUse>& uses, std::string_view file) {
  const std::string whose =
      output.empty() ? kernel.name : fmt::format("output {} of {}", output, kernel.name);
  const auto refused = [&](const std::string& says, const UnitUse& use, std::string_view term,
                           std::string help) {
    return Error{ErrorKind::cannot_run,
                 fmt::format("the contract of {} says {}, but {}:{} is {}", whose, says, file,
                             use.line, use.text),
                 place_in_manifest(kernel, term), std::move(help)};
  };
  const std::string sums(format(contract.accumulator).name);
  const auto has_other_sums = [&](const UnitUse& use) {
    return use.unit == word_of(unit_of(contract)) && !use.sums.empty() && use.sums != sums;
  };
  const auto other = std::ranges::find_if(uses, has_other_sums);
  if (other != uses.end() && std::ranges::none_of(uses, [&](const UnitUse& use) {
        return use.unit == other->unit && use.sums == sums;
      })) {
    return refused(fmt::format("accumulator = \"{}\"", sums), *other, "accumulator",
                   fmt::format("write accumulator = \"{}\"", other->sums));
  }
  const std::int64_t promised = contract.instruction_k;
  if (promised == 0 || uses.empty() || !is_tensor_core(word_of(unit_of(contract)))) return {};
  const UnitUse* use = shortest(uses);
  const bool fits = use != nullptr ? use->k == promised
                                   : std::ranges::find(uses, promised, &UnitUse::k) != uses.end();
  if (fits) return {};
  return refused(fmt::format("instruction_k = {}", promised), use != nullptr ? *use : uses.front(),
                 "instruction_k", "correct `instruction_k`");
}

}  // namespace

std::int64_t short_instruction_k(const Manifest& kernel, std::string_view ptx) {
  const Result<emulator::PtxModule> module = parse_named_entries(kernel, ptx, kernel.path);
  if (!module) return 0;
  const std::vector<UnitUse> uses = uses_in(*module);
  const UnitUse* use = shortest(uses);
  return use == nullptr ? 0 : use->k;
}

Status check_units(const Manifest& kernel, std::string_view ptx, std::string_view file) {
  const std::set<std::string> units = promised_units(kernel);
  if (units.empty()) return {};
  const Result<emulator::PtxModule> module = parse_named_entries(kernel, ptx, file);
  if (!module) return {};
  const std::vector<UnitUse> uses = uses_in(*module);
  const auto refused = [&](const std::string& says, const std::string& has, std::string_view term) {
    const bool is_unit = term == "unit" && !uses.empty();
    return Error{ErrorKind::cannot_run,
                 fmt::format("the contract of {} says {}, but {}", kernel.name, says, has),
                 place_in_manifest(kernel, term),
                 is_unit ? fmt::format("write unit = \"{}\"", uses.front().unit)
                         : fmt::format("correct `{}`", term)};
  };
  const auto first_use = [&]() {
    return fmt::format("{}:{} is {}", file, uses.front().line, uses.front().text);
  };
  for (const std::string& unit : units) {
    if (!is_tensor_core(unit) || std::ranges::count(uses, unit, &UnitUse::unit) > 0) continue;
    return refused(fmt::format("unit = \"{}\"", unit),
                   uses.empty()
                       ? fmt::format("no entry in {} has an instruction of tensor cores", file)
                       : fmt::format("{} and there is no {}", first_use(), unit),
                   "unit");
  }
  if (!uses.empty() && std::ranges::none_of(units, is_tensor_core) && units.contains("fma.f32"))
    return refused("unit = \"fma.f32\"", first_use(), "unit");
  if (!kernel.operation->terms().empty()) return {};
  if (Status fits = check_sums(kernel, "", kernel.promised.contract, uses, file); !fits)
    return fits;
  for (const auto& [output, promised] : kernel.promised_for) {
    if (Status fits = check_sums(kernel, output, promised.contract, uses, file); !fits) return fits;
  }
  return {};
}

}  // namespace plumbline
