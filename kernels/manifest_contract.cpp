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

// A count that only one schedule has: it must be there with it, and must not be there without.
void read_count(TomlReader& reader, const toml::table& table, std::string_view key, bool wanted,
                std::string_view schedule_word, std::int64_t minimum, std::int64_t& count) {
  const std::optional<std::int64_t> given = reader.integer(table, key);
  if (wanted && !table.get(key)) {
    reader.fail_at(table, fmt::format("schedule \"{}\" needs \"{}\"", schedule_word, key),
                   fmt::format("add {} = 128", key));
  }
  if (!given) return;
  if (!wanted) {
    reader.fail_at(*table.get(key),
                   fmt::format("\"{}\" has no meaning without schedule \"{}\"", key, schedule_word),
                   "remove it, or correct the schedule");
  } else if (*given < minimum) {
    reader.fail_at(*table.get(key), fmt::format("{} = {} is too small", key, *given),
                   fmt::format("use at least {}", minimum));
  }
  count = *given;
}

void read_schedule(TomlReader& reader, const toml::table& table, Contract& contract) {
  const Text schedule_text = reader.required_text(table, "schedule", "schedule = \"sequential\"");
  if (const auto found =
          reader.word(std::optional(schedule_text), schedule_words(), schedule_value)) {
    contract.schedule = *found;
  }
  read_count(reader, table, "interval", contract.schedule == Schedule::promote, "promote", 1,
             contract.interval);
  read_count(reader, table, "parts", contract.schedule == Schedule::split_k, "split_k", 2,
             contract.parts);
  const std::optional<Text> join_text = reader.text(table, "join");
  if (const auto found = reader.word(join_text, join_words(), join_value)) contract.join = *found;
  if (join_text && contract.schedule != Schedule::split_k) {
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
}

}  // namespace plumbline
