// SPDX-License-Identifier: MIT
// One table per enumeration; the lookups are the same three lines for all of them.
#include "oracles/bounds/contract/describe.h"

#include <algorithm>
#include <array>
#include <vector>

#include "oracles/base/assert.h"
#include "oracles/bounds/contract/epilogue_steps.h"

namespace plumbline {
namespace {

template <typename Value, std::size_t count>
struct WordTable {
  std::array<std::string_view, count> words;
  std::array<Value, count> values;

  std::optional<Value> value(std::string_view word) const {
    for (std::size_t row = 0; row < count; ++row) {
      if (words[row] == word) return values[row];
    }
    return std::nullopt;
  }

  std::string_view word(Value value) const {
    for (std::size_t row = 0; row < count; ++row) {
      if (values[row] == value) return words[row];
    }
    PLUMB_ASSERT(!"a value without a word");
    return {};
  }
};

constexpr WordTable<ContractUnit, 7> kUnits{
    {"mma.sync", "wgmma", "tcgen05", "fma.f32", "int32", "mma.sync.block_scale",
     "tcgen05.block_scale"},
    {ContractUnit{Unit::tensor_core, Instruction::mma_sync},
     ContractUnit{Unit::tensor_core, Instruction::wgmma},
     ContractUnit{Unit::tensor_core, Instruction::tcgen05},
     ContractUnit{Unit::fma_f32, Instruction::mma_sync},
     ContractUnit{Unit::int32, Instruction::mma_sync},
     ContractUnit{Unit::tensor_core, Instruction::mma_sync, true},
     ContractUnit{Unit::tensor_core, Instruction::tcgen05, true}}};

constexpr WordTable<Schedule, 5> kSchedules{
    {"sequential", "promote", "split_k", "runs", "any"},
    {Schedule::sequential, Schedule::promote, Schedule::split_k, Schedule::runs, Schedule::any}};

constexpr WordTable<Join, 4> kJoins{
    {"f32 ordered", "f32 any order", "f32 atomic", "bf16"},
    {Join::f32_ordered, Join::f32_any_order, Join::f32_atomic, Join::bf16}};

constexpr WordTable<Promotion, 3> kPromotions{
    {"add", "scaled fma", "scaled"}, {Promotion::add, Promotion::scaled_fma, Promotion::scaled}};

constexpr WordTable<Activation, 5> kActivations{
    {"none", "relu", "gelu", "gelu_tanh", "silu"},
    {Activation::none, Activation::relu, Activation::gelu, Activation::gelu_tanh,
     Activation::silu}};

constexpr WordTable<Rounding, 6> kRoundings{
    {"nearest even", "nearest away", "toward zero", "up", "down", "stochastic"},
    {Rounding::nearest_even, Rounding::nearest_away, Rounding::toward_zero, Rounding::up,
     Rounding::down, Rounding::stochastic}};

constexpr WordTable<Overflow, 2> kOverflows{{"special", "saturate"},
                                            {Overflow::to_special, Overflow::saturate}};

}  // namespace

std::optional<ContractUnit> contract_unit(std::string_view word) { return kUnits.value(word); }

ContractUnit unit_of(const Contract& contract) {
  return {contract.unit, contract.instruction, contract.block_scale};
}

std::optional<Schedule> schedule(std::string_view word) { return kSchedules.value(word); }

std::optional<Join> join(std::string_view word) { return kJoins.value(word); }

std::optional<Promotion> promotion(std::string_view word) { return kPromotions.value(word); }

std::optional<EpilogueStep> epilogue_step(std::string_view word) {
  const auto found = std::ranges::find(kEpilogueSteps, word, &EpilogueStepRow::word);
  return found == kEpilogueSteps.end() ? std::nullopt : std::optional(found->step);
}

std::optional<Activation> activation(std::string_view word) { return kActivations.value(word); }

std::optional<Rounding> rounding(std::string_view word) { return kRoundings.value(word); }

std::optional<Overflow> overflow(std::string_view word) { return kOverflows.value(word); }

std::string_view word_of(ContractUnit unit) {
  if (unit.unit != Unit::tensor_core) unit.instruction = Instruction::mma_sync;
  return kUnits.word(unit);
}

std::string_view word_of(Schedule value) { return kSchedules.word(value); }

std::string_view word_of(Join value) { return kJoins.word(value); }

std::string_view word_of(Promotion value) { return kPromotions.word(value); }

std::string_view word_of(EpilogueStep value) { return row_of(value).word; }

std::string_view word_of(Activation value) { return kActivations.word(value); }

std::string_view word_of(Rounding value) { return kRoundings.word(value); }

std::string_view word_of(Overflow value) { return kOverflows.word(value); }

std::span<const std::string_view> unit_words() { return kUnits.words; }

std::span<const std::string_view> schedule_words() { return kSchedules.words; }

std::span<const std::string_view> join_words() { return kJoins.words; }

std::span<const std::string_view> promotion_words() { return kPromotions.words; }

std::span<const std::string_view> epilogue_words() {
  static const std::vector<std::string_view> words = [] {
    std::vector<std::string_view> all;
    for (const EpilogueStepRow& row : kEpilogueSteps) all.push_back(row.word);
    return all;
  }();
  return words;
}

std::span<const std::string_view> rounding_words() { return kRoundings.words; }

std::span<const std::string_view> overflow_words() { return kOverflows.words; }

}  // namespace plumbline
