// SPDX-License-Identifier: MIT
// [contract] of a manifest: the words are in oracles/bounds/contract_words.h, the meaning in
// contract.h.
#include "kernels/manifest_sections.h"
#include "oracles/bounds/contract_words.h"

#include <fmt/format.h>

namespace plumbline {
namespace {

using Text = TomlReader::Text;

// The functions that look words up are overloaded by name with their types; these give them one
// name each.
std::optional<ContractUnit> unit_value(std::string_view word) { return contract_unit(word); }

std::optional<Schedule> schedule_value(std::string_view word) { return schedule(word); }

std::optional<Join> join_value(std::string_view word) { return join(word); }

std::optional<EpilogueStep> step_value(std::string_view word) { return epilogue_step(word); }

std::optional<Rounding> rounding_value(std::string_view word) { return rounding(word); }

std::optional<Overflow> overflow_value(std::string_view word) { return overflow(word); }

// A count that belongs to some schedules only: missing where the schedule needs it, or given where
// it means nothing, is a mistake.
struct Count {
  std::string_view key;
  bool needed, allowed;
  std::string_view belongs_to;  // in words, for messages
};

void read_count(TomlReader& reader, const toml::table& table, const Count& count,
                std::int64_t& value) {
  const toml::node* node = table.get(count.key);
  if (!node) {
    if (count.needed) {
      reader.fail_at(table,
                     fmt::format("\"{}\" is missing: {} needs it", count.key, count.belongs_to),
                     fmt::format("add {} = ...", count.key));
    }
    return;
  }
  if (!count.allowed) {
    reader.fail_at(*node,
                   fmt::format("\"{}\" has no meaning without {}", count.key, count.belongs_to),
                   "remove it, or correct the schedule");
  }
  const std::optional<std::int64_t> given = reader.integer(table, count.key);
  if (!given) return;
  if (*given < 1) {
    reader.fail_at(*node, fmt::format("{} = {} is too small", count.key, *given), "use at least 1");
  }
  value = *given;
}

void read_schedule(TomlReader& reader, const toml::table& table, Contract& contract) {
  const Text schedule_text = reader.required_text(table, "schedule", "schedule = \"sequential\"");
  if (const auto found =
          reader.word(std::optional(schedule_text), schedule_words(), schedule_value)) {
    contract.schedule = *found;
  }
  const bool promote = contract.schedule == Schedule::promote;
  const bool split = contract.schedule == Schedule::split_k;
  read_count(reader, table,
             {"interval", promote, promote || split, "schedule \"promote\" or \"split_k\""},
             contract.interval);
  read_count(reader, table, {"parts", split, split, "schedule \"split_k\""}, contract.parts);
  const std::optional<Text> join_text = reader.text(table, "join");
  if (const auto found = reader.word(join_text, join_words(), join_value)) contract.join = *found;
  if (join_text && !split) {
    reader.fail_at(*table.get("join"), "\"join\" has no meaning without schedule \"split_k\"",
                   "remove it, or correct the schedule");
  }
}

void read_epilogue(TomlReader& reader, const toml::table& table, Contract& contract) {
  const toml::array* steps = reader.required_array(
      table, "epilogue", "epilogue = [] (or the rounded steps, as in [\"alpha\", \"bias\"])");
  if (!steps) return;
  for (const toml::node& node : *steps) {
    const auto step =
        reader.word(reader.text(node, "a step of the epilogue"), epilogue_words(), step_value);
    if (step) contract.epilogue.push_back(*step);
  }
}

void read_output(TomlReader& reader, const toml::table& contract_table, Contract& contract) {
  const toml::table* table = reader.table(contract_table, "output");
  if (!table) return;
  reader.check_keys(*table, {"rounding", "overflow"});
  if (const auto found =
          reader.word(reader.text(*table, "rounding"), rounding_words(), rounding_value)) {
    contract.output.rounding = *found;
  }
  if (const auto found =
          reader.word(reader.text(*table, "overflow"), overflow_words(), overflow_value)) {
    contract.output.overflow = *found;
  }
}

// A format a manifest fixes for a tensor; nothing where a field of the problem chooses it.
std::optional<FormatId> fixed_format(const Manifest& manifest, std::string_view tensor) {
  const auto found = manifest.formats.find(std::string(tensor));
  return found == manifest.formats.end() ? std::nullopt : format_by_name(found->second);
}

// Whether every target can keep the contract with the operands' formats.
void check_targets(TomlReader& reader, const toml::table& table, const Manifest& manifest) {
  const std::optional<FormatId> a = fixed_format(manifest, "a"), b = fixed_format(manifest, "b");
  if (reader.error() || !a || !b) return;
  for (const int target : manifest.targets) {
    const Status possible = manifest.contract.check(target, *a, *b);
    if (!possible) reader.fail_at(table, possible.error().message, possible.error().hint);
  }
}

}  // namespace

void read_contract(TomlReader& reader, Manifest& manifest) {
  const toml::table* table =
      reader.required_table(reader.root(), "contract", "[contract] with unit, schedule, epilogue");
  if (!table) return;
  reader.check_keys(*table, {"unit", "schedule", "interval", "parts", "join", "epilogue", "output",
                             "deterministic", "odd_symmetric", "position_independent"});
  Contract& contract = manifest.contract;
  const Text unit_text = reader.required_text(*table, "unit", "unit = \"mma.sync\"");
  if (const auto found = reader.word(std::optional(unit_text), unit_words(), unit_value)) {
    contract.unit = found->unit;
    contract.instruction = found->instruction;
  }
  read_schedule(reader, *table, contract);
  read_epilogue(reader, *table, contract);
  read_output(reader, *table, contract);
  contract.deterministic = reader.boolean(*table, "deterministic").value_or(true);
  contract.odd_symmetric = reader.boolean(*table, "odd_symmetric").value_or(true);
  contract.position_independent = reader.boolean(*table, "position_independent").value_or(true);
  check_targets(reader, *table, manifest);
}

}  // namespace plumbline
