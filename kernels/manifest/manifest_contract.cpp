// SPDX-License-Identifier: MIT
// [contract] of a manifest: the words are in oracles/bounds/contract/describe.h, the meaning in
// contract.h.
#include "kernels/manifest/manifest_sections.h"
#include "oracles/base/assert.h"
#include "oracles/bounds/contract/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace plumbline {
namespace {

using Text = TomlReader::Text;

// The functions that look words up are overloaded by name with their types; these give them one
// name each.
std::optional<ContractUnit> unit_value(std::string_view word) { return contract_unit(word); }

std::optional<Schedule> schedule_value(std::string_view word) { return schedule(word); }

std::optional<Join> join_value(std::string_view word) { return join(word); }

std::optional<Promotion> promotion_value(std::string_view word) { return promotion(word); }

constexpr std::array<std::string_view, 2> kDequantized = {"bf16", "f16"};

std::optional<FormatId> dequantized_value(std::string_view word) {
  const bool known =
      std::find(kDequantized.begin(), kDequantized.end(), word) != kDequantized.end();
  return known ? format_by_name(word) : std::nullopt;
}

constexpr std::array<std::string_view, 2> kBits = {"promised", "not promised"};

std::optional<bool> bits_value(std::string_view word) {
  if (word != kBits[0] && word != kBits[1]) return std::nullopt;
  return word == kBits[0];
}

constexpr std::array<std::string_view, 2> kAccumulators = {"f32", "f16"};

std::optional<FormatId> accumulator_value(std::string_view word) {
  if (word == kAccumulators[0]) return FormatId::f32;
  return word == kAccumulators[1] ? std::optional(FormatId::f16) : std::nullopt;
}

constexpr std::array<std::string_view, 2> kSubnormals = {"kept", "flushed"};

std::optional<bool> flushed_value(std::string_view word) {
  if (word != kSubnormals[0] && word != kSubnormals[1]) return std::nullopt;
  return word == kSubnormals[1];
}

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

// A word that belongs to one schedule only.
template <typename Value, typename Parse>
void read_choice(TomlReader& reader, const toml::table& table, std::string_view key, bool allowed,
                 std::string_view belongs_to, std::span<const std::string_view> words, Parse parse,
                 Value& value) {
  const std::optional<Text> text = reader.text(table, key);
  if (const auto found = reader.word(text, words, parse)) value = *found;
  if (text && !allowed) {
    reader.fail_at(*table.get(key),
                   fmt::format("\"{}\" has no meaning without {}", key, belongs_to),
                   "remove it, or correct the schedule");
  }
}

// The sums that schedule "runs" allows to be added in any order where a manifest does not say:
// split-K of more parts is rare.
constexpr std::int64_t kPartsOfRuns = 16;

void read_schedule(TomlReader& reader, const toml::table& table, const Manifest& manifest,
                   PromisedContract& promised) {
  Contract& contract = promised.contract;
  contract.schedule = reader.word(reader.text(table, "schedule"), schedule_words(), schedule_value)
                          .value_or(Schedule::runs);
  const bool promote = contract.schedule == Schedule::promote;
  const bool split = contract.schedule == Schedule::split_k;
  const bool any = contract.schedule == Schedule::any;
  const bool runs = contract.schedule == Schedule::runs;
  if (any) contract.parts = 0;
  if (runs) contract.parts = kPartsOfRuns;
  read_count(reader, table,
             {"interval", promote, promote || split, "schedule \"promote\" or \"split_k\""},
             contract.interval);
  if ((split || any || runs) && table.get("parts") && table.get("parts")->is_string()) {
    promised.parts = read_expression(reader, manifest, table, "parts");
  } else {
    read_count(reader, table,
               {"parts", split, split || any || runs, "schedule \"split_k\", \"runs\" or \"any\""},
               contract.parts);
  }
  read_choice(reader, table, "join", split, "schedule \"split_k\"", join_words(), join_value,
              contract.join);
  read_choice(reader, table, "promotion", promote, "schedule \"promote\"", promotion_words(),
              promotion_value, contract.promotion);
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

void read_output(TomlReader& reader, const toml::table& contract_table,
                 PromisedContract& promised) {
  // PTX converts f32 to FP8 by .satfinite alone.
  const auto saturate_fp8 = [&] { promised.saturates = {FormatId::e4m3}; };
  const toml::table* table = reader.table(contract_table, "output");
  if (!table) return saturate_fp8();
  Contract& contract = promised.contract;
  reader.check_keys(*table, {"rounding", "overflow", "saturates"});
  if (const toml::array* formats = reader.array(*table, "saturates")) {
    std::vector<std::string_view> names;
    for (const Format& format : all_formats()) names.push_back(format.name);
    for (const toml::node& node : *formats) {
      const auto format = reader.word(reader.text(node, "a format"), names, format_by_name);
      if (format) promised.saturates.push_back(*format);
    }
  }
  if (const auto found =
          reader.word(reader.text(*table, "rounding"), rounding_words(), rounding_value)) {
    contract.output.rounding = *found;
  }
  if (const auto found =
          reader.word(reader.text(*table, "overflow"), overflow_words(), overflow_value)) {
    contract.output.overflow = *found;
  } else if (!table->contains("saturates")) {
    saturate_fp8();
  }
}

// The formats a tensor may have in this kernel.
std::vector<FormatId> possible_formats(const Manifest& manifest, std::string_view tensor) {
  const auto declared = manifest.formats.find(std::string(tensor));
  if (declared == manifest.formats.end()) return {};
  return formats_named(manifest, declared->second);
}

// Whether every target can keep the contract with every pair of formats the factors may have.
void check_targets(TomlReader& reader, const toml::table& table, const Manifest& manifest,
                   const Contract& contract, std::string_view output) {
  if (reader.error()) return;
  const Operation& operation = *manifest.operation;
  for (const Operation::Factors& factors : operation.factors()) {
    if (!output.empty() && factors.output != output) continue;
    if (output.empty() && manifest.promised_for.contains(std::string(factors.output))) continue;
    for (const FormatId a : possible_formats(manifest, factors.a)) {
      for (const FormatId b : possible_formats(manifest, factors.b)) {
        if (contract.dequantize_b && format(b).storage_bits > 8) {
          reader.fail_at(*table.get("dequantize_b"),
                         fmt::format("dequantize_b needs a {} of 8 bits or fewer, and {} has more",
                                     factors.b, format(b).name),
                         "leave dequantize_b out, or store it in 8 bits");
        }
        for (const int target : manifest.targets) {
          const Status possible =
              contract.check(target, operation.factor_format(a), operation.factor_format(b));
          if (!possible) reader.fail_at(table, possible.error().message, possible.error().hint);
        }
      }
    }
  }
}

constexpr std::array<std::string_view, 3> kFlags = {"deterministic", "odd_symmetric",
                                                    "position_independent"};

// What every contract promises unless it says otherwise.
void read_flags(TomlReader& reader, const toml::table& table, Contract& contract) {
  contract.deterministic = reader.boolean(table, "deterministic").value_or(true);
  contract.odd_symmetric = reader.boolean(table, "odd_symmetric").value_or(true);
  contract.position_independent = reader.boolean(table, "position_independent").value_or(true);
}

// Of mma, wgmma and tcgen05.
constexpr std::array<std::int64_t, 5> kShapes = {4, 8, 16, 32, 64};

PromisedContract read_one(TomlReader& reader, const toml::table& table, const Manifest& manifest) {
  PromisedContract promised;
  Contract& contract = promised.contract;
  const Text unit_text = reader.required_text(table, "unit", "unit = \"mma.sync\"");
  if (const auto found = reader.word(std::optional(unit_text), unit_words(), unit_value)) {
    contract.unit = found->unit;
    contract.instruction = found->instruction;
    contract.block_scale = found->block_scale;
  }
  read_schedule(reader, table, manifest, promised);
  contract.dequantize_b =
      reader.word(reader.text(table, "dequantize_b"), kDequantized, dequantized_value);
  const bool scaled = manifest.operation->has_scaled_operands();
  if (contract.dequantize_b && !scaled) {
    reader.fail_at(
        *table.get("dequantize_b"),
        fmt::format("\"dequantize_b\" has no meaning for {}", manifest.operation->name()),
        "remove it: only gemm knows how");
  }
  if (contract.block_scale && !scaled) {
    reader.fail_at(*table.get("unit"),
                   fmt::format("{} has no scales of blocks of k", manifest.operation->name()),
                   "only gemm has them");
  }
  contract.bits = reader.word(reader.text(table, "bits"), kBits, bits_value).value_or(true);
  if (table.get("instruction_k")) {
    contract.instruction_k = reader.integer(table, "instruction_k").value_or(0);
    const bool known = std::ranges::count(kShapes, contract.instruction_k) > 0;
    if (!known || contract.unit != Unit::tensor_core)
      reader.fail_at(
          *table.get("instruction_k"),
          fmt::format("{} is no k of a tensor core's instruction", contract.instruction_k),
          "it is 8 for mma.m16n8k8; leave it out where the shape is the unit's usual one");
  }
  contract.accumulator =
      reader.word(reader.text(table, "accumulator"), kAccumulators, accumulator_value)
          .value_or(FormatId::f32);
  contract.subnormals_flushed =
      reader.word(reader.text(table, "subnormals"), kSubnormals, flushed_value).value_or(false);
  read_epilogue(reader, table, contract);
  read_output(reader, table, promised);
  read_flags(reader, table, contract);
  return promised;
}

// Reads one term of a contract into `terms`, unless it is absent.
void read_term(TomlReader& reader, const toml::table& table, const Field& field, Problem& terms) {
  if (field.kind == FieldKind::word) {
    const std::optional<Text> text = reader.text(table, field.name);
    if (!text) return;
    if (std::find(field.choices.begin(), field.choices.end(), text->text) == field.choices.end()) {
      return reader.fail_word(*text, field.choices);
    }
    terms.set_word(field.name, text->text);
    return;
  }
  PLUMB_ASSERT(field.kind == FieldKind::integer);
  const std::optional<std::int64_t> value = reader.integer(table, field.name);
  if (!value) return;
  if (*value < field.minimum || *value > field.maximum) {
    return reader.fail_at(*table.get(field.name),
                          fmt::format("{} = {} is out of range", field.name, *value),
                          fmt::format("it is from {} to {}", field.minimum, field.maximum));
  }
  terms.set_integer(field.name, *value);
}

// A value for the message that a term is missing.
std::string example_of(const Field& field) {
  return field.kind == FieldKind::word ? fmt::format("{} = \"{}\"", field.name, field.choices[0])
                                       : fmt::format("{} = {}", field.name, field.minimum);
}

// The contract of an operation with terms of its own.
void read_terms(TomlReader& reader, const toml::table& table, std::span<const Field> fields,
                Manifest& manifest) {
  std::vector<std::string_view> keys(kFlags.begin(), kFlags.end());
  for (const Field& field : fields) keys.push_back(field.name);
  reader.check_keys(table, keys);
  for (const Field& field : fields) {
    read_term(reader, table, field, manifest.terms);
    if (!table.get(field.name) && must_be_given(field)) {
      reader.fail_at(table, fmt::format("\"{}\" is missing: {}", field.name, field.help),
                     "add " + example_of(field));
    }
  }
  read_flags(reader, table, manifest.promised.contract);
  if (reader.error()) return;
  if (const Status possible = manifest.operation->check_terms(manifest.terms, manifest);
      !possible) {
    reader.fail_at(table, possible.error().message, possible.error().hint);
  }
}

}  // namespace

void read_contract(TomlReader& reader, Manifest& manifest) {
  const std::span<const Field> terms = manifest.operation->terms();
  manifest.terms = Problem(terms);
  const bool all_usual = !terms.empty() && std::ranges::none_of(terms, [](const Field& one) {
    return must_be_given(one);
  });
  if (all_usual && !reader.root().get("contract")) {
    read_flags(reader, toml::table(), manifest.promised.contract);
    return;
  }
  const toml::table* table =
      reader.required_table(reader.root(), "contract",
                            terms.empty() ? "[contract] with unit, schedule, epilogue"
                                          : "[contract] with " + example_of(terms[0]));
  if (!table) return;
  if (!terms.empty()) return read_terms(reader, *table, terms, manifest);
  std::vector<std::string_view> outputs;
  for (const Operation::Factors& factors : manifest.operation->factors()) {
    outputs.push_back(factors.output);
  }
  std::vector<std::string_view> keys = {
      "unit",     "schedule", "interval",   "parts", "join",          "promotion",  "dequantize_b",
      "epilogue", "output",   "subnormals", "bits",  "instruction_k", "accumulator"};
  keys.insert(keys.end(), kFlags.begin(), kFlags.end());
  const std::size_t own = keys.size();
  keys.insert(keys.end(), outputs.begin(), outputs.end());
  reader.check_keys(*table, keys);
  keys.resize(own);
  for (const std::string_view output : outputs) {
    const toml::table* special = reader.table(*table, output);
    if (!special) continue;
    reader.check_keys(*special, keys);
    const PromisedContract promised = read_one(reader, *special, manifest);
    check_targets(reader, *special, manifest, promised.contract, output);
    manifest.promised_for.emplace(output, promised);
  }
  manifest.promised = read_one(reader, *table, manifest);
  check_targets(reader, *table, manifest, manifest.promised.contract, "");
  if (reader.error()) return;
  if (const Status possible = manifest.operation->check_terms(manifest.terms, manifest); !possible)
    reader.fail_at(*table, possible.error().message, possible.error().hint);
}

}  // namespace plumbline
